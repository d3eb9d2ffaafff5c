//! Which nodes of a target have what requests ask for, in a run that hears of changes: one place that is told, and workers that look.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unblink_wire::ring::Ring;

/// The ring as it is now. Connections go to its nodes.
#[derive(Debug)]
pub struct Routing {
    /// Grows with each change. A worker that has seen the current version need not look.
    version: AtomicU64,
    ring: Mutex<Arc<Ring>>,
    /// Nodes to which no connection could be opened lately.
    failing: Mutex<BTreeSet<SocketAddr>>,
}

impl Routing {
    /// By this ring, until it changes.
    pub fn new(ring: Ring) -> Routing {
        Routing { version: AtomicU64::new(1), ring: Mutex::new(ring.into()), failing: Mutex::default() }
    }

    /// The ring has changed, and nodes that failed are worth another attempt.
    pub fn set(&self, ring: Ring) {
        *locked(&self.ring) = ring.into();
        locked(&self.failing).clear();
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Nodes to which no connection could be opened lately.
    pub fn failing(&self) -> Vec<SocketAddr> {
        locked(&self.failing).iter().copied().collect()
    }

    /// The node takes connections again.
    pub fn is_back(&self, node: SocketAddr) {
        if locked(&self.failing).remove(&node) {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    pub(crate) fn note_failing(&self, node: SocketAddr) {
        locked(&self.failing).insert(node);
    }

    /// The ring and the nodes that fail, if `seen` is not their current version; sets `seen` to it.
    #[inline]
    pub(crate) fn changed(&self, seen: &mut u64) -> Option<(Arc<Ring>, Vec<SocketAddr>)> {
        let version = self.version.load(Ordering::Acquire);
        if version == *seen {
            return None;
        }
        *seen = version;
        Some((locked(&self.ring).clone(), self.failing()))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The addresses of a target in a run that resolves its name repeatedly.

use crate::target::{Address, Refresh};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The addresses that the name resolves to now.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// Grows with each change. A worker that has seen the current version need not look.
    version: AtomicU64,
    addresses: Mutex<Vec<Address>>,
    failed: AtomicU64,
}

impl Directory {
    /// Returns the addresses if `seen` is not their current version, and sets `seen` to it.
    pub(crate) fn changed(&self, seen: &mut u64) -> Option<Vec<Address>> {
        let version = self.version.load(Ordering::Acquire);
        if version == *seen {
            return None;
        }
        *seen = version;
        Some(self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// How often the name could not be resolved.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    fn ask(&self, refresh: &mut Refresh) {
        let mut has_changed = false;
        for (ask, known) in &mut refresh.places {
            match ask() {
                Ok(found) if !found.is_empty() => {
                    let is_same = found.len() == known.len() && found.iter().all(|one| known.contains(one));
                    has_changed |= !is_same;
                    *known = found;
                }
                // The addresses of the last answer stay in use.
                _ => drop(self.failed.fetch_add(1, Ordering::Relaxed)),
            }
        }
        if has_changed {
            let all = refresh.places.iter().flat_map(|(_, known)| known.iter().cloned()).collect();
            *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = all;
            self.version.fetch_add(1, Ordering::Release);
        }
    }
}

/// Resolves the name repeatedly for as long as it lives.
pub(crate) struct Asking(#[expect(dead_code, reason = "its end is what the thread waits for")] Sender<()>);

impl Asking {
    /// The thread is not joined at the end, because a resolver may take its time.
    pub(crate) fn begin(directory: Arc<Directory>, mut refresh: Refresh) -> Asking {
        let (alive, ended) = channel::<()>();
        std::thread::spawn(move || {
            let every = Duration::from_nanos(refresh.every.0);
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                directory.ask(&mut refresh);
            }
        });
        Asking(alive)
    }
}

//! What all states of a script have in common.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What `thread:stop()` comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stops {
    /// The load ends at once: all of it is here.
    Load,
    /// Somebody looks whether the script has asked for the end, and ends the load of all machines at one instant.
    Asks,
    /// Nobody could end what other machines offer, so it is an error.
    Refused,
}

#[derive(Debug)]
pub(super) struct Shared {
    stops: Stops,
    stopped: AtomicBool,
    is_over: AtomicBool,
    failures: AtomicU64,
    first_failure: Mutex<Option<String>>,
}

impl Shared {
    pub(super) fn new(stops: Stops) -> Shared {
        Shared {
            stops,
            stopped: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            first_failure: Mutex::new(None),
        }
    }

    /// Gives why the load can't be ended, if it can't.
    pub(super) fn stop(&self) -> Option<&'static str> {
        if self.stops == Stops::Refused {
            return Some(
                "thread:stop() would end the load of this machine alone: take it out, and say with -d or -n when the load of all ends",
            );
        }
        self.stopped.store(true, Ordering::Relaxed);
        None
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The load ends here and now.
    #[inline]
    pub(super) fn ends_load(&self) -> bool {
        self.is_stopped() && self.stops == Stops::Load
    }

    /// The load is over: `done` is called.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    #[cold]
    pub(super) fn fail(&self, why: String) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.first_failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// How often it failed, and why it did so first.
    pub(super) fn failures(&self) -> Option<(u64, String)> {
        let first = self.first_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some((self.failures.load(Ordering::Relaxed), first))
    }
}

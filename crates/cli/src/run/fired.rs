//! What has stopped a load, told together with the stop.

use crate::observe::Why;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What has stopped the load.
#[derive(Clone, Default)]
pub(super) struct Fired {
    what: Arc<Mutex<Option<(Why, String)>>>,
    /// Answers are not waited for, because a guard says so: whatever had stopped the load before, nobody has given up waiting.
    is_cut: Arc<AtomicBool>,
}

impl Fired {
    /// Stops the load, and says of what it comes if nothing had stopped it before. A run that ends meanwhile waits for that: a busy
    /// machine may take longer from one to the other than a stop takes.
    pub(super) fn stop(&self, stop: impl FnOnce() -> bool, why: Why, rule: String) -> bool {
        let mut fired = self.lock();
        let is_first = stop();
        if is_first {
            fired.get_or_insert((why, rule));
        }
        is_first
    }

    /// What it was, if something has.
    pub(super) fn what(&self) -> Option<(Why, String)> {
        self.lock().clone()
    }

    /// A guard ends what goes on after the load by itself.
    pub(super) fn cut(&self, abort: impl FnOnce()) {
        self.is_cut.store(true, Ordering::SeqCst);
        abort();
    }

    /// One has.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Why, String)>> {
        self.what.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use unblink_artifact::document::GuardKind;

    /// Whoever stops it may be put aside in between, for longer than it takes the load to end.
    #[test]
    fn a_stop_is_never_seen_without_its_reason() {
        let (fired, (stopped, is_stopped)) = (Fired::default(), std::sync::mpsc::channel());
        let other = fired.clone();
        let slow = std::thread::spawn(move || {
            let stop = || {
                stopped.send(()).expect("somebody waits");
                std::thread::sleep(Duration::from_millis(50));
                true
            };
            other.stop(stop, Why::Guard(GuardKind::Coordinator), "it is gone".into())
        });
        is_stopped.recv().expect("it stops");
        assert_eq!(fired.what().map(|(_, rule)| rule).as_deref(), Some("it is gone"));
        assert!(slow.join().expect("no panic"));
        assert!(!fired.stop(|| false, Why::Enough, "later".into()));
        assert!(fired.stop(|| true, Why::Enough, "an earlier stop".into()));
        assert_eq!(fired.what().map(|(_, rule)| rule).as_deref(), Some("it is gone"), "the first");
    }
}

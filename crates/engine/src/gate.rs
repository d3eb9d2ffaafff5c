//! Makes the workers of a run begin together.

use crate::error::EngineError;
use rustix::io::Errno;
use std::sync::{Condvar, Mutex, PoisonError};
use unblink_core::time::Instant;

/// Where workers wait for each other before the start.
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

struct GateState {
    /// Set when a worker could not be set up.
    refused: Option<Errno>,
    ready: usize,
    start: Option<Instant>,
    cancelled: bool,
}

impl Gate {
    pub(crate) fn closed() -> Gate {
        let state = GateState { refused: None, ready: 0, start: None, cancelled: false };
        Gate { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Reports that the worker is ready and waits until all are. Returns the schedule's zero, or `None` if there is
    /// no run.
    pub(crate) fn ready_and_wait(&self) -> Option<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ready += 1;
        self.changed.notify_all();
        while state.start.is_none() && !state.cancelled {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.start
    }

    /// Reports that the worker can't be set up, so there will be no run.
    pub(crate) fn refuse(&self, errno: Errno) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.refused.get_or_insert(errno);
        self.changed.notify_all();
    }

    /// Waits until every worker is ready. `lost` names a worker that has ended instead.
    ///
    /// # Errors
    /// One of them never will be, so nobody begins.
    pub(crate) fn wait_until_ready(
        &self,
        workers: usize,
        lost: impl Fn() -> Option<usize>,
    ) -> Result<(), EngineError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.ready < workers {
            let failure = match state.refused {
                Some(errno) => Some(EngineError::Setup(errno)),
                None => lost().map(EngineError::WorkerLost),
            };
            if let Some(failure) = failure {
                state.cancelled = true;
                self.changed.notify_all();
                return Err(failure);
            }
            let patience = std::time::Duration::from_millis(100);
            (state, _) = self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Tells the workers when they begin.
    pub(crate) fn open(&self, start: Instant) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).start = Some(start);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_when_it_is_opened_and_nobody_where_one_can_not() {
        let open = Gate::closed();
        open.wait_until_ready(0, || None).expect("nobody is waited for");
        open.open(Instant(7));
        assert_eq!(open.ready_and_wait(), Some(Instant(7)));

        let refused = Gate::closed();
        refused.refuse(Errno::MFILE);
        let error = refused.wait_until_ready(1, || None).unwrap_err();
        assert!(matches!(error, EngineError::Setup(Errno::MFILE)), "{error}");
        assert_eq!(refused.ready_and_wait(), None);
    }
}

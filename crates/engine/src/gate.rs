//! Makes the workers of a run begin together.

use crate::clock::Clock;
use crate::error::EngineError;
use rustix::io::Errno;
use std::sync::{Condvar, Mutex, PoisonError};
use unblink_core::time::{Instant, Nanos};

/// The time between "all workers are ready" and the schedule's zero.
const LEAD: Nanos = Nanos::from_millis(50);

/// Workers that are told of their start must be awake at it.
const AWAKE_BEFORE: Nanos = Nanos::from_millis(5);

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

    /// Opens once every worker is ready, for a start at `at` if that is given. `lost` names a worker that has ended
    /// instead.
    pub(crate) fn open_when_ready(
        &self,
        workers: usize,
        clock: &Clock,
        at: Option<Instant>,
        lost: impl Fn() -> Option<usize>,
    ) -> Result<Instant, EngineError> {
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
        let now = clock.now();
        let start = at.unwrap_or(now + LEAD);
        if start < now + AWAKE_BEFORE {
            state.cancelled = true;
            self.changed.notify_all();
            return Err(EngineError::StartPassed { by: (now + AWAKE_BEFORE).since(start) });
        }
        state.start = Some(start);
        self.changed.notify_all();
        Ok(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_has_passed_starts_nobody() {
        let clock = Clock::start();
        let passed = Gate::closed();
        let error = passed.open_when_ready(0, &clock, Some(Instant::default()), || None).unwrap_err();
        assert!(matches!(error, EngineError::StartPassed { by } if by >= AWAKE_BEFORE), "{error}");
        assert_eq!(passed.ready_and_wait(), None);

        let ahead = Gate::closed();
        let at = clock.now() + Nanos::from_secs(60);
        assert_eq!(ahead.open_when_ready(0, &clock, Some(at), || None).unwrap(), at);
        assert_eq!(ahead.ready_and_wait(), Some(at));
    }
}

//! Makes the workers of a run begin together.

use crate::clock::Clock;
use crate::error::EngineError;
use rustix::io::Errno;
use std::sync::{Condvar, Mutex, PoisonError};
use unblink_core::time::{Instant, Nanos};

/// The time between "all workers are ready" and the schedule's zero.
const LEAD: Nanos = Nanos::from_millis(50);

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

    /// Opens once every worker is ready. `lost` names a worker that has ended instead.
    pub(crate) fn open_when_ready(
        &self,
        workers: usize,
        clock: &Clock,
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
        let start = clock.now() + LEAD;
        state.start = Some(start);
        self.changed.notify_all();
        Ok(start)
    }
}

//! Why a run can't go on.

use rustix::io::Errno;
use unblink_core::time::Nanos;

/// Why a run can't go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The system refused something that every run needs.
    #[error("can't set up a worker thread: {0} (fewer threads, -t, need fewer file descriptors)")]
    Setup(Errno),
    /// A thread could not be started.
    #[error("can't start a worker thread: {0}")]
    Thread(std::io::Error),
    /// Not ready when it was to start.
    #[error(
        "the time to start passed {:.3} s before this run was ready, and so nothing was sent: begin again, with less beside it \
         on this machine or with a later start",
        .by.as_secs_f64()
    )]
    StartPassed {
        /// By how much.
        by: Nanos,
    },
    /// A defect.
    #[error(
        "worker {0} stopped unexpectedly; the run's folder holds what was recorded until the last interval"
    )]
    WorkerLost(usize),
}

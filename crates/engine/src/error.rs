//! Why a run can't go on.

use rustix::io::Errno;

/// Why a run can't go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The system refused something that every run needs.
    #[error("can't set up a worker thread: {0} (fewer threads, -t, need fewer file descriptors)")]
    Setup(Errno),
    /// A thread could not be started.
    #[error("can't start a worker thread: {0}")]
    Thread(std::io::Error),
    /// A defect.
    #[error(
        "worker {0} stopped unexpectedly; the run's folder holds what was recorded until the last interval"
    )]
    WorkerLost(usize),
}

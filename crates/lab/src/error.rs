//! What can go wrong, one variant per operation.

use std::net::SocketAddr;
use std::path::PathBuf;

use rustix::io::Errno;

/// An operation of the lab server that failed. Each message says what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario's numbers contradict each other.
    #[error("scenario {name}: {reason}")]
    Scenario {
        /// The scenario's name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A number of the configuration is out of range.
    #[error("lab server: {0}")]
    Config(String),
    /// The address could not be listened on.
    #[error("cannot listen on {address}: {source}; is another server running there?")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's answer.
        source: Errno,
    },
    /// The kernel refused epoll, a timer or an event descriptor.
    #[error("the lab server's event loop: {operation}: {source}")]
    Loop {
        /// The system call.
        operation: &'static str,
        /// The system's answer.
        source: Errno,
    },
    /// A certificate or key could not be read or used.
    #[error("TLS: {0}")]
    Tls(String),
    /// The truth log could not be created or opened.
    #[error("truth log {}: {source}", path.display())]
    TruthFile {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A line of a truth log is not what this version writes.
    #[error("truth log {}, line {line}: {reason}", path.display())]
    TruthLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The process that is to wake a frozen server could not be started or told.
    #[error("can't freeze this process: {0}; it takes sh and sleep")]
    Freeze(std::io::Error),
    /// The server's thread could not be started.
    #[error("cannot start the lab server's thread: {0}")]
    Thread(std::io::Error),
    /// The server's thread panicked.
    #[error("the lab server's thread panicked; this is a bug in the lab")]
    Panicked,
}

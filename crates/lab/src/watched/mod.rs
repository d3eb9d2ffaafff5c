//! Databases that others wrote, as servers of a cell: started for it with data of the lab's own, held still for a while on
//! the timetable of the scenario, and watched from outside. What users felt is told from the packets on the loopback, by the
//! kernel's time stamps: neither the tool nor the database is asked.

mod cassandra;
mod cql;
mod dialect;
pub(crate) mod observed;
mod packet;
mod pg;
mod postgres;
mod program;
mod redis;
mod resp;
mod stream;
mod watch;
mod watcher;

pub use watch::{OpenTap, Tap, WatchError};
pub(crate) use watch::{Seen, Watched};

use std::fs::File;
use std::io::Write;
use std::process::{Child, ChildStdin};

use rustix::process::{Pid, Signal, kill_process};

/// The bytes are not what the protocol allows, or nobody can read them (TLS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unreadable;

/// What holds a server still. It lets go when it is dropped.
#[derive(Debug)]
enum Hold {
    /// A process is stopped.
    Freeze { process: Pid, is_frozen: bool },
    /// A client of the server takes a lock in a transaction, and ends that.
    Lock { client: Child, orders: Option<ChildStdin>, take: &'static str, release: &'static str },
}

impl Hold {
    fn begin(&mut self) -> std::io::Result<()> {
        match self {
            Hold::Freeze { process, is_frozen } => {
                *is_frozen = true;
                Ok(kill_process(*process, Signal::STOP)?)
            }
            Hold::Lock { orders, take, .. } => order(orders, take),
        }
    }

    fn end(&mut self) -> std::io::Result<()> {
        match self {
            Hold::Freeze { is_frozen: false, .. } => Ok(()),
            Hold::Freeze { process, is_frozen } => {
                *is_frozen = false;
                Ok(kill_process(*process, Signal::CONT)?)
            }
            Hold::Lock { orders, release, .. } => order(orders, release),
        }
    }
}

fn order(orders: &mut Option<ChildStdin>, line: &str) -> std::io::Result<()> {
    orders.as_mut().map_or(Ok(()), |orders| writeln!(orders, "{line}"))
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.end();
        if let Hold::Lock { client, orders, .. } = self {
            // Its input ends, and so does it; what it holds, the server lets go.
            *orders = None;
            let _ = client.wait();
        }
    }
}

/// A server that listens, with its data.
#[derive(Debug)]
struct Started {
    child: Child,
    /// What asks it to end; it is killed if it does not.
    ends_by: Signal,
    port: u16,
    /// As it says itself.
    version: String,
    _folder: Folder,
}

impl Drop for Started {
    fn drop(&mut self) {
        // A frozen one hears nothing but this.
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, Signal::CONT);
        let _ = kill_process(pid, self.ends_by);
        let _ = crate::process::end_with(&mut self.child);
    }
}

/// A folder of its own that goes with it.
#[derive(Debug)]
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> std::io::Result<Folder> {
        // Of one process, cell after cell, and cells at once.
        for nth in 0..10_000_u32 {
            let path = std::env::temp_dir().join(format!("unblink-{name}-{}-{nth}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(std::io::Error::other("every name of a folder is taken"))
    }

    fn log(&self) -> std::io::Result<File> {
        File::create(self.0.join("log"))
    }

    /// The end of what a server said there.
    fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.0.join("log")).unwrap_or_default();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

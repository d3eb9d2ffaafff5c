//! The thread that watches the wire and keeps the scenario's timetable.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::watcher::{Trouble, Watcher};
use super::{Hold, Started, cassandra, postgres, redis};
use crate::database::Database;
use crate::process::Processors;
use crate::timing::{Clock, wall_ns};
use crate::truth::TruthLog;
use crate::{LabError, Scenario};

/// Packets wait in the kernel for so long: they have their time stamps already, and whoever reads each at once takes time from
/// those who are measured.
const STEP: Duration = Duration::from_millis(2);
/// What was under way when the tool ended is still seen.
const AFTERWARDS: Duration = Duration::from_millis(20);
/// No run has more requests: rows beyond it are lost, and counted.
const ROWS_MAX: u64 = 10_000_000;

/// Packets in the order in which they came in on the loopback.
pub trait Tap: Send {
    /// Hands on all that have come: the kernel's time in ns since 1970, and the packet from its IP header on. Never waits.
    fn take(&mut self, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<()>;

    /// How many were lost so far.
    fn lost(&mut self) -> io::Result<u64>;
}

/// A database that could not be started or watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// It does not start, or not with the lab's data.
    #[error("the database: {0}")]
    Start(String),
    /// The loopback can't be watched.
    #[error(
        "can't watch the loopback: {0}; it takes CAP_NET_RAW: run it as root, or once: setcap cap_net_raw+ep $(command -v unblink)"
    )]
    Tap(io::Error),
    /// The watch broke off.
    #[error("the watch over the database: {0}")]
    Watch(io::Error),
    /// The truth log can't be written, or its thread not be started.
    #[error(transparent)]
    Log(#[from] LabError),
}

/// Begins to tap a TCP port of the loopback.
pub type OpenTap = fn(u16) -> io::Result<Box<dyn Tap>>;

/// A database under watch.
pub(crate) struct Watched {
    // Before the server: what holds it lets go first.
    thread: Option<JoinHandle<io::Result<Seen>>>,
    is_over: Arc<AtomicBool>,
    server: Started,
    database: Database,
}

/// What there is to say of a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Its name and version.
    pub(crate) server: String,
    pub(crate) packets: u64,
    pub(crate) lost_packets: u64,
    pub(crate) lost_rows: u64,
    /// Events of the scenario that began.
    pub(crate) events: usize,
    trouble: Trouble,
}

impl Seen {
    /// Why it says nothing of the tool, for people.
    pub(crate) fn problem(&self, scenario: &Scenario) -> Option<String> {
        let (torn, unreadable) = (self.trouble.torn, self.trouble.unreadable);
        if unreadable > 0 {
            return Some(format!(
                "what it said on {unreadable} connections can't be read from outside: it must neither encrypt nor use another \
                 version of the protocol"
            ));
        }
        if self.lost_packets + self.lost_rows + torn > 0 {
            return Some(format!(
                "the wire was not seen whole: {} packets and {} requests were lost, {torn} connections torn; run it again on a \
                 quieter machine",
                self.lost_packets, self.lost_rows
            ));
        }
        let is_early = self.events < scenario.events().len();
        is_early.then(|| "it ended before the stall: ask it for more requests".to_owned())
    }
}

impl Watched {
    /// Starts and fills a server, and watches it from then on.
    pub(crate) fn start(
        database: Database,
        scenario: &Scenario,
        processors: &Processors,
        truth: &Path,
        open: OpenTap,
    ) -> Result<Watched, WatchError> {
        let (server, hold) = match database {
            Database::Redis => redis::start(processors),
            Database::Postgres => postgres::start(processors),
            Database::Cassandra => cassandra::start(processors),
        }
        .map_err(WatchError::Start)?;
        let tap = open(server.port).map_err(WatchError::Tap)?;
        let log = TruthLog::create(truth.to_owned())?;
        let is_over = Arc::new(AtomicBool::new(false));
        let watcher = Watcher::new(database, server.port);
        let mut watch =
            Watch { tap, watcher, log, hold, steps: steps(scenario), seen: Seen::default(), rows: 0 };
        let until = Arc::clone(&is_over);
        let thread = std::thread::Builder::new().name("lab-watch".to_owned()).spawn(move || {
            watch.watch(&until)?;
            watch.finish()
        });
        let thread = thread.map_err(LabError::Thread)?;
        Ok(Watched { thread: Some(thread), is_over, server, database })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    /// Ends it all.
    pub(crate) fn stop(mut self) -> Result<Seen, WatchError> {
        let seen = self.join().unwrap_or_else(|| Err(io::Error::other("nobody watches")));
        let mut seen = seen.map_err(WatchError::Watch)?;
        seen.server = format!("{} {}", self.database.name(), self.server.version);
        Ok(seen)
    }

    fn join(&mut self) -> Option<io::Result<Seen>> {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take()?.join();
        Some(ended.unwrap_or_else(|_| Err(io::Error::other("its thread panicked"))))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// When the server is held (true) and let go, in ns after the first request, the next one last.
fn steps(scenario: &Scenario) -> Vec<(u64, bool)> {
    let mut steps: Vec<_> = scenario
        .events()
        .into_iter()
        .flat_map(|(from_ns, to_ns)| [(from_ns, true), (to_ns, false)])
        .collect();
    steps.reverse();
    steps
}

struct Watch {
    tap: Box<dyn Tap>,
    watcher: Watcher,
    log: TruthLog,
    hold: Hold,
    steps: Vec<(u64, bool)>,
    seen: Seen,
    rows: u64,
}

impl Watch {
    fn watch(&mut self, is_over: &AtomicBool) -> io::Result<()> {
        let clock = Clock::start();
        // When the first request came, on `clock`.
        let mut zero_ns = None;
        loop {
            let is_last = is_over.load(Ordering::Relaxed);
            if is_last {
                std::thread::sleep(AFTERWARDS);
            }
            self.see(clock.now_ns())?;
            let now_ns = clock.now_ns();
            if zero_ns.is_none() {
                // The kernel stamps packets by the time of day.
                let age = |came_ns: u64| wall_ns().saturating_sub(came_ns);
                zero_ns = self.watcher.zero_ns().map(|came_ns| now_ns.saturating_sub(age(came_ns)));
            }
            if self.log.flush_at_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                self.log.flush();
            }
            if is_last {
                return Ok(());
            }
            let mut wait = STEP;
            if let Some((zero_ns, &(at_ns, is_hold))) = zero_ns.zip(self.steps.last()) {
                let left_ns = (zero_ns + at_ns).saturating_sub(now_ns);
                if left_ns == 0 {
                    self.seen.events += usize::from(is_hold);
                    if is_hold {
                        self.hold.begin()?
                    } else {
                        self.hold.end()?
                    }
                    self.steps.pop();
                    continue;
                }
                wait = wait.min(Duration::from_nanos(left_ns));
            }
            std::thread::sleep(wait);
        }
    }

    fn see(&mut self, now_ns: u64) -> io::Result<()> {
        let Watch { tap, watcher, log, seen, rows, .. } = self;
        tap.take(&mut |stamp_ns, packet| {
            seen.packets += 1;
            watcher.see(stamp_ns, packet, |row| {
                *rows += 1;
                match *rows > ROWS_MAX {
                    true => seen.lost_rows += 1,
                    false => log.append(now_ns, row),
                }
            });
        })
    }

    fn finish(mut self) -> io::Result<Seen> {
        self.hold.end()?;
        let log = &mut self.log;
        self.watcher.finish(|row| log.append(0, row));
        let account = self.log.finish();
        if let Some(error) = account.error {
            return Err(io::Error::other(error));
        }
        self.seen.lost_packets = self.tap.lost()?;
        self.seen.lost_rows += account.lost;
        self.seen.trouble = self.watcher.trouble;
        Ok(self.seen)
    }
}

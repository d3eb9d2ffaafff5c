//! Copies of somebody else's requests, sent to two targets at once: what a proxy mirrors comes in here, is answered at
//! once, and goes to a baseline and a candidate.
//!
//! Two threads. The sink ([`sink`]) takes requests and answers them; it never waits for anything. The asker ([`asker`])
//! sends the copies and reads the answers. Between them is a queue with bounds ([`queue`]): what finds no room is left
//! out and told, and nothing that a target does reaches the sink in any other way.

mod asker;
mod client;
mod digested;
mod lane;
mod open;
mod place;
mod queue;
mod sink;

use crate::clock::Clock;
use crate::controls::Controls;
use crate::target::Target;
use queue::Queue;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use unblink_core::failure::FailureKind;
use unblink_core::record::Track;
use unblink_core::time::{Instant, Nanos};

/// Targets at the most: baseline, candidate, and the baseline's twin.
pub const TARGETS_MAX: usize = 3;

/// Whose wake-up is whose, among the controls'.
const OF_SINK: usize = 0;
const OF_ASKER: usize = 1;

/// What is to be mirrored, and how.
#[derive(Debug)]
pub struct Mirror {
    /// Where copies come in.
    pub listener: TcpListener,
    /// Baseline and candidate, and perhaps the baseline's twin.
    pub targets: Vec<Target>,
    /// What may be held at once.
    pub bounds: Bounds,
    /// Replace those of the same name in each copy.
    pub headers: Vec<(String, String)>,
    /// Stands in copies of requests that name no host.
    pub host: String,
    /// Of each target, from the moment a copy goes out.
    pub timeout: Nanos,
    /// Requests that may change something are mirrored, too.
    pub mutating: bool,
    /// The least time between two copies to a target, where the rate is limited.
    pub apart: Option<Nanos>,
    /// Requests at the most, to all targets together and with those that are sent a second time.
    pub requests_max: Option<u64>,
    /// Bodies of answers are compared.
    pub digests: bool,
}

/// What may be held at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Pairs that have begun and not ended.
    pub pairs: usize,
    /// Bytes of their requests, and of bodies that are being read.
    pub bytes: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Connections to each target.
    pub connections: u32,
    /// Connections of those who mirror.
    pub clients: usize,
}

/// Why a request that came in was not copied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NotCopied {
    /// As many pairs were open as may be.
    QueueFull,
    /// Their requests had as many bytes as may be.
    BytesFull,
    /// It may change something.
    Mutating,
    /// Its body is above the bound.
    BodyTooLarge,
    /// It asks for another protocol.
    Upgrade,
    /// It came sooner than the rate allows.
    OverRate,
    /// As many requests as may be have been sent.
    OverBudget,
    /// It can't be read.
    Unreadable,
}

/// What became of a copy at one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// It was not meant for it, or nothing is known yet.
    #[default]
    Nothing,
    /// A whole answer came.
    Answered {
        /// Its status.
        status: u16,
        /// From the moment the pair began.
        took: Nanos,
        /// Of its body, where bodies are compared.
        digest: Option<[u8; 32]>,
    },
    /// None will.
    Failed(FailureKind),
    /// None came in time.
    TimedOut,
    /// None had come when the mirror ended.
    Unfinished,
}

/// A request that was copied, and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// As [`Books::operation`] named it.
    pub operation: u32,
    /// By target.
    pub sides: [Side; TARGETS_MAX],
}

/// Who keeps count. Called from both threads, and must not keep them waiting.
pub trait Books: Send + Sync + 'static {
    /// Names what a request asks for by a number.
    fn operation(&self, method: &str, target: &[u8]) -> u32;
    /// A request came and was not copied. What can't be read has no operation.
    fn not_copied(&self, operation: Option<u32>, why: NotCopied);
    /// A pair has ended.
    fn ended(&self, pair: &Pair);
}

/// What the sink saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SinkFigures {
    /// Requests that came in, unreadable ones included.
    pub offered: u64,
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections that were closed at once: as many were open as may be.
    pub refused: u64,
    /// Connections that were closed with a request that did not become whole, or answers that were not read.
    pub cut_off: u64,
    /// It was ended by this: as many requests as may be have been sent, and more came.
    pub budget_is_spent: bool,
    /// When no request was taken any more.
    pub stopped_at: Option<Instant>,
}

/// What the asker saw.
#[derive(Clone, Debug, Default)]
pub struct AskerFigures {
    /// From the answer of the sink to the moment a pair began.
    pub handed_over: Track<u64>,
    /// Pairs that were open at once, at the most.
    pub open_max: u64,
    /// Connections opened, by target.
    pub connections: [u64; TARGETS_MAX],
    /// Copies sent once more, since a connection that was used before had been closed, by target.
    pub sent_again: [u64; TARGETS_MAX],
}

/// A mirror at work.
pub struct Mirroring {
    began: Instant,
    controls: Arc<Controls>,
    sink: JoinHandle<SinkFigures>,
    asker: JoinHandle<io::Result<AskerFigures>>,
}

/// Begins to mirror.
///
/// # Errors
/// What the system lacks.
pub fn start(mirror: Mirror, books: Arc<dyn Books>) -> io::Result<Mirroring> {
    let clock = Clock::start();
    let began = clock.now();
    let controls = Arc::new(Controls::new(clock, 2)?);
    let requests_max = mirror.requests_max.unwrap_or(u64::MAX);
    let queue = Arc::new(Queue::new(mirror.bounds.pairs, mirror.bounds.bytes, requests_max));
    let mirror = Arc::new(mirror);
    let sink = sink::Sink::new(mirror.clone(), clock, controls.clone(), queue.clone(), books.clone())?;
    let named = |name: &str| std::thread::Builder::new().name(name.into());
    let ends = controls.clone();
    let asker = named("asker").spawn(move || {
        let asker = asker::Asker::new(&mirror, clock, ends.clone(), queue, books);
        // Without it there is nothing to take requests for.
        asker.map(asker::Asker::run).inspect_err(|_| ends.abort())
    })?;
    let sink = match named("sink").spawn(move || sink.run()) {
        Ok(sink) => sink,
        Err(error) => {
            controls.abort();
            let _ = asker.join();
            return Err(error);
        }
    };
    Ok(Mirroring { began, controls, sink, asker })
}

impl Mirroring {
    /// When it began, by the clock of its controls.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Ends it: nothing more is taken, and what is under way is waited for.
    pub fn controls(&self) -> Arc<Controls> {
        self.controls.clone()
    }

    /// Both threads have come to their end.
    pub fn is_over(&self) -> bool {
        self.sink.is_finished() && self.asker.is_finished()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// What the system lacked for asking.
    pub fn join(self) -> io::Result<(SinkFigures, AskerFigures)> {
        // A panic goes on in whoever waits.
        let sink = self.sink.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let asker = self.asker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((sink, asker?))
    }
}

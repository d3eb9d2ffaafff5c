//! Requests beside the load. They are sent before it, and again at intervals, to fetch values such as a token.

use crate::clock::Clock;
use crate::job::Job;
use crate::preflight::{AskedOnce, PreflightError, Tried, once, told, why_missed};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::protocol::Protocol;
use unblink_wire::words::{Words, first_line};
use unblink_workload::Globals;
use unblink_workload::answer::{Captured, Coding, Missed};

/// The requests, in the order in which they are sent.
pub struct Setup<P: Protocol> {
    /// The requests themselves.
    pub job: Job<P>,
    /// For each request, what is taken from its answer and where it goes.
    pub captures: Vec<Vec<Captured>>,
    /// For each request, how often it is repeated while the load goes on.
    pub every: Vec<Option<Duration>>,
    /// Where the load's workers find the values.
    pub globals: Arc<Globals>,
    /// A request that takes longer has failed.
    pub timeout: Duration,
}

/// How often one of the requests was repeated while the load went on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// The number of requests sent.
    pub asked: u64,
    /// How many of them brought nothing. The earlier values then stayed in use.
    pub failed: u64,
    /// Why the last failure happened.
    pub last_error: Option<String>,
}

impl<P: Words + 'static> Setup<P> {
    /// Sends request `number` once and keeps the values that its answer brings.
    ///
    /// # Errors
    /// Why it brought nothing.
    pub fn ask(&self, number: usize) -> Result<(), PreflightError> {
        let Some(AskedOnce { tried: Tried { head, result, .. }, taken }) = self.ask_and_tell(number) else {
            let reason = "it needs a row that is for one request of the load alone (order once)";
            return Err(PreflightError::Answer { answer: "nothing was asked".into(), reason: reason.into() });
        };
        result?;
        let lacks = taken.into_iter().find_map(Result::err);
        lacks.map_or(Ok(()), |reason| {
            let answer = first_line(&head).unwrap_or_default();
            Err(PreflightError::Answer { answer, reason })
        })
    }

    /// Like [`Setup::ask`], but returns all that was sent and answered. `None` if it would take a row that is meant
    /// for one arrival of the run.
    pub fn ask_and_tell(&self, number: usize) -> Option<AskedOnce> {
        let tried = once(&self.job, number, self.timeout)?;
        let taken = match tried.result {
            Ok(()) => self.take(number, &tried),
            Err(_) => Vec::new(),
        };
        Some(AskedOnce { tried, taken })
    }

    /// Takes the values from the answer to request `number`. They are kept only if none is missing.
    fn take(&self, number: usize, tried: &Tried) -> Vec<Result<Vec<u8>, String>> {
        let Tried { head, body, .. } = tried;
        let mut decoded = Vec::new();
        let body = Coding::of(head).decode(body, &mut decoded);
        let one = |Captured { name, capture, .. }: &Captured| {
            if capture.is_told() {
                return told(capture, &tried.told).map(<[u8]>::to_vec).map_err(|why| why_missed(name, why));
            }
            let body = match &body {
                Ok(body) => *body,
                Err(why) if capture.reads_body() => return Err(format!("its body can't be decoded: {why}")),
                Err(_) => &[],
            };
            let mut value = Vec::new();
            match capture.take(head, body, &mut value) {
                true => Ok(value),
                false => Err(why_missed(name, Missed::Absent)),
            }
        };
        let taken: Vec<Result<Vec<u8>, String>> = self.captures[number].iter().map(one).collect();
        if taken.iter().all(Result::is_ok) {
            let numbers = self.captures[number].iter().map(|captured| captured.number);
            let new: Vec<(u32, Vec<u8>)> = numbers.zip(taken.iter().flatten().cloned()).collect();
            self.globals.set(&new);
        }
        taken
    }
}

/// A thread that repeats requests until it is stopped.
pub struct Refreshing {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Refreshed>>,
}

impl Refreshing {
    /// Starts the thread. `None` if no request is to be repeated. Nothing is asked any more once `may_ask` says no: it is looked at
    /// before each request, however long the run still waits for answers.
    ///
    /// # Errors
    /// The system can't start a thread.
    pub fn start<P: Words>(
        setup: Setup<P>,
        may_ask: impl Fn() -> bool + Send + 'static,
    ) -> std::io::Result<Option<Refreshing>>
    where
        Setup<P>: Send + 'static,
    {
        if setup.every.iter().all(Option::is_none) {
            return Ok(None);
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("setup".into()).spawn(move || {
            let mut refreshed = vec![Refreshed::default(); setup.every.len()];
            let clock = Clock::start();
            let now = clock.now();
            let mut due: Vec<Option<Instant>> =
                setup.every.iter().map(|every| Some(now + nanos((*every)?))).collect();
            loop {
                let next = due.iter().enumerate().filter_map(|(number, at)| Some(((*at)?, number))).min();
                let Some((at, number)) = next else { return refreshed };
                let wait = Duration::from_nanos(at.since(clock.now()).0);
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) || !may_ask() {
                    return refreshed;
                }
                let of_one = &mut refreshed[number];
                of_one.asked += 1;
                if let Err(error) = setup.ask(number) {
                    of_one.failed += 1;
                    of_one.last_error = Some(error.to_string());
                }
                due[number] = setup.every[number].map(|every| (at + nanos(every)).max(clock.now()));
            }
        })?;
        Ok(Some(Refreshing { stop, thread }))
    }

    /// Stops the thread and returns the counts of each request. A request under way is waited for.
    pub fn stop(self) -> Vec<Refreshed> {
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

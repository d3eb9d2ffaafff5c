//! Sends one request before the run, so that a wrong address or a login page is found out at once.
//!
//! The request goes over the run's kind of connection and protocol and is judged as in the run, but on the calling
//! thread.

mod composed;
mod error;
mod held;
mod overheard;

pub use composed::composed;
pub(crate) use composed::target_of;
pub use error::PreflightError;
pub(crate) use held::Held;

use crate::clock::Clock;
use crate::codes::CodeRules;
use crate::composing::{Composing, Ready, Until};
use crate::conn::{Attempt, Buffers, Common, Conn, Hearing, News, Reading};
use crate::job::Job;
use crate::pace::{Pacer, TIMER_TOKEN};
use crate::pacing::Pacing;
use crate::target::Address;
use error::{hint_at_alert, hint_at_handshake, hint_at_violation};
use overheard::{Heard, Overheard};
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io;
use std::time::Duration;
use unblink_core::arrival::{Arrival, Key};
use unblink_core::dispatch::{CloseKind, FlightId};
use unblink_core::failure::FailureKind;
use unblink_core::record::{Answer, Then};
use unblink_core::time::{Instant, Nanos};
use unblink_wire::blank::{Filler, NothingToFill};
use unblink_wire::protocol::{Protocol, Reply, Violation};
use unblink_wire::words::Words;
use unblink_workload::answer::{Capture, Condition, Expect, KEPT_BYTES_MAX, Missed, Told, Unmet};
use unblink_workload::{Composer, Kept};

/// The only request.
const FLIGHT: FlightId = FlightId { slot: 0, generation: 0 };

/// A request that was sent once, by itself, and its result.
#[derive(Debug)]
pub struct Tried {
    /// The bytes sent, including secrets.
    pub sent: Vec<u8>,
    /// The answer's head, as far as it arrived.
    pub head: Vec<u8>,
    /// The answer's body as it arrived, as far as it may be looked at. Codings such as gzip are not undone.
    pub body: Vec<u8>,
    /// The values that the answer tells by themselves, where the request asks for them.
    pub told: Vec<Told>,
    /// The protocol's view of the answer, if the answer is whole.
    pub reply: Option<Reply>,
    /// The time from the attempt to connect to the last byte of the answer.
    pub took: Nanos,
    /// How many requests a connection takes at once, if that is less than was asked for.
    pub room: Option<u32>,
    /// What a journey would do after the answer.
    pub then: Then,
    /// Why the run should not start.
    pub result: Result<(), PreflightError>,
}

/// A request that was sent once, and the values that its answer brings.
#[derive(Debug)]
pub struct AskedOnce {
    /// What was sent and answered.
    pub tried: Tried,
    /// Each value to be taken, or why it could not be taken. Empty if there was no answer to take values from.
    pub taken: Vec<Result<Vec<u8>, String>>,
}

impl Tried {
    /// The result when nothing was sent.
    pub(crate) fn nothing(result: Result<(), PreflightError>) -> Tried {
        let (sent, head, body, told) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Tried { sent, head, body, told, reply: None, took: Nanos::ZERO, room: None, then: Then::Done, result }
    }
}

/// Sends operation `number` once, on a connection of its own, and judges the answer as the run would.
///
/// Returns how many requests a connection takes at once, if that is less than was asked for. If no connection can be
/// made, the next address is tried. Each address has `timeout`, from the attempt to connect to the last byte of the
/// answer.
///
/// # Errors
/// Why the run should not start. If no address takes a connection, the error of the first one.
pub fn preflight<P: Words + 'static>(
    job: &Job<P>,
    number: usize,
    timeout: Duration,
) -> Result<Option<u32>, PreflightError> {
    once(job, number, timeout).map_or(Ok(None), |tried| tried.result.map(|()| tried.room))
}

/// Like [`preflight`], but also returns what was sent and answered. `None` if it would take a row that is meant for
/// one arrival of the run.
pub fn once<P: Words + 'static>(job: &Job<P>, number: usize, timeout: Duration) -> Option<Tried> {
    once_for(job, &not_of_the_run(number as u32), &Kept::default(), timeout)
}

/// Sends the request once, as `arrival` of the run would send it. Its intended time counts from a schedule that
/// begins at 0. Values that its journey has taken from answers come from `kept`. `None` if no row is left for it.
pub fn once_for<P: Words + 'static>(
    job: &Job<P>,
    arrival: &Arrival,
    kept: &Kept,
    timeout: Duration,
) -> Option<Tried> {
    once_on(job, arrival, (kept, None), timeout)
}

/// The same over the connection that is `held`, if one is; afterwards it is held again.
pub(crate) fn once_on<P: Words + 'static>(
    job: &Job<P>,
    arrival: &Arrival,
    (kept, held): (&Kept, Option<&Held>),
    timeout: Duration,
) -> Option<Tried> {
    let number = arrival.operation as usize;
    let once = Job::<Overheard<P>> {
        plan: job.plan.clone(),
        targets: vec![job.targets[job.plan.spec().origins.of(number as u32)].clone()],
        operations: vec![job.operations[number].clone()],
        values: None,
        script: None,
        expects: job.expects.of(number as u32).clone().into(),
        settings: job.settings.clone(),
        connection_age: None,
        pacing: Pacing::Frugal,
    };
    let timeout = Nanos(timeout.as_nanos() as u64);
    let mut composer = job.values.as_ref().map(|values| Composer::new(values, &job.plan));
    let mut refused = None;
    for address in &once.targets[0].addresses {
        let asked = match (&job.values, &mut composer) {
            _ if job.script.is_some() => {
                ask(&once, (address, held), timeout, &mut Ready::first(job.script.as_deref()))
            }
            (Some(values), Some(composer)) => {
                composer.look_up(values, kept, arrival);
                match Composing::begin(values, composer, &job.plan, arrival, (Instant(0), arrival.intended)) {
                    Some(mut composing) => ask(&once, (address, held), timeout, &mut composing),
                    None => return None,
                }
            }
            _ => ask(&once, (address, held), timeout, &mut NothingToFill),
        };
        match asked.result {
            Err(PreflightError::Connect { .. }) => refused = refused.or(Some(asked)),
            _ => return Some(asked),
        }
    }
    refused
}

/// The number of an arrival that is not part of the run. It is the largest number that a 32-bit column holds, far
/// beyond the numbers of most runs.
const NUMBER: u64 = i32::MAX as u64;

/// An arrival that draws what no arrival of the run draws, and takes no row that is used only once.
pub fn not_of_the_run(operation: u32) -> Arrival {
    let key = Key { load: u32::MAX, unit: u64::from(operation), step: u32::MAX };
    Arrival { index: NUMBER, key, ..Arrival::single(0, operation, Instant(0)) }
}

fn ask<P: Words + 'static>(
    job: &Job<Overheard<P>>,
    (address, held): (&Address, Option<&Held>),
    timeout: Nanos,
    filler: &mut impl Filler,
) -> Tried {
    let mut before = held.and_then(|held| held.take(job));
    let is_held = before.is_some();
    // As in a run, where the dispatcher closes it.
    if before.as_mut().is_some_and(Exchange::has_ended) {
        return Tried::nothing(Err(PreflightError::NotHeld));
    }
    let mut exchange = match before.map_or_else(|| Exchange::begin(job, address), Ok) {
        Ok(exchange) => exchange,
        Err(source) => {
            let result = Err(PreflightError::Connect { address: address.to_string(), source });
            return Tried::nothing(result);
        }
    };
    let began = exchange.pacer.watch().now();
    let deadline = began + timeout;
    let mut then = Then::Done;
    let result = match exchange.end_by(deadline, is_held, filler) {
        End::Answered(answer) => {
            then = answer.then;
            match then {
                Then::Redirected(_) => Ok(()),
                _ => judge::<P>(job.expects.of(0), answer.failure, &exchange.conn.protocol().heard),
            }
        }
        End::Lost => {
            let error = exchange.conn.take_error();
            Err(why_not_answered(&exchange.conn, address, job.targets[0].tls.is_some(), error))
        }
        End::NoRoom => Err(PreflightError::NoRoom { address: address.to_string(), protocol: P::NAME }),
        End::TimedOut => {
            let why =
                if exchange.conn.is_connecting() { "connection timed out" } else { "the timeout passed" };
            let error = io::Error::new(io::ErrorKind::TimedOut, why);
            Err(why_not_answered(&exchange.conn, address, job.targets[0].tls.is_some(), Some(error)))
        }
    };
    let Heard { sent, head, body, told, reply, room, .. } =
        std::mem::take(&mut exchange.conn.protocol_mut().heard);
    let took = exchange.pacer.watch().now().since(began);
    match held.filter(|_| reply.is_some_and(|reply| reply.reusable)) {
        Some(held) => held.keep(exchange),
        None => exchange.conn.close(CloseKind::Graceful),
    }
    Tried { sent, head, body, told, reply, took, room, then, result }
}

/// How an exchange ended.
enum End {
    /// A whole answer came. It may still count as failed.
    Answered(Answer),
    /// No answer will come.
    Lost,
    TimedOut,
    /// The target has allowed no request at once for the whole time.
    NoRoom,
}

/// A connection with one request, and the parts of a worker that it needs.
struct Exchange<'a, P: Protocol> {
    job: &'a Job<P>,
    conn: Conn<P>,
    common: Common<P>,
    pacer: Pacer,
}

impl<P: Protocol> Exchange<'_, P> {
    fn begin<'a>(job: &'a Job<P>, address: &Address) -> io::Result<Exchange<'a, P>> {
        let mut pacer = Pacer::new(Clock::start(), job.pacing)?;
        let attempt = Attempt { address: 0, source: 0, tried: 0, began: pacer.watch().now() };
        let conn = Conn::begin(job, 0, address, FLIGHT.generation, attempt)?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(pacer.epoll(), conn.fd(), EventData::new_u64(0), flags)?;
        let common = Common {
            buffers: Buffers::new(),
            hearing: Hearing::with_capacity(1, 0, &job.expects, CodeRules::of::<P>()),
            of_protocol: P::shared(job.operations.len()),
        };
        Ok(Exchange { job, conn, common, pacer })
    }

    /// Sends the request as soon as the connection is usable, and reads its answer.
    fn end_by(&mut self, deadline: Instant, mut is_usable: bool, filler: &mut impl Filler) -> End {
        let (mut is_quiet, mut is_sent, mut room) = (true, false, 1);
        loop {
            if is_usable && !is_sent && room > 0 {
                is_sent = true;
                let left = deadline.since(self.pacer.watch().last());
                self.conn.submit(self.job, &mut self.common, FLIGHT, 0, &mut Until { filler, left });
                if self.conn.write_on(self.job).is_err() {
                    return End::Lost;
                }
            }
            // A server that sends bytes in small drips never lets the connection stay quiet for long.
            let is_in_time = match is_quiet {
                true => self.wait(deadline),
                false => self.pacer.watch().now() < deadline,
            };
            if !is_in_time {
                return if is_usable && !is_sent { End::NoRoom } else { End::TimedOut };
            }
            let (reading, _) = self.conn.ready(self.job, &mut self.common, self.pacer.watch());
            for news in self.common.hearing.news.drain(..) {
                match news {
                    News::Answered(_, answer) => return End::Answered(answer),
                    News::Lost(..) => return End::Lost,
                    News::Room(places) => room = places,
                    News::Heard(..) | News::Retired | News::Broken(_) => {}
                }
            }
            is_quiet = matches!(reading, Reading::Quiet);
            match reading {
                Reading::Quiet | Reading::More => {}
                Reading::Unusable(_) | Reading::Ended(_) => return End::Lost,
                // What the server has sent unasked is read next.
                Reading::Usable(_) => is_usable = true,
            }
        }
    }

    /// Its connection, on which nothing is under way, has ended meanwhile, or takes nothing more.
    fn has_ended(&mut self) -> bool {
        let (reading, _) = self.conn.ready(self.job, &mut self.common, self.pacer.watch());
        let mut news = self.common.hearing.news.drain(..);
        let takes_nothing = news.any(|news| matches!(news, News::Retired | News::Broken(_)));
        takes_nothing || !matches!(reading, Reading::Quiet | Reading::More)
    }

    /// Waits until the socket is ready. False if that takes too long.
    fn wait(&mut self, deadline: Instant) -> bool {
        while self.pacer.wait(deadline, false) < deadline {
            let mut events = (0..).map_while(|i| self.pacer.event(i));
            if let Some((_, flags)) = events.find(|&(token, _)| token != TIMER_TOKEN) {
                if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
                    self.conn.note_peer_closed();
                }
                return true;
            }
        }
        false
    }
}

/// Why a connection brought no answer. `error` is what went wrong below the protocol.
fn why_not_answered<P: Words>(
    conn: &Conn<Overheard<P>>,
    address: &Address,
    is_tls: bool,
    error: Option<io::Error>,
) -> PreflightError {
    let Overheard { protocol, heard: Heard { received, violation, .. } } = conn.protocol();
    let (address, first_line) = (address.to_string(), P::first_line(received));
    // The end of a connection says less than its reason, but a broken pipe says no more than that it ended.
    let is_end = matches!(violation, None | Some(Violation::ClosedEarly));
    let error = error.filter(|error| is_end && error.kind() != io::ErrorKind::BrokenPipe);
    match (error, *violation) {
        (Some(source), _) if conn.is_connecting() => PreflightError::Connect { address, source },
        (None, Some(violation)) => PreflightError::Protocol {
            address,
            protocol: P::NAME,
            violation,
            is_refusal: P::is_refusal(violation),
            explanation: protocol.explain(violation),
            first_line,
            hint: hint_at_violation(violation, received, is_tls, (P::NAME, P::SCHEMES)),
        },
        (error, _) => {
            let why = "the connection was closed during the TLS handshake";
            let source = error.unwrap_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, why));
            let hint = match conn.is_handshaking() {
                true => hint_at_handshake(&source, P::NAME, P::SCHEMES),
                false => hint_at_alert(&source).to_string(),
            };
            let is_answering = protocol.is_answering();
            PreflightError::Exchange { address, source, is_answering, first_line, hint }
        }
    }
}

/// Judges a whole answer. `failure` says why it counts as failed.
fn judge<P: Words>(
    expect: &Expect,
    failure: Option<FailureKind>,
    heard: &Heard,
) -> Result<(), PreflightError> {
    let Heard { received, reply: Some(reply), .. } = heard else { return Ok(()) };
    let is_allowed = expect.allows_status(reply.code);
    let reason = match failure {
        Some(FailureKind::REDIRECTED_ELSEWHERE) => {
            Some("it sends the journey to an origin that the plan does not ask".to_string())
        }
        Some(FailureKind::BAD_REDIRECT) => {
            Some("it sends the journey on, and its Location does not say where".to_string())
        }
        // By the status alone: nobody said which one it must be.
        Some(kind) if is_allowed.is_none() && CodeRules::of::<P>().failure(reply) == Some(kind) => {
            let said = P::reason(&heard.head).map(|said| format!(" (it says \"{said}\")"));
            Some(format!("every such answer would count as failed{}", said.unwrap_or_default()))
        }
        _ => {
            let objection = P::objection(reply).filter(|_| is_allowed.is_none()).map(str::to_string);
            let unmet = || expect.unmet(reply.code, &heard.head, reply.body_bytes, &heard.body);
            let unmet = || unmet().map(|unmet| in_words(&unmet)).or_else(|| untold(expect, &heard.told));
            objection.or_else(|| failure.map(|_| unmet().unwrap_or_default()))
        }
    };
    match reason {
        Some(reason) => Err(PreflightError::Answer { answer: P::quote(reply, received), reason }),
        None => Ok(()),
    }
}

/// The value of an answer that `capture` takes, where the answer tells it by itself.
pub(crate) fn told<'a>(capture: &Capture, all: &'a [Told]) -> Result<&'a [u8], Missed> {
    let found = all.iter().find(|told| capture.is_of(told.place, told.name.as_deref()));
    let text = &found.ok_or(Missed::Absent)?.text;
    if text.len() > KEPT_BYTES_MAX { Err(Missed::TooLong) } else { Ok(text) }
}

/// Which of such values an answer lacks, if it lacks one.
fn untold(expect: &Expect, all: &[Told]) -> Option<String> {
    let told_ones = expect.captures.iter().filter(|captured| captured.capture.is_told());
    told_ones
        .map(|captured| (captured, told(&captured.capture, all)))
        .find_map(|(captured, found)| found.err().map(|why| why_missed(&captured.name, why)))
}

/// Why the value called `name` was not taken from an answer.
pub(crate) fn why_missed(name: &str, why: Missed) -> String {
    match why {
        Missed::Absent => format!("it does not have {name}, which capture asks for"),
        Missed::TooLong => {
            format!("its {name}, which capture asks for, has more than {KEPT_BYTES_MAX} bytes")
        }
    }
}

/// What is not as it must be, which condition says so, and what stood there instead.
fn in_words(unmet: &Unmet) -> String {
    let (condition, found) = match unmet {
        Unmet::Body(why) => return format!("its body can't be held against --expect: {why}"),
        Unmet::Capture { name, why } => return why_missed(name, *why),
        Unmet::Condition { condition, found } => (condition, found),
    };
    let what = match condition {
        Condition::Statuses(_) | Condition::Codes(_) => "its status is not what --expect asks for",
        Condition::Size(_) => "the size of its body is not what --expect asks for",
        Condition::Header(..) => "a header is not what --expect asks for",
        Condition::Contains(_) => "its body does not contain what --expect asks for",
        Condition::Regex(_) => "its body does not match what --expect asks for",
        Condition::Json(..) => "a value in its body is not what --expect asks for",
        Condition::Events(_) => "it does not come event by event, as --stream asks for",
    };
    format!("{what} ({condition}): {found}")
}

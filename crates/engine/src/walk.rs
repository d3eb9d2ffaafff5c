//! A journey that is walked once, step by step. Values taken from an answer fill in the steps after it.

use crate::job::Job;
use crate::preflight::{
    AskedOnce, Held, PreflightError, Tried, composed, once_on, target_of, told, why_missed,
};
use std::num::NonZeroU16;
use std::time::Duration;
use unblink_core::arrival::Arrival;
use unblink_core::record::Then;
use unblink_wire::protocol::Protocol;
use unblink_wire::words::Words;
use unblink_workload::answer::{Captured, Coding, Expect};
use unblink_workload::{Kept, Values};

/// The place of the only journey.
const PLACE: Option<NonZeroU16> = NonZeroU16::new(1);

/// What a journey has taken from its answers so far.
#[derive(Clone, Debug)]
pub struct Walk {
    kept: Kept,
    /// Values that should have been taken but could not be.
    lacking: Vec<u32>,
    /// Of a journey that holds its connection.
    held: Held,
    /// Its first request was sent.
    has_begun: bool,
}

impl Walk {
    /// A journey of `job` that has taken no values yet.
    pub fn new<P: Protocol>(job: &Job<P>) -> Walk {
        Walk::with(Kept::new(1, job.expects.captured_count()))
    }

    /// A journey of `job` that has `value` for every value that would be taken.
    pub fn filled<P: Protocol>(job: &Job<P>, value: &[u8]) -> Walk {
        Walk::with(Kept::filled(job.expects.captured_count(), value))
    }

    fn with(kept: Kept) -> Walk {
        Walk { kept, lacking: Vec::new(), held: Held::default(), has_begun: false }
    }

    /// The number of a value that the request for `operation` needs and that could not be taken.
    pub fn lacks(&self, values: &Values, operation: u32) -> Option<u32> {
        let needed = values.composition(operation)?.kept();
        needed.iter().copied().find(|number| self.lacking.contains(number))
    }

    /// The bytes that `arrival` of the run would send at this point. See [`composed`].
    pub fn composed<P: Protocol>(&self, job: &Job<P>, arrival: &Arrival) -> Option<Vec<u8>> {
        composed(job, &Arrival { slot: PLACE, ..*arrival }, &self.kept)
    }

    /// Sends the request of `arrival` like [`once_for`](crate::preflight::once_for), and keeps the values that its answer brings, even
    /// if the answer is judged a failure. In a journey that holds its connection it goes over that one and over no other
    /// ([`PreflightError::NotHeld`]). `None` if no row is left for it.
    pub fn step<P: Words + 'static>(
        &mut self,
        job: &Job<P>,
        arrival: &Arrival,
        timeout: Duration,
    ) -> Option<AskedOnce> {
        let arrival = Arrival { slot: PLACE, ..*arrival };
        let holds = job.plan.journeys().zip(arrival.journey());
        let holds = holds.is_some_and(|(paths, journey)| paths.holds_connection(journey));
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        if holds && has_begun && self.held.is_empty() {
            let tried = Tried::nothing(Err(PreflightError::NotHeld));
            return Some(AskedOnce { tried, taken: Vec::new() });
        }
        let held = holds.then_some(&self.held);
        let mut tried = once_on(job, &arrival, (&self.kept, held), timeout)?;
        let expect = job.expects.of(arrival.operation);
        let target = expect.redirects.as_ref().and_then(|redirects| redirects.target.as_ref());
        let target = target.map(|target| target_of(job, &arrival, &self.kept, target));
        let owner = u64::from(arrival.key.step);
        self.kept.begin(PLACE, owner, arrival.key);
        let taken = match (tried.reply, tried.then) {
            (None, _) => Vec::new(),
            (Some(reply), Then::Redirected(_)) => {
                tried.then = self.sent_on(owner, expect, reply.code, &tried.head, target);
                let cookies = expect.captures.iter().filter(|captured| captured.capture.adds());
                self.take(owner, &cookies.cloned().collect::<Vec<_>>(), &tried);
                Vec::new()
            }
            (Some(_), _) => self.take(owner, &expect.captures, &tried),
        };
        Some(AskedOnce { tried, taken })
    }

    /// What the journey does after a redirect. The request went to `target`, or else to where it was redirected
    /// before.
    fn sent_on(
        &mut self,
        owner: u64,
        expect: &Expect,
        status: u16,
        head: &[u8],
        target: Option<Vec<u8>>,
    ) -> Then {
        let Some(redirects) = expect.follows(status) else { return Then::Done };
        let followed = self.kept.rewrite((PLACE, owner), redirects.kept, |went| {
            let (base, mut new) = (target.unwrap_or_else(|| went.clone()), Vec::new());
            let operation = redirects.follow(status, head, &base, &mut new).ok()?;
            *went = new;
            Some(operation)
        });
        followed.flatten().map_or(Then::Done, Then::Redirected)
    }

    fn take(&mut self, owner: u64, captures: &[Captured], tried: &Tried) -> Vec<Result<Vec<u8>, String>> {
        let mut decoded = Vec::new();
        let is_whole = tried.reply.is_some_and(|reply| reply.body_bytes <= tried.body.len() as u64);
        let body = match Coding::of(&tried.head).decode(&tried.body, &mut decoded) {
            _ if !is_whole => Err("its body is too large to be looked at".to_string()),
            Ok(body) => Ok(body),
            Err(why) => Err(format!("its body can't be decoded: {why}")),
        };
        let one = |captured: &Captured| {
            let body = match &body {
                Err(why) if captured.capture.reads_body() => Err(why.clone()),
                body => Ok(body.as_ref().copied().unwrap_or_default()),
            };
            let value = body.and_then(|body| {
                let taken = match captured.capture.is_told() {
                    true => told(&captured.capture, &tried.told)
                        .and_then(|text| self.kept.put((PLACE, owner), captured.number, text)),
                    false => self.kept.take((PLACE, owner), captured, &tried.head, body),
                };
                taken.map_err(|why| why_missed(&captured.name, why))?;
                Ok(self.kept.value(PLACE, captured.number).to_vec())
            });
            self.lacking.retain(|number| *number != captured.number);
            if value.is_err() {
                self.lacking.push(captured.number);
            }
            value
        };
        captures.iter().map(one).collect()
    }
}

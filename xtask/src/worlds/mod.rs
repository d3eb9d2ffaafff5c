//! Hostile worlds: random servers, networks, generators and plans, in which the real dispatcher and recorder
//! are held against checkers that keep their own log and know only the rules.
//!
//! A world is a function of its seed, so that one that fails can be replayed; it is then made as small as it
//! can be while it still fails.

mod arrivals;
mod attempts;
mod bins;
mod books;
mod carried;
mod command;
mod distributions;
mod ends;
mod entry;
mod generate;
mod interval;
mod journeys;
mod lane;
mod owned;
mod paced;
mod parts;
mod percentiles;
mod recording;
mod round;
mod sends;
mod server;
mod shrink;
mod tally;
#[cfg(test)]
mod tests;
mod timeline;
mod together;
mod tries;
mod under_way;

pub use command::{USAGE, describe, worlds};

use books::Books;
use generate::Case;
use recording::{Entry, Recording, record};
use std::panic::{AssertUnwindSafe, catch_unwind};
use unblink_core::outcome::Outcome;
use unblink_core::plan::Plan;
use unblink_core::sim::{GeneratorSpec, SimPart, ZERO};
use unblink_core::time::{Instant, Nanos};

/// Returns an error, put together as by `format!`, unless the condition holds.
macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($message)+));
        }
    };
}
use hold;

/// How the violation begins of a world whose plan is none.
const NO_PLAN: &str = "not a plan";
/// How the violation begins of a world that goes on for ever.
const ENDLESS: &str = "panic: the run does not end";

/// What worlds amount to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sum {
    /// Worlds.
    pub worlds: u64,
    /// Arrivals that fell due in them.
    pub arrivals: u64,
    /// Events that were seen: turns, actions, requests at the server, hand-overs.
    pub events: u64,
}

impl Sum {
    /// Adds another sum.
    pub fn add(&mut self, other: Sum) {
        self.worlds += other.worlds;
        self.arrivals += other.arrivals;
        self.events += other.events;
    }
}

/// A world in which something was wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// What was wrong.
    pub violation: String,
    /// A smaller world in which something is wrong, too.
    pub smallest: String,
    /// What is wrong there.
    pub smallest_violation: String,
}

/// Runs the world of `seed` and checks it; one that fails is made smaller first.
pub fn run(seed: u64) -> Result<Sum, Box<Failure>> {
    let case = generate::case(seed);
    run_case(&case).map_err(|violation| {
        let (smallest, smallest_violation) = shrink::shrink(case, violation.clone(), run_case);
        Box::new(Failure { seed, violation, smallest: format!("{smallest:#?}"), smallest_violation })
    })
}

/// A panic in the product is a violation like any other.
fn run_case(case: &Case) -> Result<Sum, String> {
    catch_unwind(AssertUnwindSafe(|| run_workers(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn run_workers(case: &Case) -> Result<Sum, String> {
    let plan = generate::plan(case).map_err(|error| format!("{NO_PLAN}: {error}"))?;
    let mut sum = Sum { worlds: 1, ..Sum::default() };
    for worker in 0..plan.threads() {
        let recording = record(&plan, case, worker);
        sum.events += recording.log.len() as u64;
        sum.arrivals +=
            check(case, &plan, worker, &recording).map_err(|e| format!("worker {worker}: {e}"))?;
    }
    Ok(sum)
}

/// Every checker; gives the number of arrivals that fell due.
fn check(case: &Case, plan: &Plan, worker: u32, recording: &Recording) -> Result<u64, String> {
    server::check(case, &recording.log).map_err(|error| format!("server: {error}"))?;
    if plan.journeys().is_some() {
        return journeys::check(case, plan, worker, recording).map_err(|error| format!("journeys: {error}"));
    }
    let mut books = Books::new(plan, SimPart { worker, stop: case.stop }, case.world.room)?;
    let mut start = Nanos::ZERO;
    for (place, entry) in recording.log.iter().enumerate() {
        match entry {
            Entry::Seen(at, sight) => books.see(*at, sight)?,
            Entry::HandedOver(snapshot) => {
                let last = place + 1 == recording.log.len();
                interval::check(&mut books, snapshot, start, last)
                    .map_err(|error| format!("interval from {start:?}: {error}"))?;
                start += snapshot.length;
            }
        }
    }
    hold!(matches!(recording.log.last(), Some(Entry::HandedOver(_))), "the last interval is missing");
    accounts(case, plan, &mut books)?;
    distributions::check(case, &books, recording)?;
    Ok(books.entries.len() as u64)
}

/// Everything that was to fall due has, each arrival has ended, and the run lasted as long as it should.
fn accounts(case: &Case, plan: &Plan, books: &mut Books<'_>) -> Result<(), String> {
    if let Some(open) = books.entries.iter().find(|entry| entry.end.is_none()) {
        return Err(format!("{open:?} has not ended"));
    }
    let forgotten = if plan.is_open() { books.arrivals.next_due(Instant(u64::MAX)) } else { None };
    hold!(forgotten.is_none(), "(arrival, intended) {forgotten:?} was never looked at");
    let is_cut_off = |outcome| matches!(outcome, Outcome::Unfinished | Outcome::Unsent);
    let cut_off = books.entries.iter().any(|entry| entry.end.is_some_and(|end| is_cut_off(end.outcome)));
    let last_due = books.entries.last().map_or(ZERO, |entry| entry.intended);
    let (end, drain) = (books.now(), plan.drain());
    hold!(!cut_off || end >= last_due + drain, "cut off at {end:?}, less than {drain:?} after {last_due:?}");
    let perfect = case.world.generator == GeneratorSpec::default();
    let latest = books.arrivals.end.max(ZERO) + drain + Nanos(1);
    hold!(!perfect || end <= latest, "the run goes on until {end:?} instead of {latest:?}");
    Ok(())
}

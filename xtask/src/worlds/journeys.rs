//! Journeys, from the log alone and by the plainest rules: each request follows the answer before it by exactly its think time,
//! no step comes before the one in front of it, and what is recorded of journeys and steps adds up.

use super::arrivals::Arrivals;
use super::generate::Case;
use super::hold;
use super::owned::Owned;
use super::recording::{Entry, Recording};
use std::collections::HashMap;
use unblink_core::dispatch::{Action, ConnId, Event, FlightId};
use unblink_core::journey::{Paths, StepSpec, Think};
use unblink_core::plan::Plan;
use unblink_core::record::{Answer, Bank, Outcomes, Series, StepCounts};
use unblink_core::sim::{Sight, SimPart, ZERO};
use unblink_core::time::{Instant, Nanos};

/// Of an arrival's number, what says with which start it belongs; above that is how many requests came before it.
const UNIT: u64 = (1 << 48) - 1;

/// A request that stands alone, or a journey as far as it has come.
struct Unit {
    start: Instant,
    first_sent: Instant,
    /// Of the latest request: how many came before it, its operation, and when it was intended.
    asked: (u64, u32, Instant),
    /// Requests of the latest step.
    of_step: u16,
    /// Requests that were answered in time and as expected, and when the last of them was.
    good: u64,
    good_at: Instant,
    waited_in_vain: bool,
}

impl Unit {
    /// Everything that it has sent was answered as expected.
    fn has_all(&self) -> bool {
        self.good == self.asked.0 + 1
    }
}

/// What is counted of the measured requests of one operation.
#[derive(Clone, Copy, Default)]
struct Counts {
    sent: u64,
    ok: u64,
}

struct Log<'a> {
    plan: &'a Plan,
    paths: &'a Paths,
    /// When each arrival of the schedule is intended that is this worker's.
    starts: HashMap<u64, Instant>,
    measured_from: Instant,
    /// Arrivals under way, each with its connection.
    flights: HashMap<FlightId, (ConnId, u64)>,
    units: HashMap<u64, Unit>,
    /// By operation.
    counts: Vec<Counts>,
    /// Of all measured requests that were answered as expected, in ns.
    response_ns: u128,
}

/// Holds what `worker` has done and recorded against the rules. Gives how many requests fell due.
pub(super) fn check(case: &Case, plan: &Plan, worker: u32, recording: &Recording) -> Result<u64, String> {
    let Some(paths) = plan.journeys() else { return Err("there are no journeys".to_string()) };
    let mut arrivals = Arrivals::new(plan, SimPart { worker, stop: case.stop })?;
    let due = std::iter::from_fn(|| arrivals.next_due(Instant(u64::MAX)));
    let mut log = Log {
        plan,
        paths,
        starts: due.map(|due| (due.index, due.intended)).collect(),
        measured_from: ZERO + plan.measured_from(),
        flights: HashMap::new(),
        units: HashMap::new(),
        counts: vec![Counts::default(); plan.spec().idempotent.len()],
        response_ns: 0,
    };
    let mut owned = Owned::new(plan, paths, worker);
    for entry in &recording.log {
        if let Entry::Seen(_, sight) = entry {
            owned.see(sight, |arrival| arrival & UNIT)?;
        }
        match entry {
            Entry::Seen(at, Sight::Action(Action::Send { conn, flight, operation, arrival })) => {
                log.flights.insert(*flight, (*conn, *arrival));
                log.sent(*at, *operation, *arrival)?;
            }
            Entry::Seen(at, Sight::Turn(Event::Answered(flight, answer))) => {
                log.answered(*at, *flight, answer);
            }
            // Nobody hears of what was on a connection that is closed.
            Entry::Seen(_, Sight::Turn(Event::Closed(conn, _)) | Sight::Action(Action::Close(conn, _))) => {
                log.flights.retain(|_, (on, _)| on != conn);
            }
            _ => {}
        }
    }
    log.never_too_many()?;
    let total = &recording.total;
    owned.end(&total.counters.connections())?;
    let mut all = total.counters.measured;
    all.add(&total.counters.warmup);
    hold!(all.ended() == all.due, "{} fell due, {} ended", all.due, all.ended());
    let starts = log.starts.len() as u64;
    hold!(
        all.due == starts + all.followed,
        "{starts} started, {} followed, {} fell due",
        all.followed,
        all.due
    );
    log.requests(total)?;
    log.journeys(total)?;
    Ok(all.due)
}

impl Log<'_> {
    fn step(&self, operation: u32) -> Option<(usize, StepSpec)> {
        let journey = (0..self.paths.len())
            .find(|journey| self.paths.operations_of(*journey).contains(&(operation as usize)))?;
        let number = operation as usize - self.paths.operations_of(journey).start;
        let journeys = &self.plan.spec().mix.journeys.each;
        Some((journey, journeys[journey].steps[number]))
    }

    fn sent(&mut self, at: Instant, operation: u32, arrival: u64) -> Result<(), String> {
        let (number, before) = (arrival & UNIT, arrival >> 48);
        let intended = match self.units.get(&number) {
            Some(unit) if unit.asked.0 == before => {
                hold!(unit.asked.1 == operation, "{arrival} is sent again, and asks for something else");
                return Ok(());
            }
            Some(unit) => self.follows(unit, operation, before).map_err(|why| format!("{number}: {why}"))?,
            None => {
                hold!(before == 0, "{number} begins with its request {before}");
                hold!(
                    self.paths.can_come_first(operation as usize),
                    "{number} begins in the middle, with {operation}"
                );
                match self.starts.get(&number) {
                    Some(intended) => *intended,
                    None => return Err(format!("{number} is not in the schedule")),
                }
            }
        };
        hold!(at >= intended, "{arrival} is sent at {at:?}, before {intended:?}");
        let unit = self.units.entry(number).or_insert(Unit {
            start: intended,
            first_sent: at,
            asked: (before, operation, intended),
            of_step: 0,
            good: 0,
            good_at: intended,
            waited_in_vain: false,
        });
        unit.of_step = if unit.asked.1 == operation { unit.of_step + 1 } else { 1 };
        unit.asked = (before, operation, intended);
        self.counts[operation as usize].sent += u64::from(intended >= self.measured_from);
        Ok(())
    }

    /// When a request is intended that comes after what `unit` has asked for.
    fn follows(&self, unit: &Unit, operation: u32, before: u64) -> Result<Instant, String> {
        let (asked, last, _) = unit.asked;
        hold!(
            before == asked + 1 && unit.has_all(),
            "it asks for number {before}, and {} are answered",
            unit.good
        );
        let (Some((journey, step)), Some((of, left))) = (self.step(operation), self.step(last)) else {
            return Err(format!("{operation} follows {last}, and one of them stands alone"));
        };
        hold!(journey == of && operation >= last, "{operation} follows {last}");
        if operation == last {
            hold!(unit.of_step < step.repeat.1, "it asks {} times for {operation}", unit.of_step + 1);
        } else {
            hold!(unit.of_step >= left.repeat.0, "it leaves {last} after {} requests", unit.of_step);
            let passed = (last + 1..operation).filter_map(|between| self.step(between));
            for (_, skipped) in passed {
                hold!(
                    skipped.chance < unblink_core::journey::CERTAIN,
                    "a step before {operation} is left out"
                );
            }
        }
        match step.think {
            Think::Constant(time) => Ok(unit.good_at + time),
            _ => Err("a think time that is not known here".to_string()),
        }
    }

    fn answered(&mut self, at: Instant, flight: FlightId, answer: &Answer) {
        let Some((_, arrival)) = self.flights.remove(&flight) else { return };
        let operation = self.units.get(&(arrival & UNIT)).map(|unit| unit.asked.1);
        let until = operation.and_then(|operation| self.step(operation)).and_then(|(_, step)| step.until);
        let Some(unit) = self.units.get_mut(&(arrival & UNIT)) else { return };
        let (before, operation, intended) = unit.asked;
        let is_late = at.since(intended) > self.plan.spec().timeout;
        if before != arrival >> 48 || answer.failure.is_some() || is_late {
            return;
        }
        // What comes behind the time that a step waits for is answered, and in vain.
        let within = until.map_or(Nanos(u64::MAX), |until| until.within);
        match at.since(intended) > within {
            true => unit.waited_in_vain = true,
            false => (unit.good, unit.good_at) = (before + 1, at),
        }
        if intended >= self.measured_from {
            self.counts[operation as usize].ok += 1;
            self.response_ns += u128::from(at.since(intended).0);
        }
    }

    /// From its first request to its last answer a journey is under way for certain.
    fn never_too_many(&self) -> Result<(), String> {
        let is_journey = |unit: &&Unit| unit.asked.1 as usize >= self.paths.plain();
        let mut changes: Vec<(Instant, i64)> = Vec::new();
        for unit in self.units.values().filter(is_journey).filter(|unit| unit.good_at > unit.first_sent) {
            changes.extend([(unit.first_sent, 1), (unit.good_at, -1)]);
        }
        // Of one moment, those that end come first.
        changes.sort_unstable();
        let (mut now, mut most) = (0, 0);
        for (_, change) in changes {
            now += change;
            most = most.max(now);
        }
        let max = self.paths.under_way_max() as i64;
        hold!(most <= max, "{most} journeys are under way, {max} allowed");
        Ok(())
    }

    /// What is recorded of each operation, and of all together.
    fn requests(&self, total: &Bank<u64>) -> Result<(), String> {
        let mut sum = Outcomes::default();
        for (operation, (of, counted)) in total.operations.iter().zip(&self.counts).enumerate() {
            let Outcomes { due, sent, ok, .. } = of.outcomes;
            hold!(of.outcomes.ended() == due, "{operation}: {due} fell due, {} ended", of.outcomes.ended());
            hold!(
                (sent, ok) == (counted.sent, counted.ok),
                "{operation}: {sent} sent and {ok} ok, it was {} and {}",
                counted.sent,
                counted.ok
            );
            sum.add(&of.outcomes);
        }
        let measured = &total.counters.measured;
        let counted = self.counts.iter().map(|of| of.ok).sum::<u64>();
        hold!(measured.ok == counted, "{} ok, it was {counted}", measured.ok);
        hold!(
            total.operations.is_empty() || sum.due == measured.due,
            "operations: {} of {}",
            sum.due,
            measured.due
        );
        let response = total.track(Series::Response).sum_ns;
        hold!(response == self.response_ns, "responses took {response} ns, it was {} ns", self.response_ns);
        Ok(())
    }

    fn journeys(&self, total: &Bank<u64>) -> Result<(), String> {
        let mut due = 0;
        for (journey, of) in total.journeys.iter().take(self.paths.len()).enumerate() {
            due += of.outcomes.due;
            self.journey(journey, total).map_err(|why| format!("journey {journey}: {why}"))?;
        }
        // The others stand alone.
        let alone = self.starts.values().filter(|start| **start >= self.measured_from).count() as u64;
        let plain: u64 = total.operations.iter().take(self.paths.plain()).map(|of| of.outcomes.due).sum();
        hold!(
            total.operations.is_empty() || due + plain == alone,
            "{due} journeys and {plain} others of {alone}"
        );
        Ok(())
    }

    fn journey(&self, journey: usize, total: &Bank<u64>) -> Result<(), String> {
        let places = self.paths.operations_of(journey);
        let steps = &total.steps[places.start - self.paths.plain()..places.end - self.paths.plain()];
        let Some(record) = total.journeys.get(journey) else { return Err("it is not recorded".to_string()) };
        let Outcomes { due, ok, timed_out, unfinished, unsent, .. } = record.outcomes;
        let failed = record.outcomes.failed_total();
        hold!(ok + failed + timed_out + unfinished + unsent == due, "{due} fell due: {:?}", record.outcomes);
        let mut came = due;
        for (number, step) in steps.iter().enumerate() {
            hold!(step.entered == came, "{came} came to step {number}: {step:?}");
            hold!(step.entered == step.left(), "step {number}: {step:?}");
            let goes_on = (step.passed + step.skipped).checked_sub(step.exited + step.thinking);
            let Some(next) = goes_on else { return Err(format!("more leave step {number}: {step:?}")) };
            came = next;
        }
        let sum = |of: fn(&StepCounts) -> u64| steps.iter().map(of).sum::<u64>();
        let (thinking, exited) = (sum(|step| step.thinking), sum(|step| step.exited));
        hold!(came + exited == ok, "{came} passed the last step and {exited} left before, {ok} completed");
        let ended =
            [sum(|s| s.failed), sum(|s| s.timed_out), sum(|s| s.unfinished) + thinking, sum(|s| s.unsent)];
        hold!(ended == [failed, timed_out, unfinished, unsent], "steps: {ended:?}, {:?}", record.outcomes);
        let known = [Series::Response, Series::ResponseCensored].map(|series| record.sums(series).count);
        hold!(known == [ok, timed_out + unfinished + unsent], "times {known:?}: {:?}", record.outcomes);
        // With a warm-up, requests of journeys that began in it are measured, too.
        let units: Vec<&Unit> =
            self.units.values().filter(|unit| places.contains(&(unit.asked.1 as usize))).collect();
        if self.measured_from > ZERO || total.operations.is_empty() {
            return Ok(());
        }
        let of_operations = |of: fn(&Outcomes) -> u64| -> u64 {
            total
                .operations
                .iter()
                .skip(places.start)
                .take(places.len())
                .map(|record| of(&record.outcomes))
                .sum()
        };
        hold!(sum(|step| step.requests) == of_operations(|of| of.due), "requests: {steps:?}");
        hold!(failed == of_operations(Outcomes::failed_total), "{failed} failed");
        let in_vain = units.iter().filter(|unit| unit.waited_in_vain).count() as u64;
        let late = of_operations(|of| of.timed_out);
        hold!(
            timed_out == late + in_vain,
            "{timed_out} timed out, {late} requests did, {in_vain} waited in vain"
        );
        // Whoever was cut off at a step and had no request there thought between two of them.
        let cut_off = of_operations(|of| of.unfinished + of.unsent) - unsent;
        let Some(between) = sum(|step| step.unfinished).checked_sub(cut_off) else {
            return Err(format!("{cut_off} requests were cut off: {steps:?}"));
        };
        // Whose last answer was good has come to its end, or thinks, or waits to be sent.
        let good = units.iter().filter(|unit| unit.has_all()).count() as u64;
        let never_sent = of_operations(|of| of.due - of.sent) - (due - units.len() as u64);
        hold!(
            good == ok + thinking + between + never_sent,
            "{good} have what they asked for: {ok} completed, {thinking} and {between} think, {never_sent} wait"
        );
        if good == ok {
            let took = |unit: &&&Unit| unit.has_all();
            let times = units.iter().filter(took).map(|unit| u128::from(unit.good_at.since(unit.start).0));
            let (expected, told) = (times.sum::<u128>(), record.sums(Series::Response).sum_ns);
            let is_long = plan_is_long(self.plan);
            hold!(is_long || expected == told, "journeys took {told} ns, it was {expected} ns");
        }
        Ok(())
    }
}

/// Longer times than a histogram holds may be recorded.
fn plan_is_long(plan: &Plan) -> bool {
    plan.load_length() + plan.drain() > Nanos::from_secs(3_000)
}

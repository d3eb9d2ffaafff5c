//! Which arrivals stand for what a run asks: of each request the first one that asks for it.

use anyhow::{Result, anyhow, bail};
use std::num::NonZeroU8;
use unblink_core::arrival::{Arrival, UNIT_BITS};
use unblink_core::journey::Leg;
use unblink_core::plan::Plan;
use unblink_engine::preflight::not_of_the_run;

/// Requests and journeys at the most: a long list of targets is not gone through.
const ASKED_MAX: usize = 256;

/// One request to be sent.
pub(super) struct Ask {
    pub arrival: Arrival,
    /// The run sends the same as this one of its arrivals.
    pub number: Option<u64>,
    pub notes: Vec<String>,
    /// When the run sends it is known beforehand.
    pub is_timed: bool,
    /// Its journey would leave it out.
    pub is_skipped: bool,
}

/// What is sent by itself, or one after the other.
pub(super) enum Once {
    Alone(Ask),
    Journey { number: usize, steps: Vec<Ask> },
}

/// Everything that the run asks for, and how much more there is.
pub(super) fn all(plan: &Plan) -> (Vec<Once>, u64) {
    let firsts = plan.first_arrivals();
    let left_out = firsts.len().saturating_sub(ASKED_MAX) as u64;
    let each = firsts.into_iter().take(ASKED_MAX).enumerate();
    (
        each.map(|(entry, first)| {
            once(plan, first.unwrap_or_else(|| no_arrival(plan, entry)), first.is_some())
        })
        .collect(),
        left_out,
    )
}

/// What the arrival with this number asks for.
pub(super) fn of_arrival(plan: &Plan, number: u64) -> Result<Once> {
    if plan.journeys().is_some() && number >> UNIT_BITS > 0 {
        let start = number & ((1 << UNIT_BITS) - 1);
        bail!(
            "--arrival {number}: this is a later request of the journey that begins with arrival {start}, and follows from \
             the answers before it: try --arrival {start}"
        );
    }
    match plan.arrival(number) {
        Some(arrival) => Ok(once(plan, arrival, true)),
        None => bail!("--arrival {number}: this run has no arrival with this number"),
    }
}

/// The request of the arrival with this number, which may be a later one of a journey.
pub(super) fn one(plan: &Plan, number: u64) -> Result<Ask> {
    let unknown = || anyhow!("--arrival {number}: this run has no arrival with this number");
    let Some(paths) = plan.journeys() else {
        let arrival = plan.arrival(number).ok_or_else(unknown)?;
        return Ok(Ask {
            arrival,
            number: Some(number),
            notes: Vec::new(),
            is_timed: plan.is_open() || arrival.begins,
            is_skipped: false,
        });
    };
    let (start, step) = (number & ((1 << UNIT_BITS) - 1), number >> UNIT_BITS);
    let start = plan.arrival(start).ok_or_else(unknown)?;
    let arrival = match (step, start.journey()) {
        (0, _) => start,
        (_, None) => return Err(unknown()),
        (step, Some(journey)) => {
            let legs = paths.legs(journey, start.key);
            let has = |leg: &&Leg| {
                (u64::from(leg.first)..u64::from(leg.first) + u64::from(leg.requests)).contains(&step)
            };
            if legs.iter().any(|leg| leg.is_open && u64::from(leg.first) < step) {
                bail!(
                    "--arrival {number}: its journey asked until it had its answer or followed redirects, in this step or \
                     before it, and how often is not kept, so what this request sent can't be drawn again"
                );
            }
            let leg = legs.iter().find(has).ok_or_else(unknown)?;
            start.following(step as u32, leg.operation, start.intended)
        }
    };
    Ok(Ask { arrival, number: Some(number), notes: Vec::new(), is_timed: step == 0, is_skipped: false })
}

/// A stand-in where no arrival of the run asks for an entry of the mix.
fn no_arrival(plan: &Plan, entry: usize) -> Arrival {
    match plan.journeys().filter(|paths| entry >= paths.plain()) {
        None => not_of_the_run(entry as u32),
        Some(paths) => {
            let journey = entry - paths.plain();
            let first = paths.operations_of(journey).start as u32;
            Arrival { journey: NonZeroU8::new(journey as u8 + 1), ..not_of_the_run(first) }
        }
    }
}

fn once(plan: &Plan, arrival: Arrival, is_of_run: bool) -> Once {
    let ask = |arrival: Arrival, is_timed: bool| {
        let note = "no arrival of this run asks for it, so its values are those of none";
        let notes = if is_of_run { Vec::new() } else { vec![note.to_string()] };
        Ask { arrival, number: is_of_run.then_some(arrival.index), notes, is_timed, is_skipped: false }
    };
    let (Some(paths), Some(journey)) = (plan.journeys(), arrival.journey()) else {
        return Once::Alone(ask(arrival, plan.is_open() || arrival.begins));
    };
    let mut follows_open = false;
    let step = |leg: Leg| {
        let own = match leg.first {
            0 => arrival,
            first => arrival.following(first, leg.operation, arrival.intended),
        };
        let mut ask = ask(own, leg.first == 0);
        match leg.requests {
            0 => {
                ask.number = None;
                ask.is_skipped = true;
                ask.notes.push("this journey would skip it, as drawn".into());
            }
            1 => {}
            n => ask.notes.push(format!("this journey asks it {n} times; this is the first")),
        }
        if follows_open {
            ask.notes.push(
                "a step before it asks until it has its answer, or follows redirects: its number is that after one request"
                    .into(),
            );
        }
        follows_open |= leg.is_open;
        ask
    };
    Once::Journey { number: journey, steps: paths.legs(journey, arrival.key).into_iter().map(step).collect() }
}

//! The first requests of a plan as they will be sent, and what its requests weigh.

use super::picture::{cut, wrapped};
use crate::request::url::Speaks;
use crate::request::version::Operations;
use crate::run::Planned;
use unblink_core::arrival::Arrival;
use unblink_core::journey::Leg;
use unblink_core::load::Load;
use unblink_core::plan::Plan;
use unblink_core::time::{Instant, Nanos};
use unblink_report::format;
use unblink_wire::blank::place;
use unblink_wire::http1::Request;
use unblink_workload::{Composer, Values};

/// Arrivals that are shown.
const SHOWN: usize = 5;
/// Arrivals whose bytes are counted, and how many bytes they have at the most.
const WEIGHED: usize = 1_000;
const BYTES_MAX: u64 = 64 << 20;
const START: Instant = Instant(0);

/// The first requests of a load, and how many bytes they have; of users who wait, the first of each. What comes out of files and
/// answers is masked.
pub(super) fn of(planned: &Planned, columns: usize) -> String {
    let Planned { plan, requests, values, .. } = planned;
    let Operations::One(operations) = &requests.operations else { return String::new() };
    let speaks = requests.origins.first().map_or(Speaks::Http, |origin| origin.speaks);
    // What a script makes of them is not known before it is run.
    if values.is_none() && operations.iter().any(|request| request.blank.is_some()) {
        return String::new();
    }
    let composer = values.as_ref().map(|values| (values, Composer::new(values, plan)));
    let mut writing = Writing { plan, operations, names: &requests.numbered, composer };
    let (mut lines, mut weights, mut all) = (String::new(), Vec::new(), 0u64);
    for arrival in arrivals(plan) {
        let legs = legs(plan, &arrival);
        let Some(first) = legs.iter().find(|(_, times)| *times > 0) else { continue };
        if weights.len() < SHOWN
            && let Some(line) = writing.line(&first.0, &legs, columns)
        {
            lines += &line;
        }
        let weigh = |sum: Option<u64>, (asked, times): &(Arrival, u16)| {
            let (length, body) = writing.weigh(asked)?;
            // A message has no head.
            let length = if speaks == Speaks::Http { length } else { body };
            Some(sum? + length as u64 * u64::from(*times))
        };
        let Some(weight) = legs.iter().fold(Some(0), weigh) else { continue };
        weights.push(weight);
        all += weight;
        if all > BYTES_MAX {
            break;
        }
    }
    if weights.is_empty() {
        return String::new();
    }
    let has_journeys = plan.journeys().is_some();
    let weight = match speaks {
        Speaks::Http if has_journeys => weight(planned, "head and bodies of all its requests, ", &weights),
        Speaks::Http => weight(planned, "head and body, ", &weights),
        Speaks::WebSocket => weight(planned, "without its frame, ", &weights),
        // As it is written here, none of these is sent.
        Speaks::Grpc | Speaks::Redis | Speaks::Postgres | Speaks::Cql => String::new(),
    };
    let said = match has_journeys {
        true => "The first requests, each with the bytes of its body; a journey by its first",
        false if !plan.is_open() => "The first requests, one of each user, each with the bytes of its body",
        false => "The first requests, each with the bytes of its body",
    };
    format!("\n{}{lines}{}", wrapped(said, columns), wrapped_or_nothing(&weight, columns))
}

fn wrapped_or_nothing(text: &str, columns: usize) -> String {
    if text.is_empty() { String::new() } else { wrapped(text, columns) }
}

/// The first arrivals of all workers, in the order of their intended times.
fn arrivals(plan: &Plan) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    for shard in 0..plan.threads() {
        if let Some(load) = plan.open_load(START, shard) {
            draw(load, &mut arrivals);
        } else if let Some(load) = plan.journeys_load(START, shard) {
            draw(load, &mut arrivals);
        } else if let Some(load) = plan.closed_load(START, shard) {
            // The next ones come when these are answered.
            draw(load, &mut arrivals);
        }
    }
    arrivals.sort_by_key(|arrival| (arrival.intended, arrival.index));
    arrivals.truncate(WEIGHED);
    arrivals
}

fn draw(mut load: impl Load, arrivals: &mut Vec<Arrival>) {
    let before = arrivals.len();
    while arrivals.len() < before + WEIGHED
        && let Some(due) = load.next_due().filter(|due| *due < load.end())
    {
        load.advance(due, |arrival| arrivals.push(arrival));
    }
}

/// What an arrival asks, and how often: one request, or each step of its journey as it is drawn. Of a step that asks until
/// it has its answer, the first request.
fn legs(plan: &Plan, arrival: &Arrival) -> Vec<(Arrival, u16)> {
    let (Some(paths), Some(journey)) = (plan.journeys(), arrival.journey()) else {
        return vec![(*arrival, 1)];
    };
    let asked = |leg: Leg| match leg.first {
        0 => (*arrival, leg.requests),
        first => (arrival.following(first, leg.operation, arrival.intended), leg.requests),
    };
    paths.legs(journey, arrival.key).into_iter().map(asked).collect()
}

/// Writes requests as the run will.
struct Writing<'a> {
    plan: &'a Plan,
    operations: &'a [Request],
    names: &'a [String],
    composer: Option<(&'a Values, Composer)>,
}

impl Writing<'_> {
    /// The bytes of a request with its body, and those of its body. None where there is nothing left to fill it with.
    fn weigh(&mut self, arrival: &Arrival) -> Option<(usize, usize)> {
        let request = &self.operations[arrival.operation as usize];
        let (Some(blank), Some((values, composer))) = (&request.blank, &mut self.composer) else {
            return Some((request.length(), request.body.len()));
        };
        if !composer.draw(values, self.plan, arrival, START) {
            return None;
        }
        let written = [0, 1].map(|part| {
            let mut out = Vec::new();
            blank[part].write(|number, out| composer.write(values, number, out), &mut out);
            out.len()
        });
        // The length of a body is known once it is written.
        let of_length = if blank[1].has_gaps() { written[1].to_string().len() } else { 0 };
        Some((written[0] + of_length + written[1], written[1]))
    }

    fn line(&mut self, asked: &Arrival, legs: &[(Arrival, u16)], columns: usize) -> Option<String> {
        let (_, body) = self.weigh(asked)?;
        let text = self.names.get(asked.operation as usize);
        let mut text = text.cloned().unwrap_or_else(|| format!("target {}", asked.operation + 1));
        if let Some((values, composer)) = &mut self.composer {
            text = filled(text, values, asked.operation, composer);
        }
        let at = format::plain(&format::moment(asked.intended.since(START).0));
        let mut more = match body {
            0 => String::new(),
            body => format!("  + {}", format::plain(&format::bytes(body as u64))),
        };
        match legs.iter().map(|(_, times)| u64::from(*times)).sum::<u64>() - 1 {
            0 => {}
            1 => more += ", then 1 more",
            others => more += &format!(", then {others} more"),
        }
        let room = columns.saturating_sub(12 + more.chars().count());
        Some(format!("  {at:>8}  {}{more}\n", cut(&text, room)))
    }
}

/// What arrivals weigh, those of HTTP as HTTP/1.1 writes them; `of_what` says what is weighed.
fn weight(planned: &Planned, of_what: &str, weights: &[u64]) -> String {
    let plan = &planned.plan;
    let length = plan.load_length() - plan.spec().warmup;
    let scheduled = plan.scheduled(plan.spec().warmup, plan.load_length());
    let mean = weights.iter().sum::<u64>() as f64 / weights.len() as f64;
    let bytes = |n: f64| format::bytes(n.round() as u64);
    let mut said = format!(
        "Of the first {} {}, each has {} on average, {of_what}and at most {}",
        format::count(weights.len() as u64),
        if plan.journeys().is_some() { "arrivals" } else { "requests" },
        bytes(mean),
        bytes(weights.iter().copied().max().unwrap_or_default() as f64)
    );
    if let Some(scheduled) = scheduled.filter(|_| length > Nanos::ZERO) {
        let per_s = scheduled.measured as f64 / length.as_secs_f64();
        said += &format!(": {}/s at {}", bytes(mean * per_s), format::rate(per_s));
    }
    said.push('.');
    if plan.journeys().is_some() {
        said += " What answers bring is left out, and what is asked until an answer comes is counted once.";
    }
    format::plain(&said)
}

/// `text` with what stands in its numbered places.
fn filled(mut text: String, values: &Values, operation: u32, composer: &mut Composer) -> String {
    let Some(composition) = values.composition(operation) else { return text };
    for number in 0..composition.places() {
        if !text.contains(&place(number)) {
            continue;
        }
        let drawn = match composition.is_public(number, values.lets()) {
            true => {
                let mut out = Vec::new();
                composer.write(values, number, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
            false => "***".to_string(),
        };
        text = text.replace(&place(number), &drawn);
    }
    text
}

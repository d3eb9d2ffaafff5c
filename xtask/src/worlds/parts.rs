//! What was recorded apart, of single operations, loads and origins, against the books.

use super::bins::same;
use super::entry::Entry;
use super::hold;
use std::collections::HashMap;
use unblink_core::code::Code;
use unblink_core::outcome::Outcome;
use unblink_core::record::{Bank, Operations, Outcomes, RECORDABLE_MAX, Series};
use unblink_core::sim::ZERO;
use unblink_core::time::{Instant, Nanos};

/// What the arrivals of one operation or of one load have come to.
#[derive(Clone)]
pub(super) struct Part {
    /// Those of [`Series::BY_OPERATION`].
    lists: [Vec<u64>; Series::BY_OPERATION.len()],
    outcomes: Outcomes,
    codes: [u64; Code::COUNT],
}

impl Default for Part {
    fn default() -> Part {
        Part { lists: Default::default(), outcomes: Outcomes::default(), codes: [0; Code::COUNT] }
    }
}

impl Part {
    pub(super) fn add(&mut self, entry: &Entry, timeout: Nanos) {
        let of = &mut self.outcomes;
        of.due += 1;
        of.sent += u64::from(entry.sent.is_some());
        of.add(&Outcomes { retries: entry.tries, ..Outcomes::default() });
        for (series, value) in durations(entry, timeout) {
            self.lists[series as usize].push(value.0.min(RECORDABLE_MAX.0));
        }
        let Some(end) = entry.end else { return };
        if let Some(code) = end.code {
            self.codes[code.index()] += 1;
        }
        match end.outcome {
            Outcome::Ok => of.ok += 1,
            Outcome::Failed(kind) => of.failed[kind.index()] += 1,
            Outcome::TimedOut => {
                of.timed_out += 1;
                of.timed_out_never_sent += u64::from(entry.sent.is_none());
            }
            Outcome::Unfinished => of.unfinished += 1,
            Outcome::Unsent => of.unsent += 1,
        }
    }
}

/// What the end of an arrival says of response and service time: that they were so long, or are longer. Of the attempts
/// that were given up it is known that their service takes longer.
pub(super) fn durations(entry: &Entry, timeout: Nanos) -> impl Iterator<Item = (Series, Nanos)> {
    let (series, until) = match entry.end.map(|end| (end.outcome, end.at)) {
        None | Some((Outcome::Failed(_), _)) => (None, ZERO),
        Some((Outcome::Ok, at)) => (Some((Series::Response, Series::Service)), at),
        Some((outcome, at)) => {
            let until = if outcome == Outcome::TimedOut { entry.intended + timeout } else { at };
            (Some((Series::ResponseCensored, Series::ServiceCensored)), until)
        }
    };
    let response = series.map(|(response, _)| (response, until.since(entry.intended)));
    let service = series.zip(entry.attempt).map(|((_, service), sent)| (service, until.since(sent)));
    let given_up = entry.given_up.into_iter().flatten().map(|age| (Series::ServiceCensored, age));
    response.into_iter().chain(service).chain(given_up)
}

/// Each place holds what its arrivals have come to; there is none where there is one of them only.
pub(super) fn check(recorded: &Operations<u64>, expected: &[Part]) -> Result<(), String> {
    let places = if expected.len() > 1 { expected.len() } else { 0 };
    hold!(recorded.len() == places, "recorded at {} places instead of {places}", recorded.len());
    for (i, (part, expected)) in recorded.iter().zip(expected).enumerate() {
        for series in Series::BY_OPERATION {
            same(&recorded.track(i, series), &expected.lists[series as usize])
                .map_err(|error| format!("{i}, {}: {error}", series.name()))?;
        }
        hold!(part.codes == expected.codes, "{i}: its codes are others");
        let of = &part.outcomes;
        // These depend on the load's end and on whose fault it was, which is asked of all arrivals together.
        let Outcomes { sent_in_load, timed_out_pool_full, .. } = *of;
        let Outcomes { timed_out_never_sent_own, timed_out_hindered, failed_hindered, unsent_own, .. } = *of;
        let expected = Outcomes {
            sent_in_load,
            timed_out_pool_full,
            timed_out_never_sent_own,
            unsent_own,
            timed_out_hindered,
            failed_hindered,
            ..expected.outcomes
        };
        hold!(*of == expected, "{i}: {of:?}, it was {expected:?}");
    }
    Ok(())
}

/// What is kept to test the process of a load by is of that load, and as it is in the books.
pub(super) fn samples(total: &Bank<u64>, measured: &[&Entry]) -> Result<(), String> {
    let by_index: HashMap<u64, &&Entry> = measured.iter().map(|entry| (entry.index, entry)).collect();
    let offset = |at: Instant| Instant(at.since(ZERO).0);
    let places = total.loads.len().max(1);
    hold!(total.samples.len() == places, "samples of {} loads instead of {places}", total.samples.len());
    for (load, sample) in (0..).zip(&total.samples) {
        for kept in sample.as_slice() {
            let is_same = |entry: &&&Entry| {
                (entry.key.load, offset(entry.intended), entry.sent.map(offset))
                    == (load, kept.intended, kept.sent)
            };
            // Of n loads every n-th number of the run is of this one.
            let index = kept.index * places as u64 + u64::from(load);
            let known = by_index.get(&index).filter(|entry| is_same(entry));
            hold!(known.is_some(), "{kept:?} of load {load} is not in the books");
        }
    }
    Ok(())
}

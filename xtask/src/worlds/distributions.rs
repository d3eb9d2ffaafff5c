//! What a whole run recorded against sorted lists from the books: every bin of every distribution, sums,
//! maxima, the heat grid, and whose fault the waiting was.

use super::bins::same;
use super::books::Books;
use super::entry::{End, Entry};
use super::generate::Case;
use super::hold;
use super::parts::{self, Part};
use super::percentiles;
use super::recording::Recording;
use std::collections::BTreeMap;
use unblink_core::heat::{BINS, CENSORED_ROW, FAILED_ROW};
use unblink_core::outcome::Outcome;
use unblink_core::plan::{LoadSpec, OPERATIONS_APART_MAX};
use unblink_core::record::{Bank, RECORDABLE_MAX, Series};
use unblink_core::sim::{GeneratorSpec, ZERO};
use unblink_core::time::{Instant, MILLISECOND_NS, Nanos};

/// Durations by what they measure, in nanoseconds.
#[derive(Default)]
struct Lists {
    by_series: [Vec<u64>; Series::ALL.len()],
    by_operation: Vec<Part>,
    by_load: Vec<Part>,
    by_origin: Vec<Part>,
}

pub(super) fn check(case: &Case, books: &Books<'_>, recording: &Recording) -> Result<(), String> {
    let total = &recording.total;
    let measured: Vec<&Entry> = books.entries.iter().filter(|entry| entry.measured).collect();
    let lists = collect(&measured, books, case, places(case));
    for series in Series::ALL {
        let list = &lists.by_series[series as usize];
        // How the send lag is shared out, and what the generator's own part was, are questions of bounds, below.
        if !matches!(series, Series::GeneratorLate | Series::Hindered | Series::Unhindered) {
            same(total.track(series), list).map_err(|error| format!("{}: {error}", series.name()))?;
        }
    }
    parts::check(&total.operations, &lists.by_operation).map_err(|error| format!("operation {error}"))?;
    parts::check(&total.loads, &lists.by_load).map_err(|error| format!("load {error}"))?;
    parts::check(&total.origins, &lists.by_origin).map_err(|error| format!("origin {error}"))?;
    parts::samples(total, &measured)?;
    for (done, open) in
        [(Series::Response, Series::ResponseCensored), (Series::Service, Series::ServiceCensored)]
    {
        let (known, ages) = (&lists.by_series[done as usize], &lists.by_series[open as usize]);
        percentiles::check(total.track(done), total.track(open), known, ages)
            .map_err(|error| format!("{}: {error}", done.name()))?;
    }
    let ok = measured.iter().filter_map(|e| e.end.filter(|end| end.outcome == Outcome::Ok));
    let last_ok = ok.map(|end| end.at.since(ZERO)).max();
    hold!(recording.last_ok == last_ok, "last ok at {:?}, it was {last_ok:?}", recording.last_ok);
    heat(total, &measured)?;
    blame(case, books, total, &measured)
}

/// What is recorded apart: so many operations, loads and origins.
fn places(case: &Case) -> [usize; 3] {
    let loads = match &case.plan.load {
        LoadSpec::Several(parts) => parts.len(),
        LoadSpec::Open { .. }
        | LoadSpec::Recorded(_)
        | LoadSpec::RecordedUsers(_)
        | LoadSpec::Closed { .. } => 1,
    };
    [case.plan.idempotent.len().min(OPERATIONS_APART_MAX), loads, case.plan.origins.count()]
}

fn collect(measured: &[&Entry], books: &Books<'_>, case: &Case, places: [usize; 3]) -> Lists {
    let timeout = case.plan.timeout;
    let [by_operation, by_load, by_origin] = places.map(|n| vec![Part::default(); n]);
    let mut lists = Lists { by_operation, by_load, by_origin, ..Lists::default() };
    let mut put = |series: Series, value: Nanos| {
        lists.by_series[series as usize].push(value.0.min(RECORDABLE_MAX.0));
    };
    books.connects.iter().for_each(|&time| put(Series::Connect, time));
    for entry in measured {
        let operation = (lists.by_operation.len() - 1).min(entry.operation as usize);
        let origin = case.plan.origins.of(entry.operation);
        let parts = [
            lists.by_operation.get_mut(operation),
            lists.by_load.get_mut(entry.key.load as usize),
            lists.by_origin.get_mut(origin),
        ];
        parts.into_iter().flatten().for_each(|part| part.add(entry, timeout));
        if let Some(sent) = entry.sent {
            put(Series::SendLag, sent.since(entry.intended));
        }
        parts::durations(entry, timeout).for_each(|(series, value)| put(series, value));
        match (entry.end, entry.attempt) {
            (Some(End { at, outcome: Outcome::Ok, .. }), sent) => {
                // The simulated network delivers an answer in one piece.
                put(Series::FirstByte, at.since(sent.unwrap_or(at)));
                put(Series::Transfer, Nanos::ZERO);
            }
            (Some(End { at, outcome: Outcome::Failed(_), .. }), _) => {
                put(Series::Failed, at.since(entry.intended));
            }
            _ => {}
        }
    }
    lists
}

/// Each arrival stands in the column of its intended time and in the row of its response time.
fn heat(total: &Bank<u64>, measured: &[&Entry]) -> Result<(), String> {
    let width = total.heat.column_width().0;
    hold!(width.is_multiple_of(100 * MILLISECOND_NS), "columns of {width} ns");
    let edges: Vec<f64> = (0..BINS).map(|i| 10f64.powf(3.0 + i as f64 / 12.0).round()).collect();
    let mut expected = BTreeMap::<(usize, usize), u32>::new();
    for entry in measured {
        let Some(end) = entry.end else { continue };
        let row = match end.outcome {
            Outcome::Ok => {
                let response = end.at.since(entry.intended).0 as f64;
                edges.iter().rposition(|&edge| edge <= response).unwrap_or(0)
            }
            Outcome::Failed(_) => FAILED_ROW,
            _ => CENSORED_ROW,
        };
        let column = (entry.intended.since(ZERO).0 / width) as usize;
        *expected.entry((column, row)).or_default() += 1;
    }
    let counted: BTreeMap<_, _> = total.heat.nonzero().map(|(column, row, n)| ((column, row), n)).collect();
    let differing = expected.iter().find(|(cell, n)| counted.get(*cell) != Some(*n));
    hold!(differing.is_none(), "heat: the cell (column, row) with its count should be {differing:?}");
    hold!(counted.len() == expected.len(), "heat: {} cells of {}", counted.len(), expected.len());
    Ok(())
}

/// The causes of send lag add up to it, and each stays within what can be said from outside.
fn blame(case: &Case, books: &Books<'_>, total: &Bank<u64>, measured: &[&Entry]) -> Result<(), String> {
    let lag = total.counters.lag;
    let late = total.track(Series::GeneratorLate);
    let parts = [lag.no_connection_ns, lag.connecting_ns, lag.no_room_ns, lag.generator_ns];
    let parts: u128 = parts.into_iter().map(u128::from).sum();
    hold!(parts == total.track(Series::SendLag).sum_ns, "{lag:?} does not add up to the send lag");
    hold!(late.sum_ns == u128::from(lag.generator_ns), "generator late for {} ns, {lag:?}", late.sum_ns);
    hold!(late.count() == total.counters.measured.sent, "generator late counts {}", late.count());
    let waited = lag.no_connection + lag.connecting + lag.no_room;
    hold!(waited <= late.count(), "{lag:?} of {} sent", late.count());
    hold!(case.world.room.places > 1 || lag.no_room == 0, "connections with one place have no room: {lag:?}");
    let (mut least, mut most) = (0, 0);
    for entry in measured {
        let Some(sent) = entry.sent else { continue };
        // With a usable connection there nothing but the generator stands between an arrival and its sending;
        // and it is to blame besides for not having looked.
        let usable = sent.since(entry.intended.max(entry.usable_since));
        least += u128::from(usable.0);
        // A closed user whose request expires within a turn, after the look at what is due, is seen in the next.
        let looked = books.turns.partition_point(|turn| match case.plan.load {
            LoadSpec::Closed { .. } | LoadSpec::RecordedUsers(_) => *turn <= entry.intended,
            LoadSpec::Open { .. } | LoadSpec::Several(_) | LoadSpec::Recorded(_) => *turn < entry.intended,
        });
        let overslept =
            books.turns.get(looked).map_or(Nanos::ZERO, |turn: &Instant| turn.since(entry.intended));
        most += u128::from((usable + overslept).min(sent.since(entry.intended)).0);
    }
    hold!((least..=most).contains(&late.sum_ns), "late for {} ns, not in {least}..={most}", late.sum_ns);
    let perfect = case.world.generator == GeneratorSpec::default();
    hold!(!perfect || late.max_ns == 0, "a perfect generator is late by {} ns", late.max_ns);
    own_parts(total, perfect)?;
    let counters = &total.counters;
    let by_pool =
        lag.no_connection + counters.measured.timed_out_pool_full + counters.warmup.timed_out_pool_full;
    let was_full = books.lanes.iter().any(|lane| lane.was_full);
    let was_growing = books.lanes.iter().any(|lane| lane.was_growing);
    hold!(was_full || by_pool == 0, "the pool was never full and is blamed: {lag:?}");
    hold!(was_growing || lag.connecting == 0, "the pool was always full and is not blamed: {lag:?}");
    Ok(())
}

/// What the generator is excused for was recorded, took no longer without it, and is nothing where it was never late.
fn own_parts(total: &Bank<u64>, perfect: bool) -> Result<(), String> {
    let (hindered, without) = (total.track(Series::Hindered), total.track(Series::Unhindered));
    hold!(hindered.count() == without.count(), "{} hindered, {} without", hindered.count(), without.count());
    hold!(without.sum_ns <= hindered.sum_ns, "they take longer without the generator's part");
    let recorded = |value: u64| -> u64 {
        let of =
            |series| total.track(series).bins().filter(|(ns, _)| *ns >= value).map(|(_, n)| n).sum::<u64>();
        of(Series::Response) + of(Series::ResponseCensored)
    };
    for (value, _) in hindered.bins() {
        let at_least: u64 = hindered.bins().filter(|(ns, _)| *ns >= value).map(|(_, n)| n).sum();
        let lowest = hindered.histogram.lowest_equivalent(value);
        hold!(
            at_least <= recorded(lowest),
            "{at_least} hindered from {value} ns on, more than were recorded"
        );
    }
    hold!(!perfect || hindered.count() == 0, "a perfect generator hindered {} arrivals", hindered.count());
    Ok(())
}

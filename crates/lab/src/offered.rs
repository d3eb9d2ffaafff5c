//! How a tool's requests came, from the server's own log.

use std::collections::{BTreeMap, BTreeSet};

use unblink_artifact::lab::{LabLog, LabMoment, LabOffered, LabPoint, LabRequest};

use crate::case::{Case, shares};
use crate::read::COMPARED;
use crate::{TruthRow, oracle};

const S: u64 = 1_000_000_000;
/// Windows in which requests are counted for their dispersion.
const WINDOW_NS: u64 = 10_000_000;
/// Stretches into which a run is divided for drawing: an event of a second in a minute is two of them.
const STRETCHES: u64 = 120;

/// The rows of the run that was meant: those on the last start of the clock. Probes came on one before.
pub(crate) fn of_the_run(rows: Vec<TruthRow>) -> Vec<TruthRow> {
    let mut starts: BTreeMap<Option<u64>, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *starts.entry(row.clock_ns).or_default() += 1);
    // A few late requests after the run could have started the clock again; they are no run.
    let Some((&run, _)) = starts.iter().max_by_key(|(start, count)| (**count, **start)) else { return rows };
    rows.into_iter().filter(|row| row.clock_ns == run).collect()
}

/// Latency as the server saw it, of what it answered; of an event stream, to its first event.
pub(crate) fn log(rows: &[TruthRow], case: &Case, late_p99_ns: u64, lost: u64) -> LabLog {
    let mut response_ns: Vec<u64> = rows.iter().map(TruthRow::first_ns).collect();
    response_ns.sort_unstable();
    let point = |q| oracle::percentile(&response_ns, q).map(|value_ns| LabPoint { q, value_ns });
    let mut shares = shares(response_ns.len() as u64);
    shares.extend(COMPARED);
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    LabLog {
        requests: rows.len() as u64,
        abandoned: rows.iter().filter(|row| row.abandoned).count() as u64,
        points: shares.into_iter().filter_map(point).collect(),
        mean_ns: oracle::mean(&response_ns),
        late_p99_ns,
        lost,
        is_blind: case.scenario.is_blind(),
        over_time: over_time(rows, case),
    }
}

/// What the server took over time, by when a request came.
fn over_time(rows: &[TruthRow], case: &Case) -> Vec<LabMoment> {
    let stretch_ns = (case.duration.as_nanos() as u64 / STRETCHES).max(1);
    let mut stretches: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for row in rows {
        if let Some(ns) = row.arrived_on_clock_ns() {
            stretches.entry(ns / stretch_ns).or_default().push(row.first_ns());
        }
    }
    let moment = |(i, mut took_ns): (u64, Vec<u64>)| {
        took_ns.sort_unstable();
        let at = |q| oracle::percentile(&took_ns, q).unwrap_or(0);
        let requests = took_ns.len() as u64;
        LabMoment { from_ns: i * stretch_ns, requests, p50_ns: at(0.5), max_ns: at(1.0) }
    };
    stretches.into_iter().map(moment).collect()
}

/// Each request of the run in a truth log, with when it came and how long it took.
pub fn requests(truth: impl AsRef<std::path::Path>) -> Result<Vec<LabRequest>, crate::LabError> {
    let rows = of_the_run(crate::read_truth(truth)?);
    let request =
        |row: &TruthRow| Some(LabRequest { came_ns: row.arrived_on_clock_ns()?, took_ns: row.first_ns() });
    Ok(rows.iter().filter_map(request).collect())
}

/// How the requests came.
pub(crate) fn offered(rows: &[TruthRow], case: &Case) -> LabOffered {
    let mut came_ns: Vec<u64> = rows.iter().filter_map(TruthRow::arrived_on_clock_ns).collect();
    came_ns.sort_unstable();
    let planned = case.planned();
    let requests = came_ns.len() as u64;
    let span_ns = came_ns.last().zip(came_ns.first()).map_or(0, |(last, first)| last - first);
    let lags = lags(&came_ns, case.rate_per_s);
    let lag = |q| oracle::percentile(&lags, q).unwrap_or(0);
    let events = case.scenario.events();
    let end_ns = case.duration.as_nanos() as u64;
    let is_during = |ns: u64| events.iter().any(|&(from_ns, to_ns)| from_ns <= ns && ns < to_ns);
    let during_ns: u64 =
        events.iter().map(|&(from_ns, to_ns)| to_ns.min(end_ns).saturating_sub(from_ns)).sum();
    LabOffered {
        planned,
        requests,
        omitted: planned.saturating_sub(requests),
        span_ns,
        longest_gap_ns: came_ns.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0),
        lag_p50_ns: lag(0.5),
        lag_p99_ns: lag(0.99),
        lag_max_ns: lag(1.0),
        dispersion: dispersion(&came_ns),
        planned_in_events: (u128::from(during_ns) * u128::from(case.rate_per_s) / u128::from(S)) as u64,
        seen_in_events: came_ns.iter().filter(|&&ns| is_during(ns) && ns < end_ns).count() as u64,
        catch_up: catch_up(&came_ns, &events, case.rate_per_s),
        connections: rows.iter().map(|row| row.connection).collect::<BTreeSet<_>>().len() as u64,
        in_flight_max: in_flight_max(rows),
        completions_per_s: completions(rows, case, S),
        completions: completions(rows, case, completions_stretch_ns(case)),
        completions_stretch_ns: completions_stretch_ns(case),
    }
}

/// How far behind `k/rate` each request came, ascending; the earliest against its place sets the zero.
fn lags(came_ns: &[u64], rate_per_s: u64) -> Vec<u64> {
    let due = |k: usize| (k as u128 * u128::from(S) / u128::from(rate_per_s)) as i128;
    let behind = || came_ns.iter().enumerate().map(|(k, &ns)| i128::from(ns) - due(k));
    let zero = behind().min().unwrap_or(0);
    let mut lags: Vec<u64> = behind().map(|ns| u64::try_from(ns - zero).unwrap_or(u64::MAX)).collect();
    lags.sort_unstable();
    lags
}

fn dispersion(came_ns: &[u64]) -> f64 {
    let (Some(&first), Some(&last)) = (came_ns.first(), came_ns.last()) else { return 0.0 };
    let windows = ((last - first) / WINDOW_NS) as usize;
    if windows < 2 {
        return 0.0;
    }
    let mut counts = vec![0_u32; windows];
    for ns in came_ns {
        if let Some(count) = counts.get_mut(((ns - first) / WINDOW_NS) as usize) {
            *count += 1;
        }
    }
    let mean = counts.iter().map(|&n| f64::from(n)).sum::<f64>() / windows as f64;
    let variance = counts.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
    if mean > 0.0 { variance / mean } else { 0.0 }
}

/// Requests in the stretch after an event that is as long as the event, over what the rate comes to in it: the most
/// of all events. What a tool held back comes then.
fn catch_up(came_ns: &[u64], events: &[(u64, u64)], rate_per_s: u64) -> Option<f64> {
    let of_event = |&(from_ns, to_ns): &(u64, u64)| {
        let end_ns = to_ns + (to_ns - from_ns);
        let count = came_ns.partition_point(|&ns| ns < end_ns) - came_ns.partition_point(|&ns| ns < to_ns);
        count as f64 / (rate_per_s as f64 * (to_ns - from_ns) as f64 / S as f64)
    };
    events.iter().map(of_event).reduce(f64::max)
}

fn in_flight_max(rows: &[TruthRow]) -> u64 {
    let mut changes: Vec<(u64, i64)> =
        rows.iter().flat_map(|row| [(row.arrived_ns, 1), (row.answered_ns, -1)]).collect();
    changes.sort_unstable();
    let mut now = 0;
    changes.iter().fold(0, |most, (_, change)| {
        now += change;
        most.max(now)
    }) as u64
}

/// Stretches in which completions are counted for drawing: five of them in an event of a second in a minute.
const COMPLETION_STRETCHES: u64 = 300;

fn completions_stretch_ns(case: &Case) -> u64 {
    (case.duration.as_nanos() as u64 / COMPLETION_STRETCHES).max(1)
}

fn completions(rows: &[TruthRow], case: &Case, stretch_ns: u64) -> Vec<u64> {
    // Long enough for the drain of what is answered in time.
    let all_ns = (case.duration.as_secs() + case.timeout_s) * S;
    let mut counts = vec![0_u64; all_ns.div_ceil(stretch_ns) as usize];
    for row in rows {
        let Some(zero_ns) = row.clock_ns else { continue };
        let at = (row.answered_ns.saturating_sub(zero_ns) / stretch_ns) as usize;
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    while counts.last() == Some(&0) {
        counts.pop();
    }
    counts
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fault::Ending;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// Requests at these times in ms, answered after `took_ms`.
    pub(crate) fn rows(at_ms: impl IntoIterator<Item = (u64, u64)>) -> Vec<TruthRow> {
        let row = |(k, (at, took)): (usize, (u64, u64))| TruthRow {
            request: k as u64,
            connection: k as u32 % 10,
            arrived_ns: at * MS,
            slot_ns: at * MS,
            baseline_ns: 10 * MS,
            answered_ns: (at + took) * MS,
            clock_ns: Some(0),
            abandoned: false,
            ending: Ending::Ok,
            events_ns: Vec::new(),
        };
        at_ms.into_iter().enumerate().map(row).collect()
    }

    fn case() -> Case {
        Case::preset("stall", Duration::from_secs(6)).expect("a preset")
    }

    #[test]
    fn an_even_load_has_no_lag_and_no_dispersion() {
        let offered = offered(&rows((0..6_000).map(|k| (k, 10))), &case());
        assert_eq!((offered.planned, offered.omitted, offered.lag_max_ns), (6_000, 0, 0));
        assert_eq!((offered.planned_in_events, offered.seen_in_events), (100, 100));
        assert!(offered.dispersion < 0.01 && offered.catch_up == Some(1.0), "{offered:?}");
        assert_eq!((offered.connections, offered.in_flight_max), (10, 10));
        assert_eq!(offered.longest_gap_ns, MS);
    }

    #[test]
    fn a_pause_shows_as_gap_omission_and_lag() {
        let paused = (0..3_000).chain(3_100..6_000).map(|k| (k, 10));
        let offered = offered(&rows(paused), &case());
        assert_eq!((offered.omitted, offered.seen_in_events), (100, 0));
        assert_eq!(offered.longest_gap_ns, 101 * MS);
        assert_eq!(offered.lag_max_ns, 100 * MS);
    }

    #[test]
    fn a_burst_after_an_event_is_a_catch_up() {
        let burst = (0..3_000).chain((0..200).map(|k| 3_100 + k / 2)).chain(3_200..6_000);
        let offered = offered(&rows(burst.map(|k| (k, 10))), &case());
        assert_eq!((offered.omitted, offered.catch_up), (0, Some(2.0)));
    }

    #[test]
    fn time_is_divided_by_arrival() {
        let came = rows((0..3_000).chain(3_100..6_000).map(|k| (k, if k == 70 { 90 } else { 10 })));
        let moments = over_time(&came, &case());
        // 50 ms each; two of them saw nothing.
        assert_eq!(moments.len(), 118);
        assert_eq!(
            moments[1],
            LabMoment { from_ns: 50 * MS, requests: 50, p50_ns: 10 * MS, max_ns: 90 * MS }
        );
        assert_eq!(moments[60].from_ns, 3_100 * MS);
    }

    /// Counted by the second, a stall of a quarter of one was not to be seen.
    #[test]
    fn a_short_stall_empties_stretches_of_completions() {
        // What came from 3,100 ms to 3,350 ms was answered at its end.
        let stalled = (0..6_000).map(|k| (k, if (3_100..3_350).contains(&k) { 3_350 - k + 10 } else { 10 }));
        let offered = offered(&rows(stalled), &case());
        assert_eq!(offered.completions_stretch_ns, 20 * MS);
        assert_eq!(offered.completions.iter().sum::<u64>(), 6_000);
        let empty: Vec<usize> = (1..300).filter(|&i| offered.completions[i] == 0).collect();
        // Whole stretches between 3,110 ms and 3,360 ms.
        assert_eq!(empty, (156..168).collect::<Vec<_>>());
        assert!(offered.completions_per_s.iter().take(6).all(|&count| count > 600));
    }

    #[test]
    fn probes_are_no_part_of_the_run() {
        let mut all = rows((0..100).map(|k| (k, 10)));
        all[0].clock_ns = Some(7);
        all[1].clock_ns = None;
        assert_eq!(of_the_run(all).len(), 98);
    }
}

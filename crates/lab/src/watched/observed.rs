//! What users felt, from what was seen on the wire.

use unblink_artifact::lab::LabTruthFrom;

use crate::TruthRow;
use crate::case::{Case, Felt, Truth};
use crate::fault::Ending;

const S: u128 = 1_000_000_000;
/// A tool that sent fewer of its arrivals than this has no request for each of them.
const SENT: f64 = 0.999;
/// And one that sent more keeps no schedule.
const NOT_MORE: f64 = 1.01;

/// From the requests of a run. `keeps_schedule`: the tool claims that its k-th arrival is due at k/rate.
pub(crate) fn truth(rows: &[TruthRow], case: &Case, keeps_schedule: bool) -> (Truth, LabTruthFrom) {
    let mut rows: Vec<&TruthRow> = rows.iter().collect();
    rows.sort_by_key(|row| (row.arrived_ns, row.request));
    let (planned, sent) = (case.planned() as f64, rows.len() as f64);
    if keeps_schedule && (planned * SENT..=planned * NOT_MORE).contains(&sent) {
        return (of_arrivals(&rows, case), LabTruthFrom::Arrivals);
    }
    (of_event(&rows, case), LabTruthFrom::Silence)
}

/// After the first arrival, in ns.
fn due_ns(k: usize, case: &Case) -> u64 {
    (k as u128 * S / u128::from(case.rate_per_s)) as u64
}

/// Each arrival, from when it was due to the packet that brought its answer. Arrivals are sent in the order in which they are
/// due, and the one that was sent closest to its time sets the zero.
fn of_arrivals(rows: &[&TruthRow], case: &Case) -> Truth {
    let planned = case.planned() as usize;
    let behind = |(k, row): (usize, &&TruthRow)| i128::from(row.arrived_ns) - i128::from(due_ns(k, case));
    let zero_ns = rows.iter().enumerate().map(behind).min().unwrap_or(0);
    let response = |(k, row): (usize, &&TruthRow)| {
        let due_ns = zero_ns + i128::from(due_ns(k, case));
        let ns = u64::try_from(i128::from(row.answered_ns) - due_ns).unwrap_or(0);
        match (row.abandoned, row.ending) {
            (true, _) => Felt::TooLong,
            (false, Ending::Ok) => Felt::Answered(ns),
            (false, _) => Felt::Failed,
        }
    };
    let known = rows.iter().take(planned).enumerate().map(response);
    let unsent = planned.saturating_sub(rows.len());
    Truth::of_felt(known.chain(std::iter::repeat_n(Felt::TooLong, unsent)), case.timeout_ns())
}

/// Users at the rate who meet the silence that was seen: who comes in it waits for the answer that ended it. Of what others
/// get, the wire tells how long it took.
fn of_event(rows: &[&TruthRow], case: &Case) -> Truth {
    let zero_ns = rows.first().map_or(0, |row| row.clock_ns.unwrap_or(row.arrived_ns));
    let silences: Vec<(u64, u64)> =
        case.scenario.events().iter().filter_map(|&event| silence(rows, zero_ns, event)).collect();
    let is_untouched = |row: &&&TruthRow| {
        let touches = |&(from_ns, to_ns): &(u64, u64)| row.arrived_ns < to_ns && row.answered_ns > from_ns;
        !row.abandoned && row.ending == Ending::Ok && !silences.iter().any(touches)
    };
    let usual_ns: Vec<u64> = rows.iter().filter(is_untouched).map(|row| row.response_ns()).collect();
    let planned = case.planned() as usize;
    let felt = (0..planned).map(|k| {
        let at_ns = zero_ns + due_ns(k, case);
        match silences.iter().find(|(from_ns, to_ns)| *from_ns < at_ns && at_ns < *to_ns) {
            Some((_, to_ns)) => Felt::Answered(to_ns - at_ns),
            // In the order of time, however many there are.
            None => {
                usual_ns.get(k * usual_ns.len() / planned).map_or(Felt::TooLong, |ns| Felt::Answered(*ns))
            }
        }
    });
    Truth::of_felt(felt, case.timeout_ns())
}

/// The longest time without an answer that has a part in the event: from the last answer before to the first one after.
fn silence(rows: &[&TruthRow], zero_ns: u64, (from_ns, to_ns): (u64, u64)) -> Option<(u64, u64)> {
    let (from_ns, to_ns) = (zero_ns + from_ns, zero_ns + to_ns);
    let mut answers: Vec<u64> = rows.iter().filter(|row| !row.abandoned).map(|row| row.answered_ns).collect();
    answers.sort_unstable();
    let gaps = answers.windows(2).map(|pair| (pair[0], pair[1]));
    gaps.filter(|gap| gap.0 < to_ns && gap.1 > from_ns).max_by_key(|gap| gap.1 - gap.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered::tests::rows;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// 12 s at 1,000/s, with the second from 2 s on.
    fn case() -> Case {
        Case::preset("redis-stall", Duration::from_secs(12)).expect("a preset")
    }

    #[test]
    fn the_stall_is_a_second_after_a_sixth_of_the_run() {
        assert_eq!(case().scenario.events(), [(2_000 * MS, 3_000 * MS)]);
    }

    fn at_ms(truth: &Truth, q: f64) -> u64 {
        truth.at(q).0.expect("a value") / MS
    }

    #[test]
    fn an_arrival_is_felt_from_when_it_was_due() {
        // A pool of ten: what comes after them leaves when the stall is over, 1 ms each.
        let sent = |k: u64| if (2_010..3_000).contains(&k) { 3_000 } else { k };
        let all = rows((0..12_000).map(|k| match k {
            2_000..3_000 => (sent(k), 3_001 - sent(k)),
            _ => (k, 1),
        }));
        let (truth, from) = truth(&all, &case(), true);
        assert_eq!(from, LabTruthFrom::Arrivals);
        // The slowest of a thousand waited 1,001 ms. p99 has 120 slower ones.
        assert!(at_ms(&truth, 0.99).abs_diff(881) <= 2, "{}", at_ms(&truth, 0.99));
        assert!(at_ms(&truth, 0.999).abs_diff(989) <= 2);
        assert_eq!(at_ms(&truth, 0.9), 1);
    }

    #[test]
    fn whoever_asks_nothing_meanwhile_is_held_beside_the_silence() {
        // Ten users, who wait.
        let before = (0..20_000).map(|k| (k / 10, 1));
        let during = (0..10).map(|_| (1_999, 1_003));
        let after = (0..89_000).map(|k| (3_002 + k / 10, 1));
        let all = rows(before.chain(during).chain(after));
        let (truth, from) = truth(&all, &case(), false);
        assert_eq!(from, LabTruthFrom::Silence);
        assert!(at_ms(&truth, 0.99).abs_diff(882) <= 3, "{}", at_ms(&truth, 0.99));
        assert_eq!(at_ms(&truth, 0.5), 1);
    }

    #[test]
    fn who_claims_a_schedule_and_does_not_keep_it_has_no_request_for_each_arrival() {
        let all = rows((0..2_000).chain(3_000..12_000).map(|k| (k, 1)));
        let (of_silence, from) = truth(&all, &case(), true);
        assert_eq!(from, LabTruthFrom::Silence);
        assert!(at_ms(&of_silence, 0.99) > 800);
    }

    #[test]
    fn what_failed_or_never_came_is_counted_and_not_timed() {
        let mut all = rows((0..12_000).map(|k| (k, 1)));
        all[7].ending = Ending::Error;
        all[8].abandoned = true;
        let (truth, _) = truth(&all[..11_999], &case(), true);
        let said = truth.describe();
        assert_eq!([said.arrivals, said.ok, said.failed, said.timed_out], [12_000, 11_997, 1, 2]);
    }
}

//! Which stretch of the run made the tail? Read from the heat map by plain rules, with "not known" as the
//! fallback: a title may only claim what at least nine in ten slow arrivals bear out.

use unblink_artifact::document::{HeatColumn, RunDocument};

/// Where the arrivals at or above a response time fell due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tail {
    /// The heat map can't tell.
    Unknown,
    /// One short stretch holds nine in ten of them.
    Event { from_ns: u64, to_ns: u64 },
    /// A few short stretches do; this is the first of them.
    Events { number: usize, from_ns: u64, to_ns: u64 },
    /// One long stretch does.
    Stretch { from_ns: u64, to_ns: u64 },
    /// They lie in stretches that are too many or too long to be events, with none of them between.
    Bursts { number: usize, from_ns: u64 },
    /// They are spread over the run.
    Throughout,
}

/// Most stretches that are still called events.
const EVENTS_MAX: usize = 20;
/// An event is shorter than this share of the run; together, events are shorter than twice of it.
const EVENT_SHARE_MAX: f64 = 0.1;

/// A burst holds at least this many of them.
const BURST_MIN: u64 = 10;
/// And their share within it is so many times that of the run.
const BURST_RATIO: f64 = 2.0;

/// How sure it must be that a group of slow arrivals has ended before the next one is another: ln 100.
const GAP_EVIDENCE: f64 = 4.6;

/// Slow arrivals that lie close to each other.
struct Cluster {
    from_ns: u64,
    to_ns: u64,
    slow: u64,
    all: u64,
}

impl Cluster {
    /// Whether so many arrivals after it that were not slow are too many for a mere chance within it.
    fn is_over(&self, fast: u64) -> bool {
        let slow_share = (self.slow as f64 + 1.0) / (self.all as f64 + 2.0);
        -(1.0 - slow_share).ln() * fast as f64 > GAP_EVIDENCE
    }
}

/// Finds where the arrivals that took at least `threshold_ns` fell due. Censored arrivals count as slow.
pub(crate) fn tail(doc: &RunDocument, threshold_ns: u64) -> Tail {
    let edges = &doc.heatmap.bin_edges_ns;
    let bin = edges.partition_point(|&edge| edge <= threshold_ns).saturating_sub(1) as u32;
    let answered = |column: &HeatColumn| cells(column).saturating_add(u64::from(column.censored));
    place(doc, |column| {
        let fast: u64 = column.cells.iter().filter(|cell| cell.0 < bin).map(|cell| u64::from(cell.1)).sum();
        (answered(column).saturating_sub(fast), answered(column))
    })
}

/// Finds where the arrivals that failed fell due.
pub(crate) fn failed(doc: &RunDocument) -> Tail {
    or_bursts(doc, |column| (u64::from(column.failed), all(column)))
}

/// Finds where those fell due that are known only to have taken longer.
pub(crate) fn censored(doc: &RunDocument) -> Tail {
    or_bursts(doc, |column| (u64::from(column.censored), all(column)))
}

/// The same place, or, where that is the whole run, the bursts in which they come.
fn or_bursts(doc: &RunDocument, of: impl Fn(&HeatColumn) -> (u64, u64)) -> Tail {
    let place = place(doc, &of);
    if place != Tail::Throughout {
        return place;
    }
    let (measured, _, gap_ns) = measured(doc, &of);
    let clusters = clusters(&measured, doc.heatmap.column_ns, gap_ns, true);
    let total: (u64, u64) = measured.iter().fold((0, 0), |sum, (_, of)| (sum.0 + of.0, sum.1 + of.1));
    let share = total.0 as f64 / total.1.max(1) as f64;
    let is_burst = |cluster: &Cluster| {
        cluster.slow >= BURST_MIN && cluster.slow as f64 >= BURST_RATIO * share * cluster.all as f64
    };
    // The first or the last may be cut off by the run, and a few by chance.
    let bursts: Vec<&Cluster> = clusters.iter().filter(|cluster| is_burst(cluster)).collect();
    let held: u64 = bursts.iter().map(|cluster| cluster.slow).sum();
    match bursts.as_slice() {
        [first, _, ..] if held * 10 >= total.0 * 9 => {
            Tail::Bursts { number: bursts.len(), from_ns: first.from_ns }
        }
        _ => place,
    }
}

fn cells(column: &HeatColumn) -> u64 {
    column.cells.iter().map(|cell| u64::from(cell.1)).fold(0, u64::saturating_add)
}

/// All that fell due in a column.
pub(crate) fn all(column: &HeatColumn) -> u64 {
    cells(column).saturating_add(u64::from(column.censored)).saturating_add(u64::from(column.failed))
}

/// Where arrivals of some kind fell due; `of` tells how many of a column's they are, and how many these are.
fn place(doc: &RunDocument, of: impl Fn(&HeatColumn) -> (u64, u64)) -> Tail {
    let heat = &doc.heatmap;
    let (measured, span, gap_ns) = measured(doc, of);
    if measured.is_empty() {
        return Tail::Unknown;
    }
    let clusters = |apart| clusters(&measured, heat.column_ns, gap_ns, apart);
    match classify(clusters(true), span) {
        // Too many to be events: perhaps they lie in one stretch.
        Tail::Throughout => match classify(clusters(false), span) {
            Tail::Stretch { from_ns, to_ns } | Tail::Event { from_ns, to_ns } => {
                Tail::Stretch { from_ns, to_ns }
            }
            _ => Tail::Throughout,
        },
        tail => tail,
    }
}

/// A column's start, how many of its arrivals are of a kind, and how many there are.
type Counted = (u64, (u64, u64));

/// Columns with how many of their arrivals are of the kind and how many there are, how long they are together, and how far
/// apart two groups are at least.
fn measured(doc: &RunDocument, of: impl Fn(&HeatColumn) -> (u64, u64)) -> (Vec<Counted>, u64, u64) {
    let heat = &doc.heatmap;
    let measured: Vec<Counted> = heat
        .columns
        .iter()
        .filter(|column| column.start_ns >= doc.measured_from_ns())
        .map(|column| (column.start_ns, of(column)))
        .collect();
    let ends = measured.first().zip(measured.last());
    let span = ends.map_or(0, |(first, last)| last.0.saturating_add(heat.column_ns).saturating_sub(first.0));
    (measured, span, heat.column_ns.saturating_mul(3).max(span / 100))
}

/// Groups of such arrivals; `apart`, where others lie between them.
fn clusters(measured: &[Counted], column_ns: u64, gap_ns: u64, apart: bool) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut fast_since = 0u64;
    for &(start_ns, (slow, all)) in measured {
        let fast = all.saturating_sub(slow);
        if slow == 0 {
            fast_since = fast_since.saturating_add(fast);
            continue;
        }
        let to_ns = start_ns.saturating_add(column_ns);
        match clusters.last_mut() {
            Some(cluster)
                if start_ns <= cluster.to_ns.saturating_add(gap_ns)
                    && !(apart && cluster.is_over(fast_since)) =>
            {
                cluster.to_ns = to_ns;
                cluster.slow += slow;
                cluster.all = cluster.all.saturating_add(all).saturating_add(fast_since);
            }
            _ => clusters.push(Cluster { from_ns: start_ns, to_ns, slow, all }),
        }
        fast_since = 0;
    }
    clusters
}

/// When an event was, as its slowest arrival tells: of those that took about as long, the first. Without
/// one, the column that the event begins in.
pub(crate) fn moment(doc: &RunDocument, from_ns: u64, to_ns: u64) -> u64 {
    // One event has one date, also beside the percentiles that it decides.
    let dated = doc.response_time.quantiles.iter().filter_map(|quantile| quantile.event_at_ns);
    if let Some(at) = dated.min().filter(|at| (from_ns..to_ns).contains(at)) {
        return about(doc, at);
    }
    let here = || {
        doc.slowest
            .iter()
            .filter(|slow| (from_ns..to_ns).contains(&slow.intended_ns))
            .filter(|slow| slow.outcome == "ok" || slow.is_censored())
    };
    let longest = here().map(|slow| slow.response_ns).max().unwrap_or(0);
    // All that timed out took the same, and any few of them are listed.
    let at = here()
        .filter(|slow| slow.response_ns >= longest - longest / 100)
        .map(|slow| (slow.outcome == "ok").then_some(slow.intended_ns))
        .min()
        .flatten();
    about(doc, at.unwrap_or(from_ns))
}

/// A moment as exact as a title needs it: the first slow arrivals of an event stand in the column that the
/// event begins in, which may start before it.
pub(crate) fn about(doc: &RunDocument, at_ns: u64) -> u64 {
    const STEPS_MS: [u64; 17] =
        [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 300_000];
    let heat = &doc.heatmap;
    let span = heat.columns.last().map_or(0, |last| last.start_ns.saturating_add(heat.column_ns));
    let least = heat.column_ns.max(span / 200);
    let step = STEPS_MS.iter().map(|ms| ms * 1_000_000).find(|step| *step >= least);
    let step = step.unwrap_or(3_600_000_000_000);
    at_ns.saturating_add(step / 2) / step * step
}

fn classify(mut clusters: Vec<Cluster>, span: u64) -> Tail {
    let total: u64 = clusters.iter().map(|cluster| cluster.slow).sum();
    clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.slow));
    let mut held = 0;
    let needed = clusters
        .iter()
        .take_while(|cluster| {
            let more = held * 10 < total * 9;
            held += cluster.slow;
            more
        })
        .count();
    // Of equal pauses, a few would already hold nine in ten: those of their size belong to them.
    let like = needed.checked_sub(1).map_or(0, |last| clusters[last].slow.div_ceil(2));
    clusters.truncate(clusters.partition_point(|cluster| cluster.slow >= like.max(1)));
    let length: u64 = clusters
        .iter()
        .map(|cluster| cluster.to_ns.saturating_sub(cluster.from_ns))
        .fold(0, u64::saturating_add);
    let share = length as f64 / span as f64;
    let first = clusters.iter().min_by_key(|cluster| cluster.from_ns);
    let (from_ns, first_to_ns) = first.map_or((0, 0), |first| (first.from_ns, first.to_ns));
    match clusters.as_slice() {
        [] => Tail::Unknown,
        [one] if share < EVENT_SHARE_MAX => Tail::Event { from_ns, to_ns: one.to_ns },
        [one] if share < 0.9 => Tail::Stretch { from_ns, to_ns: one.to_ns },
        [_] => Tail::Throughout,
        some if some.len() <= EVENTS_MAX && share < 2.0 * EVENT_SHARE_MAX => {
            Tail::Events { number: some.len(), from_ns, to_ns: first_to_ns }
        }
        _ => Tail::Throughout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_stall_is_one_event_at_30_s() {
        let doc = fixture::stall();
        let Tail::Event { from_ns, .. } = tail(&doc, 410_000_000) else { panic!("not an event") };
        assert_eq!(about(&doc, from_ns), 30_000_000_000);
    }

    #[test]
    fn the_slowest_arrival_tells_when_the_event_was() {
        let mut doc = fixture::stall();
        let Tail::Event { from_ns, to_ns } = tail(&doc, 410_000_000) else { panic!("not an event") };
        assert_eq!(from_ns, 29_900_000_000, "the column before");
        assert_eq!(moment(&doc, from_ns, to_ns), 30_000_000_000);
        for slow in &mut doc.slowest {
            slow.outcome = "timed_out".into();
        }
        assert_eq!(moment(&doc, from_ns, to_ns), about(&doc, from_ns));
        doc.slowest.clear();
        assert_eq!(moment(&doc, from_ns, to_ns), about(&doc, from_ns));
    }

    #[test]
    fn two_groups_are_two_events() {
        let doc = fixture::two_pauses();
        let p99 = crate::facts::quantile(&doc.response_time, 0.99).map_or(0, |q| q.value);
        let pauses = tail(&doc, p99);
        assert!(matches!(pauses, Tail::Events { number: 2, from_ns: 3_700_000_000, .. }), "{pauses:?}");
    }

    #[test]
    fn failures_in_bursts_are_not_throughout() {
        let during = |is_burst: &dyn Fn(u64) -> bool| {
            let mut doc = fixture::failing(5);
            let column_ns = doc.heatmap.column_ns;
            for column in &mut doc.heatmap.columns {
                let is_burst = is_burst(column.start_ns / (column_ns * 10));
                (column.cells, column.failed) =
                    if is_burst { (vec![(40, 2)], 98) } else { (vec![(40, 100)], 0) };
            }
            failed(&doc)
        };
        // Three tenths of the time, in bursts that are too long together to be events.
        let bursts = during(&|i| i % 5 == 3 || i % 5 == 2);
        assert!(matches!(bursts, Tail::Bursts { number: 10.., .. }), "{bursts:?}");
        assert_eq!(during(&|_| true), Tail::Throughout);
        // Single failures by chance have gaps between them too.
        for percent in [1, 2, 5, 20, 60] {
            assert_eq!(failed(&fixture::failing(percent)), Tail::Throughout, "{percent} %");
        }
    }

    #[test]
    fn chance_gaps_do_not_make_events() {
        let cluster = Cluster { from_ns: 0, to_ns: 1, slow: 5, all: 100 };
        assert!(!cluster.is_over(50) && cluster.is_over(100));
        let one = Cluster { from_ns: 0, to_ns: 1, slow: 1, all: 1 };
        assert!(!one.is_over(1) && one.is_over(5));
    }

    #[test]
    fn pauses_are_counted_and_a_backlog_is_a_stretch() {
        let pauses = tail(&fixture::two_hours(), 1_000_000_000);
        assert!(matches!(pauses, Tail::Events { number: 12, .. }), "{pauses:?}");
        let backlog = tail(&fixture::saturated(), 5_000_000_000);
        assert!(matches!(backlog, Tail::Stretch { from_ns, .. } if from_ns < 5_000_000_000), "{backlog:?}");
    }

    #[test]
    fn nothing_is_claimed_without_data() {
        assert_eq!(tail(&fixture::empty(), 1), Tail::Unknown);
    }
}

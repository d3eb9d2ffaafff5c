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
    /// A few short stretches do; the first of them starts here.
    Events { number: usize, first_ns: u64 },
    /// One long stretch does.
    Stretch { from_ns: u64, to_ns: u64 },
    /// They are spread over the run.
    Throughout,
}

/// Most stretches that are still called events.
const EVENTS_MAX: usize = 20;
/// An event is shorter than this share of the run; together, events are shorter than twice of it.
const EVENT_SHARE_MAX: f64 = 0.1;

struct Cluster {
    from_ns: u64,
    to_ns: u64,
    arrivals: u64,
}

/// Finds where the arrivals that took at least `threshold_ns` fell due. Censored arrivals count as slow.
pub(crate) fn tail(doc: &RunDocument, threshold_ns: u64) -> Tail {
    let heat = &doc.heatmap;
    let measured: Vec<&HeatColumn> =
        heat.columns.iter().filter(|column| column.start_ns >= doc.load.warmup_ns).collect();
    let (Some(first), Some(last)) = (measured.first(), measured.last()) else { return Tail::Unknown };
    let span = last.start_ns.saturating_add(heat.column_ns).saturating_sub(first.start_ns);
    let bin = heat.bin_edges_ns.partition_point(|&edge| edge <= threshold_ns).saturating_sub(1) as u32;
    let gap_ns = heat.column_ns.saturating_mul(3).max(span / 100);

    let mut clusters: Vec<Cluster> = Vec::new();
    for column in measured {
        let slow: u64 = column.cells.iter().filter(|cell| cell.0 >= bin).map(|cell| u64::from(cell.1)).sum();
        let arrivals = slow + u64::from(column.censored);
        if arrivals == 0 {
            continue;
        }
        let to_ns = column.start_ns.saturating_add(heat.column_ns);
        match clusters.last_mut() {
            Some(cluster) if column.start_ns <= cluster.to_ns.saturating_add(gap_ns) => {
                cluster.to_ns = to_ns;
                cluster.arrivals += arrivals;
            }
            _ => clusters.push(Cluster { from_ns: column.start_ns, to_ns, arrivals }),
        }
    }
    classify(clusters, span)
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
    let total: u64 = clusters.iter().map(|cluster| cluster.arrivals).sum();
    clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.arrivals));
    let mut held = 0;
    let needed = clusters
        .iter()
        .take_while(|cluster| {
            let more = held * 10 < total * 9;
            held += cluster.arrivals;
            more
        })
        .count();
    // Of equal pauses, a few would already hold nine in ten: those of their size belong to them.
    let like = needed.checked_sub(1).map_or(0, |last| clusters[last].arrivals.div_ceil(2));
    clusters.truncate(clusters.partition_point(|cluster| cluster.arrivals >= like.max(1)));
    let length: u64 = clusters
        .iter()
        .map(|cluster| cluster.to_ns.saturating_sub(cluster.from_ns))
        .fold(0, u64::saturating_add);
    let share = length as f64 / span as f64;
    let from_ns = clusters.iter().map(|cluster| cluster.from_ns).min().unwrap_or(0);
    match clusters.as_slice() {
        [] => Tail::Unknown,
        [one] if share < EVENT_SHARE_MAX => Tail::Event { from_ns, to_ns: one.to_ns },
        [one] if share < 0.9 => Tail::Stretch { from_ns, to_ns: one.to_ns },
        [_] => Tail::Throughout,
        some if some.len() <= EVENTS_MAX && share < 2.0 * EVENT_SHARE_MAX => {
            Tail::Events { number: some.len(), first_ns: from_ns }
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

//! What happened when, from the intervals to the document.

use crate::document::Timeline;
use unblink_core::record::{Cell, Interval, Timeline as Recorded};
use unblink_core::time::Nanos;

/// The whole run's, once an interval came with one.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    recorded: Option<Recorded>,
    end: Nanos,
}

impl Moments {
    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        let of_it = &interval.bank.timeline;
        if of_it.cells().is_empty() {
            return;
        }
        let recorded = self.recorded.get_or_insert_with(|| {
            let mut new = Recorded::default();
            new.begin(interval.start);
            new
        });
        recorded.follow(of_it);
        self.end = interval.start + interval.length;
        // Of several threads together these are exact.
        recorded.reach(self.end, interval.gauges.in_flight, interval.gauges.backlog);
    }

    /// For the document.
    pub(super) fn document(&self) -> Option<Timeline> {
        let recorded = self.recorded.as_ref()?;
        let of = |value: fn(&Cell) -> u64| recorded.cells().iter().map(value).collect();
        Some(Timeline {
            start_ns: recorded.start().0,
            end_ns: self.end.0,
            cell_ns: recorded.cell_width().0,
            due: of(|cell| cell.due),
            sent: of(|cell| cell.sent),
            ok: of(|cell| cell.ok),
            failed: of(|cell| cell.failed),
            timed_out: of(|cell| cell.timed_out),
            in_flight_max: of(|cell| cell.in_flight_max),
            backlog_max: of(|cell| cell.backlog_max),
        })
    }
}

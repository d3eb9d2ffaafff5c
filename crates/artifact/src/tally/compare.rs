//! A run as comparisons need it.

use super::Tally;
use crate::document::RunDocument;
use unblink_analysis::compare::{Run, RunParts, Slice};
use unblink_analysis::interval::History;
use unblink_core::record::{Apart, OperationRecord, Series};
use unblink_core::time::{Nanos, SECOND_NS};

impl Tally {
    /// `document` is what was made of this tally; `number` tells runs apart; `of` is the request or the journey that is
    /// compared alone.
    pub fn compared(&self, document: &RunDocument, number: u64, of: Option<(Apart, usize)>) -> Run {
        match of.filter(|&(by, place)| place < self.totals.apart(by).len()) {
            Some((by, place)) => self.compared_part(document, number, by, place),
            None => self.compared_whole(document, number),
        }
    }

    /// Some of the response times recorded apart have found no room.
    pub(crate) fn has_spilled(&self, (by, place): (Apart, usize)) -> bool {
        let sums = |record: &OperationRecord| {
            [Series::Response, Series::ResponseCensored].map(|series| record.sums(series).spilled)
        };
        self.totals.apart(by).get(place).is_some_and(|record| sums(record).iter().any(|&spilled| spilled > 0))
    }

    fn compared_part(&self, document: &RunDocument, number: u64, by: Apart, place: usize) -> Run {
        let load = (Nanos(document.series.load_from_ns), Nanos(document.series.load_to_ns));
        let apart = self.totals.apart(by);
        let of = apart.get(place).map(|record| record.outcomes).unwrap_or_default();
        let all = of.ended().max(1) as f64;
        let parts = RunParts {
            completed: &apart.track(place, Series::Response),
            censored: &apart.track(place, Series::ResponseCensored),
            // Seconds are kept of all requests together only, so that one run of each side has no interval.
            history: &History::default(),
            load,
            slices: &[],
            achieved_per_s: of.ok as f64 / (load.1 - load.0).as_secs_f64(),
            error_share: (of.failed_total() + of.timed_out) as f64 / all,
            failed_share: of.failed_total() as f64 / all,
        };
        Run::new(&parts, number)
    }

    fn compared_whole(&self, document: &RunDocument, number: u64) -> Run {
        let load = (Nanos(document.series.load_from_ns), Nanos(document.series.load_to_ns));
        let is_measured = |start_ns: u64| (load.0.0..load.1.0).contains(&start_ns);
        let slices: Vec<Slice> = document
            .series
            .rows
            .iter()
            .filter(|row| is_measured(row.start_ns) && row.length_ns > 0)
            .map(|row| Slice {
                length_s: row.length_ns as f64 / SECOND_NS as f64,
                ok: row.ok,
                not_ok: row.failed + row.timed_out,
            })
            .collect();
        let arrivals = &document.arrivals;
        let parts = RunParts {
            completed: self.totals.track(Series::Response),
            censored: self.totals.track(Series::ResponseCensored),
            history: self.histories.response(),
            load,
            slices: &slices,
            achieved_per_s: document.rate.achieved,
            error_share: document.arrivals.error_share().unwrap_or(0.0),
            // Of those of which it is known, as is the other share.
            failed_share: arrivals.failed as f64 / arrivals.due().max(1) as f64,
        };
        Run::new(&parts, number)
    }
}

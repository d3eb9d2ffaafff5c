//! A run as comparisons need it.

use super::Tally;
use crate::document::RunDocument;
use unblink_analysis::compare::{Run, RunParts, Slice};
use unblink_analysis::interval::History;
use unblink_analysis::slo::timed_out;
use unblink_core::record::{OperationTracks, Series};
use unblink_core::time::{Nanos, SECOND_NS};

impl Tally {
    /// `document` is what was made of this tally; `number` tells runs apart; `operation` is the request whose arrivals
    /// are compared alone.
    pub fn compared(&self, document: &RunDocument, number: u64, operation: Option<usize>) -> Run {
        match operation.and_then(|place| self.totals.operations.get(place)) {
            Some(tracks) => self.compared_request(document, number, tracks),
            None => self.compared_whole(document, number),
        }
    }

    fn compared_request(&self, document: &RunDocument, number: u64, tracks: &OperationTracks<u64>) -> Run {
        let load = (Nanos(document.series.load_from_ns), Nanos(document.series.load_to_ns));
        let timed_out = timed_out(&tracks.censored, Nanos(document.load.timeout_ns));
        let ok = tracks.response.count();
        let all = (ok + tracks.failed + tracks.censored.count()).max(1) as f64;
        let parts = RunParts {
            completed: &tracks.response,
            censored: &tracks.censored,
            // Over time it is known of all requests together only, so that one run of each side has no interval.
            history: &History::default(),
            load,
            slices: &[],
            achieved_per_s: ok as f64 / (load.1 - load.0).as_secs_f64(),
            error_share: (tracks.failed + timed_out) as f64 / all,
            failed_share: tracks.failed as f64 / all,
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
            failed_share: arrivals.failed as f64 / arrivals.scheduled.max(1) as f64,
        };
        Run::new(&parts, number)
    }
}

//! Objectives that speak of journeys, or of steps that are asked again and again.

use super::super::per_second;
use super::{OfPart, Tally, Times};
use crate::tally::Ending;
use unblink_analysis::finding::{Finding, FindingCode};
use unblink_analysis::moves::Moves;
use unblink_analysis::slo::{Counts, Measure, Population, Relief, Run, Subject};
use unblink_core::record::Series;

/// A wait that was in vain may be the generator's doing where its lateness and absence took so much of it.
const OWN_PART: f64 = 0.1;

impl Tally {
    /// What is recorded of journeys in `place`. The generator may have touched any request of theirs.
    pub(super) fn population_of_journeys<'a>(
        &'a self,
        place: usize,
        times: &'a Times,
        apart: &'a OfPart,
        unseen_share: f64,
    ) -> Population<'a> {
        let measured = &self.totals.counters.measured;
        let open = self.journeys_without_end(place);
        let outcomes = &times.outcomes;
        let arrivals = outcomes.ended() + open;
        let unseen = (unseen_share * measured.ended() as f64).ceil() as u64;
        Population {
            completed: &times.completed,
            censored: &times.censored,
            open: open + times.unknown,
            history: times.history.as_ref().unwrap_or(&apart.history),
            counts: Counts {
                arrivals,
                errors: outcomes.failed_total() + outcomes.timed_out,
                failed: outcomes.failed_total(),
                open: outcomes.unfinished + outcomes.unsent + open,
            },
            relief: Relief {
                of: Subject::Journeys,
                hindered: self.totals.track(Series::Hindered),
                unhindered: Some(self.totals.track(Series::Unhindered)),
                failed: measured.failed_hindered,
                timed_out_own: measured.timed_out_hindered + self.waits_hindered(),
                timed_out: outcomes.timed_out,
                unseen: self.objectives.unseen.max(unseen).min(arrivals),
            },
            errors: &apart.ratios.errors,
            mean: &apart.ratios.mean,
        }
    }

    /// What is known of the run, as far as it differs for the journeys in `place`.
    pub(super) fn run_of_journeys(
        &self,
        place: usize,
        ending: &Ending,
        findings: &[Finding],
        run: Run,
    ) -> Run {
        // How many of them failed is known; what the others show is not that of all.
        let others = findings.iter().filter(|finding| finding.code != FindingCode::JourneysFailed);
        let others: Vec<Finding> = others.cloned().collect();
        let moves = Moves { times: run.moves.times, ..Moves::of_all(&others) };
        let record = self.totals.journeys.get(place);
        let completed = record.map_or(0, |record| record.outcomes.ok);
        let whose = (Some((super::Apart::Journey, place)), Measure::Response);
        let is_it = |known: &&(super::Whose, OfPart)| known.0 == whose;
        let last_ok = self.objectives.apart.iter().find(is_it).map(|(_, of)| of.last_ok);
        Run {
            moves,
            offered_per_s: record
                .and_then(|record| self.journeys_offered(place, record, ending, run.to - run.from)),
            achieved_per_s: last_ok.map_or(0.0, |last| per_second(completed, last.max(run.to) - run.from)),
            achieved_in_load_per_s: per_second(completed, run.to - run.from),
            ..run
        }
    }

    /// Steps that waited in vain, of which the generator may have kept any from its answer.
    fn waits_hindered(&self) -> u64 {
        let steps = self.header.journeys.iter().flat_map(|journey| &journey.steps);
        let shortest_ns = steps.filter_map(|step| step.until).map(|until| until.within_ns).min();
        let sum_ns = |series| self.totals.track(series).sum_ns;
        let own_ns = sum_ns(Series::Hindered).saturating_sub(sum_ns(Series::Unhindered)) as f64;
        shortest_ns.map_or(0, |ns| (own_ns / (ns.max(1) as f64 * OWN_PART)) as u64)
    }
}

//! What a simulated client left out or made up, and pages of several requests.

use super::transient::Settled;
use super::{Ending, Tally};
use crate::document::{IntervalKind, Quantile, RunStatus};
use crate::simulated::{Fanout, Simulated, SlowerPages, Waiting};
use unblink_analysis::evidence::WrongClient;
use unblink_analysis::quantile::{QUANTILES, Survival};
use unblink_core::record::Series;
use unblink_core::time::Nanos;

impl Tally {
    pub(super) fn simulated(&self, ending: &Ending) -> Option<Simulated> {
        let world = self.header.simulated.clone()?;
        let counters = &self.totals.counters;
        let sent = counters.measured.sent + counters.warmup.sent;
        let whole = world.planned.filter(|_| self.part.is_none());
        let answered = counters.measured.ok;
        let length = Nanos(self.header.plan.duration_ns);
        Some(Simulated {
            claimed: whole.map(|planned| super::per_second(planned, length)),
            omitted: whole.and_then(|planned| self.omitted(planned, ending)),
            waiting: whole.and_then(|planned| self.waiting(planned)),
            invented: self.totals.track(Series::Response).count().saturating_sub(answered),
            requests_per_arrival: match sent {
                0 => 0.0,
                sent => {
                    let again = counters.measured.retries.sent_again + counters.warmup.retries.sent_again;
                    (sent + again + counters.connections().resent) as f64 / sent as f64
                }
            },
            world,
        })
    }

    /// Of the arrivals that were planned, those that never fell due though the load was offered. What is left out of the
    /// figures fell due, and what lies behind the end of a load that was ended early was not to.
    fn omitted(&self, planned: u64, ending: &Ending) -> Option<u64> {
        let left_out = match &self.settled {
            Some(Settled::From(left_out)) => left_out.due(),
            _ => 0,
        };
        let planned = match &self.header.plan.precision {
            Some(_) => ending.scheduled.unwrap_or(planned),
            None => planned,
        };
        let due = self.totals.counters.measured.due + left_out;
        (ending.status == RunStatus::Complete).then(|| planned.saturating_sub(due))
    }

    /// What users who wait left out, by a plan of this many arrivals.
    fn waiting(&self, planned: u64) -> Option<Waiting> {
        let load = &self.header.plan;
        let users = self.header.users().filter(|_| planned > 0)?;
        let interval_ns = load.duration_ns as f64 * f64::from(users) / planned as f64;
        // Values that a correction made up stand in the response times alone.
        let service = self.totals.track(Series::Service);
        let usual_ns = (service.histogram.value_at_quantile(0.5) as f64).min(interval_ns);
        let beside = |ns: u64| ((ns as f64 - usual_ns).max(0.0) / interval_ns).round() as u64;
        let ended = [service, self.totals.track(Series::ServiceCensored)];
        let bins = || ended.iter().flat_map(|track| track.histogram.iter_recorded());
        let omitted = bins().map(|bin| beside(bin.value_iterated_to()) * bin.count_at_value()).sum();
        let longest_ns = ended.iter().map(|track| track.max_ns).max().unwrap_or(0);
        Some(Waiting { omitted, longest_ns, longest_omitted: beside(longest_ns) })
    }

    /// The simulated client, if its figures are not what users feel.
    pub(super) fn wrong_client(&self, ending: &Ending) -> Option<WrongClient<'_>> {
        let simulated = self.simulated(ending)?;
        let world = self.header.simulated.as_ref().filter(|world| !world.is_felt)?;
        Some(WrongClient {
            name: &world.client,
            omitted: simulated.omitted.unwrap_or(0),
            waiting_omitted: simulated.waiting.map_or(0, |waiting| waiting.omitted),
            invented: simulated.invented,
        })
    }

    /// Pages of `requests` requests each, with `open` arrivals of whose end nothing is known; nothing if nothing was
    /// answered. `printed` are the percentiles of response time.
    ///
    /// A page is slower than x if one of its requests is: 1 − (1 − p)ⁿ for a share p of requests. Its own quantile
    /// at q is that of a request at q^(1/n).
    pub(super) fn fanout(&self, requests: u32, open: u64, printed: &[Quantile]) -> Option<Fanout> {
        let track = |series| self.totals.track(series);
        let survival = Survival::with_open(track(Series::Response), track(Series::ResponseCensored), open);
        let n = f64::from(requests.max(1));
        let of_request = |q: f64| q.powf(1.0 / n);
        let page = |q: f64| survival.quantile(of_request(q));
        // Between two printed percentiles, what is said of the lower one holds.
        let one_event = |q: f64| {
            let below = printed.iter().rev().find(|quantile| quantile.q <= q + 1e-12);
            below.is_some_and(|quantile| quantile.interval == Some(IntervalKind::OneEvent))
        };
        let slower = |q: f64| {
            let value = survival.quantile(q).filter(|value| !value.censored)?;
            // As measured: where many take equally long, fewer than 1 − q are slower.
            let within = survival.steps().take_while(|&(ns, _)| ns <= value.value_ns).last()?.1;
            Some(SlowerPages {
                q,
                value_ns: value.value_ns,
                share: 1.0 - within.min(1.0).powf(n),
                one_event: one_event(q),
            })
        };
        let (p50, p99) = (page(0.5)?, page(0.99)?);
        Some(Fanout {
            requests,
            slower: QUANTILES.into_iter().filter_map(slower).collect(),
            p50_ns: p50.value_ns,
            p50_censored: p50.censored,
            p99_ns: p99.value_ns,
            p99_censored: p99.censored,
            p99_few_samples: p99.few_samples,
            p50_one_event: one_event(of_request(0.5)),
            p99_one_event: one_event(of_request(0.99)),
        })
    }
}

//! What a simulated client left out or made up, and pages of several requests.

use super::Tally;
use crate::document::{IntervalKind, Quantile};
use crate::simulated::{Fanout, Simulated, SlowerPages};
use unblink_analysis::evidence::WrongClient;
use unblink_analysis::quantile::{QUANTILES, Survival};
use unblink_core::record::Series;
use unblink_core::time::Nanos;

impl Tally {
    pub(super) fn simulated(&self) -> Option<Simulated> {
        let world = self.header.simulated.clone()?;
        let counters = &self.totals.counters;
        let sent = counters.measured.sent + counters.warmup.sent;
        let whole = world.planned.filter(|_| self.part.is_none());
        let answered = counters.measured.ok;
        let length = Nanos(self.header.load.duration_ns);
        Some(Simulated {
            claimed: whole.map(|planned| super::per_second(planned, length)),
            omitted: whole.map(|planned| planned.saturating_sub(counters.measured.due)),
            invented: self.totals.track(Series::Response).count().saturating_sub(answered),
            requests_per_arrival: match sent {
                0 => 0.0,
                sent => (sent + counters.connections.resent) as f64 / sent as f64,
            },
            world,
        })
    }

    /// The simulated client, if its figures are not what users feel.
    pub(super) fn wrong_client(&self) -> Option<WrongClient<'_>> {
        let simulated = self.simulated()?;
        let world = self.header.simulated.as_ref().filter(|world| !world.is_felt)?;
        Some(WrongClient {
            name: &world.client,
            omitted: simulated.omitted.unwrap_or(0),
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

//! The checks themselves, by what they look at. Each raises at most one finding.

mod account;
mod addresses;
mod agents;
mod arrivals;
mod asked_to_wait;
mod broken;
mod cross_check;
mod full;
mod generator;
mod journeys;
mod operations;
mod percentiles;
mod pool;
mod pushes;
mod refusals;
mod replayed;
mod retries;
mod saturation;
mod scope;
mod simulated;
mod steady;
#[cfg(test)]
mod tests;
mod users;

use crate::evidence::{Evidence, Pool};
use crate::finding::{Finding, FindingCode, Severity};
use crate::quantile::{QuantileValue, Survival};
use crate::text;
use unblink_core::record::{Outcomes, Series};

/// Evidence, and what several checks derive from it.
struct Case<'a> {
    evidence: &'a Evidence<'a>,
    /// Response times, the censored included.
    response: Survival,
    /// The printed percentiles of response time.
    printed: Vec<(f64, QuantileValue)>,
}

/// Every finding, in no particular order.
pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    let totals = evidence.totals;
    let response = Survival::with_open(
        totals.track(Series::Response),
        totals.track(Series::ResponseCensored),
        evidence.without_ending,
    );
    let case = Case { evidence, printed: response.table(), response };
    if let Some(failed) = account::preflight_failed(&case) {
        return vec![failed];
    }
    if let Some(nothing) = account::nothing_measured(&case) {
        return std::iter::once(nothing).chain(scope::part_borders(&case)).collect();
    }
    let checks: &[fn(&Case<'_>) -> Option<Finding>] = &[
        account::accounting,
        agents::lost,
        agents::not_valid,
        agents::differ,
        agents::one_share,
        agents::clock_uncertain,
        agents::bus_behind,
        account::no_answers,
        account::cut_off,
        account::killed,
        account::interrupted,
        account::aborted,
        account::double_intervals,
        arrivals::not_as_claimed,
        generator::sent_below_offered,
        generator::late,
        generator::busy,
        generator::paused,
        generator::cpu_steal,
        percentiles::failures_shape,
        percentiles::timeouts_shape,
        percentiles::few_samples,
        pool::never_connected,
        pool::client_shed_load,
        pool::local_limit,
        addresses::dead,
        addresses::uneven,
        operations::rows_ran_out,
        operations::script_failed,
        account::setup_failed,
        pool::limit_reached,
        pushes::among_answers,
        broken::protocol_broken,
        cross_check::counts_disagree,
        cross_check::foreign_traffic,
        cross_check::failed,
        asked_to_wait::asked_to_wait,
        full::full,
        operations::spilled,
        operations::failed,
        journeys::failed,
        retries::amplified,
        scope::part_borders,
        scope::rate_changed,
        scope::closed_loop,
        replayed::not_reached,
        replayed::ids_replaced,
        users::not_begun,
        users::outnumber_connections,
        saturation::saturated,
        saturation::too_short,
        simulated::client,
        steady::not_steady,
    ];
    checks.iter().filter_map(|check| check(&case)).collect()
}

impl Case<'_> {
    /// `5 connections`, `20 connections (the default for PostgreSQL)`
    fn connections(&self) -> String {
        let (Pool::Auto { max: n } | Pool::Fixed { n } | Pool::Default { n, .. }) = self.evidence.pool;
        let connections = text::plural(n, "connection", "connections");
        match self.evidence.pool {
            Pool::Default { of, .. } => format!("{connections} (the default for {of})"),
            Pool::Auto { .. } | Pool::Fixed { .. } => connections,
        }
    }

    fn measured(&self) -> &Outcomes {
        &self.evidence.totals.counters.measured
    }

    /// Printed percentiles that rest on enough samples and are known.
    fn supported(&self) -> impl Iterator<Item = (f64, QuantileValue)> + '_ {
        self.printed.iter().copied().filter(|(_, value)| !value.few_samples && !value.censored)
    }
}

/// Puts a finding together.
fn found(
    code: FindingCode,
    severity: Severity,
    message: String,
    remedy: impl Into<String>,
    evidence: Vec<(&'static str, f64)>,
) -> Option<Finding> {
    Some(Finding { code, severity, message, remedy: remedy.into(), evidence })
}

/// What an origin is called in a message.
fn called<'a>(case: &Case<'a>, origin: usize) -> &'a str {
    match case.evidence.origins.get(origin) {
        Some(name) if case.evidence.origins.len() > 1 => name,
        _ => "the target",
    }
}

/// `part / whole`; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Is `share` more than what lies above the quantile `q`? Rounding of `1 − q` must not decide it.
fn exceeds_tail(share: f64, q: f64) -> bool {
    share > 1.0 - q + 1e-12
}

/// `worse` when `is_worse`, `else_` otherwise.
fn severity(is_worse: bool, worse: Severity, else_: Severity) -> Severity {
    if is_worse { worse } else { else_ }
}

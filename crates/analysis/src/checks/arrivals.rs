//! Are the arrivals what the schedule claims?

use super::{Case, found, severity};
use crate::arrivals::{ArrivalProcess, ClaimedProcess, TimesTest};
use crate::evidence::LoadArrivals;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text::{self, Round};
use crate::thresholds::ARRIVAL_P_VALUE_MAX;

/// Intended times that are not as claimed are a defect. Sent times may also be those of a pool that lets
/// nothing out: response times count from the intended time all the same, and other findings tell of it.
pub(super) fn not_as_claimed(case: &Case<'_>) -> Option<Finding> {
    // The schedule of any load being wrong is worse than its sending.
    let all = || case.evidence.arrivals.iter();
    let worst = all().find(|of| of.process.is_planned_otherwise());
    let LoadArrivals { load, process } = worst.or_else(|| all().find(|of| of.process.is_sent_otherwise()))?;
    let of = load.map(|name| format!(" of the load {name:?}")).unwrap_or_default();
    let (planned, sent) = (process.is_planned_otherwise(), process.is_sent_otherwise());
    let lag = case.evidence.totals.counters.lag;
    let is_own = lag.generator_ns > lag.pool_ns() + lag.connecting_ns;
    let claimed = name(process.claimed);
    let (severity, message, remedy, test) = match (planned, sent) {
        (false, false) => return None,
        (true, _) => (
            Severity::Degrades,
            format!(
                "The schedule's own times{of} are not those of {claimed}: {}.",
                deviation(&process.intended)
            ),
            "This is a defect of the tool: keep the run's folder and report it.".to_string(),
            &process.intended,
        ),
        (false, true) => (
            severity(is_own, Severity::Degrades, Severity::Note),
            format!(
                "Requests{of} were not sent as {claimed}, though they were planned so: {}. {}",
                deviation(&process.sent),
                if is_own {
                    "The target saw the generator's rhythm."
                } else {
                    "The target saw what waiting for connections left of it."
                }
            ),
            if is_own {
                super::generator::headroom(case)
            } else {
                "See the findings about connections; response times count from the planned times.".to_string()
            },
            &process.sent,
        ),
    };
    found(FindingCode::ArrivalsNotAsClaimed, severity, message, remedy, numbers(process, test))
}

fn name(claimed: ClaimedProcess) -> &'static str {
    match claimed {
        ClaimedProcess::Even => "evenly spaced arrivals",
        ClaimedProcess::Recorded => "they were recorded",
        ClaimedProcess::Poisson => "a Poisson process",
        ClaimedProcess::Bursty => "a Poisson process in the bursts that were drawn",
    }
}

fn deviation(test: &TimesTest) -> String {
    match (test.gaps, test.deviation_max) {
        (Some(gaps), _) if gaps.p_value >= ARRIVAL_P_VALUE_MAX => format!(
            "each of {} is correlated with the next ({:.2})",
            text::plural(gaps.gaps, "gap", "gaps"),
            gaps.correlation
        ),
        (Some(gaps), _) => format!(
            "the distribution of {} is off by up to {} (A² = {:.1})",
            text::plural(gaps.gaps, "gap", "gaps"),
            text::percent_to(Round::Up, gaps.distance),
            gaps.a2
        ),
        (None, off) => {
            format!("they are off by up to {}", text::duration_to(Round::Up, off.unwrap_or_default()))
        }
    }
}

fn numbers(process: &ArrivalProcess, test: &TimesTest) -> Vec<(&'static str, f64)> {
    let mut numbers = vec![("arrivals", process.arrivals as f64)];
    if let Some(gaps) = test.gaps {
        numbers.extend([
            ("gaps", gaps.gaps as f64),
            ("a2", gaps.a2),
            ("p_value", gaps.p_value),
            ("distance", gaps.distance),
            ("correlation", gaps.correlation),
        ]);
    }
    if let Some(off) = test.deviation_max {
        numbers.push(("deviation_max_ns", off.0 as f64));
    }
    numbers
}

//! What requests and their answers come to, held against budgets and caps once a second.

use crate::args::run::RunArgs;
use crate::observe::{End, Observer};
use unblink_artifact::document::GuardKind;
use unblink_artifact::tally::Tally;
use unblink_core::plan::Plan;
use unblink_core::record::Interval;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// Requests of journeys are held against their cap over so many seconds.
const CAP_WINDOW: usize = 10;

/// What the requests and their answers may come to.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Budgets {
    /// Of requests that no schedule counts.
    pub(super) requests: Option<u64>,
    pub(super) errors: Option<u64>,
    pub(super) time: Option<Nanos>,
    /// When the requests of a schedule have used up their budget, and what that is: nothing is due from then on.
    pub(super) requests_end: Option<(Nanos, u64)>,
    /// Of a load whose requests follow answers, which no schedule holds below it.
    pub(super) rate_cap: Option<Rate>,
    /// Machines like this one that hold the load, each of which counts for itself.
    pub(super) parts: f64,
    /// Whose requests these are.
    pub(super) followers: &'static str,
}

/// What this machine may come to, which counts its own requests alone: of a cap of the whole load, its part. Whoever leads a load
/// holds all figures against the run's own cap, so that a part of it may be the heavier one.
pub(super) fn cap_here(args: &RunArgs, plan: &Plan, rate_cap: Option<Rate>) -> Option<Rate> {
    let is_led = args.share.share.is_some() && args.share.start_at.is_none();
    let of_run = args.load.max_rate.filter(|_| !is_led);
    let cap = [of_run, rate_cap].into_iter().flatten().min()?;
    let here =
        u128::from(cap.milli_per_s()) * u128::from(plan.threads()) / u128::from(plan.shares().of.max(1));
    Some(Rate::from_milli(u64::try_from(here).unwrap_or(u64::MAX).max(1)))
}

/// What this machine may send of a budget of requests: its part where nobody leads the load and has the figures of all.
pub(super) fn budget_here(args: &RunArgs, plan: &Plan, budget: Option<u64>) -> Option<u64> {
    if args.share.share.is_none() || args.share.start_at.is_none() {
        return budget;
    }
    let here = u128::from(budget?) * u128::from(plan.threads()) / u128::from(plan.shares().of.max(1));
    Some(u64::try_from(here).unwrap_or(u64::MAX).max(1))
}

/// The load is so many times that of this machine.
pub(super) fn parts(plan: &Plan) -> f64 {
    f64::from(plan.shares().of) / f64::from(plan.threads().max(1))
}

/// Why a load has ended whose requests are all sent that it may send.
pub(crate) fn requests_spent(budget: u64) -> String {
    format!("--budget-requests {budget} is used up")
}

/// The same of one that has failed as often as it may.
pub(crate) fn errors_spent(budget: u64) -> String {
    format!("--budget-errors {budget} is used up")
}

/// Counts what has been sent and what has failed, an interval after the other.
pub(crate) struct Spending {
    budgets: Budgets,
    sent: u64,
    errors: u64,
    /// Requests in each of the last seconds, and how long it was.
    window: Vec<(u64, Nanos)>,
}

impl Observer for Spending {
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        let counters = &interval.bank.counters;
        let both = [&counters.measured, &counters.warmup];
        let sent = both.iter().map(|of| of.sent + of.retries.sent_again).sum::<u64>();
        self.sent += sent;
        self.errors += both.iter().map(|of| of.failed_total() + of.timed_out).sum::<u64>();
        let Budgets { requests, errors, rate_cap, .. } = self.budgets;
        let (kind, rule) = if errors.is_some_and(|max| self.errors >= max) {
            (GuardKind::BudgetErrors, errors_spent(errors.unwrap_or_default()))
        } else if requests.is_some_and(|max| self.sent >= max) {
            (GuardKind::BudgetRequests, requests_spent(requests.unwrap_or_default()))
        } else {
            let per_s = self.above(rate_cap?, sent, interval.length)?;
            let cap = rate_cap.unwrap_or_default();
            (
                GuardKind::MaxRate,
                format!("{} have come to {per_s:.0}/s, more than the cap of {cap}", self.budgets.followers),
            )
        };
        Some(End::by_guard(kind, rule, interval.start + interval.length))
    }
}

impl Spending {
    pub(super) fn new(budgets: Budgets) -> Spending {
        Spending { budgets, sent: 0, errors: 0, window: Vec::new() }
    }

    /// The rate of the last seconds, if it is surely above the cap: machines that send Poisson processes at their caps are above
    /// this in less than one window of 30,000 of all of them. By Bernstein's inequality, which holds for few requests, too:
    /// P(N ≥ m + x) ≤ exp(−x² / (2 (m + x / 3))) for a mean m.
    fn above(&mut self, cap: Rate, sent: u64, length: Nanos) -> Option<f64> {
        if self.window.len() == CAP_WINDOW {
            self.window.remove(0);
        }
        self.window.push((sent, length));
        if self.window.len() < CAP_WINDOW {
            return None;
        }
        let sent: u64 = self.window.iter().map(|(sent, _)| sent).sum();
        let seconds: f64 = self.window.iter().map(|(_, length)| length.as_secs_f64()).sum();
        let (mean, rare) = (cap.as_per_s() * seconds, (30_000.0 * self.budgets.parts.max(1.0)).ln());
        let most = mean + rare / 3.0 + (rare * rare / 9.0 + 2.0 * rare * mean).sqrt();
        (sent as f64 > most).then(|| sent as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;
    use crate::args::share::ShareOf;
    use std::ffi::OsString;
    use unblink_core::plan::WorkerShares;

    fn spending(cap_per_s: u64) -> Spending {
        let budgets = Budgets { rate_cap: Some(Rate::per_second(cap_per_s)), ..Budgets::default() };
        Spending::new(budgets)
    }

    fn above(spending: &mut Spending, each: u64, seconds: usize) -> Option<f64> {
        let cap = spending.budgets.rate_cap.unwrap();
        (0..seconds).filter_map(|_| spending.above(cap, each, Nanos::from_secs(1))).last()
    }

    #[test]
    fn journeys_are_held_against_their_cap_over_a_while() {
        // 10 s at 100/s: 1,000 and 147 more.
        assert_eq!(above(&mut spending(100), 114, 10), None);
        assert_eq!(above(&mut spending(100), 115, 9), None, "too early to tell");
        assert_eq!(above(&mut spending(100), 115, 10), Some(115.0));
        // Where several machines count for themselves, each of them may be mistaken: 157 more.
        let mut part = spending(100);
        part.budgets.parts = 4.0;
        assert_eq!(above(&mut part, 115, 10), None);
        assert_eq!(above(&mut part, 116, 10), Some(116.0));
        let mut later = spending(100);
        assert_eq!(above(&mut later, 0, 100), None);
        assert!(above(&mut later, 200, 10).is_some(), "only the last seconds count");
    }

    /// Four machines, each of which counts for itself.
    #[test]
    fn a_machine_keeps_to_its_part_of_a_cap() {
        let line = ["unblink", "run", "http://127.0.0.1:9/", "-R", "1", "-n", "1"].map(OsString::from);
        let cli = crate::plan::stage_line(line.to_vec()).expect("a command");
        let Command::Run(mut args) = cli.command else { panic!("a run is a run") };
        args.load.max_rate = Some(Rate::per_second(50));
        let whole = crate::run::planned(&args).expect("a plan").plan;
        let cap = |args: &RunArgs, plan: &Plan, n| cap_here(args, plan, Some(Rate::per_second(n)));
        assert_eq!(cap(&args, &whole, 100), Some(Rate::per_second(50)));
        assert_eq!(cap(&args, &whole, 20), Some(Rate::per_second(20)));
        let (of, threads) = (4 * whole.threads(), whole.threads());
        let part = whole.with_shares(WorkerShares { first: threads, of }).expect("there is such a part");
        assert_eq!(cap(&args, &part, 20), Some(Rate::per_second(5)), "{threads} of {of}");
        args.share.start_at = Some(jiff::Timestamp::UNIX_EPOCH);
        args.share.share = Some(ShareOf { first: threads + 1, last: 2 * threads, of });
        assert_eq!(cap(&args, &part, 100), Some(Rate::from_milli(12_500)), "nobody has all figures");
        assert_eq!(budget_here(&args, &part, Some(1_000)), Some(250));
        args.share.start_at = None;
        assert_eq!(budget_here(&args, &part, Some(1_000)), Some(1_000), "whoever leads has all figures");
        assert_eq!(cap(&args, &part, 100), Some(Rate::per_second(25)), "whoever leads has all figures");
        assert_eq!(cap_here(&args, &part, None), None);
    }
}

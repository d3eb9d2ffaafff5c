//! Did the load generator itself keep to the schedule, and had it headroom?

use super::{Case, found, severity, share};
use crate::evidence::{End, Evidence, Model};
use crate::finding::{Finding, FindingCode, Severity};
use crate::moves::UNSEEN_SHARE;
use crate::quantile::Survival;
use crate::text;
use crate::thresholds::{
    BUSY_SHARE_DEGRADES, BUSY_SHARE_INVALIDATES, BUSY_TIME_MIN, LATE_FLOOR, LATE_QUANTILE_MAX,
    LATE_SHARE_DEGRADES, LATE_SHARE_INVALIDATES, PAUSE_MIN, PAUSE_MOVED_SHARE_DEGRADES,
    PAUSE_MOVED_SHARE_INVALIDATES, RUN_DELAY_MIN, SENT_MISSING_MIN, SENT_SHARE_DEGRADES,
    SENT_SHARE_INVALIDATES, STEAL_SHARE_DEGRADES, STEAL_SHARE_INVALIDATES,
};
use unblink_core::record::Series;
use unblink_core::time::Nanos;

/// What is to be lowered, and what else helps.
const THE_RATE: &str =
    "the rate, use more threads (-t) or give the generator processors of its own, away from the target.";

/// The same where each share has a thread.
const THE_RATE_OF_SHARES: &str = "the rate, deal the load to more shares or agents, or give the generator processors of its own, away from the target.";

/// What to do about a generator that is behind.
pub(super) fn headroom(case: &Case<'_>) -> String {
    let the_rate = if case.evidence.agents.is_some() { THE_RATE_OF_SHARES } else { THE_RATE };
    match case.evidence.script {
        Some(script) => format!(
            "The {script} runs in the generator's threads, and what it takes makes requests late: make it cheaper or put a template in \
             its place, lower {the_rate}"
        ),
        None => format!("Lower {the_rate}"),
    }
}

/// Arrivals that should have been sent while the load lasted and weren't, when the generator is why: whatever the shape
/// and however short the run. What could not be sent for lack of a connection is told by other findings, and so is what
/// failed before it could be sent.
pub(super) fn sent_below_offered(case: &Case<'_>) -> Option<Finding> {
    let (evidence, measured) = (case.evidence, case.measured());
    let lag = evidence.totals.counters.lag;
    let is_own = lag.generator_ns > lag.pool_ns() + lag.connecting_ns;
    if evidence.model == Model::Closed || evidence.is_part || evidence.end == End::Open {
        return None;
    }
    let never_sent = measured.timed_out_never_sent_own;
    let late = measured.sent.saturating_sub(evidence.sent_in_load);
    let missing = never_sent + measured.unsent_own + if is_own { late } else { 0 };
    let sent_share = 1.0 - share(missing, evidence.scheduled);
    if missing < SENT_MISSING_MIN || sent_share >= SENT_SHARE_DEGRADES {
        return None;
    }
    found(
        FindingCode::SentBelowOffered,
        severity(sent_share < SENT_SHARE_INVALIDATES, Severity::Invalidates, Severity::Degrades),
        format!(
            "The generator did not keep up: {} arrivals, {}, were not sent before the load ended, for reasons of its own{}.",
            text::of(missing, evidence.scheduled),
            text::percent(share(missing, evidence.scheduled)),
            match never_sent {
                0 => String::new(),
                n => format!("; {} of them timed out unsent", text::count(n)),
            }
        ),
        headroom(case),
        vec![
            ("missing", missing as f64),
            ("timed_out_never_sent", never_sent as f64),
            ("missing_share", share(missing, evidence.scheduled)),
        ],
    )
}

/// Compares percentile by percentile. Every sent arrival has a lateness, so that it is held against how long all
/// of them took, the failed included: it is a part of just these times and can't exceed them.
pub(super) fn late(case: &Case<'_>) -> Option<Finding> {
    let totals = case.evidence.totals;
    let lateness = Survival::known(totals.track(Series::GeneratorLate));
    let mut took = totals.track(Series::Response).clone();
    took.add(totals.track(Series::Failed));
    let took = Survival::new(&took, totals.track(Series::ResponseCensored));
    let mut worst: Option<(Severity, f64, Nanos, Nanos)> = None;
    for (q, _) in case.supported() {
        let own = Nanos(lateness.quantile(q)?.value_ns);
        let response = took.quantile(q)?;
        let own_share = share(own.0, response.value_ns);
        let is_tail = q > LATE_QUANTILE_MAX;
        let severity = match own_share {
            _ if own <= LATE_FLOOR => continue,
            s if s > LATE_SHARE_INVALIDATES && !is_tail => Severity::Invalidates,
            s if s > LATE_SHARE_INVALIDATES || (s > LATE_SHARE_DEGRADES && !is_tail) => Severity::Degrades,
            _ => continue,
        };
        // Of equals the lowest percentile: it touches the most arrivals.
        if worst.is_none_or(|(so_far, ..)| severity > so_far) {
            worst = Some((severity, q, own, Nanos(response.value_ns)));
        }
    }
    let (severity, q, own, response) = worst?;
    let p = text::percentile(q);
    found(
        FindingCode::GeneratorLate,
        severity,
        format!(
            "The generator itself sent late: its own lateness is {} at {p}, where the response time is {}.",
            text::duration(own),
            text::duration(response)
        ),
        headroom(case),
        vec![
            ("quantile", q),
            ("late_ns", own.0 as f64),
            ("response_ns", response.0 as f64),
            ("share", share(own.0, response.0)),
        ],
    )
}

/// The script has taken all the time that there was: what piled up waited for it, and nothing is known of the target. That the
/// generator was busy says so.
pub(super) fn is_script_the_limit(case: &Case<'_>) -> bool {
    let Evidence { script, totals, busy_share, .. } = *case.evidence;
    script.is_some() && totals.counters.own.total >= BUSY_TIME_MIN && busy_share > BUSY_SHARE_INVALIDATES
}

/// How little headroom was left. What it did to the figures is for `generator_late` to say.
pub(super) fn busy(case: &Case<'_>) -> Option<Finding> {
    let (all, max) = (case.evidence.busy_share, case.evidence.busy_share_max);
    // A share of a few milliseconds says nothing about a rate.
    let is_judged = case.evidence.totals.counters.own.total >= BUSY_TIME_MIN;
    let invalid = is_judged && all > BUSY_SHARE_INVALIDATES;
    if !invalid && max <= BUSY_SHARE_DEGRADES {
        return None;
    }
    found(
        FindingCode::GeneratorBusy,
        severity(invalid, Severity::Invalidates, Severity::Degrades),
        format!(
            "The generator had little headroom: its loops worked {} of the time, and {} of the busiest interval.",
            text::percent(all),
            text::percent(max.max(all))
        ),
        headroom(case),
        vec![("busy_share", all), ("busy_share_max", max)],
    )
}

/// What the generator's own pauses may have done to the percentiles.
///
/// While the generator is away, arrivals wait and answers lie unread: about the paused share φ of all
/// samples is too long, each by the longest pause L at most. Without them, the value at rank q would
/// be the one at rank q·(1 − φ) or more, and also q's own value less L or more. The larger of these two
/// bounds is what the target can be held to; the rest of the printed value may be the generator's.
///
/// A loop that sleeps can't see how late it is woken; the kernel's count of the time in which it was ready
/// and had no processor tells. How long the longest of these was is not known.
pub(super) fn paused(case: &Case<'_>) -> Option<Finding> {
    let own = &case.evidence.totals.counters.own;
    let starved = own.run_delay.0 >= RUN_DELAY_MIN.0.saturating_mul(own.run_slices.max(1));
    let (away, longest) = match starved && own.run_delay > own.paused {
        true => (own.run_delay, None),
        false => (own.paused, Some(own.pause_max)),
    };
    let paused_share = share(away.0, own.total.0);
    let mut worst: Option<Moved> = None;
    for (q, value) in case.supported() {
        let without = case.response.quantile(q * (1.0 - paused_share))?.value_ns;
        let without = Nanos(longest.map_or(without, |l| without.max(value.value_ns.saturating_sub(l.0))));
        let with = Nanos(value.value_ns);
        let moved = with - without;
        if moved <= LATE_FLOOR {
            continue;
        }
        let is_tail = q > LATE_QUANTILE_MAX;
        let severity = match share(moved.0, with.0) {
            s if s > PAUSE_MOVED_SHARE_INVALIDATES && !is_tail => Severity::Invalidates,
            s if s > PAUSE_MOVED_SHARE_INVALIDATES || (s > PAUSE_MOVED_SHARE_DEGRADES && !is_tail) => {
                Severity::Degrades
            }
            _ => continue,
        };
        if worst.as_ref().is_none_or(|so_far| severity > so_far.severity) {
            worst = Some(Moved { severity, q, with, without });
        }
    }
    let users_held_up = users_held_up_share(case).filter(|&share| share > PAUSE_MOVED_SHARE_DEGRADES);
    let is_noted =
        own.pause_max >= PAUSE_MIN || (longest.is_none() && paused_share > PAUSE_MOVED_SHARE_DEGRADES);
    if worst.is_none() && users_held_up.is_none() && !is_noted {
        return None;
    }
    let effect = match &worst {
        Some(m) => format!(
            " Without that, {} might be {} instead of {}.",
            text::percentile(m.q),
            text::duration(m.without),
            text::duration(m.with)
        ),
        None => " That decides no printed percentile.".to_string(),
    };
    let effect = match users_held_up {
        Some(share) => format!(
            "{effect} It kept the users from asking for {} of their time, which throughput lacks.",
            text::percent(share)
        ),
        None => effect,
    };
    let mut evidence = vec![
        ("pause_max_ns", own.pause_max.0 as f64),
        ("paused_ns", own.paused.0 as f64),
        ("run_delay_ns", own.run_delay.0 as f64),
        ("paused_share", paused_share),
    ];
    if longest.is_none() {
        evidence.push((UNSEEN_SHARE, paused_share));
    }
    evidence.extend(users_held_up.map(|share| ("users_held_up_share", share)));
    if let Some(m) = &worst {
        evidence.extend([
            ("quantile", m.q),
            ("with_ns", m.with.0 as f64),
            ("without_ns", m.without.0 as f64),
        ]);
    }
    found(
        FindingCode::GeneratorPaused,
        match (worst, users_held_up) {
            (None, None) => Severity::Note,
            (None, Some(_)) => Severity::Degrades,
            (Some(moved), _) => moved.severity,
        },
        match longest {
            Some(longest) => format!(
                "The generator itself was away for {} in all, {} at the longest.{effect}",
                text::duration(away),
                text::duration(longest)
            ),
            None => format!(
                "The generator waited for a processor for {} of {}.{effect}",
                text::duration(away),
                text::duration(own.total)
            ),
        },
        match case.evidence.script {
            // No other work takes as much, as a rule.
            Some(_) => headroom(case),
            None => "Leave the machine to the generator: other work, power saving and a shared hypervisor cause such \
                     pauses."
                .to_string(),
        },
        evidence,
    )
}

/// The share of closed users' time that the generator itself added to their waiting; `None` for an open load.
fn users_held_up_share(case: &Case<'_>) -> Option<f64> {
    let users = case.evidence.users?.all;
    let totals = case.evidence.totals;
    let added_ns =
        totals.track(Series::Hindered).sum_ns.saturating_sub(totals.track(Series::Unhindered).sum_ns);
    let theirs_ns = case.evidence.load_length().0 as f64 * users as f64;
    (theirs_ns > 0.0).then(|| (added_ns as f64 / theirs_ns).min(1.0))
}

/// A percentile that own pauses may have moved.
struct Moved {
    severity: Severity,
    q: f64,
    with: Nanos,
    without: Nanos,
}

pub(super) fn cpu_steal(case: &Case<'_>) -> Option<Finding> {
    let steal = case.evidence.steal_share.filter(|&s| s > STEAL_SHARE_DEGRADES)?;
    found(
        FindingCode::CpuSteal,
        severity(steal > STEAL_SHARE_INVALIDATES, Severity::Invalidates, Severity::Degrades),
        format!("The hypervisor took {} of the processor time from this machine.", text::percent(steal)),
        "Measure from a machine that does not share its processors, or at another time.",
        vec![("steal_share", steal)],
    )
}

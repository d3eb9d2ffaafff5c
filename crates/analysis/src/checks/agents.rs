//! Does the record hold all machines that offered the load, and could each be believed?

use super::{Case, found};
use crate::evidence::Agents;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use unblink_core::time::Nanos;

/// Two machines together, from which on it is told, and from which on it may matter.
const CLOCK_ERROR_TOLD: Nanos = Nanos::from_millis(10);
const CLOCK_ERROR_MAX: Nanos = Nanos::from_millis(100);

/// What ends a load by the figures of all acts within two and a half seconds. From here on it acted twice as late as that; and a
/// bus that was started anew within 2 s is not told of.
const BUS_BEHIND_TOLD: Nanos = Nanos::from_secs(3);

/// Arrivals of which nobody knows what came of them: they may have been the slowest.
pub(super) fn lost(case: &Case<'_>) -> Option<Finding> {
    let agents = case.evidence.agents.filter(|agents| agents.is_merged)?;
    let missing = u64::from(agents.shares_missing);
    let evidence = vec![
        ("shares_missing", missing as f64),
        ("agents_broken_off", agents.killed as f64),
        ("lost", agents.lost.unwrap_or(0) as f64),
        ("not_offered", agents.stopped as f64),
        ("early", agents.early as f64),
    ];
    if missing == 0 && agents.killed == 0 {
        return (agents.early > 0 || agents.stopped > 0).then(|| Finding {
            code: FindingCode::AgentsLost,
            severity: Severity::Degrades,
            message: ended_early(agents),
            remedy: "Look at the figures until then alone (unblink report --to), or run again.".into(),
            evidence,
        });
    }
    let mut who = Vec::new();
    if missing > 0 {
        let shares = u64::from(agents.shares);
        let has = if missing == 1 { "has" } else { "have" };
        who.push(format!("{} shares {has} no record here", text::of(missing, shares)));
    }
    if agents.killed > 0 {
        let (plural, its) = if agents.killed == 1 {
            ("record breaks", "one machine's")
        } else {
            ("records break", "machines'")
        };
        let many =
            if agents.killed == 1 { String::new() } else { format!("{} ", text::count(agents.killed)) };
        who.push(format!("{many}{its} {plural} off"));
    }
    let who = who.join(", and ");
    let first = who.chars().next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let what = match agents.lost {
        _ if case.evidence.is_part => "how many arrivals of this part are missing is not known".to_string(),
        Some(0) if agents.is_more_lost => {
            "what would have followed the requests that it tells of is not known".to_string()
        }
        Some(0) => "no arrival is missing, but how it ended is not known".to_string(),
        Some(lost) if agents.is_more_lost => format!(
            "what came of {} is not known, nor of the requests that would have followed them",
            text::arrivals(lost)
        ),
        Some(lost) => {
            let all = case.evidence.scheduled + lost;
            format!("what came of {} arrivals is not known", text::of(lost, all))
        }
        None => "what came of their users' requests is not known".to_string(),
    };
    let is_tolerated = agents.lost.is_some() && missing + agents.killed <= agents.tolerate_lost;
    found(
        FindingCode::AgentsLost,
        if is_tolerated { Severity::Degrades } else { Severity::Invalidates },
        format!("{first}{}: {what}.", who.get(first.len()..).unwrap_or_default()),
        "Find the run folders of the machines that are missing and merge them, too; without them, run again.",
        evidence,
    )
}

/// No machine has told how its load ended.
pub(super) fn all_break_off(case: &Case<'_>) -> bool {
    case.evidence.agents.is_some_and(|agents| agents.is_merged && agents.killed == agents.heard)
}

/// From then on the target met less than what was asked for, and the figures are of both times.
fn ended_early(agents: &Agents) -> String {
    let by = text::duration(agents.early_by);
    let what = match agents.early {
        0 => "A machine was stopped while others went on".to_string(),
        1 => format!("The load of one machine ended {by} before that of the others"),
        n => format!("The loads of {} machines ended up to {by} before that of the others", text::count(n)),
    };
    match agents.stopped {
        0 => format!("{what}."),
        n => format!("{what}: {} {} not offered.", text::arrivals(n), text::were(n)),
    }
}

/// The figures of all hide the trouble of one among many.
pub(super) fn not_valid(case: &Case<'_>) -> Option<Finding> {
    let agents = case.evidence.agents?;
    let worst = agents.worst.as_ref()?;
    let severity = if worst.is_invalid { Severity::Degrades } else { Severity::Note };
    found(
        FindingCode::AgentNotValid,
        severity,
        match worst.of {
            0 | 1 => format!("The machine with {} had trouble of its own: {}", worst.name, worst.message),
            of => format!(
                "{} machines had trouble of their own, the machine with {} the most: {}",
                text::count(of),
                worst.name,
                worst.message
            ),
        },
        "Read that machine's own report; give it less of the load, or use another one.",
        vec![("agents", agents.heard as f64)],
    )
}

/// A machine, or the way from it to the target, is not like the others: the percentiles of all are a mixture.
pub(super) fn differ(case: &Case<'_>) -> Option<Finding> {
    let unlike = case.evidence.agents?.unlike.as_ref()?;
    found(
        FindingCode::AgentsDiffer,
        Severity::Note,
        format!(
            "The p99 of {} is {}, and that of all machines {} in the median.",
            unlike.name,
            text::duration(unlike.p99),
            text::duration(unlike.median)
        ),
        "Read that machine's own report: it may be further from the target, or be asked to do too much.",
        vec![("p99_ns", unlike.p99.0 as f64), ("p99_ns_median", unlike.median.0 as f64)],
    )
}

/// What one machine of several measured is no run.
pub(super) fn one_share(case: &Case<'_>) -> Option<Finding> {
    let agents = case.evidence.agents.filter(|agents| !agents.is_merged && agents.shares_missing > 0)?;
    found(
        FindingCode::OneShare,
        Severity::Note,
        format!("This is {} of a load that several machines offer.", agents.name),
        "Merge the run folders of all of them (unblink merge) for the figures of the whole load.",
        vec![("shares_missing", f64::from(agents.shares_missing)), ("shares", f64::from(agents.shares))],
    )
}

/// One share of the load was perhaps moved against the others.
pub(super) fn clock_uncertain(case: &Case<'_>) -> Option<Finding> {
    let error = case.evidence.agents?.clock_error.filter(|error| *error >= CLOCK_ERROR_TOLD)?;
    let severity = if error >= CLOCK_ERROR_MAX { Severity::Degrades } else { Severity::Note };
    found(
        FindingCode::ClockUncertain,
        severity,
        format!(
            "Machines may have been {} apart: that is how well the clocks of two of them were known, at the start and with what they drifted \
             since. The load on the target may have been less even than it was planned; latencies are each machine's own and are right.",
            text::duration(error)
        ),
        "Run the coordinator and the bus nearer to the agents.",
        vec![("clock_error_ns_max", error.0 as f64)],
    )
}

/// What is done while load goes on was done by old figures. Those of the end are whole.
pub(super) fn bus_behind(case: &Case<'_>) -> Option<Finding> {
    let agents = case.evidence.agents?;
    let behind = agents.behind.as_ref().filter(|behind| behind.most >= BUS_BEHIND_TOLD)?;
    found(
        FindingCode::BusBehind,
        Severity::Note,
        format!(
            "What the machine with {} recorded reached the bus up to {} late{}. Live figures, --abort-on, --precision and budgets of all \
             machines waited for it; the figures here are complete.",
            behind.name,
            text::duration(behind.most),
            match agents.heard {
                0 | 1 => "",
                _ => ", later than that of any other",
            }
        ),
        "Bring the bus nearer to that machine, or give both more of the network; fewer requests that are recorded apart say less.",
        vec![("bus_behind_ns_max", behind.most.0 as f64)],
    )
}

//! From cells to a scorecard: what a tool does, told from its numbers alone.

use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{AuditCheck, AuditScenario, LabCell, LabPercentile, Mechanism, Passed};

use crate::Database;

/// The scenarios of an audit, unless others are asked for: without an event, with one, with several, beyond the
/// timeout, with failures, and at a rate that a closed loop does not keep.
pub const SCENARIOS: &[&str] = &["healthy", "stall", "pauses", "timeouts", "errors", "trickle"];

/// The percentile that decides.
const DECIDING: f64 = 0.99;
/// Of what should have come in an event, so much came: it was sent on time.
const ON_TIME: f64 = 0.9;
/// Of what should have come in an event, no more is missing at the end: it was sent late.
const CAUGHT_UP: f64 = 0.2;
/// A closed loop sends so much more than it was asked for where answers leave it room.
const BEYOND_THE_PLAN: f64 = 1.5;
/// Or so much less where they don't.
const OFF_THE_PLAN: f64 = 0.01;

/// Standard deviations of the number of arrivals that come by chance.
const CHANCE: f64 = 4.0;

/// What is made up lies near the truth; a tool that is slow itself says more than this many times it.
const TRUTH_EXCEEDED: f64 = 1.5;

/// What all cells of one tool come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorecard {
    /// The questions and their answers.
    pub checks: Vec<AuditCheck>,
    /// How it comes to its figures.
    pub mechanism: Mechanism,
    /// Why that is said.
    pub evidence: String,
    /// p99 by scenario.
    pub scenarios: Vec<AuditScenario>,
}

/// Judges a tool by one cell of each scenario.
pub fn audit(cells: &[LabCell]) -> Scorecard {
    let by_name = |name: &str| cells.iter().find(|cell| cell.scenario.name == name && cell.problem.is_none());
    // Of a database there is but one, whose answers leave a closed loop all the room that it wants.
    let of_database = Database::ALL.iter().find_map(|database| by_name(database.scenario()));
    let stall = by_name("stall").or(of_database);
    let (mechanism, evidence) = mechanism(stall, by_name("trickle").or(of_database));
    let checks = vec![
        offers(by_name("healthy"), mechanism),
        measures(stall, mechanism),
        keeps(stall, mechanism),
        counts_timeouts(by_name("timeouts")),
        leaves_failures_out(by_name("errors")),
        is_right(cells),
    ];
    Scorecard { checks, mechanism, evidence, scenarios: cells.iter().map(scenario).collect() }
}

fn deciding(cell: &LabCell) -> Option<&LabPercentile> {
    cell.percentiles.iter().find(|line| line.q == DECIDING)
}

fn ms(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    if ms < 9.95 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

/// How it comes to its figures: from the stall what it sent when, and what it says of that; from the trickle whether
/// it keeps a rate at all.
pub(crate) fn mechanism(stall: Option<&LabCell>, trickle: Option<&LabCell>) -> (Mechanism, String) {
    let closed =
        trickle.filter(|cell| cell.offered.requests as f64 > cell.offered.planned as f64 * BEYOND_THE_PLAN);
    let closed_says = closed.map(|cell| {
        format!(
            "asked for {} requests, it sent {} where answers left it room",
            cell.offered.planned, cell.offered.requests
        )
    });
    let Some(stall) = stall else {
        return match closed_says {
            Some(says) => (Mechanism::ClosedLoop, says),
            None => {
                (Mechanism::Unknown, "without the scenario stall there is nothing to tell it from".into())
            }
        };
    };
    let offered = &stall.offered;
    let (planned, seen) = (offered.planned_in_events, offered.seen_in_events);
    let p99 = deciding(stall);
    let truth_ns = p99.and_then(|line| line.truth_low_ns).unwrap_or(0);
    let reported_ns = p99.and_then(|line| line.reported_ns);
    let is_right = p99.and_then(|line| line.is_right);
    let says = match reported_ns {
        Some(ns) => format!("it reports a p99 of {} where {} is true", ms(ns), ms(truth_ns)),
        None => "it reports no p99".to_owned(),
    };
    // One that is due right after it may come at its end.
    let came = match seen > planned {
        true => format!("{seen} requests came during the stall, in which {planned} were planned"),
        false => format!("{seen} of {planned} requests came during the stall"),
    };
    if closed.is_none() && seen as f64 >= planned as f64 * ON_TIME {
        return match is_right {
            Some(true) => (Mechanism::Open, format!("{came}, and {says}")),
            _ => (Mechanism::Unknown, format!("{came}, and yet {says}: the figure is not of what was sent")),
        };
    }
    let is_late = closed.is_none() && offered.omitted as f64 <= planned as f64 * CAUGHT_UP;
    if is_late {
        let later = format!("{came}, the others later");
        return match (is_right, reported_ns) {
            (Some(true), _) => (Mechanism::Open, format!("{later}; {says}: it counts from the schedule")),
            (_, Some(ns)) if ns > truth_ns => {
                (Mechanism::CappedCatchUp, format!("{later}, over a longer time than they need; {says}"))
            }
            (_, Some(_)) => (Mechanism::SendClock, format!("{later}; {says}: it counts from the send")),
            (_, None) => (Mechanism::Unknown, format!("{later}; {says}")),
        };
    }
    let never = match offered.omitted {
        0 => came,
        omitted => format!("{came}; {omitted} of all were never sent"),
    };
    // What the requests that were sent can show: the server knows it.
    let explained_ns = p99.and_then(|line| line.log_ns).unwrap_or(0);
    let fits = |ns: u64| {
        ns * 2 >= truth_ns && ns as f64 <= truth_ns as f64 * TRUTH_EXCEEDED && ns > explained_ns * 2
    };
    if reported_ns.is_some_and(fits) && !is_slow_itself(stall) {
        let says =
            format!("{never}; {says}, and what was sent took {}: the rest is made up", ms(explained_ns));
        return (Mechanism::BackFilled, says);
    }
    match closed_says {
        Some(closed) => (Mechanism::ClosedLoop, format!("{closed}; {never}; {says}")),
        None if trickle.is_some() => (Mechanism::Queueless, format!("it keeps a rate, but {never}; {says}")),
        None => {
            (Mechanism::Unknown, format!("{never}; {says}: the scenario trickle would tell a closed loop"))
        }
    }
}

/// Does the tool say more than the server did where nothing happened, too? Then that is its own time and not made up: a
/// stall of a second in a minute touches nothing below p95.
fn is_slow_itself(stall: &LabCell) -> bool {
    let line = stall.percentiles.iter().find(|line| line.q == 0.9);
    let both = line.and_then(|line| line.reported_ns.zip(line.log_ns));
    both.is_some_and(|(reported_ns, log_ns)| reported_ns as f64 > log_ns as f64 * TRUTH_EXCEEDED)
}

fn check(code: &str, question: &str, passed: Passed, because: String) -> AuditCheck {
    AuditCheck { code: code.to_owned(), question: question.to_owned(), passed, because }
}

fn yes(is: bool) -> Passed {
    if is { Passed::Yes } else { Passed::No }
}

fn offers(healthy: Option<&LabCell>, mechanism: Mechanism) -> AuditCheck {
    let question = "Does it offer what it says?";
    let Some(cell) = healthy else {
        return check("offers", question, Passed::Unknown, "it takes the scenario healthy to tell".into());
    };
    let offered = &cell.offered;
    let sent =
        format!("{} requests of {} came from a healthy server's side", offered.requests, offered.planned);
    let is_closed = matches!(mechanism, Mechanism::ClosedLoop | Mechanism::BackFilled);
    if cell.tool.model == LoadModel::Closed {
        let passed = if is_closed { Passed::Yes } else { Passed::Unknown };
        return check("offers", question, passed, format!("it claims users who wait, and no rate: {sent}"));
    }
    let off = offered.requests.abs_diff(offered.planned) as f64 / offered.planned.max(1) as f64;
    if is_closed {
        return check("offers", question, Passed::No, "it keeps no rate: the answers set its pace".into());
    }
    let late = format!("{sent}, at most {} behind an even schedule at p99", ms(offered.lag_p99_ns));
    check("offers", question, yes(off <= OFF_THE_PLAN), late)
}

fn measures(stall: Option<&LabCell>, mechanism: Mechanism) -> AuditCheck {
    let question = "Does it measure from the intended start?";
    let Some(line) = stall.and_then(deciding).filter(|line| line.reported_ns.is_some()) else {
        return check("intended_start", question, Passed::Unknown, "it reports no p99 of the stall".into());
    };
    let reported = ms(line.reported_ns.unwrap_or(0));
    let truth = ms(line.truth_low_ns.unwrap_or(0));
    let (passed, why) = match mechanism {
        Mechanism::Open => (Passed::Yes, "its p99 holds the whole wait"),
        Mechanism::CappedCatchUp => {
            (Passed::Yes, "it does, but catches up too slowly, so that it overstates")
        }
        Mechanism::SendClock => (Passed::No, "the wait before the send is missing"),
        Mechanism::BackFilled => (Passed::No, "samples are made up in place of what was not sent"),
        Mechanism::ClosedLoop => (Passed::No, "what was not sent was not measured"),
        Mechanism::Queueless => (Passed::No, "what was dropped was not measured"),
        Mechanism::Unknown => (yes(line.is_right == Some(true)), "the mechanism is not clear"),
    };
    check("intended_start", question, passed, format!("{why}: p99 {reported}, true is {truth}"))
}

fn keeps(stall: Option<&LabCell>, mechanism: Mechanism) -> AuditCheck {
    let question = "Does it keep what it could not send at once?";
    let Some(cell) = stall else {
        return check("keeps", question, Passed::Unknown, "it takes the scenario stall to tell".into());
    };
    let offered = &cell.offered;
    let planned = offered.planned.max(1) as f64;
    let by_chance = if cell.tool.is_poisson { CHANCE * planned.sqrt() } else { 0.0 };
    let may_miss = (planned * OFF_THE_PLAN / 2.0).max(by_chance);
    let mut because = format!("{} of {} arrivals were never sent", offered.omitted, offered.planned);
    if cell.tool.is_poisson {
        because += &format!("; up to {by_chance:.0} are chance, as they come by a Poisson process");
    }
    let misses = offered.omitted as f64 > may_miss;
    if mechanism == Mechanism::ClosedLoop && !misses {
        // It was told how often to ask, not when.
        let (seen, planned) = (offered.seen_in_events, offered.planned_in_events);
        let because =
            format!("it asked as often, and not when it was due: {seen} of {planned} came during the stall");
        return check("keeps", question, Passed::No, because);
    }
    check("keeps", question, yes(!misses), because)
}

fn counts_timeouts(cell: Option<&LabCell>) -> AuditCheck {
    let question = "Does it count what timed out in its percentiles?";
    let says_longer = cell.and_then(|cell| deciding(cell).filter(|line| line.is_longer).map(|_| cell));
    if let Some(cell) = says_longer {
        let because = format!(
            "{} arrivals got no answer in time; its p99 is longer than it knows",
            cell.truth.timed_out
        );
        return check("timeouts", question, Passed::Yes, because);
    }
    let longest = cell.and_then(|cell| Some((cell, cell.reported.as_ref()?.points.last()?)));
    let Some((cell, longest)) = longest else {
        let because = "it takes the scenario timeouts, and a report of it, to tell".into();
        return check("timeouts", question, Passed::Unknown, because);
    };
    let line = deciding(cell).filter(|line| line.reported_ns.is_some());
    let timeout_ns = cell.scenario.timeout_ns;
    // A rounded timeout is one.
    let reaches = |ns: u64| ns as f64 >= timeout_ns as f64 * 0.9;
    let shown_ns = line.and_then(|line| line.reported_ns).unwrap_or(longest.value_ns);
    let name = if line.is_some() { "p99" } else { "longest" };
    let timed_out = cell.truth.timed_out;
    let because = format!(
        "{timed_out} arrivals got no answer within {}; its {name} is {}",
        ms(timeout_ns),
        ms(shown_ns)
    );
    check("timeouts", question, yes(reaches(shown_ns)), because)
}

fn leaves_failures_out(cell: Option<&LabCell>) -> AuditCheck {
    let question = "Does it keep fast failures out of its percentiles?";
    let median = cell.and_then(|cell| cell.percentiles.iter().find(|line| line.q == 0.5));
    let Some(line) = median.filter(|line| line.reported_ns.is_some()) else {
        let because = "it takes the scenario errors, and a median, to tell".into();
        return check("failures", question, Passed::Unknown, because);
    };
    let because = format!(
        "most requests failed at once; its median is {}, that of what was answered {}",
        ms(line.reported_ns.unwrap_or(0)),
        ms(line.truth_low_ns.unwrap_or(0))
    );
    check("failures", question, yes(line.is_right == Some(true)), because)
}

fn is_right(cells: &[LabCell]) -> AuditCheck {
    let judged: Vec<(&str, bool)> = cells
        .iter()
        .filter_map(|cell| Some((cell.scenario.name.as_str(), deciding(cell)?.is_right?)))
        .collect();
    let names = |is: bool| {
        let names: Vec<&str> =
            judged.iter().filter(|(_, right)| *right == is).map(|(name, _)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let question = "Is p99 within 5 % of the truth?";
    if judged.is_empty() {
        return check("p99", question, Passed::Unknown, "it reports no p99".into());
    }
    let because = format!("right in {}; wrong in {}", names(true), names(false));
    check("p99", question, yes(judged.iter().all(|(_, right)| *right)), because)
}

fn scenario(cell: &LabCell) -> AuditScenario {
    let line = deciding(cell);
    let truth = match line.map(|line| (line.truth_low_ns, line.truth_high_ns)) {
        Some((Some(low), Some(high))) if ms(low) == ms(high) => ms(low),
        Some((Some(low), Some(high))) => format!("{} to {}", ms(low), ms(high)),
        Some((Some(low), None)) => format!("longer than {}", ms(low)),
        _ => "not defined".into(),
    };
    let reported = match (&cell.problem, line.and_then(|line| line.reported_ns)) {
        (Some(problem), _) => problem.clone(),
        (None, Some(ns)) => ms(ns),
        (None, None) if line.is_some_and(|line| line.is_longer) => "longer than it knows".into(),
        (None, None) => "not reported".into(),
    };
    let p99 = line.and_then(|line| line.is_right).map_or(Passed::Unknown, yes);
    AuditScenario { name: cell.scenario.name.clone(), p99, truth, reported }
}

#[cfg(test)]
mod tests;

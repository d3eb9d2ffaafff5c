//! Where every arrival ended.

use super::wrong_client;
use crate::format;
use unblink_artifact::document::{Finding, LoadModel, RunDocument, RunStatus};

/// Where the arrivals of an account ended: (class of colour, name, count). Their sum is `scheduled`. Only a run that was
/// stopped has withheld any, and only one of several machines has lost any.
pub(crate) fn account(doc: &RunDocument) -> Vec<(&'static str, &'static str, u64)> {
    let a = &doc.arrivals;
    let mut account = vec![
        ("ok", "ok", a.ok),
        ("failed", "failed", a.failed),
        ("timed-out", "timed out", a.timed_out),
        ("unfinished", "unfinished", a.unfinished),
        ("unsent", "unsent", a.unsent),
    ];
    if a.withheld > 0 {
        account.push(("withheld", "withheld", a.withheld));
    }
    if a.lost > 0 {
        account.push(("lost", "lost", a.lost));
    }
    account
}

/// Whether every arrival ended in exactly one outcome.
pub(crate) fn adds_up(doc: &RunDocument) -> bool {
    account(doc).iter().map(|(_, _, n)| u128::from(*n)).sum::<u128>() == u128::from(doc.arrivals.scheduled)
}

/// The share of the arrivals that fell due that failed or timed out.
pub(crate) fn errors(doc: &RunDocument) -> String {
    let a = &doc.arrivals;
    match a.due() {
        0 => "–".into(),
        due => format::share(a.failed.saturating_add(a.timed_out), due),
    }
}

/// Where the number scheduled comes from, or that the outcomes don't sum to it.
pub(crate) fn scheduled_meaning(doc: &RunDocument) -> &'static str {
    match doc.model() {
        _ if !adds_up(doc) => "the sum is not what was scheduled",
        _ if wrong_client(doc).is_some() => "that this client knows of",
        // What crosses a border is counted where it ended.
        _ if doc.part.is_some() => "ended in this part of the run",
        _ if doc.transient.as_ref().is_some_and(|transient| transient.to_ns > 0) => {
            "ended after the transient"
        }
        LoadModel::Open if !doc.journeys.is_empty() => "from the schedule, and as answers came",
        LoadModel::Open => "counted from the schedule",
        LoadModel::Closed => "came due",
    }
}

/// What an outcome means, for the account.
pub(crate) fn outcome_meaning(doc: &RunDocument, name: &str) -> String {
    match name {
        "ok" => "whole answers, as expected".into(),
        "failed" => "wrong answer, or none".into(),
        "timed out" if doc.arrivals.timed_out_never_sent > 0 => format!(
            "longer than {}; {} of them never sent",
            format::least(doc.plan.timeout_ns),
            format::count(doc.arrivals.timed_out_never_sent)
        ),
        "timed out" => format!("longer than {}", format::least(doc.plan.timeout_ns)),
        "unfinished" => "in flight when the run ended".into(),
        "withheld" if stops_some(doc) => "due after their machine was stopped".into(),
        "withheld" => "due after the run was stopped".into(),
        "lost" if was_cut_off(doc) => "due on a machine that was cut off or lost".into(),
        "lost" => "with a machine of which nothing was heard".into(),
        _ => "waiting when the run ended".into(),
    }
}

/// Other machines went on for a while.
pub(super) fn stops_some(doc: &RunDocument) -> bool {
    let is_early =
        |finding: &Finding| finding.code == "agents_lost" && finding.evidence.get("early") > Some(&0.0);
    doc.validity.findings.iter().any(is_early)
}

/// One is as good as lost, although its record is here.
fn was_cut_off(doc: &RunDocument) -> bool {
    doc.status == RunStatus::Complete && stops_some(doc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_part_does_not_speak_for_the_whole_run() {
        let mut doc = fixture::stall();
        assert_eq!(scheduled_meaning(&doc), "counted from the schedule");
        doc.part = Some(unblink_artifact::document::Part { from_ns: 0, to_ns: 1 });
        assert_eq!(scheduled_meaning(&doc), "ended in this part of the run");
    }
}

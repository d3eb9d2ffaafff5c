//! What do the figures speak of: which part of the run, and which load?

use super::{Case, found, share};
use crate::evidence::Model;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{PART_SHARE_DEGRADES, SAMPLES_ABOVE_MIN};

/// A part holds the arrivals that ended in it. When an event is cut by a border, many fell due on the other side
/// of it, or end there.
pub(super) fn part_borders(case: &Case<'_>) -> Option<Finding> {
    let (evidence, measured) = (case.evidence, case.measured());
    let (due, ended) = (measured.due, measured.ended());
    let differ = due.abs_diff(ended);
    let of_larger = share(differ, due.max(ended));
    if !evidence.is_part || differ < SAMPLES_ABOVE_MIN || of_larger <= PART_SHARE_DEGRADES {
        return None;
    }
    let (message, remedy) = if due > ended {
        let message = format!(
            "{} fell due in this part and {} ended in it: what took longer is missing from its percentiles.",
            text::arrivals(due),
            text::count(ended)
        );
        (message, "Let the part end later, when what fell due in it has been answered.")
    } else {
        let message = format!(
            "{} ended in this part and only {} fell due in it: its percentiles speak of what went before, too.",
            text::arrivals(ended),
            text::count(due)
        );
        (message, "Let the part begin earlier, before what ends in it fell due.")
    };
    let evidence = vec![("due", due as f64), ("ended", ended as f64), ("share", of_larger)];
    found(FindingCode::PartBorders, Severity::Degrades, message, remedy, evidence)
}

pub(super) fn rate_changed(case: &Case<'_>) -> Option<Finding> {
    if case.evidence.model == Model::Closed || case.evidence.is_hold || case.evidence.is_part {
        return None;
    }
    let (judged, remedy) = match case.evidence.by_phase {
        true => {
            ("each phase is judged by itself.", "Quote what is said of the phases, not these percentiles.")
        }
        false => (
            "whether the target kept up with each was not judged.",
            "See the figures over time, or hold each rate in a run of its own.",
        ),
    };
    found(
        FindingCode::RateChanged,
        Severity::Note,
        format!("The rate changed on purpose: the percentiles mix all of its rates, and {judged}"),
        remedy,
        Vec::new(),
    )
}

pub(super) fn closed_loop(case: &Case<'_>) -> Option<Finding> {
    if case.evidence.model != Model::Closed {
        return None;
    }
    found(
        FindingCode::ClosedLoop,
        Severity::Note,
        "The load was closed: while the target stalls its users wait instead of arriving, so that the tail is \
         not what an open population feels."
            .to_string(),
        "Offer a rate with -R to see what users feel who do not wait for each other.",
        Vec::new(),
    )
}

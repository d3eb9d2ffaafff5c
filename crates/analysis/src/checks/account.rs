//! Is every arrival accounted for, and how did the run end?

use super::agents::all_break_off;
use super::pool::{ALLOWED_NONE_REMEDY, allowed_none};
use super::{Case, exceeds_tail, found, severity, share};
use crate::evidence::{End, JourneyEnds, Model, PartAccount};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{CUT_OFF_SHARE_DEGRADES, KILLED_QUANTILE_INVALIDATES};

/// The target was asked before the run began, and its answer was not what was asked for.
pub(super) fn preflight_failed(case: &Case<'_>) -> Option<Finding> {
    let why = case.evidence.preflight?;
    found(
        FindingCode::PreflightFailed,
        Severity::Invalidates,
        format!("The request before the run failed, so nothing was measured: {why}."),
        "Make the target answer as expected (one request by hand shows what it says), or start without asking \
         (--no-preflight).",
        Vec::new(),
    )
}

/// What a request beside the load brings, such as a token, could not be had again.
pub(super) fn setup_failed(case: &Case<'_>) -> Option<Finding> {
    let (name, failed, asked) = case.evidence.setup_failed?;
    found(
        FindingCode::SetupFailed,
        Severity::Degrades,
        format!(
            "[[setup]] {name} failed {} times during the load: requests were sent with older values.",
            text::of(failed, asked)
        ),
        "Check whether the failed requests used an old token, and find out why the setup request fails.",
        vec![("failed", failed as f64), ("asked", asked as f64)],
    )
}

pub(super) fn nothing_measured(case: &Case<'_>) -> Option<Finding> {
    let (evidence, measured) = (case.evidence, case.measured());
    if evidence.scheduled > 0 || measured.ended() > 0 || (measured.due > 0 && !evidence.is_part) {
        return None;
    }
    let stopped;
    let (message, remedy) = if evidence.is_part {
        ("No arrival ended in this part of the run.", "Choose a longer part.")
    } else if let End::Aborted { guard, .. } = evidence.end {
        let by = guard.map_or_else(|| " by --abort-on.".into(), |why| format!(": {why}."));
        stopped = format!("The run was stopped before any measured arrival had fallen due{by}");
        (&*stopped, "Run it again when nothing stops it.")
    } else if evidence.model == Model::Closed {
        (
            "No user asked for anything in the measured part of the run.",
            "Find out whether the target answers at all: a user asks again only after an answer, or the timeout. Then \
             measure for several times as long as an answer takes.",
        )
    } else {
        (
            "No arrival fell into the measured part of the run.",
            "Run for longer than the warm-up, and at a rate that makes at least one arrival due.",
        )
    };
    found(
        FindingCode::NothingMeasured,
        Severity::Invalidates,
        message.to_string(),
        remedy,
        vec![("due", measured.due as f64)],
    )
}

pub(super) fn accounting(case: &Case<'_>) -> Option<Finding> {
    let (evidence, measured) = (case.evidence, case.measured());
    let ended = measured.ended() + evidence.without_ending;
    // Where a transient was left out, the whole run's account was looked at before.
    let has_open_border = evidence.is_part || evidence.transient_left_out;
    if has_open_border {
        return None;
    }
    // What fell due on a machine that was lost has no end, and stands in the account as lost.
    let due = measured.due - evidence.agents.map_or(0, |agents| agents.due_lost);
    let all = PartAccount { name: "", scheduled: evidence.scheduled, due, ended };
    let mut accounts = std::iter::once(&all).chain(evidence.accounts);
    let &PartAccount { name, scheduled, due, ended } =
        accounts.find(|of| of.scheduled != of.due || of.scheduled != of.ended)?;
    let whose = if name.is_empty() { String::new() } else { format!(" of {name:?}") };
    found(
        FindingCode::Accounting,
        Severity::Invalidates,
        format!(
            "The account{whose} does not add up: {} {} scheduled, {} fell due and {} ended.",
            text::arrivals(scheduled),
            text::were(scheduled),
            text::count(due),
            text::count(ended)
        ),
        "It is not the target's doing. If the folder's record is not whole (a full disk), run.json still holds \
         the run's own account; otherwise this is a defect of unblink: keep the folder and report it.",
        vec![("scheduled", scheduled as f64), ("due", due as f64), ("ended", ended as f64)],
    )
}

pub(super) fn no_answers(case: &Case<'_>) -> Option<Finding> {
    let measured = case.measured();
    // Where all records break off before anything had ended, nothing is known of the target.
    if measured.ok > 0 || (measured.ended() == 0 && all_break_off(case)) {
        return None;
    }
    let largest = (0..measured.failed.len()).max_by_key(|&i| measured.failed[i]).unwrap_or(0);
    let failed = measured.failed_total();
    let cut_off = measured.unfinished + measured.unsent;
    let causes = [(failed, "failed"), (measured.timed_out, "timed out"), (cut_off, "still open at the end")];
    let causes: Vec<String> = causes
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", text::count(*n)))
        .collect();
    let remedy = if failed == 0 && allowed_none(case) {
        ALLOWED_NONE_REMEDY
    } else if failed > 0 {
        "See the failures by kind, try one request by hand, and check the URL and what is expected of an answer."
    } else {
        "Try one request by hand: the target does not answer within the timeout, or not at all."
    };
    found(
        FindingCode::NoAnswers,
        Severity::Invalidates,
        format!(
            "None of {} got the answer that was expected ({}).",
            text::arrivals(case.evidence.scheduled),
            causes.join(", ")
        ),
        remedy,
        vec![
            ("failed", failed as f64),
            ("timed_out", measured.timed_out as f64),
            ("failed_largest_kind", measured.failed[largest] as f64),
        ],
    )
}

pub(super) fn cut_off(case: &Case<'_>) -> Option<Finding> {
    let measured = case.measured();
    let cut = measured.unfinished + measured.unsent;
    if cut == 0 {
        return journeys_cut_off(case);
    }
    let cut_share = share(cut, case.evidence.scheduled);
    found(
        FindingCode::CutOff,
        severity(cut_share > CUT_OFF_SHARE_DEGRADES, Severity::Degrades, Severity::Note),
        format!(
            "{} arrivals {} under way when the run ended ({} in flight, {} waiting); {} the percentiles as lower \
             bounds.",
            text::of(cut, case.evidence.scheduled),
            text::were(cut),
            text::count(measured.unfinished),
            text::count(measured.unsent),
            if cut == 1 { "it enters" } else { "they enter" }
        ),
        "Give the run a longer --drain (by default it is the timeout), and see whether the target falls behind.",
        vec![
            ("unfinished", measured.unfinished as f64),
            ("unsent", measured.unsent as f64),
            ("share", cut_share),
        ],
    )
}

/// No request was under way, and journeys were: between two of their steps.
fn journeys_cut_off(case: &Case<'_>) -> Option<Finding> {
    let share_of = |of: &JourneyEnds<'_>| share(of.cut_off, of.ended);
    let worst = case.evidence.journeys.iter().max_by(|a, b| share_of(a).total_cmp(&share_of(b)))?;
    if worst.cut_off == 0 {
        return None;
    }
    let cut_share = share_of(worst);
    found(
        FindingCode::CutOff,
        severity(cut_share > CUT_OFF_SHARE_DEGRADES, Severity::Degrades, Severity::Note),
        format!(
            "{} journeys {:?} {} between two steps when the run ended; their later steps were not asked for.",
            text::of(worst.cut_off, worst.ended),
            worst.name,
            text::were(worst.cut_off),
        ),
        "Give the run a longer --drain, so that journeys come to their end with all their think times.",
        vec![("journeys", worst.cut_off as f64), ("ended", worst.ended as f64), ("share", cut_share)],
    )
}

pub(super) fn killed(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    if evidence.end != End::Open {
        return None;
    }
    let lost = if evidence.is_part || evidence.without_ending == 0 {
        String::new()
    } else {
        format!(
            " {} under way then {} no ending and count{} as longer than anything known.",
            text::arrivals(evidence.without_ending),
            if evidence.without_ending == 1 { "has" } else { "have" },
            if evidence.without_ending == 1 { "s" } else { "" },
        )
    };
    // The percentiles up to this one can't be told any more.
    let is_lost =
        exceeds_tail(share(evidence.without_ending, evidence.scheduled), KILLED_QUANTILE_INVALIDATES);
    found(
        FindingCode::Killed,
        severity(is_lost, Severity::Invalidates, Severity::Degrades),
        format!(
            "The run has no end: it still goes on, or it was killed after {} of measured load.{lost}",
            text::duration(evidence.load_length())
        ),
        "Wait for its end, or run it again: what was slow at the end is missing here.",
        vec![
            ("without_ending", evidence.without_ending as f64),
            ("load_s", evidence.load_length().as_secs_f64()),
        ],
    )
}

pub(super) fn interrupted(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    // Nobody ended one whose records all break off.
    if evidence.end != End::Interrupted || all_break_off(case) {
        return None;
    }
    let due = text::arrivals(evidence.scheduled);
    found(
        FindingCode::Interrupted,
        Severity::Note,
        match is_partly_stopped(case) {
            true => format!("The run was ended early on some of its machines; {due} had fallen due in all."),
            false => format!(
                "The run was ended early, after {} of measured load; {due} had fallen due by then.",
                text::duration(evidence.load_length())
            ),
        },
        "Run it to its end before you compare it with others.",
        vec![("load_s", evidence.load_length().as_secs_f64())],
    )
}

/// Some of several machines were stopped, and others went on: the end of the load is not that of those.
fn is_partly_stopped(case: &Case<'_>) -> bool {
    case.evidence.agents.is_some_and(|agents| agents.is_merged && (agents.early > 0 || agents.stopped > 0))
}

/// A rule or a guard ended it. What would still have been due is in the account and in no figure.
pub(super) fn aborted(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    let End::Aborted { guard, withheld } = evidence.end else { return None };
    let after = text::duration(evidence.load_length());
    let due = text::arrivals(evidence.scheduled);
    let rest = match withheld {
        0 => String::new(),
        n => format!(", and {} due after that {} withheld", text::arrivals(n), text::were(n)),
    };
    let unmet = match evidence.has_objectives {
        true => " No objective is met by a run that was not finished.",
        false => "",
    };
    let of_some = format!(
        "{due} had fallen due in all, and {} {} withheld.",
        text::arrivals(withheld),
        text::were(withheld)
    );
    let (code, message, remedy) = match guard {
        None if is_partly_stopped(case) => (
            FindingCode::Aborted,
            format!("Some of the machines of the run were stopped by --abort-on; {of_some}"),
            "Find out what hurt before you run it again; the figures are those up to the stop.",
        ),
        None => (
            FindingCode::Aborted,
            format!(
                "The run was stopped by --abort-on after {after} of measured load; {due} had fallen due by then{rest}."
            ),
            "Find out what hurt before you run it again; the figures are those up to the stop.",
        ),
        Some(why) if is_partly_stopped(case) => (
            FindingCode::Withheld,
            format!("A guard stopped some of the machines of the run ({why}); {of_some}{unmet}"),
            "Run it again when nothing stops it; the figures are those up to the stop.",
        ),
        Some(why) => (
            FindingCode::Withheld,
            format!(
                "A guard stopped the run after {after} of measured load ({why}); {due} had fallen due by \
                 then{rest}.{unmet}"
            ),
            "Run it again when nothing stops it; the figures are those up to the stop.",
        ),
    };
    let mut numbers = vec![("load_s", evidence.load_length().as_secs_f64())];
    numbers.extend((withheld > 0).then_some(("withheld", withheld as f64)));
    found(code, Severity::Note, message, remedy, numbers)
}

pub(super) fn double_intervals(case: &Case<'_>) -> Option<Finding> {
    let n = case.evidence.double_intervals;
    if n == 0 {
        return None;
    }
    found(
        FindingCode::DoubleIntervals,
        Severity::Note,
        format!(
            "{} handed over late and hold{} what belongs to two; nothing is lost, but figures over time are \
             coarser there.",
            text::plural(n, "interval was", "intervals were"),
            if n == 1 { "s" } else { "" }
        ),
        "Give the machine more headroom if you need every second of the picture.",
        vec![("intervals", n as f64)],
    )
}

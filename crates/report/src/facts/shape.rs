//! What a load of a named shape was run for, in words.

mod soak;

pub(crate) use self::soak::name as soak_name;

use super::title::Title;
use crate::format::{self, count, duration, moment, plural, quantile_label};
use unblink_artifact::document::{
    Broken, FailureMode, LevelBefore, LoadShape, RecoveryTime, RunDocument, RunStatus, ShapeResult, Spike,
    Stress, TimeLimit,
};

/// A section of the report.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// The answer, in a sentence or two.
    pub(crate) finding: String,
    pub(crate) lines: Vec<Line>,
    /// Of the section's picture.
    pub(crate) picture: Title,
}

/// What was looked at, what was found, and how it is meant.
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) figure: String,
    pub(crate) meant: String,
}

fn line(what: impl Into<String>, figure: impl Into<String>, meant: impl Into<String>) -> Line {
    Line { what: what.into(), figure: figure.into(), meant: meant.into() }
}

/// Nothing of a load without a name, or of which too little was run.
pub(crate) fn shape(doc: &RunDocument) -> Option<Shape> {
    let Some(shape) = &doc.shape else { return untold(doc) };
    match shape {
        ShapeResult::Spike(found) => Some(spike(found)),
        ShapeResult::Stress(found) => Some(stress(found)),
        ShapeResult::Soak(found) => Some(soak::soak(doc, found)),
    }
}

/// Why nothing is said of a load that grows on purpose.
fn untold(doc: &RunDocument) -> Option<Shape> {
    let name = match doc.plan.shape? {
        LoadShape::Spike => "Spike",
        LoadShape::Stress => "Stress",
        LoadShape::Load | LoadShape::Soak | LoadShape::Sine => return None,
    };
    let base = doc.plan.phases.first().filter(|_| doc.part.is_none())?;
    // The level is that of the last three quarters, and takes one step of five arrivals.
    let due = base.from_per_s * base.duration_ns as f64 / 1e9 * 0.75;
    let why = if doc.validity.findings.iter().any(|finding| finding.code == "agents_lost") {
        "machines were lost or stopped, so that less was under way without the target's doing.".into()
    } else if due < 10.0 {
        format!(
            "at {} too few arrivals come before it to know the level that it is held against. Take a longer -d or a \
             higher lower rate.",
            format::rate(base.from_per_s)
        )
    } else if doc.status == RunStatus::Complete {
        "nothing was answered before it, or too late to be a level that it could be held against.".into()
    } else {
        "the run ended too early.".into()
    };
    let finding = format!("No verdict: {why}");
    let picture = Title { finding: finding.clone(), plotted: String::new() };
    Some(Shape { name, finding, lines: Vec::new(), picture })
}

/// The largest figures of such a load: its own, since percentiles of the whole run mix all rates. (figure, name)
pub(crate) fn shape_figures(doc: &RunDocument) -> Option<(&'static str, Vec<(String, &'static str)>)> {
    let recovery = |found: &RecoveryTime| match found.after_ns {
        Some(0) => "at once".to_string(),
        Some(after) => duration(after),
        None => "not seen".to_string(),
    };
    // What users felt at the worst stands beside what they felt before.
    let level = |before: &LevelBefore| {
        let longest = match doc.response_time.censored {
            0 => doc.response_time.max.map(duration),
            _ => Some(format::above(doc.plan.timeout_ns)),
        }
        .map(|longest| (longest, "longest"));
        [(duration(before.p99_ns), "p99 before")].into_iter().chain(longest)
    };
    match doc.shape.as_ref()? {
        ShapeResult::Spike(spike) => {
            let own = [(count(spike.unanswered_max), "backlog"), (recovery(&spike.recovery), "recovery")];
            Some(("Spike", level(&spike.before).chain(own).collect()))
        }
        ShapeResult::Stress(stress) => {
            let mut own = vec![(format::rate(stress.delivered_best_per_s), "best")];
            own.extend(stress.broken.as_ref().map(|broken| (format::rate(broken.per_s), "broke at")));
            own.extend(stress.recovery.as_ref().map(|found| (recovery(found), "recovery")));
            Some(("Stress", level(&stress.before).chain(own).collect()))
        }
        ShapeResult::Soak(_) => None,
    }
}

/// So few steps can't show whether it is as before.
fn is_too_coarse(recovery: &RecoveryTime) -> bool {
    recovery.after_ns.is_none() && recovery.watched_ns < recovery.resolution_ns.max(1).saturating_mul(5)
        || recovery.resolution_ns == 0
}

fn spike(spike: &Spike) -> Shape {
    let rates = format!("from {} to {}", format::rate(spike.base_per_s), format::rate(spike.peak_per_s));
    let jump = format!("the spike {rates} for {}", moment(spike.to_ns.saturating_sub(spike.from_ns)));
    let within = moment(spike.recovery.watched_ns);
    let lost = plural(spike.lost, "arrival", "arrivals");
    let finding = match (spike.recovery.after_ns, fails_before(&spike.before)) {
        // A level of failures is none to come back to.
        (_, Some(share)) => format!(
            "It lost {lost} from the start of {jump} on, and {share} failed before it already: there is no level \
             to come back to."
        ),
        (None, None) if is_too_coarse(&spike.recovery) => format!(
            "{}It can't be told whether it was as before after {jump}: too few arrivals came within {within}.",
            if spike.lost > 0 { format!("It lost {lost}. ") } else { String::new() }
        ),
        (None, _) if spike.lost > 0 => {
            format!(
                "It lost {lost} from the start of {jump} on, and was not as before within {within} after it."
            )
        }
        (Some(after), _) if spike.lost > 0 => format!(
            "It lost {lost} from the start of {jump} on, and was as before {}.",
            match after <= spike.recovery.resolution_ns {
                true => "as soon as it ended".to_string(),
                false => format!("{} after it", duration(after)),
            }
        ),
        (None, _) => format!("After {jump} it was not as before within {within}."),
        (Some(after), _) if after <= spike.recovery.resolution_ns && spike.above_ns == 0 => {
            format!("It carried {jump}; there was nothing to recover from.")
        }
        (Some(after), _) if after <= spike.recovery.resolution_ns => {
            format!("It was as before as soon as {jump} ended.")
        }
        (Some(after), _) => format!("It was as before {} after {jump}.", duration(after)),
    };
    let limit = limit(&spike.limit);
    let too_slow = match (spike.above_from_ns, spike.above_to_ns) {
        (Some(from), Some(to)) => {
            let meant = format!("{limit}, from {} to {}", moment(from), moment(to));
            line("too slow", moment(spike.above_ns), meant)
        }
        _ => line("too slow", "never", limit),
    };
    let mut lines = vec![
        recovery(&spike.recovery, "from the spike's end"),
        too_slow,
        backlog(spike.unanswered_max, spike.unanswered_max_at_ns),
        line("lost", count(spike.lost), "failed or timed out from its start on"),
        before(&spike.before),
    ];
    // What was lost comes first: no recovery brings it back.
    if spike.lost > 0 {
        lines[..4].rotate_right(1);
    }
    let piled = plural(spike.unanswered_max, "arrival was", "arrivals were");
    let picture = Title {
        finding: match spike.recovery.after_ns {
            _ if spike.lost > 0 => format!("{lost} lost; at most {piled} without an answer"),
            Some(0) => format!("At most {piled} without an answer; as before at once"),
            Some(after) => format!("At most {piled} without an answer; as before after {}", duration(after)),
            None if is_too_coarse(&spike.recovery) => format!("At most {piled} without an answer"),
            None => format!("At most {piled} without an answer; not as before to the end"),
        },
        plotted:
            "Arrivals that were due and without an answer at the end of each interval. Shaded: the spike."
                .into(),
    };
    Shape { name: "Spike", finding, lines, picture }
}

fn stress(stress: &Stress) -> Shape {
    let mut lines = Vec::new();
    if let Some(broken) = &stress.broken {
        lines.push(line(
            "broke at",
            format::rate(broken.per_s),
            format!("offered, at {}", moment(broken.at_ns)),
        ));
    }
    lines.push(line("broken is", "lost > 1\u{a0}%", format!("or {}", limit(&stress.limit))));
    let best = format::rate(stress.delivered_best_per_s);
    lines.push(line("best", best, "answered as expected, over 3\u{a0}s"));
    lines.extend(stress.broken.iter().flat_map(how));
    lines.push(backlog(stress.unanswered_max, stress.unanswered_max_at_ns));
    if let Some(found) = &stress.recovery {
        lines.push(recovery(found, "from when less than that was offered"));
    }
    lines.push(before(&stress.before));
    let finding = format!("{} {}", failure(stress), recovers(stress)).trim().to_string();
    let most = format::rate(stress.delivered_best_per_s);
    let picture = Title {
        finding: format!("It answered {most} at most of up to {}", format::rate(stress.peak_per_s)),
        plotted: "Offered, answered and lost per second. Shaded: from when it broke until it was as before."
            .into(),
    };
    Shape { name: "Stress", finding, lines, picture }
}

/// How it fails.
fn failure(stress: &Stress) -> String {
    let Some(broken) = &stress.broken else {
        return format!("It held all that was offered, up to {}.", format::rate(stress.peak_per_s));
    };
    let lost = format::share(broken.failed.saturating_add(broken.timed_out), broken.ended);
    let at = format!("From {} on it", format::rate(broken.per_s));
    match stress.mode {
        FailureMode::Stalls => {
            format!("{at} stalls: for {} hardly anything is answered.", moment(broken.stalled_ns))
        }
        FailureMode::Queues => match fails_before(&stress.before) {
            None => format!("{at} queues: next to nothing is lost, and everybody waits."),
            Some(_) => {
                format!("{at} queues: everybody waits. {lost} are lost, which is no more than before.")
            }
        },
        FailureMode::Sheds => format!("{at} sheds cleanly: {lost} are turned away, the rest is served."),
        FailureMode::TimesOut => format!("{at} times out: {lost} of the arrivals are lost."),
        FailureMode::Errors => format!("{at} answers with errors: {lost} of the arrivals are lost."),
        FailureMode::Held => format!("{at} is too slow."),
    }
}

/// Whether it recovers.
fn recovers(stress: &Stress) -> String {
    let Some(recovery) = &stress.recovery else { return String::new() };
    match recovery.after_ns {
        None if is_too_coarse(recovery) => format!(
            "It can't be told whether it recovers: too few arrivals came within {}.",
            moment(recovery.watched_ns)
        ),
        None => format!("It did not recover within {}.", moment(recovery.watched_ns)),
        Some(after) if after <= recovery.resolution_ns => "It recovers at once.".into(),
        Some(after) => format!("It recovers in {}.", duration(after)),
    }
}

/// The figures behind how it fails.
fn how(broken: &Broken) -> Vec<Line> {
    let least = format::percent(broken.delivered_least_share);
    let mut lines = vec![line("least", least, "of its best, while at least that was offered")];
    if broken.failed > 0 || broken.timed_out > 0 {
        let otherwise = broken.failed.saturating_sub(broken.shed);
        let meant = format!(
            "{} shed, {} failed otherwise, {} timed out",
            count(broken.shed),
            count(otherwise),
            count(broken.timed_out)
        );
        lines.push(line("lost", count(broken.failed.saturating_add(broken.timed_out)), meant));
    }
    if broken.stalled_ns > 0 {
        lines.push(line("stalled", moment(broken.stalled_ns), "hardly anything was answered"));
    }
    lines
}

fn backlog(most: u64, at_ns: u64) -> Line {
    line("backlog", count(most), format!("most without an answer at an interval's end, at {}", moment(at_ns)))
}

/// What is too long.
fn limit(limit: &TimeLimit) -> String {
    let of = if limit.is_objective { "" } else { " (2 × p99 before)" };
    format!("{} > {}{of}", quantile_label(limit.quantile), duration(limit.ns))
}

fn recovery(recovery: &RecoveryTime, from: &str) -> Line {
    match recovery.after_ns {
        Some(after) => line(
            "recovery",
            if after == 0 { "at once".to_string() } else { duration(after) },
            format!("{from}, known to {}", duration(recovery.resolution_ns)),
        ),
        None if is_too_coarse(recovery) => line(
            "recovery",
            "not told",
            format!("{from}: too few arrivals in {}", moment(recovery.watched_ns)),
        ),
        None => line("recovery", "not seen", format!("{from}, in {}", moment(recovery.watched_ns))),
    }
}

/// The share of arrivals that failed before anything grew, where it is more than chance leaves behind.
fn fails_before(before: &LevelBefore) -> Option<String> {
    (before.failed_share > 0.01).then(|| format::percent(before.failed_share))
}

fn before(before: &LevelBefore) -> Line {
    let open = plural(before.unanswered, "arrival", "arrivals");
    let mut meant = format!("median; p99 {}, {open} without an answer", duration(before.p99_ns));
    if let Some(share) = fails_before(before) {
        meant += &format!(", {share} failed");
    }
    line("before", duration(before.p50_ns), meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn told(change: impl Fn(&mut Spike)) -> Shape {
        let Some(ShapeResult::Spike(mut found)) = fixture::spike().shape else { panic!("a spike") };
        (found.recovery.after_ns, found.above_ns) = (Some(0), 0);
        change(&mut found);
        spike(&found)
    }

    #[test]
    fn a_spike_that_lost_arrivals_was_not_carried() {
        assert!(told(|_| ()).finding.starts_with("It carried the spike"));
        let lost = told(|spike| spike.lost = 4_000);
        let finding = format::plain(&lost.finding);
        assert!(finding.starts_with("It lost 4 000 arrivals") && !finding.contains("carried"), "{finding}");
        assert_eq!((lost.lines[0].what.as_str(), lost.lines[1].what.as_str()), ("lost", "recovery"));
        assert!(format::plain(&lost.picture.finding).starts_with("4 000 arrivals lost"));
        let never = told(|spike| (spike.lost, spike.recovery.after_ns) = (1, None));
        assert!(never.finding.starts_with("It lost 1 arrival") && never.finding.contains("not as before"));
    }

    #[test]
    fn a_base_that_fails_is_no_level_to_come_back_to() {
        let fails = told(|spike| (spike.lost, spike.before.failed_share) = (20_000, 1.0));
        let finding = format::plain(&fails.finding);
        assert!(finding.contains("100 % failed before it already"), "{finding}");
        assert!(!finding.contains("carried") && !finding.contains("was as before"), "{finding}");
        // None lost afterwards, but the level is one of failures.
        let healed = told(|spike| spike.before.failed_share = 0.5);
        assert!(!healed.finding.contains("carried"), "{}", healed.finding);
    }

    #[test]
    fn a_queue_that_loses_as_before_does_not_lose_next_to_nothing() {
        let Some(ShapeResult::Stress(mut found)) = fixture::stress().shape else { panic!("stress") };
        (found.mode, found.before.failed_share) = (FailureMode::Queues, 0.4);
        let finding = stress(&found).finding;
        assert!(!finding.contains("next to nothing") && finding.contains("no more than before"), "{finding}");
    }
}

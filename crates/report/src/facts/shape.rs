//! What a load of a named shape was run for, in words.

use super::Title;
use crate::format::{self, count, duration, moment, plural, quantile_label};
use unblink_artifact::document::{
    Broken, FailureMode, LevelBefore, RecoveryTime, RunDocument, ShapeResult, Spike, Stress, TimeLimit,
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
    pub(crate) what: &'static str,
    pub(crate) figure: String,
    pub(crate) meant: String,
}

pub(super) fn line(what: &'static str, figure: impl Into<String>, meant: impl Into<String>) -> Line {
    Line { what, figure: figure.into(), meant: meant.into() }
}

/// Nothing of a load without a name, or of which too little was run.
pub(crate) fn shape(doc: &RunDocument) -> Option<Shape> {
    match doc.shape.as_ref()? {
        ShapeResult::Spike(found) => Some(spike(found)),
        ShapeResult::Stress(found) => Some(stress(found)),
        ShapeResult::Soak(found) => Some(super::soak::soak(found)),
    }
}

fn spike(spike: &Spike) -> Shape {
    let rates = format!("from {} to {}", format::rate(spike.base_per_s), format::rate(spike.peak_per_s));
    let jump = format!("the spike {rates} for {}", moment(spike.to_ns.saturating_sub(spike.from_ns)));
    let finding = match spike.recovery.after_ns {
        None => format!("After {jump} it was not as before within {}.", moment(spike.recovery.watched_ns)),
        Some(after) if after <= spike.recovery.resolution_ns && spike.above_ns == 0 => {
            format!("It carried {jump}: nothing had to recover.")
        }
        Some(after) if after <= spike.recovery.resolution_ns => {
            format!("It was as before as soon as {jump} ended.")
        }
        Some(after) => format!("It was as before {} after {jump}.", duration(after)),
    };
    let limit = limit(&spike.limit);
    let too_slow = match (spike.above_from_ns, spike.above_to_ns) {
        (Some(from), Some(to)) => {
            let meant = format!("{limit}, from {} to {}", moment(from), moment(to));
            line("too slow", moment(spike.above_ns), meant)
        }
        _ => line("too slow", "never", limit),
    };
    let lines = vec![
        recovery(&spike.recovery, "from the spike's end"),
        too_slow,
        backlog(spike.unanswered_max, spike.unanswered_max_at_ns),
        line("lost", count(spike.lost), "failed or timed out from its begin on"),
        before(&spike.before),
    ];
    let piled = plural(spike.unanswered_max, "arrival was", "arrivals were");
    let picture = Title {
        finding: match spike.recovery.after_ns {
            Some(0) => format!("At most {piled} without an answer; as before at once"),
            Some(after) => format!("At most {piled} without an answer; as before after {}", duration(after)),
            None => format!("At most {piled} without an answer; not as before to the end"),
        },
        plotted: "Arrivals that were due and without an answer, by time. Shaded: the spike.".into(),
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
        FailureMode::Queues => format!("{at} queues: next to nothing is lost, and everybody waits."),
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
    line("backlog", count(most), format!("at most due and without an answer, at {}", moment(at_ns)))
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
        None => line("recovery", "not seen", format!("{from}, in {}", moment(recovery.watched_ns))),
    }
}

fn before(before: &LevelBefore) -> Line {
    let open = plural(before.unanswered, "arrival", "arrivals");
    let meant = format!("median; p99 {}, {open} without an answer", duration(before.p99_ns));
    line("before", duration(before.p50_ns), meant)
}

//! Was there a steady state to measure, when its beginning was to be found?

use super::{Case, found};
use crate::finding::{Finding, FindingCode, Severity};
use crate::steady::{INTERVALS_MIN, NotSteady};
use crate::text;
use unblink_core::time::Nanos;

pub(super) fn not_steady(case: &Case<'_>) -> Option<Finding> {
    let duration = |ns: f64| text::duration(Nanos(ns.round() as u64));
    let (why, remedy, evidence) = match case.evidence.not_steady? {
        NotSteady::TooShort { intervals } => (
            format!("the load lasted for {}", text::plural(intervals as u64, "interval", "intervals")),
            format!(
                "Measure for at least {INTERVALS_MIN} s, better for several times as long as the transient lasts."
            ),
            vec![("intervals", intervals as f64)],
        ),
        NotSteady::StillChanging { early_ns, late_ns } => (
            format!(
                "even without its first quarter the response time does not stay at one level (a stretch around {}, \
                 what follows around {})",
                duration(early_ns),
                duration(late_ns)
            ),
            "Measure for longer, or at a rate that the target can hold; give --warmup a time if you know it."
                .to_string(),
            vec![("early_ns", early_ns), ("late_ns", late_ns)],
        ),
        NotSteady::NoAnswers => (
            "hardly anything was answered in the late half of the run".to_string(),
            "Find out why the target does not answer.".to_string(),
            Vec::new(),
        ),
        NotSteady::NotBelievable => (
            "the run as a whole can't be believed".to_string(),
            "See the other findings: what is left out must not hide them.".to_string(),
            Vec::new(),
        ),
        NotSteady::RecordIncomplete => (
            "the run's folder does not hold every interval".to_string(),
            "Make room on the disk and run again.".to_string(),
            Vec::new(),
        ),
    };
    found(
        FindingCode::NotSteady,
        Severity::Degrades,
        format!(
            "No transient was left out (--warmup auto): {why}. The figures hold everything from the start."
        ),
        remedy,
        evidence,
    )
}

//! Whether a run can be believed, and what was found against it.

use super::account::adds_up;
use crate::format;
use unblink_artifact::document::{
    Finding, RunDocument, RunStatus, Severity, ValidityStatus, Verdict, VerdictStatus,
};

/// `VALID`, `DEGRADED` or `INVALID`.
pub(crate) fn validity_word(doc: &RunDocument) -> &'static str {
    match doc.validity.status {
        ValidityStatus::Valid => "VALID",
        ValidityStatus::Degraded => "DEGRADED",
        ValidityStatus::Invalid => "INVALID",
    }
}

/// What the status means for the reader.
pub(crate) fn validity_sentence(doc: &RunDocument) -> String {
    let against = doc.validity.findings.iter().filter(|f| f.severity != Severity::Note).count();
    let findings = match against {
        1 => "the finding".to_string(),
        n => format!("the {n} findings"),
    };
    let ended = match doc.status {
        RunStatus::Interrupted | RunStatus::Aborted => " The run was ended early.",
        RunStatus::Running | RunStatus::Complete => "",
    };
    match doc.validity.status {
        ValidityStatus::Valid if doc.arrivals.due() == 0 => {
            "Nothing was scheduled, so nothing is said.".into()
        }
        ValidityStatus::Valid if !adds_up(doc) => "But the account of arrivals does not add up.".into(),
        ValidityStatus::Valid if doc.validity.findings.is_empty() => {
            format!("Every arrival is accounted for, and no check found anything against this run.{ended}")
        }
        ValidityStatus::Valid => format!(
            "Every arrival is accounted for, and nothing was found that weakens these figures.{ended}"
        ),
        ValidityStatus::Degraded => format!("Read {findings} before the figures."),
        ValidityStatus::Invalid if is_told(doc) => {
            format!(
                "Read {findings} before the figures. They can't have reversed what is said of the objectives."
            )
        }
        ValidityStatus::Invalid => "No verdict can rest on this run.".into(),
    }
}

/// An objective is met or missed for certain.
fn is_told(doc: &RunDocument) -> bool {
    let told = |verdict: &Verdict| verdict.slos.iter().any(|slo| slo.status != VerdictStatus::Inconclusive);
    doc.verdict.as_ref().is_some_and(told)
}

/// `note`, `degrades` or `invalidates`.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Degrades => "degrades",
        Severity::Invalidates => "invalidates",
    }
}

/// The numbers behind a finding, for people: an origin by its name.
pub(crate) fn evidence(doc: &RunDocument, finding: &Finding) -> Vec<(String, String)> {
    // What only other programs ask for.
    let all = finding.evidence.iter().filter(|(name, _)| *name != "generator_is_narrowest");
    let one = |(name, value): (&String, &f64)| match name.as_str() {
        "origin" => match doc.origins.get(*value as usize) {
            Some(origin) => (name.clone(), origin.name.to_string()),
            None => number(name, *value),
        },
        name => number(name, *value),
    };
    all.map(one).collect()
}

/// A number behind a finding, read by the unit in its name: (name without the unit, figure).
fn number(name: &str, value: f64) -> (String, String) {
    let words = |name: &str| name.replace('_', " ");
    if let Some(what) = name.strip_suffix("_ns").filter(|_| value >= 0.0) {
        (words(what), format::duration(value.round() as u64))
    } else if name.split('_').any(|word| word == "is") && (value == 0.0 || value == 1.0) {
        (words(name), if value == 1.0 { "yes" } else { "no" }.into())
    } else if name == "p_value" && value < 1e-4 {
        (words(name), "<\u{a0}0.0001".into())
    } else if name.ends_with("share") || name.ends_with("share_max") {
        (words(name), format::percent(value))
    } else if name.ends_with("quantile") {
        (words(name), format::quantile_label(value))
    } else if name.contains("_per_s") {
        (words(&name.replace("_per_s", "_rate")), format::rate(value))
    } else if let Some(what) = name.strip_suffix("_s") {
        (words(what), format!("{}\u{a0}s", format::number(value)))
    } else {
        (words(name), format::number(value))
    }
}

/// The line that goes with every percentile table of an invalid run.
pub(crate) fn invalid_note(doc: &RunDocument) -> Option<&'static str> {
    (doc.validity.status == ValidityStatus::Invalid)
        .then_some("The run is invalid: these figures must not be quoted.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn evidence_is_read_by_its_unit() {
        for (name, value, expected) in [
            ("late_ns", 1_240_000.0, ("late", "1.24 ms")),
            ("sent_share", 0.973, ("sent share", "97.3 %")),
            ("first_quantile", 0.999, ("first quantile", "p99.9")),
            ("answered_per_s_best", 512.0, ("answered rate best", "512/s")),
            ("busy_share_max", 0.999, ("busy share max", "99.9 %")),
            ("load_s", 20.0, ("load", "20 s")),
            ("missing", 3.0, ("missing", "3")),
            ("pool_is_fixed", 1.0, ("pool is fixed", "yes")),
            ("p_value", 0.0, ("p value", "< 0.0001")),
        ] {
            let (name, value) = number(name, value);
            assert_eq!((name.as_str(), format::plain(&value).as_str()), expected);
        }
    }

    #[test]
    fn an_origin_is_named() {
        let doc = fixture::origins();
        let mut finding = fixture::one_arrival().validity.findings[0].clone();
        finding.evidence = [("origin".into(), 1.0), ("generator_is_narrowest".into(), 0.0)].into();
        let second = doc.origins[1].name.to_string();
        assert!(second.contains("://"), "{second}");
        assert_eq!(evidence(&doc, &finding), [("origin".to_string(), second)]);
    }

    #[test]
    fn notes_take_nothing_from_a_valid_run() {
        let mut doc = fixture::stall();
        assert!(validity_sentence(&doc).ends_with("no check found anything against this run."));
        doc.validity.findings = fixture::one_arrival().validity.findings;
        doc.status = RunStatus::Interrupted;
        assert_eq!(
            validity_sentence(&doc),
            "Every arrival is accounted for, and nothing was found that weakens these figures. The run was \
             ended early."
        );
    }
}

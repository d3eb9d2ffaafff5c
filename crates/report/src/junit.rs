//! A run as JUnit XML, as build servers read it: a test for each objective, and one for validity.

use crate::facts;
use crate::svg::canvas::escape;
use std::fmt::Write;
use unblink_artifact::document::{
    FigureUnit, OnInconclusive, RunDocument, SloResult, ValidityStatus, VerdictStatus,
};

/// How a test ended.
pub(crate) enum CaseOutcome {
    Passed,
    /// The objective was missed.
    Failure,
    /// It can't be told, or the run can't be believed.
    Error,
    Skipped,
}

pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) outcome: CaseOutcome,
    pub(crate) message: String,
    pub(crate) details: String,
}

/// Tests that belong together.
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) started_at: String,
    pub(crate) seconds: f64,
    pub(crate) tests: Vec<Test>,
}

/// One test suite.
pub fn render(doc: &RunDocument) -> String {
    suites(&[suite(doc, facts::target(doc))])
}

/// That of a run.
pub(crate) fn suite(doc: &RunDocument, name: String) -> Suite {
    let on_inconclusive = doc.verdict.as_ref().and_then(|verdict| verdict.on_inconclusive);
    let mut tests = vec![validity(doc)];
    if let Some(aborted) = &doc.aborted {
        tests.push(Test {
            name: match aborted.guard {
                None => format!("abort on {}", aborted.rule),
                Some(_) => format!("guard: {}", aborted.rule),
            },
            // A guard says nothing of the target.
            outcome: if aborted.guard.is_some() { CaseOutcome::Error } else { CaseOutcome::Failure },
            message: facts::aborted(doc).unwrap_or_default(),
            details: String::new(),
        });
    }
    let slos = doc.verdict.iter().flat_map(|verdict| &verdict.slos);
    tests.extend(slos.map(|slo| of_slo(slo, on_inconclusive)));
    Suite {
        name,
        class: facts::target(doc),
        started_at: doc.started_at.clone(),
        seconds: doc.series.load_to_ns as f64 / 1e9,
        tests,
    }
}

/// All suites in one document.
pub(crate) fn suites(all: &[Suite]) -> String {
    let each = || all.iter().flat_map(|suite| &suite.tests);
    let seconds = all.iter().map(|suite| suite.seconds).sum();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"unblink\" {}>\n",
        totals(each(), seconds)
    );
    for suite in all {
        let seconds = suite.seconds;
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" timestamp=\"{}\" {}>",
            text(&suite.name),
            text(&suite.started_at),
            totals(suite.tests.iter(), seconds)
        );
        for test in &suite.tests {
            write_test(&mut out, test, &text(&suite.class), seconds);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn totals<'a>(tests: impl Iterator<Item = &'a Test> + Clone, seconds: f64) -> String {
    let count = |wanted: fn(&CaseOutcome) -> bool| tests.clone().filter(|test| wanted(&test.outcome)).count();
    let failures = count(|outcome| matches!(outcome, CaseOutcome::Failure));
    let errors = count(|outcome| matches!(outcome, CaseOutcome::Error));
    let skipped = count(|outcome| matches!(outcome, CaseOutcome::Skipped));
    format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\"",
        count(|_| true)
    )
}

fn write_test(out: &mut String, test: &Test, class: &str, seconds: f64) {
    let _ = write!(
        out,
        "    <testcase classname=\"{class}\" name=\"{}\" time=\"{seconds:.3}\"",
        text(&test.name)
    );
    let element = match test.outcome {
        CaseOutcome::Passed => None,
        CaseOutcome::Failure => Some("failure"),
        CaseOutcome::Error => Some("error"),
        CaseOutcome::Skipped => Some("skipped"),
    };
    let _ = match element {
        None => writeln!(out, "><system-out>{}</system-out></testcase>", text(&test.message)),
        Some(element) => writeln!(
            out,
            "><{element} message=\"{}\">{}</{element}></testcase>",
            text(&test.message),
            text(&test.details)
        ),
    };
}

fn validity(doc: &RunDocument) -> Test {
    let findings: Vec<String> =
        doc.validity.findings.iter().map(|f| format!("{}: {} {}", f.code, f.message, f.remedy)).collect();
    Test {
        name: "the run can be believed".into(),
        outcome: match doc.validity.status {
            ValidityStatus::Invalid => CaseOutcome::Error,
            ValidityStatus::Valid | ValidityStatus::Degraded => CaseOutcome::Passed,
        },
        message: format!("{}: {}", facts::validity_word(doc), facts::validity_sentence(doc)),
        details: findings.join("\n"),
    }
}

fn of_slo(slo: &SloResult, on_inconclusive: Option<OnInconclusive>) -> Test {
    let outcome = match (slo.status, on_inconclusive) {
        (VerdictStatus::Pass, _) => CaseOutcome::Passed,
        (VerdictStatus::Fail, _) | (_, Some(OnInconclusive::Fail)) => CaseOutcome::Failure,
        (VerdictStatus::Inconclusive, Some(OnInconclusive::Pass)) => CaseOutcome::Skipped,
        (VerdictStatus::Inconclusive, None) => CaseOutcome::Error,
    };
    let unit = match slo.unit {
        FigureUnit::Ns => "ns",
        FigureUnit::Share => "share of 1",
        FigureUnit::PerS => "per second",
    };
    let known = |value: Option<f64>| value.map_or("not known".to_string(), |value| value.to_string());
    let details = format!(
        "value {}, low {}, high {}, limit {} ({unit}); {} samples",
        known(slo.value),
        known(slo.low),
        known(slo.high),
        slo.limit,
        slo.samples
    );
    Test { name: slo.slo.clone(), outcome, message: slo.message.clone(), details }
}

/// Escaped, and without what XML 1.0 has no place for.
fn text(text: &str) -> String {
    let kept: String = text.chars().filter(|c| *c >= ' ' || matches!(c, '\n' | '\t')).collect();
    escape(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_test_for_each_objective_and_one_for_validity() {
        insta::assert_snapshot!("junit-objectives", render(&fixture::objectives()));
        let plain = render(&fixture::stall());
        assert!(plain.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{plain}");
        let invalid = render(&fixture::saturated());
        assert!(
            invalid.contains("errors=\"1\"") && invalid.contains("<error message=\"INVALID:"),
            "{invalid}"
        );
    }

    #[test]
    fn what_is_inconclusive_counts_as_was_asked_for() {
        let mut doc = fixture::objectives();
        let counted = |doc: &RunDocument, element: &str| render(doc).matches(&format!("<{element} ")).count();
        assert_eq!((counted(&doc, "error"), counted(&doc, "failure"), counted(&doc, "skipped")), (1, 1, 0));
        doc.verdict.as_mut().unwrap().on_inconclusive = Some(OnInconclusive::Pass);
        assert_eq!((counted(&doc, "error"), counted(&doc, "failure"), counted(&doc, "skipped")), (0, 1, 1));
        doc.verdict.as_mut().unwrap().on_inconclusive = Some(OnInconclusive::Fail);
        assert_eq!((counted(&doc, "error"), counted(&doc, "failure"), counted(&doc, "skipped")), (0, 2, 0));
    }

    #[test]
    fn nothing_breaks_the_markup() {
        let mut doc = fixture::objectives();
        doc.verdict.as_mut().unwrap().slos[0].slo = "\"<&>\u{1}': p99 < 1ms".into();
        let xml = render(&doc);
        assert!(xml.contains("&quot;&lt;&amp;&gt;") && !xml.contains('\u{1}'), "{xml}");
    }
}

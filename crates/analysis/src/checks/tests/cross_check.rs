//! Ours beside the service's own counts: both sides of each line.

use super::*;
use crate::cross_check::{CrossChecked, ServiceCount};

fn count(there: u64, here_min: u64, here_max: u64) -> ServiceCount {
    ServiceCount { metric: "x_total".into(), there, here_min, here_max }
}

/// The finding of this code, with its severity and what it says.
fn told(code: Code, check: &CrossChecked<'_>) -> Option<(Severity, String)> {
    let world = World::healthy();
    let evidence = Evidence {
        totals: &world.bank,
        rows: &world.rows,
        cross_check: Some(CrossChecked { ..*check }),
        ..world.evidence
    };
    let found = assess(&evidence).findings.into_iter().find(|finding| finding.code == code)?;
    Some((found.severity, found.message))
}

fn of_requests(code: Code, requests: &ServiceCount, resets: u64) -> Option<Severity> {
    let check = CrossChecked { requests: Some(requests), errors: None, resets, problems: &[] };
    told(code, &check).map(|(severity, _)| severity)
}

#[test]
fn requests_that_the_service_did_not_count_are_told() {
    let missing = |there, answered| of_requests(Code::CountsDisagree, &count(there, answered, answered), 0);
    assert_eq!(missing(10_000, 10_000), None);
    assert_eq!(missing(991, 1_000), None, "9 are too few to tell");
    assert_eq!(missing(990, 1_000), Some(Severity::Note));
    assert_eq!(missing(9_990, 10_000), None, "nor is a thousandth");
    assert_eq!(missing(9_989, 10_000), Some(Severity::Note));
    assert_eq!(missing(9_900, 10_000), Some(Severity::Note));
    assert_eq!(missing(9_899, 10_000), Some(Severity::Degrades));
    let anew = of_requests(Code::CountsDisagree, &count(5_000, 10_000, 10_000), 1);
    assert_eq!(anew, Some(Severity::Note), "a new start loses counts");
    // What may or may not have arrived is no contradiction.
    assert_eq!(of_requests(Code::CountsDisagree, &count(9_000, 8_000, 10_000), 0), None);
}

#[test]
fn what_others_asked_for_is_told() {
    let foreign = |there, ours| of_requests(Code::ForeignTraffic, &count(there, ours, ours), 0);
    assert_eq!(foreign(10_009, 10_000), None);
    assert_eq!(foreign(100_100, 100_000), None);
    assert_eq!(foreign(10_020, 10_000), Some(Severity::Note));
    assert_eq!(foreign(10_500, 10_000), Some(Severity::Note));
    assert_eq!(foreign(10_600, 10_000), Some(Severity::Degrades));
}

#[test]
fn errors_there_and_here_are_compared() {
    let requests = count(10_000, 10_000, 10_000);
    let errors = |there, min, max| {
        let errors = count(there, min, max);
        let check =
            CrossChecked { requests: Some(&requests), errors: Some(&errors), resets: 0, problems: &[] };
        told(Code::CountsDisagree, &check)
    };
    assert_eq!(errors(100, 100, 100), None);
    assert_eq!(errors(100, 50, 100), None);
    assert_eq!(errors(110, 100, 100), None);
    let (severity, message) = errors(111, 100, 100).expect("more there");
    assert_eq!((severity, message.contains("at most 100 came here")), (Severity::Note, true));
    assert!(
        errors(80, 100, 100)
            .expect("fewer there")
            .1
            .contains("100 answers with a status of its errors came here")
    );
}

#[test]
fn what_could_not_be_asked_is_a_note() {
    let none = CrossChecked { requests: None, errors: None, resets: 0, problems: &[] };
    assert_eq!(told(Code::CrossCheckFailed, &none), None);
    let problems = ["no metric is called x".to_string(), "y".to_string()];
    let (severity, message) =
        told(Code::CrossCheckFailed, &CrossChecked { problems: &problems, ..none }).expect("a finding");
    assert_eq!(severity, Severity::Note);
    assert!(message.ends_with("against ours: no metric is called x (and 1 more)."), "{message}");
}

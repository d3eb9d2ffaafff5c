//! Journeys that do not come to their end.

use super::*;
use crate::evidence::JourneyEnds;

fn severity_of(journeys: &[JourneyEnds<'_>], by_phase: bool) -> Option<Severity> {
    let world = World::healthy();
    let evidence = Evidence { totals: &world.bank, rows: &world.rows, journeys, by_phase, ..world.evidence };
    let findings = assess(&evidence).findings;
    findings.iter().find(|finding| finding.code == Code::JourneysFailed).map(|found| found.severity)
}

fn ends(name: &str, failed: u64, timed_out: u64) -> JourneyEnds<'_> {
    JourneyEnds { name, ended: 1_000, failed, timed_out, cut_off: 0, worst_step: None }
}

#[test]
fn the_worst_journey_decides_by_its_own_share() {
    assert_eq!(severity_of(&[ends("buy", 0, 0)], false), None);
    assert_eq!(severity_of(&[ends("buy", 0, 1)], false), Some(Severity::Note));
    assert_eq!(severity_of(&[ends("look", 0, 0), ends("buy", 30, 21)], false), Some(Severity::Degrades));
    assert_eq!(severity_of(&[ends("buy", 0, 501), ends("look", 9, 9)], false), Some(Severity::Invalidates));
    // What a target loses in a spike or under stress is what the run is for.
    assert_eq!(severity_of(&[ends("buy", 0, 501)], true), Some(Severity::Degrades));
}

#[test]
fn it_names_the_step() {
    let world = World::healthy();
    let journeys = [JourneyEnds { worst_step: Some(("buy: paid", 700)), ..ends("buy", 100, 700) }];
    let evidence = Evidence { totals: &world.bank, rows: &world.rows, journeys: &journeys, ..world.evidence };
    let found = assess(&evidence).findings.into_iter().find(|f| f.code == Code::JourneysFailed);
    let message = found.expect("found").message;
    assert!(
        message.contains("800 of 1\u{202f}000") && message.contains("700 at step \"buy: paid\""),
        "{message}"
    );
}

#[test]
fn journeys_that_think_when_the_run_ends_are_cut_off() {
    let of = |cut_off| {
        let world = World::healthy();
        let journeys = [JourneyEnds { cut_off, ..ends("buy", 0, 0) }];
        let evidence =
            Evidence { totals: &world.bank, rows: &world.rows, journeys: &journeys, ..world.evidence };
        let found = assess(&evidence).findings.into_iter().find(|found| found.code == Code::CutOff);
        found.map(|found| (found.severity, found.message))
    };
    assert_eq!(of(0), None);
    assert_eq!(of(1).expect("found").0, Severity::Note);
    let (severity, message) = of(1_000).expect("found");
    assert_eq!(severity, Severity::Degrades);
    assert!(message.contains("journeys \"buy\" were between two steps"), "{message}");
}

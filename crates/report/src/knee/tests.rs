use super::*;
use crate::fixture;
use unblink_artifact::knee::{KneeAnswer, KneeRefusal, KneeStatus, RefusalCode};

fn text(doc: &KneeDocument) -> String {
    terminal(doc, &Style { width: 80, color: false })
}

#[test]
fn the_answer_stands_first_and_fits_the_screen() {
    let doc = fixture::knee();
    let text = text(&doc);
    assert!(text.starts_with("900/s  Up to 900/s the objective is met: p99 < 50ms."), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_search_without_an_answer_says_why() {
    let mut doc = fixture::knee();
    doc.answer = None;
    doc.status = KneeStatus::Refused;
    let why = Some("The generator had no headroom.".to_string());
    doc.refused = Some(KneeRefusal { code: RefusalCode::Generator, rate_per_s: 1_600.0, why });
    let found = text(&doc);
    assert!(
        found.starts_with("NO ANSWER  At 1 600/s the generator was the limit, not the target"),
        "{found}"
    );
    let page = html(&doc);
    assert!(page.contains("class=\"verdict invalid\"") && page.contains("no headroom"));
    doc.refused = None;
    doc.status = KneeStatus::Interrupted;
    assert!(text(&doc).starts_with("INTERRUPTED"));
}

#[test]
fn a_highest_rate_that_gave_way_is_named() {
    let mut doc = fixture::knee();
    doc.trials.retain(|trial| trial.rate_milli_per_s <= 800_000);
    for (number, per_s, verdict) in [(20, 800, TrialVerdict::Undecided), (21, 784, TrialVerdict::Met)] {
        let mut held = doc.trials[0].clone();
        (held.number, held.purpose, held.verdict) = (number, Purpose::Confirm, verdict);
        held.rate_milli_per_s = per_s * 1_000;
        doc.trials.push(held);
    }
    doc.answer = Some(KneeAnswer { rate_per_s: 784.0, missed_from_per_s: Some(800.0), trial: 21 });
    let found = terminal(&doc, &Style { width: 200, color: false });
    assert!(found.starts_with("784/s  Up to 784/s"), "{found}");
    assert!(found.contains("800/s was good at first, and did not hold for longer."), "{found}");
}

#[test]
fn the_page_holds_both_curves_and_its_document() {
    let page = html(&fixture::knee());
    assert_eq!(page.matches("<figure").count(), 2);
    assert!(page.contains("id=\"document-knee\"") && page.contains("unblink.knee/1"));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

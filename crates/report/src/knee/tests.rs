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
    assert!(text.starts_with("907/s  Up to 907/s the objective is met: p99 < 50ms."), "{text}");
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
    let why = Some("1.58\u{a0}% of the response times are above the limit.".to_string());
    doc.refused = Some(KneeRefusal { code: RefusalCode::AnyRate, rate_per_s: 400.0, why });
    let found = text(&doc);
    assert!(
        found.starts_with("NO ANSWER  The target misses the objective now and then at any rate"),
        "{found}"
    );
    doc.refused = None;
    doc.status = KneeStatus::Interrupted;
    assert!(text(&doc).starts_with("INTERRUPTED"));
}

#[test]
fn a_search_that_ended_early_tells_its_bracket() {
    use unblink_artifact::knee::{KneeAtLeast, KneeBracket};
    let mut doc = fixture::knee();
    (doc.answer, doc.status) = (None, KneeStatus::Bracketed);
    doc.header.question.within_ns = Some(300_000_000_000);
    let wide = |doc: &KneeDocument| terminal(doc, &Style { width: 200, color: false });
    let found = wide(&doc);
    assert!(found.starts_with("900–951/s  Up to 900/s the objective is met"), "{found}");
    assert!(found.contains("5 min at most (--within)") && found.contains("At 951/s it is"), "{found}");
    for (good_per_s, missed_from_per_s, word) in
        [(Some(900.0), None, "AT LEAST 900/s"), (None, Some(951.0), "BELOW 951/s"), (None, None, "NO ANSWER")]
    {
        doc.bracket = Some(KneeBracket { good_per_s, missed_from_per_s });
        assert!(wide(&doc).starts_with(word), "{}", wide(&doc));
        assert!(!wide(&doc).contains("between the two"), "{}", wide(&doc));
    }
    for (is_reached, word) in
        [(Some(true), "REACHED  "), (Some(false), "NOT REACHED  "), (None, "NOT TOLD  ")]
    {
        doc.at_least = Some(KneeAtLeast { rate_per_s: 900.0, is_reached });
        assert!(wide(&doc).starts_with(word), "{}", wide(&doc));
        assert!(html(&doc).contains(&format!("<b>{}</b>", word.trim())));
    }
}

#[test]
fn a_highest_rate_that_was_not_held_is_named() {
    let mut doc = fixture::knee();
    doc.trials.retain(|trial| rate(trial) <= 800.0);
    for (number, per_s, verdict) in [(20, 800, TrialVerdict::Undecided), (21, 784, TrialVerdict::Met)] {
        let mut held = doc.trials[0].clone();
        (held.number, held.purpose, held.verdict) = (number, Purpose::Confirm, verdict);
        held.rate.requests = per_s;
        doc.trials.push(held);
    }
    doc.status = KneeStatus::AtLeast;
    doc.answer = Some(KneeAnswer {
        rate_per_s: 784.0,
        interpolated: false,
        good_per_s: 784.0,
        missed_from_per_s: None,
        trial: 21,
    });
    let found = terminal(&doc, &Style { width: 200, color: false });
    assert!(found.starts_with("AT LEAST 784/s  Up to 784/s"), "{found}");
    assert!(found.contains("Whether 800/s meets it, too, was not decided"), "{found}");
}

#[test]
fn a_law_that_says_nothing_is_not_quoted() {
    let mut doc = fixture::knee();
    assert!(text(&doc).contains("not distinguishable from 0"));
    (doc.usl, doc.usl_misfit) = (None, Some(0.23));
    assert!(text(&doc).contains("does not fit"));
}

#[test]
fn the_page_holds_both_curves_and_its_document() {
    let page = html(&fixture::knee());
    assert_eq!(page.matches("<figure").count(), 2);
    assert!(page.contains("id=\"document-knee\"") && page.contains("unblink.knee/1"));
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

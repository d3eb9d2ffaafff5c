use super::*;
use crate::fixture;
use crate::fixture::knee;
use unblink_artifact::document::VerdictStatus;
use unblink_artifact::knee::{KneeBracket, KneeDocument, KneeStatus};
use unblink_artifact::signoff::{SCHEMA, SignoffStage, SignoffStatus, StageStatus};

fn stage(number: u32, kind: &str) -> SignoffStage {
    SignoffStage {
        number,
        name: kind.into(),
        kind: kind.into(),
        status: StageStatus::Planned,
        why: None,
        rate_asked: None,
        rate: None,
        folder: Some(format!("{number:02}-{kind}")),
        command: Vec::new(),
        verdict: None,
        exit_code: None,
        run: None,
        knee: None,
    }
}

fn document(stages: Vec<SignoffStage>) -> SignoffDocument {
    let run = fixture::objectives();
    let mut document = SignoffDocument {
        schema: SCHEMA.into(),
        status: SignoffStatus::Complete,
        tool: run.tool,
        started_at: run.started_at,
        command: vec!["unblink".into(), "signoff".into(), "plan.toml".into()],
        environment: run.environment,
        plan: "plan.toml".into(),
        asked: "0123456789abcdef".into(),
        simulated: false,
        fail_fast: false,
        verdict: None,
        target: Some("http://127.0.0.1:8080/".into()),
        stages,
    };
    document.judge();
    document
}

fn whole() -> (SignoffDocument, Vec<Option<StageDocument>>) {
    let (mut search, mut hold, mut soak) = (stage(1, "knee"), stage(2, "hold"), stage(3, "soak"));
    search.take_knee(&knee(), 0);
    (hold.rate, hold.rate_asked) = (Some("1680.25/s".into()), Some("75% of knee".into()));
    hold.take_run(&fixture::objectives(), false, 1);
    soak.folder = None;
    soak.leave_out("a guard stopped stage 2".into());
    let parts = vec![
        Some(StageDocument::Knee(Box::new(knee()))),
        Some(StageDocument::Run(Box::new(fixture::objectives()))),
        None,
    ];
    (document(vec![search, hold, soak]), parts)
}

#[test]
fn the_worst_stage_is_the_answer() {
    let verdicts = |all: &[u8]| {
        let stages = (1..).zip(all).map(|(number, code)| {
            let mut stage = stage(number, "hold");
            stage.take_run(&fixture::stall(), false, *code);
            stage
        });
        document(stages.collect()).verdict
    };
    assert_eq!(verdicts(&[0, 0]), Some(VerdictStatus::Pass));
    assert_eq!(verdicts(&[0, 3, 0]), Some(VerdictStatus::Inconclusive));
    assert_eq!(verdicts(&[3, 1, 0]), Some(VerdictStatus::Fail));
    // As long as one is to come, nothing is told.
    assert_eq!(document(vec![stage(1, "knee")]).verdict, None);
}

#[test]
fn the_knee_is_that_of_the_last_search_before() {
    let (doc, _) = whole();
    assert_eq!(doc.knee_before(1), None);
    let (per_s, from) = doc.knee_before(3).expect("it was found");
    assert_eq!((from.number, Some(per_s)), (1, knee().answer.map(|answer| answer.rate_per_s)));
    let mut again = stage(2, "knee");
    again.take_knee(&KneeDocument { answer: None, bracket: None, ..knee() }, 3);
    let doc = document(vec![doc.stages[0].clone(), again, stage(3, "hold")]);
    assert_eq!(doc.knee_before(3), None, "the later search found none");
}

/// 75 % of it is what the next stage offers: rounded to three digits it would be a rate that nobody tried.
#[test]
fn the_knee_has_the_digits_that_its_shares_are_computed_from() {
    let bracket = KneeBracket { good_per_s: Some(749.7), missed_from_per_s: Some(783.4) };
    let found =
        KneeDocument { answer: None, bracket: Some(bracket), status: KneeStatus::Bracketed, ..knee() };
    let (mut search, mut hold) = (stage(1, "knee"), stage(2, "hold"));
    search.take_knee(&found, 0);
    let share = search.knee.as_ref().and_then(|search| search.knee_per_s).map(|knee| knee * 0.75);
    assert_eq!(share.map(|share| format!("{share:.3}")).as_deref(), Some("562.275"));
    (hold.rate, hold.rate_asked) = (Some("562.275/s".into()), Some("75% of knee".into()));
    let part = Some(StageDocument::Knee(Box::new(found)));
    let doc = document(vec![search, hold]);
    let text = crate::format::plain(&terminal(&doc, &Style { width: 80, color: false }));
    let page = crate::format::plain(&html(&doc, &[part, None]));
    for told in [text.split_whitespace().collect::<Vec<_>>().join(" "), page] {
        for of_knee in ["knee at 749.7/s or above", "is met at 749.7/s", "562.275/s (75% of knee)"] {
            assert!(told.contains(of_knee), "{of_knee}: {told}");
        }
        assert!(!told.contains("750/s"), "{told}");
    }
}

#[test]
fn every_stage_is_told_everywhere() {
    let (doc, parts) = whole();
    for width in [60, 80] {
        let text = terminal(&doc, &Style { width, color: false });
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
        let text = crate::format::plain(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.starts_with("FAIL 1 stage missed an objective: 2 (hold)."), "{text}");
        assert!(text.contains("Not run: a guard stopped stage 2."), "{text}");
        assert!(text.contains("1 680.25/s (75% of knee)"), "{text}");
    }
    let page = html(&doc, &parts);
    for part in
        ["id=\"document-stage-1\"", "id=\"document-stage-2\"", "href=\"02-hold/report.html\"", "<details>"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("document-stage-3"));
    let xml = junit(&doc, &parts);
    assert_eq!(xml.matches("<testsuite ").count(), 3, "{xml}");
    assert!(
        xml.contains("name=\"2. hold\"")
            && xml.contains("<error message=\"Not run: a guard stopped stage 2.\">")
    );
    assert!(stage_line(&doc.stages[1]).starts_with("missed, p99 "));
}

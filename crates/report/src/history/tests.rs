use super::*;
use crate::fixture;
use std::path::Path;
use unblink_artifact::history::{RunLabels, TrendSpec};

const STYLE: Style = Style { width: 80, color: false };

fn runs() -> Vec<IndexedRun> {
    let labels =
        RunLabels { tags: [("commit".to_string(), "3f2a".to_string())].into(), ..RunLabels::default() };
    let of = |(_, document)| IndexedRun::of(&document, Path::new("/runs/x"), labels.clone());
    fixture::all().into_iter().map(of).collect()
}

#[test]
fn a_list_fits_the_screen() {
    let doc = HistoryDocument::new("/data/history.db".into(), runs(), true);
    let text = list(&doc, &STYLE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
    // A row stays in its line where there is little room.
    let unlabelled =
        doc.runs.iter().cloned().map(|run| IndexedRun { tags: Default::default(), ..run }).collect();
    let doc = HistoryDocument::new("/data/history.db".into(), unlabelled, false);
    let text = list(&doc, &Style { width: 60, color: false });
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    let rows = text.lines().filter(|line| line.contains(short_id(&doc.runs[0]))).collect::<Vec<_>>();
    assert!(rows[0].split_whitespace().count() >= 6, "{rows:?}");
}

/// As a comparison measures them: A B B A.
#[test]
fn a_series_stands_together_and_its_head_is_whole() {
    let all = runs();
    let of = |series: usize, id: &str| IndexedRun { id: id.into(), ..all[series].clone() };
    let mut some = vec![of(0, "a1"), of(1, "b1"), of(1, "b2"), of(0, "a2")];
    some.iter_mut().for_each(|run| run.load = format!("open, 200/s, {}", "a long tale ".repeat(9)));
    (some[1].series, some[2].series) = ("b".into(), "b".into());
    let text = list(&HistoryDocument::new("/data/history.db".into(), some, false), &STYLE);
    assert_eq!(text.matches("started (UTC)").count(), 2, "{text}");
    assert!(text.find("a2") < text.find("b1"), "{text}");
    assert_eq!(text.matches("tale").count(), 18, "{text}");
}

#[test]
fn an_empty_list_says_what_to_do() {
    let doc = HistoryDocument::new("/data/history.db".into(), Vec::new(), false);
    assert!(list(&doc, &STYLE).contains("unblink index DIR"));
}

#[test]
fn what_the_index_has_of_a_run() {
    let run = IndexedRun::of(&fixture::objectives(), Path::new("/runs/x"), RunLabels::default());
    let text = one(&run, "/runs/x is not there any more.", &STYLE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

/// Thirty runs, of which the last ten are slower by a half, and one that does not count.
fn slower() -> TrendDocument {
    let document = fixture::intervals();
    let mut runs: Vec<IndexedRun> = (0..31)
        .map(|number: u32| {
            let mut run = IndexedRun::of(&document, Path::new("/runs/x"), RunLabels::default());
            run.id = format!("{number:08x}00000000");
            run.started_at = format!("2026-01-{:02}T06:00:00.000Z", number + 1);
            run.validity.status = if number == 7 { ValidityStatus::Invalid } else { ValidityStatus::Valid };
            run.tags = [("commit".to_string(), format!("c0ffee{number:02}"))].into();
            // Within 5 % of each other.
            let noise = 1.0 + f64::from(number * 37 % 11) / 200.0;
            let level = if number < 21 { 10_000_000.0 } else { 15_000_000.0 };
            for quantile in &mut run.response_time.quantiles {
                quantile.value = (level * noise) as u64;
                (quantile.low, quantile.high) =
                    (Some(quantile.value - 400_000), Some(quantile.value + 500_000));
            }
            run
        })
        .collect();
    runs.reverse();
    let labels = vec!["commit".to_string()];
    let spec = TrendSpec { store: "/data/history.db".into(), quantile: 0.99, labels, more: true };
    unblink_artifact::history::trend(&runs, spec).expect("runs")
}

#[test]
fn a_change_of_the_level_stands_first() {
    let doc = slower();
    assert_eq!(doc.changes.iter().map(|change| change.at).collect::<Vec<_>>(), [20], "{:?}", doc.changes);
    assert!((doc.changes[0].change - 0.5).abs() < 0.03);
    let text = trend(&doc, &STYLE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn few_runs_show_no_change_and_say_so() {
    for count in 0..10 {
        let mut doc = slower();
        doc.runs.truncate(count);
        doc.changes.clear();
        let text = trend(&doc, &STYLE);
        assert!(text.starts_with("TOO FEW RUNS") && text.contains("takes 10 to be seen, 5"), "{text}");
        let picture = trend_picture(&doc);
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
    }
}

#[test]
fn the_picture_holds_every_run_and_the_change() {
    let picture = trend_picture(&slower());
    assert_eq!(picture.matches("<circle").count(), 30);
    assert!(picture.contains("c0ffee21") && picture.contains("+50"), "{picture}");
    // Runs go by their commit on the axis, too, and 10 to 16 ms fill it.
    assert!(picture.contains("c0ffee00"), "{picture}");
    assert!(!picture.contains("100\u{a0}ms") && picture.contains("change of the level"), "{picture}");
    let mut even = slower();
    even.changes.clear();
    assert!(!trend_picture(&even).contains("of the level"), "nothing stands in the legend that is not drawn");
}

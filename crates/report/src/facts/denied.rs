//! What a title must not say: one test for each sentence, over every run that would deny it.

use super::{Title, flight, heat, phases, rates, spectrum};
use crate::fixture::{self, failing, hanging, overloaded, pausing, rising};
use crate::format;
use unblink_artifact::document::RunDocument;

/// Every run that harms its users, by name.
fn harmful() -> Vec<(&'static str, RunDocument)> {
    vec![
        ("60 % failed", failing(60)),
        ("1 % failed", failing(1)),
        ("a step of 60 %", rising(true)),
        ("a drift of 60 %", rising(false)),
        ("a third timed out", hanging()),
        ("an overload", overloaded()),
        ("a stall", fixture::stall()),
        ("a saturated target", fixture::saturated()),
        ("failures", fixture::failures()),
    ]
}

fn said(of: fn(&RunDocument) -> Title, doc: &RunDocument) -> String {
    format::plain(&of(doc).finding)
}

/// No title of these pictures holds `sentence`.
fn denied(sentence: &str, of: &[fn(&RunDocument) -> Title], docs: &[(&str, RunDocument)]) {
    for (name, doc) in docs {
        for of in of {
            let said = said(*of, doc);
            assert!(!said.contains(sentence), "{name}: {said}");
        }
    }
}

#[test]
fn no_event_stands_out_is_said_of_quiet_runs_alone() {
    denied("No event stands out", &[heat], &harmful());
    // And it is said where nothing happened.
    let mut quiet = fixture::stall_closed();
    quiet.response_time.max = Some(11_000_000);
    assert!(said(heat, &quiet).starts_with("No event stands out"), "{}", said(heat, &quiet));
    quiet.arrivals.failed = 3;
    quiet.arrivals.ok -= 3;
    quiet.failures = [("reset".to_string(), 3)].into();
    assert!(said(heat, &quiet).contains("failed with a reset connection"), "{}", said(heat, &quiet));
}

#[test]
fn the_worst_harm_leads() {
    let begins = |doc: &RunDocument, with: &str| {
        let said = said(heat, doc);
        assert!(said.starts_with(with), "{said}");
    };
    begins(&rising(true), "The median rose from 10.0 ms to 16.0 ms at 30 s");
    begins(&rising(false), "The median rose from 10.");
    let drift = said(heat, &rising(false));
    assert!(drift.ends_with(" ms over the run"), "{drift}");
    for (percent, least) in [(60, "59"), (1, "")] {
        let said = said(heat, &failing(percent));
        assert!(said.contains(" % of the arrivals failed with a 5xx status, throughout the run"), "{said}");
        assert!(said.starts_with(least) || said.starts_with("60"), "{said}");
    }
    begins(&hanging(), "33.3 % of the arrivals had no answer within 1 s, due from 20 s to 40 s");
    begins(&overloaded(), "The median rose from ");
}

/// What is answered after the schedule's end is not a part of the run's course.
#[test]
fn a_drain_is_no_drift() {
    for rows in 1..=4u64 {
        let mut doc = fixture::stall();
        let last = doc.series.rows.iter().rposition(|row| row.due > 0).expect("rows");
        doc.series.rows.truncate(last + 1);
        let end = doc.series.rows[last].start_ns + doc.series.rows[last].length_ns;
        assert!(doc.series.load_to_ns <= end);
        for i in 0..rows {
            let mut row = doc.series.rows[10].clone();
            (row.start_ns, row.length_ns, row.due, row.ok) = (end + i * 30_000_000, 30_000_000, 0, 17);
            row.ended_p50.as_mut().expect("a median").ns = 15_000_000;
            doc.series.rows.push(row);
        }
        assert!(!said(heat, &doc).contains("rose"), "{rows} rows: {}", said(heat, &doc));
    }
}

#[test]
fn percentiles_of_the_answered_are_not_those_of_all() {
    let docs = [("60 % failed", failing(60)), ("1 % failed", failing(2)), ("failures", fixture::failures())];
    denied("p99 is", &[heat, spectrum], &docs);
    denied("1 in 100 users", &[heat, spectrum], &docs);
    let both = said(spectrum, &failing(60));
    assert!(both.contains(" % failed; p99 of the ok answers is 1"), "{both}");
    denied("Waiting for the first byte", &[phases], &docs);
}

#[test]
fn the_schedule_was_held_is_not_said_over_answers_that_came_too_late() {
    denied("The schedule was held", &[rates], &[("an overload", overloaded()), ("hangs", hanging())]);
    assert_eq!(said(rates, &overloaded()), "300/s were offered and sent, 200/s answered");
    // Where most was answered, the rest is named.
    let one = said(rates, &failing(1));
    assert!(one.starts_with("The schedule was held") && one.contains(" % failed"), "{one}");
    denied("The schedule was held", &[rates], &[("60 % failed", failing(60))]);
}

#[test]
fn at_most_so_many_in_flight_is_not_less_than_there_were() {
    for (name, doc) in [("a pause", pausing()), ("a stall", fixture::stall())] {
        let timeline = doc.series.timeline.as_ref().expect("cells");
        let most = timeline.in_flight_max.iter().max().copied().unwrap_or(0);
        assert!(doc.series.rows.iter().all(|row| row.in_flight <= most), "{name}");
        let said = said(flight, &doc);
        assert!(
            said.starts_with(&format::plain(&format!("At most {} ", format::count(most)))),
            "{name}: {said}"
        );
    }
    denied("end of a second", &[flight], &harmful());
}

#[test]
fn one_event_is_not_blamed_for_what_goes_on_throughout() {
    let docs = [
        ("60 % failed", failing(60)),
        ("a drift", rising(false)),
        ("a step", rising(true)),
        ("an overload", overloaded()),
    ];
    denied("one event", &[heat], &docs);
}

#[test]
fn what_has_its_time_does_not_go_on_throughout() {
    denied(
        "throughout",
        &[heat],
        &[("hangs", hanging()), ("a stall", fixture::stall()), ("a step", rising(true))],
    );
}

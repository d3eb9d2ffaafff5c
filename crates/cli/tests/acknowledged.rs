//! `latest(…, inserts=acknowledged)`: nobody asks for a key whose insert is still under way.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer, ok};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An insert takes so long at least.
const SLOW: Duration = Duration::from_millis(300);

/// The keys that were asked for, each with how many inserts can have been answered by then, where inserts are answered so.
fn asked(inserts: &str, insert: fn() -> Vec<u8>) -> Vec<(u64, usize)> {
    let by = "[[requests]]\nurl = \"/put\"\nmethod = \"POST\"\nweight = 1\ninserts = true\n";
    asked_beside(by, inserts, insert)
}

/// The same of inserts that are made `by` these tables of the plan.
fn asked_beside(by: &str, inserts: &str, insert: fn() -> Vec<u8>) -> Vec<(u64, usize)> {
    let (begun, asked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (inserting, asking) = (begun.clone(), asked.clone());
    let server = Hostile::start(move |seen| {
        let now = Instant::now();
        match seen.target.strip_prefix("/get/") {
            None if seen.target == "/begin" => Act::Answer(ok()),
            None => {
                inserting.lock().expect("a list").push(now);
                Act::AnswerAfter(SLOW, insert())
            }
            Some(key) => {
                let begun = inserting.lock().expect("a list");
                let answered = begun.iter().filter(|begun| now.duration_since(**begun) >= SLOW).count();
                asking.lock().expect("a list").push((key.parse().expect("a key"), answered));
                Act::Answer(ok())
            }
        }
    });
    let place = Place::new();
    // Nearly always the newest key is asked for; one is there at the start, with the number 0.
    place.file(
        "plan.toml",
        format!(
            "[load]\nrate = 100\nduration = \"2s\"\n[let]\nkey = \"latest(1, s=10, inserts={inserts})\"\n{by}\
             [[requests]]\nurl = \"/get/{{{{key}}}}\"\nweight = 1\n"
        ),
    );
    let run = place.call(&["run", "plan.toml", &server.url(), "-t", "2", "--no-preflight"]);
    assert_ne!(run.code(), Some(2), "{run:?}");
    asked.lock().expect("a list").clone()
}

fn broken() -> Vec<u8> {
    answer("500 Internal Server Error", "")
}

#[test]
fn nobody_asks_for_a_key_whose_insert_is_under_way() {
    let all = asked("acknowledged", ok);
    let ahead = all.iter().filter(|(key, answered)| *key as usize > *answered).count();
    assert_eq!(ahead, 0, "{all:?}");
    // And the newest keys are asked for: 0.3 s after they began, of 50 inserts a second.
    let newest = all.iter().map(|(key, _)| *key).max();
    assert!(newest.is_some_and(|newest| newest >= 40), "{newest:?}");
}

#[test]
fn an_insert_that_fails_has_ended() {
    let newest = asked("acknowledged", broken).into_iter().map(|(key, _)| key).max();
    assert!(newest.is_some_and(|newest| newest >= 40), "{newest:?}");
}

const BY_JOURNEYS: &str = "[[journeys]]\nweight = 1\n[[journeys.steps]]\nurl = \"/begin\"\n[[journeys.steps]]\nurl = \"/put\"\n\
                           method = \"POST\"\ninserts = true\nthink = \"100ms\"\n";

/// Nobody asks for the key of a journey that has not inserted it, whether it thinks or waits for the answer.
#[test]
fn a_journey_has_inserted_once_its_step_has_ended() {
    for insert in [ok, broken] {
        let all = asked_beside(BY_JOURNEYS, "acknowledged", insert);
        let ahead = all.iter().filter(|(key, answered)| *key as usize > *answered).count();
        assert_eq!(ahead, 0, "{all:?}");
        let newest = all.iter().map(|(key, _)| *key).max();
        assert!(newest.is_some_and(|newest| newest >= 40), "{newest:?}");
    }
    let all = asked_beside(BY_JOURNEYS, "expected", ok);
    assert!(all.iter().any(|(key, answered)| *key as usize > *answered + 5), "{all:?}");
}

/// How many keys there are must be known by the schedule.
#[test]
fn steps_whose_inserts_nobody_can_count_are_refused() {
    let place = Place::new();
    for (of_first, of_second, why) in [
        (
            "",
            "inserts = true\nuntil = \"status=200\"\nevery = \"1s\"\nwithin = \"9s\"",
            "how often the step asks",
        ),
        ("", "inserts = true\nrepeat = \"1..2\"", "a fixed number of times"),
        ("", "inserts = true\nchance = \"50%\"", "leave chance out"),
        ("exit = \"10%\"", "inserts = true", "leave before this step"),
        (
            "",
            "inserts = true\nrepeat = \"2\"\nheader = [\"X: {{new}}\"]",
            "new is one key for a whole journey",
        ),
    ] {
        place.file(
            "plan.toml",
            format!(
                "target = \"http://127.0.0.1:9\"\n[load]\nrate = 1\nduration = \"1s\"\n[let]\nkey = \"latest(1)\"\nnew = \
                 \"sequential\"\n[[journeys]]\n[[journeys.steps]]\nurl = \"/{{{{key}}}}/{{{{new}}}}\"\n{of_first}\n\
                 [[journeys.steps]]\nurl = \"/\"\n{of_second}\n"
            ),
        );
        place.call(&["plan", "check", "plan.toml"]).refused(&[why, "plan.toml"]);
    }
}

/// Without it, keys are expected by the schedule.
#[test]
fn expected_inserts_may_still_be_under_way() {
    let all = asked("expected", ok);
    assert!(all.iter().any(|(key, answered)| *key as usize > *answered + 5), "{all:?}");
}

#[test]
fn it_is_said_that_such_draws_do_not_come_again() {
    let place = Place::new();
    let plan = |inserts: &str| {
        format!(
            "target = \"http://127.0.0.1:9\"\n[load]\nrate = 10\nduration = \"1s\"\n[let]\n\
             key = \"latest(10, inserts={inserts})\"\n[[requests]]\nurl = \"/{{{{key}}}}\"\n"
        )
    };
    place.file("plan.toml", plan("acknowledged"));
    let shown = place.call(&["plan", "show", "plan.toml"]).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("whose inserts have ended: others in each run"), "{shown}");
    place.file("plan.toml", plan("soon"));
    let refused = place.call(&["plan", "check", "plan.toml"]);
    assert!(refused.stderr.contains("\"soon\" is neither expected nor acknowledged"), "{refused:?}");
    assert!(refused.stderr.contains("plan.toml:6:"), "{refused:?}");
}

/// Streams of Poisson arrivals number their own inserts: the newest number is not that of the newest key.
#[test]
fn the_newest_key_needs_arrivals_in_order() {
    let place = Place::new();
    let plan = |arrivals: &str, insert: &str| {
        let new = if insert == "{{new}}" { "new = \"sequential(from=10)\"\n" } else { "" };
        format!(
            "target = \"http://127.0.0.1:9\"\n[load]\nrate = 10\nduration = \"1s\"\narrivals = \"{arrivals}\"\n[let]\n\
             key = \"latest(10)\"\n{new}[world]\nserver = \"service=1ms\"\n\
             [[requests]]\nurl = \"/put/{insert}\"\nmethod = \"POST\"\nweight = 1\ninserts = true\n\
             [[requests]]\nurl = \"/get/{{{{key}}}}\"\nweight = 1\n"
        )
    };
    place.file("plan.toml", plan("poisson", "{{new}}"));
    for command in [&["plan", "check"][..], &["run"], &["sim"], &["try"]] {
        let refused = place.call(&[command, &["plan.toml"]].concat());
        refused
            .refused(&["new numbers the records that are inserted, which key counts on", "--arrivals even"]);
        assert!(refused.stderr.contains("plan.toml:5:"), "{command:?}: {refused:?}");
    }
    // What the server numbers is in the order in which it comes.
    for (arrivals, insert) in [("even", "{{new}}"), ("poisson", "{{uuid}}")] {
        place.file("plan.toml", plan(arrivals, insert));
        let checked = place.call(&["plan", "check", "plan.toml"]);
        assert_eq!(checked.code(), Some(0), "{checked:?}");
    }
}

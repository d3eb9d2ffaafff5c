//! Journeys with connections of their own, against servers that know over which connection each request came.

use crate::support::hostile::{Act, Hostile, Seen, ok};
use crate::support::lab::Lab;
use crate::support::{Place, Run};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Half of the arrivals begin journeys; the number of a journey is in each of its paths.
pub(crate) const MIXED: &str = r#"
[let]
n = "sequential(1000000)"
[load]
rate = 100
duration = "1s"
seed = 1
[[requests]]
share = "50%"
name = "items"
url = "/items"
[[journeys]]
name = "buy"
share = "50%"
own-connection = true
think = "30ms"
[[journeys.steps]]
name = "search"
url = "/search/{{n}}"
[[journeys.steps]]
name = "cart"
url = "/cart/{{n}}"
[[journeys.steps]]
name = "order"
url = "/order/{{n}}"
"#;

/// What came over each connection, in order, as the names of the steps and the number of the journey.
pub(crate) fn by_connection(server: &Hostile) -> BTreeMap<usize, Vec<(String, String)>> {
    let mut all: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
    for Seen { connection, target, .. } in server.seen() {
        let mut parts = target.trim_start_matches('/').split('/').map(str::to_string);
        let (step, number) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        all.entry(connection).or_default().push((step, number));
    }
    all
}

/// Every connection carries the requests of one journey, or none of any. Gives the paths of those that carry some.
fn of_journeys(server: &Hostile) -> Vec<Vec<(String, String)>> {
    let all = by_connection(server);
    for (connection, seen) in &all {
        let numbers: BTreeSet<&String> = seen.iter().map(|(_, number)| number).collect();
        assert_eq!(numbers.len(), 1, "{connection}: {seen:?}");
    }
    all.into_values().filter(|seen| !seen[0].1.is_empty()).collect()
}

fn completed(run: &Run, journeys: u64) {
    run.assert_accounts();
    let account = run.at("/journeys/0/account");
    assert_eq!(
        (&account["scheduled"], &account["completed"]),
        (&json!(journeys), &json!(journeys)),
        "{account}"
    );
    assert_eq!(run.at("/journeys/0/own_connection"), &json!(true));
}

#[test]
fn a_journey_has_its_connection_for_itself_from_its_first_request_to_its_end() {
    let server = Hostile::start(|_| Act::AnswerAfter(Duration::from_millis(5), ok()));
    let place = Place::new();
    place.file("plan.toml", MIXED);
    let run = place.measure(&["plan.toml", &server.url(), "-t", "2"]);
    completed(&run, 50);
    let steps = ["search", "cart", "order"];
    let journeys = of_journeys(&server);
    // One more has been asked for before the run.
    let whole: Vec<_> = journeys.iter().filter(|seen| seen.iter().map(|(step, _)| step).eq(&steps)).collect();
    assert_eq!(whole.len(), 50, "{journeys:?}");
    let counts = ["own", "closed_with_journey"].map(|name| run.connections(name));
    assert_eq!(counts, [50, 50]);
    assert!(run.at("/origins/0/connections").get("own_again").is_none(), "none was lost");
    assert!(place.text("out/report.html").contains("opened for one journey each"));
    let again: Value = serde_json::from_str(&place.call(&["report", "out", "--json"]).stdout).expect("JSON");
    assert_eq!(again["origins"], run.at("")["origins"]);
}

#[test]
fn a_connection_that_the_server_closes_is_opened_again() {
    let server = Hostile::start(|seen| match seen.target.starts_with("/cart") {
        true => Act::AnswerThenClose(ok()),
        false => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", MIXED);
    let run = place.measure(&["plan.toml", &server.url()]);
    completed(&run, 50);
    let journeys = of_journeys(&server);
    let of =
        |steps: &[&str]| journeys.iter().filter(|seen| seen.iter().map(|(step, _)| step).eq(steps)).count();
    assert_eq!((of(&["search", "cart"]), of(&["order"])), (50, 50), "{journeys:?}");
    let counts = ["own", "own_again", "closed_with_journey"].map(|name| run.connections(name));
    assert_eq!(counts, [100, 50, 50]);
}

/// The limit is for all connections: with two, two journeys are under way, and the others wait with their intended times.
#[test]
fn at_the_limit_journeys_wait_for_a_connection() {
    let server = Hostile::start(|_| Act::AnswerAfter(Duration::from_millis(20), ok()));
    let place = Place::new();
    let only = MIXED.replace("share = \"50%\"\nown", "own");
    let (head, _) = only.split_once("[[requests]]").expect("a mix");
    let (_, journeys) = only.split_once("[[journeys]]").expect("journeys");
    place.file("plan.toml", format!("{}[[journeys]]{journeys}", head.replace("rate = 100", "rate = 40")));
    let run = place.measure(&["plan.toml", &server.url(), "-t", "1", "-c", "2"]);
    completed(&run, 40);
    of_journeys(&server);
    assert_eq!((run.connections("peak"), run.connections("own")), (2, 40));
    let waited = run.at("/lag_causes/no_connection").as_u64().expect("a count");
    assert!(waited >= 30, "{}", run.at("/lag_causes"));
    // Each takes two times 30 ms of thinking and three times 20 ms; two at once carry 40 in 2.4 s.
    let longest = run.at("/journeys/0/time/max").as_u64().expect("a time");
    assert!(longest > 1_000_000_000, "{longest}");
}

/// The lab's log says over which connection each request came; over HTTP/2, too, journeys do not share one.
#[test]
fn the_labs_log_has_a_connection_for_each_journey() {
    for http in ["1.1", "2"] {
        let place = Place::new();
        let log = ["--scenario", "healthy", "--baseline", "2ms", "--truth", "truth.csv", "--http", http];
        let mut lab = Lab::serve(&place, &log);
        let only = MIXED.replace("share = \"50%\"\nown", "own");
        let (head, _) = only.split_once("[[requests]]").expect("a mix");
        let (_, journeys) = only.split_once("[[journeys]]").expect("journeys");
        place.file("plan.toml", format!("{head}[[journeys]]{journeys}"));
        let version: &[&str] = if http == "2" { &["--http", "2"] } else { &[] };
        let run = place.measure(&[&["plan.toml", &lab.url, "-t", "2"], version].concat());
        completed(&run, 100);
        assert_eq!(
            (run.connections("own"), run.connections("closed_with_journey")),
            (100, 100),
            "HTTP/{http}"
        );
        lab.stop();
        let mut requests: BTreeMap<u32, u32> = BTreeMap::new();
        for row in unblink_lab::read_truth(place.path().join("truth.csv")).expect("a log") {
            *requests.entry(row.connection).or_default() += 1;
        }
        let of_three = requests.values().filter(|n| **n == 3).count();
        // The pre-flight has one of its own.
        assert_eq!((of_three, requests.len()), (100, 101), "HTTP/{http}: {requests:?}");
    }
}

#[test]
fn a_simulated_journey_has_its_own_too() {
    let place = Place::new();
    place.file("plan.toml", format!("{MIXED}[world]\nserver = \"service=10ms\"\n"));
    let run = place.call(&["sim", "plan.toml", "-o", "out", "--json"]);
    assert_eq!(run.code(), Some(0), "{run:?}");
    let run: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let counts = &run["origins"][0]["connections"];
    assert_eq!((&counts["own"], &counts["closed_with_journey"]), (&json!(50), &json!(50)), "{counts}");
    let shown = place.call(&["plan", "show", "plan.toml"]).stdout;
    assert!(shown.contains("own-connection = true"), "{shown}");
}

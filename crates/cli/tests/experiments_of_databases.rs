//! Searches and comparisons of real databases.

use crate::stores::{PASSWORD, Postgres, Redis};
use crate::support::{self, Place, Said};
use serde_json::Value;

fn call(place: &Place, args: &[&str]) -> Said {
    let mut command = place.command(args);
    command.env("PGPASSWORD", PASSWORD);
    support::finish(&mut command)
}

/// One rate, once more, and for twice as long.
const ONE_RATE: [&str; 15] = [
    "--settle",
    "0s",
    "--measure",
    "4s",
    "--rest",
    "0s",
    "--start",
    "50",
    "--max",
    "50",
    "--slo",
    "p90 < 10s",
    "--json",
    "-o",
    "out",
];

#[track_caller]
fn is_found(place: &Place, url: &str, more: &[&str]) {
    let said = call(place, &[&["knee", url], &ONE_RATE[..], more].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(
        (&found["status"], &found["answer"]["rate_per_s"]),
        (&"at_least".into(), &50.0.into()),
        "{found}"
    );
    for trial in ["trial-01", "trial-02", "trial-03"] {
        let run: Value = serde_json::from_str(&place.text(&format!("out/{trial}/run.json"))).expect("JSON");
        assert_eq!(run["arrivals"]["ok"], run["arrivals"]["scheduled"], "{}", run["arrivals"]);
    }
}

#[test]
fn a_redis_is_searched() {
    let (redis, place) = (Redis::start(&[]), Place::new());
    is_found(&place, &redis.url(), &["--command", "SET {{key}} v", "--let", "key=uniform(40)"]);
    assert_eq!(redis.ask("DBSIZE\r\n", "\r\n"), ":40\r\n", "each key came");
}

#[test]
fn a_postgres_is_searched() {
    let (postgres, place) = (Postgres::start("trust", &[]), Place::new());
    let sql = "SELECT name FROM item WHERE id = {{id}}";
    is_found(
        &place,
        &postgres.url(),
        &["--sql", sql, "--let", "id=uniform(1, 100)", "--expect", "contains=item"],
    );
}

/// Five and five runs in turn, of which each is a whole one.
#[track_caller]
fn is_compared(place: &Place, args: &[&str], folder: &str) {
    let load = ["-R", "50", "-d", "300ms", "--percentile", "p50", "--json", "-o", folder];
    let said = call(place, &[&["compare"], args, &load].concat());
    // How two equal stores differ is up to the machine.
    assert!(matches!(said.code(), Some(0 | 1 | 3)), "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    for side in ["baseline", "candidate"] {
        assert!(found[side]["runs"].as_array().is_some_and(|runs| runs.len() >= 5), "{found}");
        let run: Value =
            serde_json::from_str(&place.text(&format!("{folder}/{side}/1/run.json"))).expect("JSON");
        assert_eq!(
            (&run["arrivals"]["ok"], &run["arrivals"]["scheduled"]),
            (&15.into(), &15.into()),
            "{}",
            run["arrivals"]
        );
    }
}

#[test]
fn databases_are_compared() {
    let (one, other, postgres, place) =
        (Redis::start(&[]), Redis::start(&[]), Postgres::start("trust", &[]), Place::new());
    is_compared(&place, &[&one.url(), &other.url(), "--command", "INCR n"], "redis");
    for redis in [&one, &other] {
        let count = redis.ask("GET n\r\nPING\r\n", "+PONG");
        let count: u64 = count.lines().nth(1).and_then(|n| n.parse().ok()).expect("a number");
        assert!(count >= 5 * 15, "each side had its runs: {count}");
    }
    is_compared(
        &place,
        &["--a-a", &postgres.url(), "--sql", "SELECT name FROM item WHERE id = 7"],
        "postgres",
    );
    // The same of a plan, in which each has its statements.
    let requests = "[[requests]]\nshare = \"90%\"\nname = \"read\"\nurl = \"/postgres\"\nsql = \"SELECT 1\"\n\
                    [[requests]]\nshare = \"10%\"\nname = \"write\"\nurl = \"/postgres\"\n\
                    sql = \"UPDATE item SET name = 'x' WHERE id = 1\"\n";
    let target = format!("postgres://bench@127.0.0.1:{}", postgres.port);
    place.file("p.toml", format!("target = \"{target}\"\n[comparison]\na-a = true\n{requests}"));
    is_compared(&place, &["p.toml", "--request", "read"], "plan");
}

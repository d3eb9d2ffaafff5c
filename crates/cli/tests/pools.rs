//! How many connections go to a database if nobody says so, and how often one is asked that is not there.

use crate::cql_server::{Manner, Server};
use crate::stores::{Postgres, Redis, free_port};
use crate::support::{Place, Run};

const LOOKUP: [&str; 2] = ["--cql", "SELECT name FROM item WHERE id = {{index}}"];

fn pool(run: &Run) -> (&str, u64, Option<&str>) {
    let at = |name: &str| run.at("/origins/0/connections").get(name).and_then(|value| value.as_str());
    (at("mode").expect("a mode"), run.connections("limit"), at("by_default"))
}

#[test]
fn a_database_has_a_fixed_pool_unless_told_otherwise() {
    let (redis, postgres) = (Redis::start(&[]), Postgres::start("trust", &[]));
    let cql = Server::start(Manner::default());
    let runs = [
        (redis.run(&["--command", "PING"]), ("fixed", 50, Some("redis"))),
        (postgres.run(&["--sql", "SELECT 1"]), ("fixed", 20, Some("postgresql"))),
        (
            Place::new().measure(&[&[cql.url().as_str(), "-R", "200", "-n", "40"], &LOOKUP[..]].concat()),
            ("fixed", 8, Some("cassandra")),
        ),
    ];
    for (run, expected) in &runs {
        run.assert_all("ok");
        assert_eq!(pool(run), *expected, "{run:?}");
        assert_eq!(run.connections("opened"), expected.1, "before the load: {run:?}");
    }
    let ping = ["--command", "PING"];
    for (more, expected) in [
        (&["-c", "auto"][..], ("auto", 20_000)),
        (&["-c", "3"], ("fixed", 3)),
        // Each thread has one.
        (&["-t", "60"], ("fixed", 60)),
    ] {
        let run = redis.run(&[&ping[..], more].concat());
        let (mode, limit, by_default) = pool(&run);
        assert!(mode == expected.0 && limit <= expected.1, "{run:?}");
        assert_eq!(by_default.is_some(), more[0] == "-t", "{run:?}");
    }
    // Users are the limit themselves.
    let users = [redis.url().as_str(), "--closed", "70", "-d", "1s", "--command", "PING"].map(String::from);
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    assert_eq!(pool(&Place::new().measure(&users)), ("auto", 70, None));
    let said = Place::new().call(&["run", &redis.url(), "-R", "200", "-n", "40", "--command", "PING"]);
    let line = "50 connections (the default for Redis; -c changes it)";
    let told = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(line), "{said:?}");
}

/// A thousand arrivals a second, and nobody listens: each ends with an attempt, and there are few.
#[test]
fn a_database_that_is_not_there_is_asked_at_a_pace() {
    let port = free_port();
    for (scheme, more) in [
        ("redis", &["--command", "PING"][..]),
        ("postgres", &["--sql", "SELECT 1"]),
        ("cql", &["--cql", "SELECT key FROM system.local", "--token-aware", "off"]),
    ] {
        for pool in [&[][..], &["-c", "auto"]] {
            let url = format!("{scheme}://127.0.0.1:{port}");
            let load = [url.as_str(), "-R", "1000", "-d", "2s", "--no-preflight"];
            let run = Place::new().measure(&[&load[..], more, pool].concat());
            run.assert_all_failed("connect_refused");
            run.assert_accounts();
            // Those before the load, five until the pause is as long as it gets, and one each 200 ms.
            let (refused, limit) = (run.connections("refused"), 50 + 5 + 2 * 5 + 5);
            assert!((5..=limit).contains(&refused), "{scheme}: {run:?}");
            assert_eq!((run.connections("attempted"), run.connections("failed")), (refused, refused));
        }
    }
}

//! The examples of Redis and of PostgreSQL, shortened, against real servers.

use crate::stores::{Postgres, Redis};
use crate::support::{Place, Run};

/// The example at `url`, for a second at a hundred arrivals a second.
fn played(name: &str, place: &Place, url: &str) -> Run {
    let example = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let run = place.measure(&[&example, url, "-R", "100", "-d", "1s"]);
    run.assert_accounts();
    assert_eq!(run.arrivals("ok"), run.arrivals("scheduled"), "{run:?}");
    assert!(run.arrivals("ok") > 50, "{run:?}");
    run
}

#[test]
fn redis() {
    let redis = Redis::start(&[]);
    let run = played("redis", &redis.place, &redis.url());
    let written = run.count("/operations/1/arrivals/ok");
    assert_eq!(run.at("/operations/1/name"), "write");
    assert!(written > 0, "{run:?}");
    let keys = redis.ask("DBSIZE\r\n", "\r\n");
    let keys: u64 = keys.trim().trim_start_matches(':').parse().expect("a number");
    // One more by the check before the run, and some are written twice.
    assert!(keys > 0 && keys <= written + 1, "{keys} of {written}");
}

#[test]
fn a_cart() {
    let redis = Redis::start(&[]);
    let run = played("cart", &redis.place, &redis.url());
    let done = run.count("/journeys/0/account/completed");
    assert!(done > 50, "{:?}", run.at("/journeys/0"));
    assert_eq!((run.connections("held"), run.closed_open()), (done, 0));
    assert_eq!(redis.ask("LLEN orders\r\n", "\r\n"), format!(":{done}\r\n"));
    // Each cart is gone with its order; beside the orders, there is the counter.
    assert_eq!(redis.ask("DBSIZE\r\n", "\r\n"), ":2\r\n");
}

#[test]
fn postgres() {
    let postgres = Postgres::start("trust", &[]);
    postgres.sql("CREATE DATABASE shop");
    let tables = "CREATE TABLE item AS SELECT id, 'item ' || id AS name, 1000000 AS stock FROM generate_series(1, 10000) id; \
                  ALTER TABLE item ADD PRIMARY KEY (id); CREATE TABLE sale (item int, at timestamptz DEFAULT now())";
    postgres.sql_in("shop", tables);
    let url = format!("postgres://bench@127.0.0.1:{}/shop", postgres.port);
    let run = played("postgres", &postgres.place, &url);
    let sold = run.count("/operations/1/arrivals/ok");
    assert_eq!(run.at("/operations/1/name"), "sell");
    // One more by the check before the run.
    let both = "SELECT count(*) FROM sale UNION ALL SELECT sum(1000000 - stock) FROM item";
    assert_eq!(postgres.sql_in("shop", both), format!("{0}\n{0}", sold + 1));
}

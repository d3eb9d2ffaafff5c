//! Transactions in a real PostgreSQL from the command line.

mod stores;
mod support;

use rustix::process::{Pid, Signal};
use std::time::Duration;
use stores::Postgres;
use support::Place;

#[test]
fn values_are_bound_and_answers_counted_by_what_they_are() {
    let postgres = Postgres::start("scram-sha-256", &[]);
    let insert = postgres.run(&[
        "-c",
        "4",
        "--no-preflight",
        "--sql",
        "INSERT INTO item VALUES (1000 + {{index}}, 'it''s {{index}}; DROP TABLE item')",
    ]);
    insert.assert_all("ok");
    assert_eq!(insert.at("/operations/0/protocol"), "postgres");
    assert_eq!(insert.at("/operations/0/name"), "INSERT INTO item VALUES (1000 + {{index}}, '***')");
    assert_eq!((insert.at("/origins/0/scheme"), insert.connections("opened")), (&"postgres".into(), 4));
    assert_eq!(
        postgres.sql("SELECT count(*), min(name), max(id) FROM item WHERE id >= 1000"),
        "40|it's 0; DROP TABLE item|1039"
    );
    let select =
        postgres.run(&["--let", "id=sequential(200)", "--sql", "SELECT * FROM item WHERE id = {{id}} + 81"]);
    select.assert_all("ok");
    // Keys 1 to 100 are there; the first arrivals ask for 81 and on.
    assert_eq!((select.count("/codes/done"), select.count("/codes/empty")), (20, 20));
}

#[test]
fn errors_are_failures_by_their_state() {
    let postgres = Postgres::start("md5", &[]);
    for (sql, kind) in [
        ("INSERT INTO item VALUES (1, 'again')", "postgres_unique_violation"),
        ("SELECT 1 / 0 FROM item", "postgres_data_exception"),
        ("SELECT pg_sleep(1) FROM item WHERE id = 'x{{index}}'", "postgres_data_exception"),
    ] {
        postgres.run(&["--sql", sql, "--no-preflight"]).assert_all_failed(kind);
    }
    // One of the statements fails, so that none of them is done.
    let transaction = ["--sql", "DELETE FROM item", "--sql", "SELECT 1 / (SELECT 0)", "--no-preflight"];
    postgres.run(&transaction).assert_all_failed("postgres_data_exception");
    assert_eq!(postgres.sql("SELECT count(*) FROM item"), "100");
    for (sql, parts) in [
        (
            "SELECT * FROM nope WHERE a = 's3cr3t'",
            &["can't prepare a statement", "relation \"nope\" does not exist (42P01)"][..],
        ),
        ("SELECT 1 / 0 FROM item", &["division by zero (22012)"]),
    ] {
        let said = postgres.call(&["run", &postgres.url(), "-R", "10", "-n", "1", "--sql", sql]);
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(parts.iter().all(|part| said.stderr.replace("\n    ", " ").contains(part)), "{said:?}");
        assert!(!said.stderr.contains("s3cr3t"), "{said:?}");
    }
}

#[test]
fn what_is_expected_of_rows_is_held_against_them() {
    let postgres = Postgres::start("trust", &[]);
    for (sql, expect, outcome) in [
        (
            "SELECT id, name FROM item WHERE id IN (1, 2) ORDER BY id",
            "regex ^1\\titem 1\\n2\\titem 2\\n$",
            "ok",
        ),
        ("SELECT id, name FROM item WHERE id = 1", "contains=item 2", "failed"),
        ("SELECT NULL", "contains=\\N", "ok"),
        ("SELECT '{\"n\": 7}'::json", "json $.n == 7", "ok"),
        ("SELECT 1 FROM item WHERE id = 0", "status=done", "failed"),
        ("SELECT 1 FROM item WHERE id = 0", "status=empty", "ok"),
        ("INSERT INTO item VALUES (1, '')", "status=unique_violation", "ok"),
    ] {
        postgres.run(&["--sql", sql, "--expect", expect, "--no-preflight"]).assert_all(outcome);
    }
}

#[test]
fn several_transactions_go_over_one_connection_and_an_error_leaves_the_others_alone() {
    let postgres = Postgres::start("password", &[]);
    let run = postgres.run(&[
        "-c",
        "1",
        "--depth",
        "16",
        "--no-preflight",
        "--request",
        "50% SELECT 1 / (CASE WHEN id = 1 THEN 0 ELSE 1 END) FROM item WHERE id = 1",
        "--request",
        "50% SELECT repeat('x', 100000)",
    ]);
    assert_eq!(
        (run.arrivals("ok"), run.failures("postgres_data_exception"), run.connections("opened")),
        (20, 20, 1)
    );
}

#[test]
fn a_server_that_lets_nobody_in_says_why() {
    let postgres =
        Postgres::start("scram-sha-256", &["max_connections=4", "superuser_reserved_connections=0"]);
    for (url, parts) in [
        (
            postgres.url().replace("bench@", "bench:wr0ng@"),
            &["refuses the user or the password", "28P01"][..],
        ),
        (postgres.url().replace("/postgres", "/nope"), &["no such database", "3D000"]),
        (postgres.url().replace("bench@", "nobody:wr0ng@"), &["refuses the user or the password"]),
    ] {
        let said = postgres.call(&["run", &url, "-R", "10", "-n", "1", "--sql", "SELECT 1"]);
        let stderr = said.stderr.replace("\n    ", " ");
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(parts.iter().all(|part| stderr.contains(part)) && !stderr.contains("wr0ng"), "{said:?}");
    }
    // More connections than it takes: those that it refuses fail, and all arrivals are accounted for.
    let run = postgres.run(&["-c", "8", "--sql", "SELECT 1"]);
    assert!(run.count("/origins/0/connections/failed") > 0, "{run:?}");
    // An arrival that waits while a connection is refused may fail with it.
    let refused = run.failures("protocol_too_many_connections");
    assert_eq!((run.arrivals("ok") + refused, run.arrivals("failed")), (40, refused), "{run:?}");
}

#[test]
fn a_server_that_ends_in_a_run_loses_no_arrival() {
    let mut postgres = Postgres::start("trust", &[]);
    let (place, url) = (Place::new(), postgres.url());
    let args = [
        "run",
        &url,
        "--json",
        "-R",
        "200",
        "-d",
        "6s",
        "-c",
        "4",
        "--timeout",
        "1s",
        "--sql",
        "INSERT INTO item VALUES (1000 + {{index}}, '')",
        "--no-preflight",
    ];
    let started = support::Started::spawn(&mut Postgres::command(&place, &args));
    std::thread::sleep(Duration::from_secs(2));
    // "Fast": each connection is told, and closed.
    rustix::process::kill_process(Pid::from_child(&postgres.child), Signal::INT).expect("it runs");
    postgres.child.wait().expect("it ends");
    std::thread::sleep(Duration::from_secs(1));
    postgres.child = Postgres::spawn(&postgres.folder, postgres.port, &[]);
    let run = started.wait().run();
    run.assert_accounts();
    assert_eq!(run.arrivals("scheduled"), 1_200);
    assert!(run.arrivals("ok") > 400 && run.arrivals("ok") < 1_200, "{:?}", run.at("/arrivals"));
    // Each answer is one insert, and no more were done than were sent.
    let done: u64 = postgres.sql("SELECT count(*) FROM item WHERE id >= 1000").parse().expect("a number");
    assert!(done >= run.arrivals("ok") && done <= 1_200, "{done}");
}

/// As a pooler does that gives each transaction another connection to the server.
#[test]
fn statements_that_got_lost_are_prepared_again() {
    let postgres = Postgres::start("trust", &[]);
    let run = postgres.run(&[
        "-c",
        "1",
        "--no-preflight",
        "--request",
        "1 SELECT pg_catalog.set_config('a.b', '1', false)",
        "--request",
        "1 SELECT id FROM item WHERE id = 1",
    ]);
    run.assert_all("ok");
    postgres.sql("CREATE FUNCTION lose() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN 1; END $$");
    let run = postgres.run(&[
        "-c",
        "1",
        "--no-preflight",
        "--request",
        "1 SELECT lose()",
        "--request",
        "3 SELECT id FROM item WHERE id = 1",
    ]);
    // The first request behind it finds its statement gone; from then on each is prepared with its request.
    assert_eq!((run.failures("postgres_invalid_statement_name"), run.arrivals("ok")), (1, 39));
}

#[test]
fn what_postgres_can_not_do_is_refused() {
    let url = "postgres://bench@127.0.0.1:1/postgres";
    let called = |more: &[&str]| Place::new().call(&[&["run", url, "-R", "10", "-n", "1"], more].concat());
    for (more, part) in [
        (&["--sql", "BEGIN"][..], "one transaction anyway"),
        (&["--sql", "SELECT 'a"], "never closed"),
        (&["--sql", "SELECT 1", "-X", "GET"], "has no methods"),
        (&["--sql", "SELECT 1", "-H", "a: b"], "has no headers"),
        (&["--sql", "SELECT 1", "--http", "2"], "are for HTTP"),
        (&["--sql", "SELECT 1", "--depth", "65"], "at most 64"),
        (&["--body", "SELECT 1"], "takes statements"),
        (&[], "nothing is said of what to do"),
        (&["--sql", "SELECT 1", "--expect", "status=200"], "has a name"),
        (&["--sql", "SELECT 1", "--expect", "header a"], "has no headers"),
        (&["--sql", "SELECT 1", "--stream", "sse"], "answers of HTTP"),
    ] {
        called(more).refused(&[part]);
    }
    let said = Place::new().call(&["run", "http://127.0.0.1:1/", "-R", "10", "-n", "1", "--sql", "SELECT 1"]);
    said.refused(&["--sql is for PostgreSQL"]);
}

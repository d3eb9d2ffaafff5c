//! Statements of CQL from the command line, to a small server of our own and to servers that are none.

use crate::cql_server::{Manner, Server};
use crate::support;
use crate::support::{Place, Run, Said};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;

const FORTY: [&str; 4] = ["-R", "200", "-n", "40"];
const ONE: &str = "id=[\"1\"]";
const SELECT: &str = "SELECT name FROM item WHERE id = {{id}}";

fn run(server: &Server, more: &[&str]) -> Run {
    let url = server.url();
    Place::new().measure(&[&[url.as_str()], &FORTY[..], more].concat())
}

fn said(url: &str, more: &[&str]) -> Said {
    Place::new().call(&[&["run", url, "-R", "10", "-n", "1"], more].concat())
}

#[test]
fn values_are_bound_with_their_types_and_answers_counted_by_what_they_are() {
    let server = Server::start(Manner::default());
    let statement =
        "INSERT INTO item (id, name) VALUES ({{index}}, 'it''s {{index}}; DROP TABLE item'); -- now";
    let insert = run(&server, &["-c", "4", "--no-preflight", "--cql", statement]);
    insert.assert_all("ok");
    assert_eq!(insert.at("/operations/0/protocol"), "cql");
    assert_eq!(insert.at("/operations/0/name"), "INSERT INTO item (id, name) VALUES ({{index}}, '***')");
    assert_eq!((insert.at("/origins/0/scheme"), insert.connections("opened")), (&"cql".into(), 4));
    assert_eq!(insert.at("/origins/0/connections/cql/consistency/0"), "local_one");
    assert_eq!((insert.count("/origins/0/connections/cql/streams"), insert.count("/codes/void")), (100, 40));
    let log = server.log.lock().expect("no thread died");
    assert_eq!(log.items[&39], "it's 39; DROP TABLE item");
    assert_eq!(log.prepared[0], "INSERT INTO item (id, name) VALUES (?, ?)");
    assert!(log.executed.iter().all(|one| one.values[0].len() == 8 && one.consistency == 10), "a bigint");
    drop(log);
    let select = run(&server, &["--let", "id=uniform(1, 100)", "--cql", SELECT, "--expect", "status=rows"]);
    select.assert_all("ok");
    assert_eq!(select.count("/codes/rows"), 40);
    let gone = run(&server, &["--let", "id=uniform(1000, 2000)", "--cql", SELECT]);
    gone.assert_all("ok");
    assert_eq!(gone.count("/codes/no_rows"), 40);
    // The condition of a statement: only keys that are not there are written.
    let statement = "INSERT INTO item (id, name) VALUES ({{id}}, 'new {{index}}') IF NOT EXISTS";
    let new = run(&server, &["--let", "id=uniform(1, 200)", "--cql", statement, "--no-preflight"]);
    new.assert_all("ok");
    let (applied, not_applied) = (new.count("/codes/rows"), new.count("/codes/not_applied"));
    assert!(applied + not_applied == 40 && not_applied > 0, "{:?}", new.at("/codes"));
}

#[test]
fn a_value_is_of_the_type_that_the_statement_asks_for() {
    let server = Server::start(Manner::default());
    for (kind, value, told) in [
        ("bigint", "-7", "-7"),
        ("int", "7", "7"),
        ("varint", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
        ("double", "0.25", "0.25"),
        ("boolean", "true", "true"),
        ("text", "a b", "a b"),
        ("blob", "0x00ff", "0x00ff"),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174000"),
        ("timestamp", "1500000000123", "2017-07-14T02:40:00\\.123Z"),
        ("date", "2017-07-14", "2017-07-14"),
        ("inet", "::1", "::1"),
    ] {
        let (given, statement) =
            (format!("v=[{value:?}]"), format!("SELECT c FROM typed_{kind} WHERE c = {{{{v}}}}"));
        let expect = format!("regex ^{told}\n$");
        let args = ["--let", &given, "--cql", &statement, "--expect", &expect];
        run(&server, &args).assert_all("ok");
    }
    for (kind, statement) in [
        ("uuid", "SELECT c FROM typed_uuid WHERE c = '{{index}}'"),
        ("int", "SELECT c FROM typed_int WHERE c = 'x{{index}}'"),
    ] {
        let told = said(&server.url(), &["--cql", statement]);
        assert_eq!(told.code(), Some(1), "{told:?}");
        assert!(told.stderr.contains("a value does not fit the type"), "{told:?}");
        let tried = Place::new().call(&["try", &server.url(), "--cql", statement]);
        assert!(tried.stdout.contains(&format!("value 1 is not a valid {kind}")), "{tried:?}");
        let failed = run(&server, &["--cql", statement, "--no-preflight"]);
        failed.assert_all_failed("cql_value_unfit");
    }
    let told = said(&server.url(), &["--cql", "SELECT c FROM typed_decimal WHERE c = {{index}}"]);
    assert!(told.code() == Some(1) && told.stderr.contains("can't be bound"), "{told:?}");
}

#[test]
fn errors_are_failures_by_their_code() {
    let server = Server::start(Manner::default());
    for (code, kind) in [
        ("1000", "cql_unavailable"),
        ("1001", "cql_overloaded"),
        ("1100", "cql_write_timeout"),
        ("1200", "cql_read_timeout"),
        ("2100", "cql_unauthorized"),
        ("2200", "cql_invalid"),
        ("2500", "cql_unprepared"),
        ("1600", "cql_other_error"),
    ] {
        let statement = format!("SELECT fail(0x{code}) FROM system.local");
        run(&server, &["--cql", &statement, "--no-preflight"]).assert_all_failed(kind);
    }
    let expected = ["--cql", "SELECT fail(0x1001) FROM system.local", "--expect", "status=overloaded"];
    run(&server, &expected).assert_all("ok");
    let nowhere = server.url().replace("/shop", "/nope");
    for (url, args, parts) in [
        (
            server.url(),
            &["--cql", "SELECT * FROM nope WHERE a = 's3cr3t'"][..],
            &["can't prepare a statement", "unconfigured table nope (invalid)"][..],
        ),
        (
            server.url(),
            &["--cql", "SELECT fail(0x1001) FROM system.local"],
            &["as it was asked for (overloaded)"],
        ),
        (nowhere, &["--cql", SELECT, "--let", ONE], &["no such keyspace", "does not exist (invalid)"]),
    ] {
        let told = said(&url, args);
        let stderr = told.stderr.replace("\n    ", " ");
        assert_eq!(told.code(), Some(1), "{told:?}");
        assert!(parts.iter().all(|part| stderr.contains(part)) && !stderr.contains("s3cr3t"), "{told:?}");
    }
    for (args, parts) in [
        (&["--cql", "USE shop"][..], &["cql://HOST/shop"][..]),
        (&["--cql", "SELECT 1; SELECT 2"], &["BEGIN BATCH"]),
        (&["--cql", SELECT, "--let", ONE, "--consistency", "most"], &["each_quorum"]),
        (&["--cql", SELECT, "--let", ONE, "--serial-consistency", "quorum"], &["local_serial"]),
        (&["--cql", SELECT, "--let", ONE, "--depth", "4"], &["--streams"]),
        (&["--cql", SELECT, "--let", ONE, "--http", "2"], &["leave it out"]),
        (&[], &["--cql 'SELECT"]),
    ] {
        said(&server.url(), args).refused(parts);
    }
    said("http://127.0.0.1:1/", &["--cql", "SELECT 1"]).refused(&["cql://"]);
    said("http://127.0.0.1:1/", &["--page-size", "10"]).refused(&["statements of CQL"]);
}

#[test]
fn who_asks_proves_it() {
    let server = Server::start(Manner { password: Some("s3cr3t"), ..Manner::default() });
    let url = |user: &str| server.url().replace("cql://", &format!("cql://{user}@"));
    let args = ["--json", "--cql", SELECT, "--let", ONE, "-o", "out"];
    let place = Place::new();
    let told = place.call(&[&["run", &url("me:s3cr3t"), "-R", "200", "-n", "40"], &args[..]].concat());
    told.run().assert_all("ok");
    assert!(!place.text("out/run.json").contains("s3cr3t"));
    let place = Place::new();
    let mut command = place.command(&[&["run", &url("me"), "-R", "200", "-n", "40"], &args[..5]].concat());
    support::finish(command.env("CQL_PASSWORD", "s3cr3t")).run().assert_all("ok");
    for (url, part) in
        [(url("me:wr0ng"), "refuses the user or the password"), (server.url(), "wants a user and a password")]
    {
        let told = said(&url, &args[1..5]);
        assert_eq!(told.code(), Some(1), "{told:?}");
        assert!(told.stderr.contains(part) && !told.stderr.contains("wr0ng"), "{told:?}");
    }
    said(&url("me"), &args[1..5]).refused(&["CQL_PASSWORD"]);
}

/// Of two requests the second is answered first: each answer finds its request by its stream.
#[test]
fn many_requests_are_under_way_on_a_connection_and_answered_in_any_order() {
    let server = Server::start(Manner { reverses: true, is_noisy: true, ..Manner::default() });
    let url = server.url();
    let run = Place::new().measure(&[
        &url,
        "--closed",
        "8",
        "-n",
        "400",
        "-c",
        "1",
        "--streams",
        "8",
        "--no-preflight",
        "--let",
        "id=uniform(1, 100)",
        "--cql",
        SELECT,
        "--expect",
        "regex ^item [0-9]+\n$",
    ]);
    run.assert_all("ok");
    assert!(run.connections("opened") == 1 && run.connections("unsolicited") >= 400);
    assert!(run.count("/origins/0/connections/spread/at_once_max") > 1);
}

#[test]
fn statements_that_a_server_forgot_are_prepared_again_and_sent_again() {
    let server = Server::start(Manner { forgets_after: Some(7), ..Manner::default() });
    let args = ["-c", "2", "--let", "id=uniform(1, 100)", "--cql", SELECT, "--expect", "status=rows"];
    let run = run(&server, &args);
    run.assert_all("ok");
    assert!(server.log.lock().expect("no thread died").prepared.len() > 4);
    assert!(run.connections("prepared_again") > 1, "{run:?}");
}

#[test]
fn a_connection_that_ends_loses_no_arrival() {
    let server = Server::start(Manner { closes_after: Some(9), ..Manner::default() });
    let run = run(&server, &["-c", "2", "--let", "id=uniform(1, 100)", "--cql", SELECT]);
    run.assert_accounts();
    assert!(run.connections("opened") > 2 && run.arrivals("ok") >= 36, "{run:?}");
}

#[test]
fn a_plan_says_how_each_statement_is_executed() {
    let server = Server::start(Manner::default());
    let place = Place::new();
    let plan = format!(
        r#"target = "{}"
[load]
rate = "200"
requests = 40
[let]
id = "uniform(1, 100)"
[request]
consistency = "quorum"
[[requests]]
name = "read"
url = "/shop"
share = "50%"
cql = "SELECT name FROM item WHERE id = {{{{id}}}}"
page-size = 10
[[requests]]
name = "write"
url = "/shop"
share = "50%"
cql = "INSERT INTO item (id, name) VALUES ({{{{id}}}}, 'x {{{{index}}}}') IF NOT EXISTS"
consistency = "ALL"
serial-consistency = "local_serial"
"#,
        server.url()
    );
    place.file("plan.toml", plan);
    let run = place.measure(&["plan.toml"]);
    run.assert_all("ok");
    let executed = server.executed();
    let how = |start: &str| {
        let all = executed.iter().filter(|one| one.statement.starts_with(start));
        all.map(|one| (one.consistency, one.page_size, one.serial_consistency)).collect::<BTreeSet<_>>()
    };
    assert_eq!(how("SELECT"), BTreeSet::from([(4, Some(10), None)]));
    assert_eq!(how("INSERT"), BTreeSet::from([(5, None, Some(9))]));
    let plan = run.at("/origins/0/connections/cql");
    assert_eq!(plan["consistency"], serde_json::json!(["quorum", "all"]));
    assert_eq!((&plan["serial_consistency"][0], &plan["page_size"][0]), (&"local_serial".into(), &10.into()));
    let shown = place.call(&["report", "out"]);
    assert!(shown.stdout.contains("CQL (quorum, all; conditions local_serial"), "{shown:?}");
}

#[test]
fn tls_begins_with_the_first_byte() {
    let server = Server::start(Manner { tls: true, ..Manner::default() });
    let (place, url) = (Place::new(), format!("cqls://localhost:{}/shop", server.port));
    let certificate = place.file("ca.pem", &server.certificate).display().to_string();
    let args = ["-R", "200", "-n", "40", "--let", ONE, "--cql", SELECT];
    let run = place.measure(&[&[url.as_str(), "--cacert", &certificate], &args[..]].concat());
    run.assert_all("ok");
    assert_eq!(run.at("/origins/0/scheme"), "cqls");
    let told = said(&url, &args[4..]);
    assert!(told.code() == Some(1) && told.stderr.contains("certificate"), "{told:?}");
    let told = said(&url.replace("cqls", "cql"), &args[4..]);
    assert_eq!(told.code(), Some(1), "{told:?}");
}

#[test]
fn a_server_of_something_else_is_told_apart() {
    let newer = Server::start(Manner { is_newer: true, ..Manner::default() });
    let told = said(&newer.url(), &["--cql", SELECT, "--let", ONE]);
    assert!(told.code() == Some(1) && told.stderr.contains("version 4"), "{told:?}");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("cql://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let told = said(&url, &["--cql", SELECT, "--let", ONE]);
    assert!(told.code() == Some(1) && told.stderr.contains("answers in HTTP"), "{told:?}");
}

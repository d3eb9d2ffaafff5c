//! Journeys and `[[setup]]` of statements, to a real PostgreSQL and a small server of CQL: what they take from rows.

use crate::cql_server::{Manner, Server};
use crate::stores::Postgres;
use crate::support::tried::{each, tried};
use crate::support::{Place, Run, Said};

fn steps(field: &str, database: &str, all: &[(&str, &str, &str)]) -> String {
    let one = |(name, statement, more): &(&str, &str, &str)| {
        let statement = if field == "sql" { format!("[{statement:?}]") } else { format!("{statement:?}") };
        format!(
            "[[journeys.steps]]\nname = \"{name}\"\nurl = \"/{database}\"\n{field} = {statement}\n{more}\n"
        )
    };
    all.iter().map(one).collect()
}

/// 50 journeys in half a second, each of which begins `more`.
fn journey(more: &str, steps: &str) -> String {
    let load = "[load]\nrate = 100\nduration = \"500ms\"\nseed = 3\n[connections]\nconnections = 2\n[let]\n";
    format!("{load}id = \"uniform(1, 50)\"\n[[journeys]]\nname = \"copy\"\n{more}\n{steps}")
}

fn in_cql(all: &[(&str, &str, &str)]) -> String {
    steps("cql", "shop", all)
}

fn in_sql(all: &[(&str, &str, &str)]) -> String {
    steps("sql", "postgres", all)
}

fn place_of(url: &str, plan: &str) -> Place {
    let place = Place::new();
    place.file("plan.toml", format!("target = {url:?}\n{plan}"));
    place
}

fn said(url: &str, plan: &str, more: &[&str]) -> Said {
    place_of(url, plan).call(&[&["run", "plan.toml"], more].concat())
}

/// What it says, in one line.
fn told(said: &Said) -> String {
    said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run(url: &str, plan: &str, more: &[&str]) -> Run {
    let run = said(url, plan, &[more, &["--json"]].concat()).run();
    run.assert_accounts();
    run
}

const COPY: [(&str, &str, &str); 2] = [
    ("find", "SELECT name FROM item WHERE id = {{id}}", "capture = { name = \"column c\" }"),
    ("copy", "INSERT INTO item (id, name) VALUES ({{id}}, 'copy of {{name}}')", ""),
];

#[test]
fn a_journey_of_cql_goes_on_with_what_its_rows_brought() {
    let server = Server::start(Manner { is_noisy: true, ..Manner::default() });
    let plan = journey("", &in_cql(&COPY)).replace("\"uniform(1, 50)\"", "[\"7\", \"8\", \"9\"]");
    let run = run(&server.url(), &plan, &[]);
    assert_eq!(run.count("/journeys/0/account/completed"), 50, "{:?}", run.at("/journeys/0"));
    assert_eq!((run.count("/codes/rows"), run.count("/codes/void")), (50, 50));
    // A copy may be of a copy: nothing else was written.
    let log = server.log.lock().expect("no thread died");
    assert!(log.items[&7].starts_with("copy of ") && log.items[&7].ends_with("item 7"), "{}", log.items[&7]);
    assert_eq!(log.items[&10], "item 10");
    drop(log);
    // The same, tried and simulated.
    let place = place_of(&server.url(), &plan);
    let (document, told) = tried(&place, &["plan.toml"]);
    assert_eq!((told.code(), each(&document).len()), (Some(0), 2), "{told:?}");
    let simulated = place.call(&["sim", "plan.toml", "--scenario", "healthy", "--json"]).run();
    assert_eq!(simulated.count("/journeys/0/account/completed"), 50);
    for command in ["check", "show"] {
        assert_eq!(place.call(&["plan", command, "plan.toml"]).code(), Some(0));
    }
}

#[test]
fn a_statement_that_was_forgotten_brings_its_values_once_it_is_prepared_again() {
    let server = Server::start(Manner { forgets_after: Some(7), ..Manner::default() });
    // Over one, none is forgotten again before it is executed.
    let plan = journey("", &in_cql(&COPY)).replace("connections = 2", "connections = 1");
    let run = run(&server.url(), &plan, &[]);
    assert_eq!(run.count("/journeys/0/account/completed"), 50, "{:?}", run.at("/journeys/0"));
}

#[test]
fn what_rows_of_cql_lack_ends_the_journey() {
    let server = Server::start(Manner::default());
    for (find, taken, kind) in [
        ("SELECT name FROM item WHERE id = {{id}}", "column name", "not_captured"),
        ("SELECT name FROM item WHERE id = {{id}}", "column C", "not_captured"),
        ("SELECT fail(0x1001)", "column c", "cql_overloaded"),
        ("INSERT INTO item (id, name) VALUES ({{id}}, 'x{{id}}')", "column c", "not_captured"),
    ] {
        let first = ("find", find, &*format!("capture = {{ name = {taken:?} }}"));
        let plan = journey("", &in_cql(&[first, COPY[1]]));
        let used = run(&server.url(), &plan, &["--no-preflight"]);
        assert_eq!(used.count(&format!("/journeys/0/failures/{kind}")), 50, "{taken}: {used:?}");
    }
    // No row at all.
    let none = journey("", &in_cql(&COPY)).replace("uniform(1, 50)", "uniform(500, 600)");
    let none = run(&server.url(), &none, &["--no-preflight"]);
    assert_eq!(none.count("/journeys/0/failures/not_captured"), 50);
    let said = said(&server.url(), &journey("", &in_cql(&COPY)).replace("column c", "column nope"), &[]);
    assert!(said.code() == Some(1) && told(&said).contains("it does not have name"), "{said:?}");
}

#[test]
fn journeys_of_cql_refuse_what_they_can_not_have() {
    let server = Server::start(Manner::default());
    let plan = |more: &str, taken: &str| journey(more, &in_cql(&COPY)).replace("column c", taken);
    for (plan, parts) in [
        (
            plan("hold-connection = true", "column c"),
            &["of no use for Cassandra", "Leave hold-connection out"][..],
        ),
        (plan("", "reply"), &["rows have none", "column NAME"]),
        (plan("", "header X"), &["rows have none"]),
        (plan("", "field c"), &["rows have none"]),
    ] {
        let said = said(&server.url(), &plan, &[]);
        let stderr = told(&said);
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{parts:?}: {stderr}");
    }
    // A connection of its own is each journey's to open and close; nothing is routed then.
    let own = run(&server.url(), &plan("own-connection = true", "column c"), &[]);
    assert_eq!((own.count("/journeys/0/account/completed"), own.connections("own")), (50, 50));
}

#[test]
fn setup_asks_a_server_of_cql_before_the_load() {
    let server = Server::start(Manner::default());
    let plan = "[load]\nrate = 100\nduration = \"500ms\"\n[let]\nid = [\"7\"]\n[[setup]]\nname = \"first\"\n\
        url = \"/shop\"\ncql = \"SELECT name FROM item WHERE id = {{id}}\"\ncapture = { name = \"column c\" }\n\
        [[requests]]\nurl = \"/shop\"\ncql = \"INSERT INTO item (id, name) VALUES ({{index}}, 'of {{name}}')\"\n";
    let run = run(&server.url(), plan, &[]);
    run.assert_all("ok");
    assert_eq!(run.at("/setup/0/name"), "first");
    let log = server.log.lock().expect("no thread died");
    assert_eq!((log.items[&0].as_str(), log.items[&49].as_str()), ("of item 7", "of item 7"));
}

#[test]
fn journeys_and_setup_of_postgresql_take_columns() {
    let postgres = Postgres::start("trust", &[]);
    postgres.sql("CREATE TABLE log (what text)");
    let url = postgres.url();
    let find = "SELECT id, 'a' || chr(9) || name AS \"the name\", NULL AS gone FROM item WHERE id >= {{id}} ORDER BY id";
    let copy = |taken: &str| {
        let all = [("find", find, taken), ("copy", "INSERT INTO log VALUES ('{{key}}:{{name}}')", "")];
        journey("", &in_sql(&all))
    };
    let plan = copy("capture = { key = \"column id\", name = \"column the name\" }");
    let done = run(&url, &plan, &[]);
    assert_eq!(done.count("/journeys/0/account/completed"), 50, "{:?}", done.at("/journeys/0"));
    // Of several rows the first; a tab within a value parts nothing.
    let right = "SELECT count(*) FROM log WHERE what = split_part(what, ':', 1) || ':a' || chr(9) || 'item ' || split_part(what, ':', 1)";
    assert_eq!(postgres.sql(right), "50");
    let place = place_of(&url, &plan);
    let (document, answered) = tried(&place, &["plan.toml"]);
    assert_eq!(
        (answered.code(), &document["journeys"][0]["steps"][0]["captures"][1]["is_taken"]),
        (Some(0), &true.into())
    );
    for (taken, kind) in [("column gone", "not_captured"), ("column nope", "not_captured")] {
        let plan = copy(&format!("capture = {{ key = {taken:?}, name = \"column id\" }}"));
        let lacks = run(&url, &plan, &["--no-preflight"]);
        assert_eq!(lacks.count(&format!("/journeys/0/failures/{kind}")), 50, "{taken}");
    }
    let none = run(&url, &plan.replace("uniform(1, 50)", "uniform(500, 600)"), &["--no-preflight"]);
    assert_eq!(none.count("/journeys/0/failures/not_captured"), 50);
    let setup = "[load]\nrate = 100\nduration = \"500ms\"\n[[setup]]\nurl = \"/postgres\"\nsql = [\"SELECT max(id) AS most FROM item\"]\n\
        capture = { most = \"column most\" }\n[[requests]]\nurl = \"/postgres\"\nsql = [\"INSERT INTO log VALUES ('most {{most}}')\"]\n";
    run(&url, setup, &["--no-preflight"]).assert_all("ok");
    assert_eq!(postgres.sql("SELECT count(*) FROM log WHERE what = 'most 100'"), "50");
    let refused = said(&url, &copy("capture = { key = \"element 0\", name = \"column id\" }"), &[]);
    assert!(refused.code() == Some(2) && told(&refused).contains("rows have none"), "{refused:?}");
}

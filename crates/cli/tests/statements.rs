//! Secrets in statements and commands: none is in the folder of a run, its report, the history or what a plan comes to.

use crate::cql_server;
use crate::stores::{Postgres, Redis};
use crate::support::{Place, Said, finish};
use std::path::Path;

const SECRET: &str = "s3cret-of-the-environment";
const LITERAL: &str = "s3cret literal";

#[track_caller]
fn assert_hides(text: &str, what: &str) {
    assert!(!text.contains("s3cret"), "{what}: {text}");
}

/// No file below it has one, but those that the test wrote itself.
#[track_caller]
fn assert_hidden_below(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_hidden_below(&path);
        } else if path.extension().is_none_or(|ending| ending != "toml") {
            let bytes = std::fs::read(&path).expect("a file");
            assert!(!bytes.windows(6).any(|window| window == b"s3cret"), "{path:?}");
        }
    }
}

/// A plan of one request, of which `request` says what it asks.
fn plan_of(url: &str, request: &str, load: &str) -> String {
    format!("target = \"{url}\"\n[request]\n{request}[load]\n{load}\n")
}

/// Runs `plan` with what fails kept, and everything that tells of it.
fn told(plan: &str, url: &str) -> (Place, Vec<Said>) {
    let place = Place::new();
    place.file("plan.toml", plan_of(url, plan, "rate = 100\nrequests = 20"));
    let called = |args: &[&str]| finish(place.command(args).env("SECRET", SECRET));
    let mut all = vec![called(&["plan", "show", "plan.toml"]), called(&["plan", "check", "plan.toml"])];
    for more in [&[][..], &["--no-preflight"]] {
        let folder = if more.is_empty() { "asked" } else { "out" };
        let run = ["run", "plan.toml", "-o", folder, "--keep-failures", "5", "--store", "h.db"];
        all.push(called(&[&run[..], more].concat()));
    }
    all.push(called(&["report", "out", "--json"]));
    all.push(called(&["show", "out", "--failures"]));
    // What stands in the plan itself is shown to its user as it is sent.
    if plan.contains("${") {
        all.push(called(&["show", "out", "--arrival", "3"]));
        all.push(called(&["try", "plan.toml"]));
    }
    (place, all)
}

#[track_caller]
fn assert_nothing_is_told(plan: &str, url: &str) -> Vec<Said> {
    let (place, all) = told(plan, url);
    assert!(place.path().join("out/run.json").is_file(), "{all:?}");
    for said in &all {
        assert_hides(&said.stdout, "stdout");
        assert_hides(&said.stderr, "stderr");
    }
    assert_hidden_below(place.path());
    all
}

/// A variable is filled into a command; it stands in a key, in a value and in what the server says of it.
#[test]
fn commands_of_redis() {
    let redis = Redis::start(&[]);
    for command in [
        r#"["SET", "k:${SECRET}:{{index}}", "${SECRET}"]"#,
        r#""NOSUCH ${SECRET} {{index}}""#,
        r#""SET k:{{index}} ${SECRET} BAD""#,
    ] {
        let plan = format!("command = {command}\n");
        let all = assert_nothing_is_told(&plan, &redis.url());
        assert!(all[0].code() == Some(0), "{:?}", all[0]);
    }
    assert_eq!(
        redis.ask(&format!("GET k:{SECRET}:7\r\n"), "\r\n"),
        format!("${}\r\n", SECRET.len()) + SECRET + "\r\n"
    );
}

/// Quoted literals are masked, wherever a statement is told of; one that the server quotes in an error is, too.
#[test]
fn statements_of_postgresql() {
    let postgres = Postgres::start("trust", &[]);
    for sql in [
        format!("SELECT * FROM item WHERE name = '{LITERAL}' AND id = {{{{index}}}}"),
        format!("SELECT 1 / (id - id), $${LITERAL}$$ FROM item"),
        format!("SELECT * FROM item WHERE id = '{LITERAL}' || {{{{index}}}}"),
        format!("INSERT INTO item VALUES (1, '{LITERAL}')"),
    ] {
        let plan = format!("sql = \"{sql}\"\n");
        assert_nothing_is_told(&plan, &postgres.url());
        let place = Place::new();
        let run = ["run", &postgres.url(), "-R", "100", "-n", "5", "--sql", &sql, "-o", "out"];
        assert_hides(&place.call(&run).stderr, "stderr");
        assert_hidden_below(place.path());
    }
    refuses_variables("sql", &postgres.url());
}

#[test]
fn statements_of_cql() {
    let server = cql_server::Server::start(cql_server::Manner::default());
    let cql = format!("SELECT '{LITERAL}', name FROM item WHERE id = {{{{index}}}}");
    assert_nothing_is_told(&format!("cql = \"{cql}\"\n"), &server.url());
    let place = Place::new();
    place.call(&["run", &server.url(), "-R", "100", "-n", "5", "--cql", &cql, "-o", "out"]);
    assert_hidden_below(place.path());
    assert!(server.log.lock().expect("no thread died").prepared.iter().any(|one| one.contains(LITERAL)));
    refuses_variables("cql", &server.url());
}

/// It would become a part of what the server is told to do.
#[track_caller]
fn refuses_variables(field: &str, url: &str) {
    let place = Place::new();
    for (text, part) in
        [("SELECT '${SECRET}'", "${SECRET}: environment variables are not allowed"), ("SELECT $${a}$$", "")]
    {
        place.file("plan.toml", plan_of(url, &format!("{field} = \"{text}\"\n"), "rate = 10\nrequests = 1"));
        for command in ["run", "try"] {
            let said = finish(place.command(&[command, "plan.toml"]).env("SECRET", SECRET));
            assert_hides(&said.stderr, command);
            match part {
                "" => assert!(!said.stderr.contains("environment"), "{said:?}"),
                part => assert!(said.code() == Some(2) && said.stderr.contains(part), "{said:?}"),
            }
        }
    }
}

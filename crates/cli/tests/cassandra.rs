//! Statements in a real Cassandra, which `make test-cassandra` starts: `UNBLINK_CASSANDRA` says where it listens. Without one, nothing is
//! looked at here.

mod cassandra_lab;
mod cassandra_ycsb;
mod support;
#[path = "support/watched.rs"]
mod watched;

use std::time::{Duration, Instant};
use support::{Place, Run, Said};

/// Where it listens, as in a URL.
#[allow(clippy::print_stderr)] // Nobody is to take its silence for a test.
fn address() -> Option<String> {
    let address = std::env::var("UNBLINK_CASSANDRA").ok();
    if address.is_none() {
        eprintln!("there is no Cassandra (UNBLINK_CASSANDRA): make test-cassandra starts one");
    }
    address
}

struct Keyspace {
    address: String,
    name: &'static str,
}

impl Keyspace {
    /// A new one, with these tables.
    fn new(name: &'static str, tables: &[&str]) -> Option<Keyspace> {
        let keyspace = Keyspace { address: address()?, name };
        let bare = format!("cql://{}", keyspace.address);
        for statement in [
            format!("DROP KEYSPACE IF EXISTS {name}"),
            format!(
                "CREATE KEYSPACE {name} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
            ),
        ] {
            once(&bare, &statement);
        }
        tables.iter().for_each(|table| once(&keyspace.url(), table));
        Some(keyspace)
    }

    fn url(&self) -> String {
        format!("cql://{}/{}", self.address, self.name)
    }

    fn run(&self, more: &[&str]) -> Run {
        let run = Place::new().measure(&[&[self.url().as_str(), "-R", "400", "-c", "2"], more].concat());
        run.assert_accounts();
        run
    }

    fn said(&self, more: &[&str]) -> Said {
        Place::new().call(&[&["run", self.url().as_str(), "-R", "10", "-n", "1"], more].concat())
    }
}

/// Does it once.
fn once(url: &str, statement: &str) {
    let args = [url, "--no-preflight", "-R", "1", "-n", "1", "--cql", statement];
    Place::new().measure(&args).assert_all("ok");
}

const TABLE: &str = "CREATE TABLE item (id bigint PRIMARY KEY, name text, n int)";
const WRITE: &str = "INSERT INTO item (id, name, n) VALUES ({{index}}, 'it''s {{index}}', 7)";

#[test]
fn what_is_written_is_read_and_conditions_are_told_apart() {
    let Some(keyspace) = Keyspace::new("unblink_values", &[TABLE]) else { return };
    let write = keyspace.run(&["-n", "200", "--cql", WRITE, "--no-preflight", "--consistency", "quorum"]);
    write.assert_all("ok");
    assert_eq!(write.count("/codes/void"), 200);
    let read = ["--cql", "SELECT id, name, n FROM item WHERE id = {{id}}", "--let", "id=uniform(0, 199)"];
    let expect = ["--expect", "regex ^([0-9]+)\\tit's [0-9]+\\t7\\n$", "--expect", "status=rows"];
    keyspace.run(&[&["-n", "200"], &read[..], &expect].concat()).assert_all("ok");
    let all = "SELECT count(*) FROM item";
    keyspace.run(&["-n", "4", "--cql", all, "--expect", "regex ^200\\n$"]).assert_all("ok");
    let gone = ["-n", "20", "--cql", "SELECT id FROM item WHERE id = 1000"];
    assert_eq!(keyspace.run(&gone).count("/codes/no_rows"), 20);
    let new = "INSERT INTO item (id, name) VALUES ({{id}}, 'new') IF NOT EXISTS";
    let condition = ["-n", "40", "--cql", new, "--let", "id=uniform(0, 399)", "--no-preflight"];
    let run = keyspace.run(&[&condition[..], &["--serial-consistency", "local_serial"]].concat());
    run.assert_all("ok");
    assert_eq!(run.count("/codes/rows") + run.count("/codes/not_applied"), 40);
    let batch = "BEGIN BATCH UPDATE item SET n = {{index}} WHERE id = 1; UPDATE item SET n = {{index}} WHERE id = 2; APPLY BATCH";
    keyspace.run(&["-n", "20", "--cql", batch]).assert_all("ok");
    let pages = ["-n", "4", "--cql", "SELECT id FROM item", "--page-size", "10"];
    keyspace.run(&[&pages[..], &["--expect", "regex ^([0-9]+\\n){10}$"]].concat()).assert_all("ok");
}

#[test]
fn every_type_that_can_be_bound_comes_back_as_it_was() {
    let table = "CREATE TABLE kinds (k bigint PRIMARY KEY, a ascii, b blob, c boolean, d double, e float, f int, g timestamp, h uuid, \
                 i varint, j timeuuid, l inet, m date, o smallint, p tinyint, q decimal, r time, s set<int>)";
    let Some(keyspace) = Keyspace::new("unblink_types", &[table]) else { return };
    for (column, value) in [
        ("a", "plain"),
        ("b", "0x00ff"),
        ("c", "true"),
        ("d", "1.5"),
        ("e", "0.1"),
        ("f", "-7"),
        ("g", "2017-07-14T02:40:00.123Z"),
        ("h", "123e4567-e89b-42d3-a456-426614174000"),
        ("i", "-170141183460469231731687303715884105728"),
        ("j", "123e4567-e89b-12d3-a456-426614174000"),
        ("l", "2001:db8::7"),
        ("m", "2017-07-14"),
        ("o", "-32768"),
        ("p", "127"),
    ] {
        let given = format!("v=[{value:?}]");
        let write = format!("INSERT INTO kinds (k, {column}) VALUES (1, {{{{v}}}})");
        keyspace.run(&["-n", "4", "--let", &given, "--cql", &write]).assert_all("ok");
        let read = format!("SELECT {column} FROM kinds WHERE k = 1");
        let expect = format!("contains={value}");
        keyspace.run(&["-n", "4", "--cql", &read, "--expect", &expect]).assert_all("ok");
    }
    once(&keyspace.url(), "INSERT INTO kinds (k, q, r, s) VALUES (2, -12.340, '12:34:56.7', {1, 2})");
    let read = ["-n", "4", "--cql", "SELECT q, r, s FROM kinds WHERE k = 2", "--expect"];
    let told = "regex ^-12.340\\t12:34:56.700000000\\t0x000000020000000400000001000000040000000[2]\\n$";
    keyspace.run(&[&read[..], &[told]].concat()).assert_all("ok");
    let unfit = ["-n", "4", "--cql", "SELECT k FROM kinds WHERE k = '{{uuid}}'", "--no-preflight"];
    keyspace.run(&unfit).assert_all_failed("cql_value_unfit");
}

const COPIES: &str = r#"
[load]
rate = 100
duration = "500ms"
[connections]
connections = 2
[let]
id = "sequential(50)"
[[setup]]
url = "/unblink_journeys"
cql = "SELECT max(id) AS most FROM item"
capture = { most = "column most" }
[[journeys]]
[[journeys.steps]]
name = "find"
url = "/unblink_journeys"
cql = "SELECT id, name FROM item WHERE id = {{id}}"
capture = { key = "column id", name = "column name" }
[[journeys.steps]]
name = "copy"
url = "/unblink_journeys"
cql = "INSERT INTO copy (id, name, most) VALUES ({{key}}, '{{name}}', '{{most}}')"
"#;

#[test]
fn journeys_and_setup_take_columns_of_rows() {
    let copy = "CREATE TABLE copy (id bigint PRIMARY KEY, name text, most text)";
    let Some(keyspace) = Keyspace::new("unblink_journeys", &[TABLE, copy]) else { return };
    keyspace.run(&["-n", "50", "--cql", WRITE, "--no-preflight"]).assert_all("ok");
    let place = Place::new();
    place.file("plan.toml", format!("target = {:?}\n{COPIES}", keyspace.url()));
    let run = place.measure(&["plan.toml"]);
    run.assert_accounts();
    assert_eq!(run.count("/journeys/0/account/completed"), 50, "{:?}", run.at("/journeys/0"));
    let same = "SELECT count(*) FROM copy WHERE most = '49' ALLOW FILTERING";
    keyspace.run(&["-n", "1", "--cql", same, "--expect", "regex ^50\\n$"]).assert_all("ok");
    let read = ["--cql", "SELECT name FROM copy WHERE id = {{id}}", "--let", "id=uniform(0, 49)"];
    keyspace.run(&[&["-n", "50", "--expect", "regex ^it's [0-9]+\\n$"], &read[..]].concat()).assert_all("ok");
}

#[test]
fn errors_are_failures_by_their_code() {
    let Some(keyspace) = Keyspace::new("unblink_errors", &[TABLE]) else { return };
    for (statement, more, kind) in [
        // There is one node, and so no second replica.
        ("SELECT id FROM item WHERE id = 1", &["--consistency", "three"][..], "cql_unavailable"),
        ("INSERT INTO item (id, n) VALUES (1, 2)", &["--consistency", "three"], "cql_unavailable"),
        ("SELECT id FROM item WHERE id = 1", &["--consistency", "any"], "cql_invalid"),
    ] {
        let args = [&["-n", "8", "--no-preflight", "--cql", statement], more].concat();
        keyspace.run(&args).assert_all_failed(kind);
    }
    for (statement, parts) in [
        ("SELECT * FROM nope", &["can't prepare a statement", "(invalid)"][..]),
        ("SELEC", &["can't prepare a statement", "(syntax_error)"]),
        ("SELECT id FROM item WHERE id IN {{index}}", &["can't be bound"]),
    ] {
        let said = keyspace.said(&["--cql", statement]);
        let stderr = said.stderr.replace("\n    ", " ");
        assert!(said.code() == Some(1) && parts.iter().all(|part| stderr.contains(part)), "{said:?}");
    }
    let nowhere = format!("cql://{}/nope", keyspace.address);
    let said = Place::new().call(&["run", &nowhere, "-R", "10", "-n", "1", "--cql", "SELECT id FROM item"]);
    assert!(said.code() == Some(1) && said.stderr.contains("no such keyspace"), "{said:?}");
}

/// A change of the table makes the server forget what it has prepared: each connection prepares it again.
#[test]
fn a_table_may_change_in_a_run() {
    let Some(keyspace) = Keyspace::new("unblink_change", &[TABLE]) else { return };
    let url = keyspace.url();
    let place = Place::new();
    let load = ["-R", "200", "-d", "6s", "-c", "2", "--no-preflight", "--cql", WRITE];
    let started = support::Started::spawn(
        &mut place.command(&[&["run", &url, "--json", "-o", "out"], &load[..]].concat()),
    );
    std::thread::sleep(std::time::Duration::from_secs(2));
    once(&url, "ALTER TABLE item ADD more text");
    let run = started.wait().run();
    run.assert_all("ok");
    assert!(run.connections("prepared_again") > 0, "{run:?}");
    let all = ["-n", "1", "--cql", "SELECT count(*) FROM item", "--expect", "regex ^1200\\n$"];
    keyspace.run(&all).assert_all("ok");
}

/// Asks `tools/test-cassandra` for something by a file beside `node`, and waits until it is done.
fn ask_for(node: &str, what: &str, done: &str) {
    let path = |suffix: &str| format!("{node}.{suffix}");
    std::fs::write(path(what), "").expect("a file");
    let is_done = || match done {
        "" => !std::path::Path::new(&path(what)).exists(),
        done => std::path::Path::new(&path(done)).exists(),
    };
    while !is_done() {
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What is due while it is gone fails at once, and attempts to connect are few: the first pause is 10 ms, each that follows is twice as
/// long, and none is longer than 200 ms.
#[test]
fn the_only_node_may_be_killed_and_come_back() {
    let Ok(one) = std::env::var("UNBLINK_CASSANDRA_ONE") else { return };
    let Some(keyspace) = Keyspace::new("unblink_killed", &[TABLE]) else { return };
    let (place, url) = (Place::new(), keyspace.url());
    let load = ["-R", "100", "-d", "120s", "-c", "4", "-t", "1", "--timeout", "5s", "--no-preflight"];
    let args = [&["run", &url, "--json", "-o", "out", "--cql", WRITE], &load[..]].concat();
    let started = support::Started::spawn(&mut place.command(&args));
    std::thread::sleep(Duration::from_secs(5));
    let killed = Instant::now();
    ask_for(&one, "kill", "");
    std::thread::sleep(Duration::from_secs(2));
    ask_for(&one, "start", "started");
    let gone_s = killed.elapsed().as_secs();
    assert!(gone_s < 90, "it took {gone_s} s to come back");
    let run = started.wait_for(Duration::from_secs(180)).run();
    run.assert_accounts();
    assert_eq!(run.arrivals("scheduled"), 12_000);
    assert_eq!(run.arrivals("unsent") + run.arrivals("unfinished"), 0, "{run:?}");
    let kinds = run.at("/failures").as_object().expect("kinds").keys().cloned().collect::<Vec<_>>();
    let known = ["connect_refused", "reset", "closed_early", "cql_write_timeout", "cql_overloaded"];
    assert!(kinds.iter().all(|kind| known.contains(&kind.as_str())), "{kinds:?}");
    // All but what was due while it was gone, and in the first seconds of it that are slow.
    assert!(run.arrivals("ok") > (120 - gone_s - 15) * 100, "{gone_s} s: {run:?}");
    // Those that were under way when it was killed, five until the pause is as long as it gets, and then one each 200 ms.
    let refused = run.connections("refused");
    assert!((1..=4 + 5 + 5 * (gone_s + 2)).contains(&refused), "{gone_s} s: {run:?}");
    assert!(refused * 10 < run.failures("connect_refused"), "{run:?}");
    assert!(run.connections("opened") > 4 && run.connections("peak") == 4, "{run:?}");
    keyspace.run(&["-n", "40", "--cql", "SELECT id FROM item WHERE id = {{index}}"]).assert_all("ok");
}

/// Cassandra itself says where rows are: with one replica, those of a node that is gone are unavailable, and no others. So it knows as
/// missed exactly the requests that unblink does.
#[test]
fn two_nodes_have_their_rows_and_one_may_go_and_come_back() {
    let Ok(two) = std::env::var("UNBLINK_CASSANDRA_TWO") else { return };
    let Some(keyspace) = Keyspace::new("unblink_two", &[TABLE]) else { return };
    // The other node has the table a moment later.
    std::thread::sleep(Duration::from_secs(5));
    let counted = |run: &Run, name: &str| run.at("/origins/0/connections")[name].as_u64().unwrap_or(0);
    let args = ["-n", "400", "-c", "4", "-t", "1", "--cql", WRITE, "--no-preflight"];
    let write = Place::new().measure(&[&[keyspace.url().as_str(), "-R", "200"], &args[..]].concat());
    write.assert_all("ok");
    assert_eq!(["routed", "missed", "without_key"].map(|name| counted(&write, name)), [400, 0, 0]);
    let arrivals = write.at("/origins/0/connections/arrivals_by_address");
    assert_eq!(arrivals.as_object().map(serde_json::Map::len), Some(2), "{arrivals}");
    let read =
        ["--cql", "SELECT id FROM item WHERE id = {{id}}", "--let", "id=uniform(0, 399)", "--no-preflight"];
    let url = keyspace.url();
    let place = Place::new();
    let long =
        [&["run", &url, "--json", "-o", "out", "-R", "100", "-d", "95s", "-c", "4", "-t", "1"], &read[..]]
            .concat();
    let long = support::Started::spawn(&mut place.command(&long));
    std::thread::sleep(Duration::from_secs(5));
    ask_for(&two, "kill", "");
    // Until the other node knows.
    std::thread::sleep(Duration::from_secs(30));
    let alone = keyspace.run(&[&["-n", "400"], &read[..]].concat());
    let missed = counted(&alone, "missed");
    assert!(missed > 50 && missed < 350 && counted(&alone, "routed") + missed == 400, "{missed} missed");
    assert_eq!((alone.failures("cql_unavailable"), alone.arrivals("failed")), (missed, missed));
    ask_for(&two, "start", "started");
    let run = long.wait().run();
    run.assert_accounts();
    assert_eq!(run.arrivals("scheduled"), 9_500);
    let kinds = run.at("/failures").as_object().expect("kinds").keys().cloned().collect::<Vec<_>>();
    let known = [
        "cql_unavailable",
        "cql_read_timeout",
        "cql_read_failure",
        "reset",
        "closed_early",
        "cql_overloaded",
    ];
    assert!(kinds.iter().all(|kind| known.contains(&kind.as_str())), "{kinds:?}");
    assert!(
        counted(&run, "missed") > 100 && counted(&run, "peak") == 4,
        "{}",
        run.at("/origins/0/connections")
    );
    let back = keyspace.run(&[&["-n", "400"], &read[..]].concat());
    back.assert_all("ok");
    assert_eq!(counted(&back, "routed"), 400);
}

//! YCSB's workloads in CQL, on a small server of our own. Those on a real Cassandra are in `cassandra_ycsb.rs`.

use crate::cql_server::{Manner, Server};
use crate::support::{Place, Run, Said};

const QUORUM: u16 = 4;

fn url(server: &Server) -> String {
    server.url().replace("/shop", "/ycsb")
}

fn fill(server: &Server, more: &[&str]) -> Said {
    Place::new().call(&[&["fill", &url(server), "--workload", "ycsb-a"], more].concat())
}

fn filled(records: u32, manner: Manner) -> Server {
    let server = Server::start(manner);
    let said = fill(&server, &["--create", "--set", &format!("recordcount={records}")]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    server
}

fn run(server: &Server, letter: &str, more: &[&str]) -> Run {
    let name = format!("ycsb-{letter}");
    let args = ["-R", "400", "-n", "400", "-c", "2", "--workload", &name];
    let run = Place::new().measure(&[&[url(server).as_str()], &args[..], more].concat());
    run.assert_accounts();
    run
}

#[test]
fn a_store_is_created_filled_counted_by_ranges_and_read_again() {
    let server = Server::start(Manner { counts_at_most: Some(3), ..Manner::default() });
    let records = ["--set", "recordcount=300"];
    fill(&server, &records).refused(&["there is no keyspace ycsb: --create creates it"]);
    let said = fill(&server, &[&records[..], &["--create", "--json"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    for (name, number) in
        [("records", 300), ("written", 300), ("counted", 300), ("sampled", 300), ("sampled_wrong", 0)]
    {
        assert_eq!(told[name], number, "{name}: {told}");
    }
    let keyspace = server.log.lock().expect("no panic").tables.keyspace.clone().expect("it is there");
    assert!(keyspace.contains("\"ycsb\"") && keyspace.ends_with("'replication_factor': 1}"), "{keyspace}");
    let executed = server.executed();
    let of = |part: &str| executed.iter().filter(|one| one.statement.starts_with(part)).collect::<Vec<_>>();
    for part in ["INSERT", "SELECT count(*) FROM usertable", "SELECT y_id, field0"] {
        let all = of(part);
        assert!(!all.is_empty() && all.iter().all(|one| one.consistency == QUORUM), "{part}");
    }
    // 16 ranges, of which those with more than 3 records were halved.
    assert!(of("SELECT count(*) FROM usertable").len() > 100, "{}", of("SELECT count(*)").len());
    fill(&server, &records).refused(&["the table usertable has rows already", "only an empty store"]);
    server.log.lock().expect("no panic").tables.table = None;
    fill(&server, &records).refused(&["there is no table usertable in the keyspace ycsb", "--create"]);
}

#[test]
fn what_was_not_written_as_it_should_be_is_told() {
    let server = filled(50, Manner::default());
    {
        let table = &mut server.log.lock().expect("no panic").tables;
        table.table.as_mut().expect("a table").values_mut().next().expect("a row")[3] = b"other".to_vec();
    }
    let place = Place::new();
    // As it is when all are written and nothing is read again yet.
    let progress = format!(
        "{{\"schema\": \"unblink/fill/1\", \"url\": {:?}, \"table\": \"usertable\", \"records\": 50, \"fields\": 10, \
         \"field_length\": 100, \"is_ordered\": false, \"digits\": 1, \"seed\": 1, \"written\": 50}}",
        url(&server)
    );
    place.file("unblink-fill.json", progress);
    let args = ["fill", &url(&server), "--workload", "ycsb-a", "--set", "recordcount=50", "--resume"];
    let said = place.call(&args);
    assert!(said.code() == Some(1) && said.stderr.contains("something else than was written"), "{said:?}");
}

#[test]
fn every_workload_runs() {
    let server = filled(500, Manner::default());
    for (letter, operations) in [
        ("a", &[("READ", 200), ("UPDATE", 200)][..]),
        ("b", &[("READ", 380), ("UPDATE", 20)]),
        ("c", &[("READ", 400)]),
        ("d", &[("READ", 380), ("INSERT", 20)]),
        ("e", &[("INSERT", 20), ("SCAN", 380)]),
        ("f", &[("READ", 200), ("READ-MODIFY-WRITE", 200)]),
    ] {
        let run = run(&server, letter, &[]);
        run.assert_all("ok");
        for (place, (name, scheduled)) in operations.iter().enumerate() {
            assert_eq!(run.at(&format!("/operations/{place}/name")), *name, "{letter}");
            assert_eq!(run.count(&format!("/operations/{place}/arrivals/scheduled")), *scheduled, "{letter}");
        }
        assert_eq!(run.at("/origins/0/connections/cql/consistency"), &serde_json::json!(["quorum"]));
        let followed = run.at("/origins/0/connections").get("followed").and_then(|number| number.as_u64());
        assert_eq!(followed.unwrap_or(0), if letter == "f" { 200 } else { 0 }, "{letter}");
    }
    let log = server.log.lock().expect("no panic");
    let table = log.tables.table.as_ref().expect("a table");
    assert_eq!(table.len(), 540, "two workloads have inserted 20 each");
    let is_whole = |row: &Vec<Vec<u8>>| row.len() == 11 && row[1..].iter().all(|field| field.len() == 100);
    assert!(table.values().all(is_whole));
    // Every field is updated, each by a statement of its own that is prepared once on a connection.
    for field in 0..10 {
        let text = format!("UPDATE usertable SET field{field} = ? WHERE y_id = ?");
        assert!(log.executed.iter().any(|one| one.statement == text), "{text}");
    }
}

#[test]
fn consistency_is_that_of_the_properties_unless_the_command_line_says_it() {
    let server = filled(50, Manner::default());
    let levels = |more: &[&str]| {
        let before = server.executed().len();
        run(&server, "f", more).assert_all("ok");
        let mut all: Vec<(bool, u16)> = server.executed()[before..]
            .iter()
            .filter(|one| one.statement.contains("WHERE y_id"))
            .map(|one| (one.statement.starts_with("UPDATE"), one.consistency))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let set = ["--set", "cassandra.readconsistencylevel=ONE", "--set", "cassandra.writeconsistencylevel=ALL"];
    assert_eq!(levels(&set), [(false, 1), (true, 5)]);
    assert_eq!(levels(&[&set[..], &["--consistency", "two"]].concat()), [(false, 2), (true, 2)]);
}

#[test]
fn a_run_needs_its_records_and_tells_which_are_not_found() {
    let server = Server::start(Manner::default());
    let args = ["run", &url(&server), "-R", "10", "-n", "10", "--workload", "ycsb-c"];
    let call = |more: &[&str]| Place::new().call(&[&args[..], more].concat());
    call(&[]).refused(&["can't be counted", "unblink fill"]);
    let bare = url(&server).replace("/ycsb", "");
    Place::new()
        .call(&["run", &bare, "-R", "10", "-n", "10", "--workload", "ycsb-c"])
        .refused(&["cql://HOST/ycsb"]);
    let said = fill(&server, &["--create", "--set", "recordcount=50"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    call(&["--set", "recordcount=60"]).refused(&["has 50 records, and the workload asks for 60"]);
    let knee = ["knee", &url(&server), "--workload", "ycsb-d", "--slo", "p99 < 1s"];
    Place::new().call(&knee).refused(&["inserts records"]);
    {
        let tables = &mut server.log.lock().expect("no panic").tables;
        let table = tables.table.as_mut().expect("a table");
        table.retain(|_, row| row[0] != b"user6284781860667377211");
        assert_eq!(table.len(), 49);
    }
    let more = ["--no-preflight", "--set", "requestdistribution=sequential", "--set", "recordcount=50"];
    for letter in ["c", "f"] {
        let run = run(&server, letter, &more);
        assert_eq!((run.arrivals("ok"), run.failures("cql_not_found")), (392, 8), "{run:?}");
    }
    // A write can't tell: what is not there comes to be.
    run(&server, "a", &[&more[..], &["--set", "readproportion=0"]].concat()).assert_all("ok");
    assert_eq!(server.log.lock().expect("no panic").tables.table.as_ref().expect("a table").len(), 50);
}

//! YCSB's workloads in a real Cassandra: filled, run, and looked at.

use super::support::{Place, Run, Said, Started};
use super::{Keyspace, address, once};
use std::time::Duration;

/// A keyspace that is not there.
struct Store {
    keyspace: Keyspace,
}

impl Store {
    fn new(name: &'static str) -> Option<Store> {
        let keyspace = Keyspace { address: address()?, name };
        once(&format!("cql://{}", keyspace.address), &format!("DROP KEYSPACE IF EXISTS {name}"));
        Some(Store { keyspace })
    }

    fn filled(name: &'static str, records: &str) -> Option<Store> {
        let store = Store::new(name)?;
        let said = store.fill(&["--create", "--set", &format!("recordcount={records}"), "--json"]);
        assert_eq!(said.code(), Some(0), "{said:?}");
        let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!((told["counted"].to_string(), &told["sampled_wrong"]), (records.into(), &0.into()));
        Some(store)
    }

    fn url(&self) -> String {
        self.keyspace.url()
    }

    fn fill(&self, more: &[&str]) -> Said {
        Place::new().call(&[&["fill", &self.url(), "--workload", "ycsb-a"], more].concat())
    }

    /// A run of 400 arrivals of the workload with this letter.
    fn run(&self, letter: &str, more: &[&str]) -> Run {
        let name = format!("ycsb-{letter}");
        let args =
            [self.url(), "-R".into(), "400".into(), "-n".into(), "400".into(), "-c".into(), "2".into()];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = Place::new().measure(&[&args[..], &["--workload", &name], more].concat());
        run.assert_accounts();
        run
    }

    /// All rows, in the order of their tokens.
    fn rows(&self) -> Vec<String> {
        let fields: String = (0..10).map(|n| format!(", field{n}")).collect();
        let all = format!("SELECT y_id{fields} FROM usertable");
        let said = Place::new().call(&["try", &self.url(), "--cql", &all, "--json"]);
        let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        let body = told.pointer("/requests/0/answer/body/text").and_then(|body| body.as_str());
        body.unwrap_or_else(|| panic!("no rows: {told}")).lines().map(str::to_string).collect()
    }
}

#[test]
fn every_workload_runs_and_its_records_are_right() {
    let Some(store) = Store::new("unblink_ycsb") else { return };
    let records = ["--set", "recordcount=500"];
    store.fill(&records).refused(&["there is no keyspace unblink_ycsb: --create creates it"]);
    let said = store.fill(&[&records[..], &["--create"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    store.fill(&records).refused(&["the table usertable has rows already"]);
    let before = store.rows();
    for (letter, operations) in [
        ("c", &[("READ", 400)][..]),
        ("a", &[("READ", 200), ("UPDATE", 200)]),
        ("b", &[("READ", 380), ("UPDATE", 20)]),
        ("d", &[("READ", 380), ("INSERT", 20)]),
        ("e", &[("INSERT", 20), ("SCAN", 380)]),
        ("f", &[("READ", 200), ("READ-MODIFY-WRITE", 200)]),
    ] {
        let run = store.run(letter, &[]);
        run.assert_all("ok");
        for (place, (name, scheduled)) in operations.iter().enumerate() {
            assert_eq!(run.at(&format!("/operations/{place}/name")), *name, "{letter}");
            assert_eq!(run.count(&format!("/operations/{place}/arrivals/scheduled")), *scheduled, "{letter}");
        }
        assert_eq!(store.rows() == before, letter == "c", "only reads leave everything as it was: {letter}");
    }
    // Two workloads have inserted 20 each. Nothing but 100 bytes ever stands in a field.
    let rows = store.rows();
    assert_eq!(rows.len(), 540);
    for row in &rows {
        let fields: Vec<&str> = row.split('\t').skip(1).collect();
        assert!(fields.len() == 10 && fields.iter().all(|field| field.len() == 100), "{row}");
    }
    // The key of the record 0, by YCSB's own hash.
    assert!(rows.iter().any(|row| row.starts_with("user6284781860667377211\t")));
}

/// By expected inserts the same seed asks the same of the same records, byte by byte.
#[test]
fn one_seed_sends_the_same_again() {
    let contents = |name| {
        let store = Store::filled(name, "100")?;
        let more = ["--set", "inserts=expected", "--seed", "7"];
        for letter in ["d", "f"] {
            let run = store.run(letter, &more);
            // The newest may be asked for before it is there.
            assert_eq!(run.arrivals("ok") + run.failures("cql_not_found"), 400, "{run:?}");
        }
        Some(store.rows())
    };
    let (Some(first), Some(second)) = (contents("unblink_seed_a"), contents("unblink_seed_b")) else {
        return;
    };
    assert_eq!(first.len(), 120);
    assert!(first == second, "{first:?}\n{second:?}");
}

#[test]
fn a_record_that_is_gone_is_not_found_by_reads_alone() {
    let Some(store) = Store::filled("unblink_gone", "50") else { return };
    once(&store.url(), "DELETE FROM usertable WHERE y_id = 'user6284781860667377211'");
    let place = Place::new();
    let said = place.call(&[
        "run",
        &store.url(),
        "-R",
        "9",
        "-n",
        "9",
        "--workload",
        "ycsb-c",
        "--set",
        "recordcount=50",
    ]);
    said.refused(&["has 49 records, and the workload asks for 50"]);
    let more = ["--no-preflight", "--set", "requestdistribution=sequential", "--set", "recordcount=50"];
    for letter in ["c", "f"] {
        let run = store.run(letter, &more);
        assert_eq!((run.arrivals("ok"), run.failures("cql_not_found")), (392, 8), "{run:?}");
    }
    let updates = store.run("a", &[&more[..], &["--set", "readproportion=0"]].concat());
    updates.assert_all("ok");
    assert_eq!(store.rows().len(), 50, "an update of what is not there makes it");
}

/// YCSB's own file says what is asked, and its own form says what came of it.
#[test]
fn property_files_are_read_and_output_is_written_as_by_ycsb() {
    let Some(store) = Store::new("unblink_files") else { return };
    let place = Place::new();
    place.file(
        "workloada",
        "recordcount=80\nworkload=site.ycsb.workloads.CoreWorkload\nreadproportion=0.5\nupdateproportion=0\n\
         readmodifywriteproportion=0.5\nrequestdistribution=uniform\ninsertorder=ordered\nzeropadding=6\n\
         cassandra.readconsistencylevel=ONE\nreplicas=1\n",
    );
    let said = place.call(&["fill", &store.url(), "-P", "workloada", "--create"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(store.rows().iter().any(|row| row.starts_with("user000079\t")));
    let url = store.url();
    let args = ["run", &url, "-P", "workloada", "-R", "200", "-n", "100", "-c", "2", "-o", "out"];
    let said = place.call(&[&args[..], &["--ycsb-output", "ycsb.txt", "--no-store"]].concat());
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    let text = place.text("ycsb.txt");
    for line in [
        "[OVERALL], Throughput(ops/sec), 200.0",
        "[READ], Operations, 50",
        "[READ], Return=OK, 50",
        "[READ-MODIFY-WRITE], Return=OK, 50",
        "[Intended-READ-MODIFY-WRITE], 99thPercentileLatency(us), ",
    ] {
        assert!(text.lines().any(|one| one.starts_with(line)), "{line}: {text}");
    }
}

/// One rate, once more, and for twice as long; and one keyspace beside another.
#[test]
fn a_workload_is_searched_and_compared() {
    let (Some(one), Some(other)) =
        (Store::filled("unblink_left", "60"), Store::filled("unblink_right", "60"))
    else {
        return;
    };
    let (place, left, right) = (Place::new(), one.url(), other.url());
    let workload = ["--workload", "ycsb-b", "--json"];
    let times = ["--settle", "0s", "--measure", "4s", "--rest", "0s", "--start", "50", "--max", "50"];
    let search = [&["knee", &left, "--slo", "READ: p90 < 10s", "-o", "knee"], &workload[..], &times].concat();
    let said = place.call(&search);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(found["status"], "at_least", "{found}");
    let load = ["-R", "100", "-d", "1s", "--runs", "1", "-o", "compared"];
    place.call(&[&["compare", &left, &right], &workload[..], &load].concat()).assert_ran();
    for run in ["knee/trial-01", "compared/baseline/1", "compared/candidate/1"] {
        let run: serde_json::Value =
            serde_json::from_str(&place.text(&format!("{run}/run.json"))).expect("JSON");
        assert_eq!(run["arrivals"]["ok"], run["arrivals"]["scheduled"], "{}", run["arrivals"]);
        assert!(
            run["plan"]["values"].to_string().contains("scrambled zipfian over 60 keys"),
            "{}",
            run["plan"]["values"]
        );
    }
    place.call(&["compare", &left, &right, "--workload", "ycsb-d", "-R", "9"]).refused(&["inserts records"]);
}

/// Interrupted in the middle and resumed, all records are there and right.
#[test]
fn a_fill_goes_on_where_it_was_interrupted() {
    let Some(store) = Store::new("unblink_resumed") else { return };
    let (place, url) = (Place::new(), store.url());
    let args = ["fill", &url, "--workload", "ycsb-a", "--set", "recordcount=20k"];
    let slow = ["--create", "-c", "1", "--depth", "1"];
    let mut started = Started::spawn(&mut place.command(&[&args[..], &slow].concat()));
    let progress = place.path().join("unblink-fill.json");
    let has_begun = || std::fs::read_to_string(&progress).is_ok_and(|text| !text.contains("\"written\": 0"));
    while !has_begun() {
        assert!(started.is_running(), "it ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
    started.signal(rustix::process::Signal::INT);
    let said = started.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    place.call(&args).refused(&["--resume"]);
    let said = place.call(&[&args[..], &["--resume", "--json"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let filled: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!((filled["counted"].as_u64(), filled["sampled"].as_u64()), (Some(20_000), Some(1_000)));
    assert!(filled["sampled_wrong"] == 0 && filled["written"].as_u64() < Some(20_000), "{filled}");
    assert!(!progress.exists());
}

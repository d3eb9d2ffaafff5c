//! YCSB's workloads on a real Redis and a real PostgreSQL: filled, run, and looked at.

use crate::stores::{PASSWORD, Postgres, Redis};
use crate::support;
use crate::support::{Place, Said, Started};
use std::process::Command;
use std::time::Duration;

/// The binary with these arguments, in `place`.
fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.env("PGPASSWORD", PASSWORD);
    command
}

fn call(place: &Place, args: &[&str]) -> Said {
    support::finish(&mut command(place, args))
}

fn fill(url: &str, more: &[&str]) -> Said {
    call(&Place::new(), &[&["fill", url, "--workload", "ycsb-a"], more].concat())
}

const RUN: [&str; 9] = ["-R", "400", "-n", "400", "-c", "4", "--json", "--workload", "ycsb-a"];

/// A run of 400 arrivals of the workload with this letter.
fn run(url: &str, letter: &str, more: &[&str]) -> support::Run {
    let name = format!("ycsb-{letter}");
    let args = [&["run", url], &RUN[..8], &[name.as_str()], more].concat();
    let run = call(&Place::new(), &args).run();
    run.assert_accounts();
    run
}

fn fields_of(redis: &Redis, key: &str) -> Vec<String> {
    let said = redis.ask(&format!("HGETALL {key}\r\nPING\r\n"), "+PONG");
    said.lines().filter(|line| line.len() == 100).map(str::to_string).collect()
}

#[test]
fn every_workload_runs_on_redis_and_its_records_are_right() {
    let redis = Redis::start(&[]);
    let url = redis.url();
    let said = fill(&url, &["--set", "recordcount=500", "--json"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(redis.ask("DBSIZE\r\nZCARD _indices\r\n", ":500\r\n"), ":501\r\n:500\r\n");
    // The key of the record 0, by YCSB's own hash.
    assert_eq!(fields_of(&redis, "user6284781860667377211").len(), 10);
    for (letter, operations) in [
        ("a", &[("READ", 200), ("UPDATE", 200)][..]),
        ("b", &[("READ", 380), ("UPDATE", 20)]),
        ("c", &[("READ", 400)]),
        ("d", &[("READ", 380), ("INSERT", 20)]),
        ("e", &[("INSERT", 20), ("SCAN", 380)]),
        ("f", &[("READ", 200), ("READ-MODIFY-WRITE", 200)]),
    ] {
        let run = run(&url, letter, &[]);
        run.assert_all("ok");
        for (place, (name, scheduled)) in operations.iter().enumerate() {
            assert_eq!(run.at(&format!("/operations/{place}/name")), *name, "{letter}");
            assert_eq!(run.count(&format!("/operations/{place}/arrivals/scheduled")), *scheduled, "{letter}");
        }
        let followed = match run.at("/origins/0/connections").get("followed") {
            None => 0,
            Some(number) => number.as_u64().expect("a number"),
        };
        match letter {
            // A hash and its place in the index; a hash and a field of it.
            "d" => assert_eq!(followed, 20),
            "f" => assert_eq!(followed, 200),
            // 1 to 100 records, 50.5 on average.
            "e" => assert!((380 * 35..380 * 66).contains(&followed), "{followed}"),
            _ => assert_eq!(followed, 0),
        }
    }
    // Two workloads have inserted 20 each, and those of the second stand behind those of the first.
    assert_eq!(redis.ask("DBSIZE\r\nZCARD _indices\r\n", ":540\r\n"), ":541\r\n:540\r\n");
    for key in ["user6284781860667377211", "user8517097267634966620"] {
        assert_eq!(fields_of(&redis, key).len(), 10, "updates leave whole records");
    }
}

#[test]
fn every_workload_runs_on_postgres_and_its_records_are_right() {
    let postgres = Postgres::start("trust", &[]);
    let url = postgres.url();
    let missing = fill(&url, &["--set", "recordcount=550"]);
    missing.refused(&["there is no table usertable: --create creates it"]);
    let said = fill(&url, &["--set", "recordcount=550", "--create"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let whole = "SELECT count(*), min(length(FIELD0)), max(length(FIELD9)) FROM usertable";
    assert_eq!(postgres.sql(whole), "550|100|100");
    let before =
        postgres.sql("SELECT md5(string_agg(t::text, '')) FROM (SELECT * FROM usertable ORDER BY 1) t");
    for letter in ["c", "a", "b", "d", "e", "f"] {
        run(&url, letter, &[]).assert_all("ok");
        let now =
            postgres.sql("SELECT md5(string_agg(t::text, '')) FROM (SELECT * FROM usertable ORDER BY 1) t");
        assert_eq!(before == now, letter == "c", "only reads leave everything as it was: {letter}");
    }
    // Every column is written by updates; nothing but 100 bytes ever stands in one.
    assert_eq!(postgres.sql(whole), "590|100|100");
    // A statement for each column, chosen by what is drawn.
    let changed = (0..10).map(|n| format!("sum((FIELD{n} ~ '^[a-z0-9]+$')::int) > 0")).collect::<Vec<_>>();
    let changed = postgres.sql(&format!("SELECT {} FROM usertable", changed.join(" AND ")));
    assert_eq!(changed, "t");
}

/// By expected inserts the same seed asks the same of the same records, byte by byte.
#[test]
fn one_seed_sends_the_same_again() {
    let contents = |_| {
        let redis = Redis::start(&[]);
        let said = fill(&redis.url(), &["--set", "recordcount=100"]);
        assert_eq!(said.code(), Some(0), "{said:?}");
        let url = redis.url();
        let args = ["run", &url, "-R", "400", "-n", "400", "-c", "1", "--workload", "ycsb-d", "--json"];
        let more = ["--set", "inserts=expected", "--seed", "7"];
        let run = call(&Place::new(), &[&args[..], &more].concat()).run();
        // The newest may be asked for before it is there.
        let missed = run.failures("redis_not_found");
        assert_eq!(run.arrivals("ok") + missed, 400, "{run:?}");
        // All keys, and what their fields hold.
        let script = "local all = {} \
                      for _, key in ipairs(redis.call('ZRANGE', '_indices', 0, -1)) do \
                      all[#all + 1] = key \
                      for field = 0, 9 do all[#all + 1] = redis.call('HGET', key, 'field' .. field) end end \
                      return #all .. ' ' .. redis.sha1hex(table.concat(all, ' '))";
        redis.ask(&format!("EVAL \"{script}\" 0\r\nPING\r\n"), "+PONG")
    };
    let all: Vec<String> = (0..2).map(contents).collect();
    assert!(all[0].contains("\r\n1320 "), "120 keys and their fields: {all:?}");
    assert_eq!(all[0], all[1]);
}

#[test]
fn a_run_needs_its_records() {
    let redis = Redis::start(&[]);
    let url = redis.url();
    let run = |more: &[&str]| call(&Place::new(), &[&["run", url.as_str()], &RUN[..], more].concat());
    run(&[]).refused(&["has no records of this workload", "unblink fill"]);
    fill(&url, &["--set", "recordcount=0"]).refused(&["recordcount=0", "nothing to write"]);
    let said = fill(&url, &["--set", "recordcount=50"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    run(&["--set", "recordcount=60"])
        .refused(&["has 50 records, and the workload asks for 60", "recordcount=50"]);
    fill(&url, &["--set", "recordcount=50"]).refused(&["has keys already", "only an empty store"]);
    let knee = ["knee", &url, "--workload", "ycsb-d", "--slo", "p99 < 1s"];
    call(&Place::new(), &knee).refused(&["inserts records"]);
    // What is asked for by no name of ours.
    run(&["--set", "recordcont=1"]).refused(&["recordcont=1", "unknown property"]);
    run(&["--let", "key=uniform(5)"]).refused(&["--let and --workload"]);
    run(&["--command", "GET a"]).refused(&["--command and --workload"]);
}

/// Of 1,024 streams each numbers its own inserts, so that records would be asked for that never come to be.
#[test]
fn inserts_need_arrivals_in_order() {
    let place = Place::new();
    let url = "redis://127.0.0.1:1";
    let called = |letter: &str, more: &[&str]| {
        let name = format!("ycsb-{letter}");
        let args = ["run", url, "-R", "100", "-n", "3", "--workload", &name, "--no-preflight", "--json"];
        call(&place, &[&args[..], &["--set", "recordcount=1k", "--timeout", "1s"], more].concat())
    };
    for letter in ["d", "e"] {
        for arrivals in ["poisson", "bursty"] {
            called(letter, &["--arrivals", arrivals, "-d", "1s"])
                .refused(&["new_key numbers the records that are inserted", "--arrivals even"]);
        }
        assert_ne!(called(letter, &[]).code(), Some(2), "even arrivals are in order");
    }
    assert_ne!(called("a", &["--arrivals", "poisson"]).code(), Some(2), "nothing is inserted");
}

#[test]
fn a_record_that_is_gone_is_not_found() {
    let redis = Redis::start(&[]);
    let said = fill(&redis.url(), &["--set", "recordcount=50"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    // The index still counts it.
    redis.ask("DEL user6284781860667377211\r\n", ":1\r\n");
    let run = run(&redis.url(), "c", &["--no-preflight", "--set", "requestdistribution=sequential"]);
    assert_eq!((run.arrivals("ok"), run.failures("redis_not_found")), (392, 8), "{run:?}");
    let postgres = Postgres::start("trust", &[]);
    assert_eq!(fill(&postgres.url(), &["--set", "recordcount=50", "--create"]).code(), Some(0));
    postgres.sql("DELETE FROM usertable WHERE YCSB_KEY = 'user6284781860667377211'");
    let more = ["--no-preflight", "--set", "requestdistribution=sequential", "--set", "recordcount=50"];
    let run = super::ycsb::run(&postgres.url(), "f", &more);
    assert!(run.failures("postgres_not_found") == 8 && run.arrivals("ok") == 392, "{run:?}");
}

/// YCSB's own file says what is asked, and its own form says what came of it.
#[test]
fn property_files_are_read_and_output_is_written_as_by_ycsb() {
    let redis = Redis::start(&[]);
    let place = Place::new();
    place.file(
        "workloada",
        "# Yahoo! Cloud System Benchmark\nrecordcount=80\noperationcount=1000\n\
         workload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\nreadproportion=0.5\nupdateproportion=0.5\n\
         scanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\ninsertorder=ordered\nzeropadding=6\n",
    );
    let said = call(&place, &["fill", &redis.url(), "-P", "workloada"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert_eq!(fields_of(&redis, "user000079").len(), 10);
    let args = ["run", &redis.url(), "-P", "workloada", "-R", "200", "-n", "100", "-c", "2", "-o", "out"];
    let exports = ["--ycsb-output", "ycsb.txt", "--hgrm-by-request", "hgrm", "--no-store"];
    let said = call(&place, &[&args[..], &exports].concat());
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    let text = place.text("ycsb.txt");
    assert!(!text.contains("[Intended-READ], Return="), "no operation is counted twice: {text}");
    for line in [
        "[OVERALL], RunTime(ms), 500",
        "[OVERALL], Throughput(ops/sec), 200.0",
        "[READ], Operations, 50",
        "[READ], Return=OK, 50",
        "[Intended-READ], Operations, 50",
        "[UPDATE], Return=OK, 50",
        "[Intended-UPDATE], 99thPercentileLatency(us), ",
    ] {
        assert!(text.lines().any(|one| one.starts_with(line)), "{line}: {text}");
    }
    let files = ["READ.response.hgrm", "READ.service.hgrm", "UPDATE.response.hgrm", "UPDATE.service.hgrm"];
    assert_eq!(place.list("hgrm"), files);
    assert!(place.text("hgrm/READ.service.hgrm").contains("Total count    =           50"));
}

/// Killed in the middle and resumed, all records are there and right.
#[test]
fn a_fill_goes_on_where_it_was_interrupted() {
    let redis = Redis::start(&[]);
    let place = Place::new();
    let (url, args) =
        (redis.url(), ["--workload", "ycsb-a", "--set", "recordcount=60k", "-c", "1", "--depth", "1"]);
    let call = |more: &[&str]| call(&place, &[&["fill", url.as_str()], &args[..], more].concat());
    call(&["--resume"]).refused(&["nothing was interrupted"]);
    let all = [&["fill", url.as_str()], &args[..]].concat();
    let started = Started::spawn(&mut command(&place, &all));
    while redis.ask("DBSIZE\r\n", "\r\n") == ":0\r\n" {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    started.signal(rustix::process::Signal::INT);
    let said = started.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let progress = place.text("unblink-fill.json");
    assert!(!progress.contains("\"written\": 0") && progress.contains("\"written\""), "{progress}");
    call(&[]).refused(&["--resume"]);
    call(&["--seed", "2"]).refused(&["another store, workload or seed", "--progress FILE"]);
    call(&["--resume", "--unix-socket", "b.sock"]).refused(&["another store, workload or seed"]);
    call(&["--resume", "--seed", "2"]).refused(&["another store, workload or seed"]);
    let said = call(&["--resume", "--json"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let filled: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!((filled["counted"].as_u64(), filled["sampled_wrong"].as_u64()), (Some(60_000), Some(0)));
    assert!(filled["written"].as_u64() < Some(60_000), "{filled}");
    assert!(!place.path().join("unblink-fill.json").exists());
}

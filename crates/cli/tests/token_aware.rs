//! Requests to a cluster of two small servers of our own go to the node that has their row.

use crate::cql_server::nodes::{Cluster, OF_SECOND};
use crate::cql_server::{Manner, Server};
use crate::support::{Place, Run};
use std::time::Duration;

const SELECT: [&str; 4] = ["--cql", "SELECT name FROM item WHERE id = {{id}}", "--let", "id=uniform(1, 100)"];

fn run(cluster: &Cluster, more: &[&str]) -> Run {
    let url = cluster.url();
    let run = Place::new().measure(&[&[url.as_str(), "--no-preflight"], &SELECT[..], more].concat());
    run.assert_accounts();
    run
}

/// Requests that a node did, and those of them whose row another one has.
fn done(cluster: &Cluster) -> ([usize; 2], usize) {
    let log = cluster.log.lock().expect("no thread died");
    let owner = |values: &[Vec<u8>]| {
        let id = i64::from_be_bytes(values[0][..].try_into().expect("a bigint"));
        usize::from(OF_SECOND.contains(&id))
    };
    let of = |node: usize| log.executed.iter().filter(|one| one.node == node).count();
    ([of(0), of(1)], log.executed.iter().filter(|one| owner(&one.values) != one.node).count())
}

/// Counts that are 0 are not written.
fn counted(run: &Run, name: &str) -> u64 {
    run.at("/origins/0/connections")[name].as_u64().unwrap_or(0)
}

fn change(run: &Run, what: &str) -> bool {
    let changes = &run.at("/origins/0/connections/ring/changes");
    changes.as_array().is_some_and(|all| all.iter().any(|one| one["what"] == what))
}

#[test]
fn each_request_goes_to_the_node_that_has_its_row() {
    for is_old in [false, true] {
        let cluster = Cluster::start(is_old, false);
        let run = run(&cluster, &["-R", "500", "-n", "400", "-c", "4", "-t", "1"]);
        run.assert_all("ok");
        let ([first, second], astray) = done(&cluster);
        assert!(first + second == 400 && first > 100 && second > 100, "{first}, {second}");
        let counts = ["routed", "missed", "without_key"].map(|name| counted(&run, name));
        assert_eq!((astray, counts), (0, [400, 0, 0]), "old: {is_old}");
        let ring = run.at("/origins/0/connections/ring");
        assert_eq!((&ring["nodes"], &ring["replication"]), (&2.into(), &"1".into()));
        let by = &run.at("/origins/0/connections/by_address");
        assert_eq!(by.as_object().expect("addresses").values().collect::<Vec<_>>(), [&2, &2], "{by}");
    }
}

#[test]
fn one_that_finds_no_room_where_its_row_is_goes_elsewhere() {
    let cluster = Cluster::start(false, false);
    // Bursts of arrivals at two connections with one place each: nothing waits for the owner.
    let args = ["-R", "2000", "-n", "400", "-c", "2", "-t", "1", "--streams", "1", "--pacing", "frugal"];
    let run = run(&cluster, &args);
    run.assert_all("ok");
    let (_, astray) = done(&cluster);
    let [routed, missed] = ["routed", "missed"].map(|name| counted(&run, name));
    assert_eq!((routed + missed, missed), (400, astray as u64));
    assert!(routed > 0);
}

#[test]
fn fewer_connections_than_nodes_are_told_of() {
    let cluster = Cluster::start(false, false);
    let url = cluster.url();
    for (connections, is_told) in [("1", true), ("2", false)] {
        let load = ["-R", "100", "-n", "10", "-t", "1", "-c", connections, "--no-preflight"];
        let said = Place::new().call(&[&["run", url.as_str()], &SELECT[..], &load].concat());
        let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains("1 connections can't reach all 2 nodes"), is_told, "{said:?}");
    }
}

#[test]
fn where_requests_go_can_be_left_open() {
    let cluster = Cluster::start(false, false);
    let any = run(&cluster, &["-R", "500", "-n", "100", "-c", "2", "--token-aware", "off"]);
    assert_eq!((counted(&any, "routed"), done(&cluster).0), (0, [100, 0]));
    let to = ["--connect-to", &format!("127.0.0.1:{0}:127.0.0.2:{0}", cluster.port)];
    let there = run(&cluster, &[&["-R", "500", "-n", "100", "-c", "2"], &to[..]].concat());
    assert_eq!((counted(&there, "routed"), done(&cluster).0), (0, [100, 100]));
    // Without its key, a request goes anywhere.
    let constant = ["--cql", "SELECT fail(0x1001) FROM item", "--expect", "status=overloaded"];
    let (place, url) = (Place::new(), cluster.url());
    let run = place.measure(&[&[url.as_str(), "-R", "500", "-n", "40", "-c", "2"], &constant[..]].concat());
    assert_eq!((counted(&run, "routed"), counted(&run, "without_key")), (0, 40));
    let shown = place.call(&["report", "out"]);
    assert!(shown.stdout.contains("ring: 2 nodes of here, replicas 1"), "{shown:?}");
    let http = ["run", "http://127.0.0.1:1/", "-R", "1", "-n", "1", "--token-aware", "off"];
    Place::new().call(&http).refused(&["is for Cassandra"]);
    // One node is no ring.
    let server = Server::start(Manner::default());
    let alone =
        Place::new().measure(&[&[server.url().as_str(), "-R", "200", "-n", "20"], &SELECT[..]].concat());
    assert!(alone.at("/origins/0/connections").get("ring").is_none());
}

#[test]
fn a_peer_that_does_not_say_where_it_listens_keeps_its_rows() {
    let cluster = Cluster::start(false, true);
    let run = run(&cluster, &["-R", "500", "-n", "200", "-c", "2"]);
    run.assert_all("ok");
    let (done, astray) = done(&cluster);
    assert!(done == [200, 0] && astray > 0);
    assert_eq!([counted(&run, "routed"), counted(&run, "missed")], [200 - astray as u64, astray as u64]);
}

#[test]
fn a_ring_that_changes_is_followed() {
    let cluster = Cluster::start(false, false);
    let (place, url) = (Place::new(), cluster.url());
    let started = place.start(
        &[&[url.as_str(), "--no-preflight"], &SELECT[..], &["-R", "200", "-d", "4s", "-c", "4"]].concat(),
    );
    std::thread::sleep(Duration::from_millis(1500));
    let before = done(&cluster);
    cluster.swap();
    cluster.change_schema();
    let run = started.wait().run();
    run.assert_all("ok");
    let (after, astray) = done(&cluster);
    assert_eq!(before.1, 0, "{before:?}");
    assert!(change(&run, "ring") && change(&run, "schema"), "{:?}", run.at("/origins/0/connections/ring"));
    // From the change on, the owners are the others.
    assert!(astray * 3 > after[0] + after[1] && counted(&run, "missed") == 0, "{astray} of {after:?}");
}

/// The connection that tells of changes stays open and tells nothing any more: another one is opened, and changes are heard of there.
#[test]
fn a_node_that_falls_silent_is_not_waited_for() {
    let cluster = Cluster::start(false, false);
    let (place, url) = (Place::new(), cluster.url());
    let load = ["-R", "20", "-d", "25s", "-c", "4"];
    let started = place.start(&[&[url.as_str(), "--no-preflight"], &SELECT[..], &load].concat());
    std::thread::sleep(Duration::from_millis(1000));
    cluster.fall_silent();
    // Silent for 10 s, and asked for another 10.
    std::thread::sleep(Duration::from_millis(22_000));
    cluster.swap();
    let run = started.wait().run();
    run.assert_all("ok");
    assert!(change(&run, "ring"), "{:?}", run.at("/origins/0/connections/ring"));
    assert_eq!(run.at("/origins/0/connections/ring/connections_lost"), &1);
}

/// One of two nodes stands still for a while, and its connections stay. Those who ask for its rows wait for it, until they find no
/// room there; nobody else waits.
#[test]
fn a_node_may_stand_still() {
    let cluster = Cluster::start(false, false);
    let (place, url) = (Place::new(), cluster.url());
    let load = ["-R", "200", "-d", "6s", "-c", "4", "-t", "1", "--streams", "16", "--timeout", "1s"];
    let started = place.start(&[&[url.as_str(), "--no-preflight"], &SELECT[..], &load].concat());
    std::thread::sleep(Duration::from_millis(1500));
    cluster.freeze_second(true);
    std::thread::sleep(Duration::from_millis(2000));
    cluster.freeze_second(false);
    let run = started.wait().run();
    run.assert_accounts();
    let (ok, timed_out) = (run.arrivals("ok"), run.arrivals("timed_out"));
    assert!(ok + timed_out == 1200 && ok >= 900 && timed_out >= 16, "{ok}, {timed_out}");
    let (routed, missed) = (counted(&run, "routed"), counted(&run, "missed"));
    assert!(missed > 20 && routed > 900, "{routed}, {missed}");
    assert_eq!(counted(&run, "peak"), 4);
    let log = cluster.log.lock().expect("no thread died");
    let last = &log.executed[log.executed.len() - 200..];
    assert!(last.iter().filter(|one| one.node == 1).count() > 50);
}

/// One of two nodes is gone for a while. Each arrival ends once, the other node takes over, and the connections are spread again once it
/// is back.
#[test]
fn a_node_may_go_and_come_back() {
    let cluster = Cluster::start(false, false);
    let (place, url) = (Place::new(), cluster.url());
    let load = ["-R", "200", "-d", "9s", "-c", "4", "-t", "1", "--timeout", "2s"];
    let started = place.start(&[&[url.as_str(), "--no-preflight"], &SELECT[..], &load].concat());
    std::thread::sleep(Duration::from_millis(1500));
    cluster.stop_second();
    std::thread::sleep(Duration::from_millis(2000));
    cluster.start_second();
    let run = started.wait().run();
    run.assert_accounts();
    let (ok, failed) = (run.arrivals("ok"), run.arrivals("failed"));
    assert!(ok >= 1750 && ok + failed == 1800, "{ok}, {failed}");
    let (routed, missed) = (counted(&run, "routed"), counted(&run, "missed"));
    assert!(missed > 50 && routed + missed >= 1800, "{routed}, {missed}");
    assert!(counted(&run, "closed_to_spread") >= 1 && counted(&run, "peak") == 4);
    // At the end, everything goes to its owner again.
    let log = cluster.log.lock().expect("no thread died");
    let last = &log.executed[log.executed.len() - 200..];
    assert!(last.iter().filter(|one| one.node == 1).count() > 50);
}

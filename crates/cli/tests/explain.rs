//! `unblink explain` through the binary: the published comparison, and its pictures.

mod support;

use serde_json::Value;
use support::Place;

fn client<'a>(all: &'a Value, name: &str) -> &'a Value {
    let clients = all["clients"].as_array().expect("a list");
    clients.iter().find(|client| client["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn ms(client: &Value, name: &str) -> f64 {
    client[name].as_f64().unwrap_or_else(|| panic!("{client}")) / 1e6
}

/// One FIFO server, 1 ms of work, every 500th request 200 ms, 450/s: 13,500 requests, closed against open.
#[test]
fn flip_one_switch() {
    let place = Place::new();
    let said = place.call(&["explain", "--scenario", "one-server"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let row = |name: &str| {
        let line = said.stdout.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
        line.split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(row("users")[..7], ["users", "1.00", "137.7", "193.9", "200.0", "200.0", "13"]);
    assert_eq!(row("closed ")[..7], ["closed", "1.00", "1.00", "1.00", "200", "200", "13"]);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    assert!(said.stdout.contains("SIMULATED"));
    let said = place.call(&["explain", "--scenario", "one-server", "--json"]);
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let (users, closed) = (client(&all, "users"), client(&all, "closed"));
    assert_eq!((&users["samples"], &closed["samples"]), (&13_500.into(), &13_500.into()));
    // The reference model, to the nanosecond of whole schedules.
    assert!((ms(users, "p90_ns") - 137.667).abs() < 0.001 && (ms(users, "p99_ns") - 193.889).abs() < 0.001);
    assert!((ms(closed, "p90_ns") - 1.0).abs() < 0.001 && (ms(closed, "p99_ns") - 1.0).abs() < 0.001);
}

#[test]
fn a_stall_under_every_client() {
    let place = Place::new();
    let said = place.call(&["explain", "--json", "-o", "lesson"]);
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(
        (&all["simulated"], &all["truth_is_exact"], &all["planned"]),
        (&true.into(), &true.into(), &60_000.into())
    );
    let p99 = |name| ms(client(&all, name), "p99_ns").round();
    assert_eq!(p99("users"), 410.0);
    assert_eq!(p99("pool"), 525.0);
    for name in ["YCSB raw", "k6", "shifting", "limiter", "limiters", "closed"] {
        assert_eq!(p99(name), 10.0, "{name}");
        assert!(client(&all, name)["p99_error"].as_f64().expect("an error") < -0.97, "{name}");
    }
    let omitted = |name| client(&all, name)["omitted"].as_u64().expect("a count");
    assert_eq!((omitted("users"), omitted("k6"), omitted("closed")), (0, 960, 1000));
    assert_eq!(client(&all, "wrk")["invented"], 974);
    // The intended clock of YCSB has the queues of its threads in front, each of which serves 20 requests per second.
    let both = client(&all, "YCSB both");
    assert!(both["is_felt"] == true && p99("YCSB both") >= 410.0 && omitted("YCSB both") == 0, "{both}");
    for name in ["impatient", "herd"] {
        let row = client(&all, name);
        assert!(row["is_other_users"] == true && row["p99_error"].is_null(), "{row}");
        assert_eq!((omitted(name), row["invented"].as_u64()), (0, Some(0)));
        assert!(p99(name) >= 410.0, "{row}");
    }
    let (page, picture) = (place.text("lesson/explain.html"), place.text("lesson/explain.svg"));
    assert!(
        page.contains("SIMULATED") && page.contains("YCSB raw") && page.contains("<svg class=\"narrow\"")
    );
    assert!(picture.starts_with("<svg xmlns") && !page.contains("http-equiv"));
}

#[test]
fn any_server_can_be_explained() {
    let place = Place::new();
    let server = ["--server", "slots=2 service=exp(2ms) pause=500ms@3s", "-R", "300", "-d", "8s"];
    let said = place.call(&[&["explain"], &server[..]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    place.call(&["explain", "--closed", "5"]).refused(&["-R"]);
    place.call(&["explain", "--server", "service=1ms"]).refused(&["how much load?"]);
    place.call(&["explain", "--scenario", "stall", "--server", "service=1ms"]);
}

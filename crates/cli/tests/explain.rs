//! `unblink explain` through the binary: the published comparison, and its pictures.

use crate::support::Place;
use serde_json::Value;

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
    // 200 ms × 450/s: in each of the 27 pauses 90 users would have come.
    assert_eq!((&users["omitted"], &closed["omitted"]), (&0.into(), &(27 * 90).into()));
    assert_eq!(client(&all, "closed + HDR")["omitted"], 27 * 90);
    // It asks for 30 s, and meets 43 of them.
    assert_eq!(client(&all, "wrk")["omitted"], 43 * 90);
    // The published table: 182.4×, from 194.64 ms ÷ 1.07 ms; here a closed loop's millisecond is exact.
    let ratio = closed["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 193.889).abs() < 0.3 && closed["ratio_bound"].is_null(), "{closed}");
    assert!(said_row(&place, "closed ").contains(&"194×".to_string()));
    // One schedule that its threads share is the pool's.
    let (pool, cassandra) = (client(&all, "pool"), client(&all, "cassandra"));
    for figure in ["p50_ns", "p90_ns", "p99_ns", "max_ns", "samples", "omitted"] {
        assert_eq!(pool[figure], cassandra[figure], "{figure}");
    }
    assert!(cassandra["is_right"] == true && closed["is_right"] == false);
    // Its p99 is right, its p90 is not.
    assert!(client(&all, "YCSB raw")["is_right"] == false);
    assert_eq!((&users["samples"], &closed["samples"]), (&13_500.into(), &13_500.into()));
    // The reference model, to the nanosecond of whole schedules.
    assert!((ms(users, "p90_ns") - 137.667).abs() < 0.001 && (ms(users, "p99_ns") - 193.889).abs() < 0.001);
    assert!((ms(closed, "p90_ns") - 1.0).abs() < 0.001 && (ms(closed, "p99_ns") - 1.0).abs() < 0.001);
}

/// A closed loop that sends as many as were planned, only not when its users would have come.
#[test]
fn users_who_wait_say_what_they_left_out() {
    let place = Place::new();
    let said =
        place.call(&["sim", "--scenario", "one-server", "-n", "13500", "--client", "closed=1", "-o", "run"]);
    let text = said.stdout.replace(['\u{a0}', '\u{202f}'], " ").replace('\n', " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 430 arrivals would have come"), "{text}");
    assert!(text.contains("(90 in the longest wait, of 200 ms)"), "{text}");
    assert!(!text.contains("never sent"), "{text}");
    let said = place.call(&["sim", "--scenario", "healthy", "--client", "closed=10", "--json"]);
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(all["simulated"]["waiting"]["omitted"], 0, "nobody waits for longer than usual");
    let said = place.call(&["sim", "--scenario", "stall", "--client", "k6", "--json"]);
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert!(all["simulated"]["waiting"].is_null());
}

/// The words of a row of the table.
fn said_row(place: &Place, name: &str) -> Vec<String> {
    let said = place.call(&["explain", "--scenario", "one-server"]);
    let line = said.stdout.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
    line.split_whitespace().map(String::from).collect()
}

/// Of users who give up after 5 s nothing is known but that, and the tools that hide it can be told all the same.
#[test]
fn what_times_out_is_longer_than_that() {
    let place = Place::new();
    let args = ["explain", "--scenario", "saturation", "--timeout", "5s"];
    let said = place.call(&args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stdout.contains("Users feel a p99 of more than 5 s; "), "{}", said.stdout);
    let users = said.stdout.lines().find(|line| line.trim_start().starts_with("users")).expect("a row");
    assert!(users.contains("> 5 s") && !users.contains('–'), "{users}");
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    let said = place.call(&[&args[..], &["--json"]].concat());
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let (users, closed) = (client(&all, "users"), client(&all, "closed"));
    assert_eq!((&users["p50_ns"], &users["p50_longer_than_ns"]), (&Value::Null, &5_000_000_000u64.into()));
    // 10 users at 5 slots of 10 ms wait for 20 ms.
    assert!((ms(closed, "p99_ns") - 20.0).abs() < 0.1, "{closed}");
    let ratio = closed["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 250.0).abs() < 1.0 && closed["ratio_bound"] == "above", "{closed}");
    // 30,005 of 60,000 were sent; for each of them one more would have come.
    assert!((29_995..=30_005).contains(&closed["omitted"].as_u64().expect("a count")), "{closed}");
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
    // 28 % too high is not right, whatever it is that it does right.
    let pool = client(&all, "pool");
    assert!(pool["is_felt"] == true && pool["is_right"] == false, "{pool}");
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
    assert!(page.contains("SIMULATED") && page.contains("YCSB raw"));
    // Each picture is there once, and no pool of 50 has the colour of what is right.
    let panels = all["clients"].as_array().expect("a list").len() - 1;
    assert_eq!(page.matches("class=\"panel-name\"").count(), panels);
    assert_eq!(page.matches(">YCSB raw</text>").count(), 1);
    let colours = |text: &str| {
        let (_, panel) = text.split_once(">pool</text>").expect("its panel");
        let (panel, _) = panel.split_once("line truth").expect("its lines");
        (panel.contains("service-text"), panel.contains("response"))
    };
    assert_eq!((colours(&page), colours(&picture)), ((true, false), (true, false)));
    assert!(page.len() < 450_000, "{} bytes", page.len());
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

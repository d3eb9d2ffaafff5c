//! Load models: what is scheduled follows from the plan alone, and what waits says why.

use crate::support::hostile::{Act, Hostile, Seen, healthy, ok};
use crate::support::lab::Lab;
use crate::support::{Place, Run};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A run without pre-flight, so that the server sees the run's own requests and no other.
fn run(server: &Hostile, args: &[&str]) -> Run {
    Place::new().measure(&[&[server.url().as_str(), "--no-preflight"], args].concat())
}

#[test]
fn open_and_even() {
    let server = healthy();
    let even = run(&server, &["-R", "250", "-d", "400ms"]);
    even.assert_all("ok");
    assert_eq!((even.arrivals("scheduled"), server.seen().len()), (100, 100));
    assert_eq!((even.number("/rate/offered"), even.number("/rate/sent")), (250.0, 250.0));
    assert_eq!(even.at("/loads/0/process/name"), "even");
    let slow = run(&server, &["-R", "600/m", "-n", "5"]);
    slow.assert_all("ok");
    assert_eq!(slow.arrivals("scheduled"), 5);
    assert_eq!(slow.number("/rate/offered"), 10.0, "over the time that five arrivals take");
}

#[test]
fn poisson_depends_on_the_seed_and_on_nothing_else() {
    let server = healthy();
    let scheduled = |seed: &str, threads: &str| {
        let load = ["-R", "1000", "-d", "300ms", "--arrivals", "poisson", "--seed", seed, "-t", threads];
        let run = run(&server, &load);
        run.assert_all("ok");
        assert_eq!(run.at("/loads/0/process/seed").to_string(), seed);
        run.arrivals("scheduled")
    };
    let first = scheduled("7", "1");
    for threads in ["1", "2", "3"] {
        assert_eq!(scheduled("7", threads), first);
    }
    let others: Vec<u64> = ["8", "9", "10"].iter().map(|seed| scheduled(seed, "1")).collect();
    assert!(others.iter().any(|&n| n != first), "{others:?}");
    // Mean 300, standard deviation 17.3: six of them on either side.
    assert!(others.iter().chain([&first]).all(|n| (196..404).contains(n)), "{first} {others:?}");
}

#[test]
fn ramps_and_steps_in_closed_form() {
    let server = healthy();
    for (rate, length, scheduled) in [
        ("0..200", "1s", 100),
        ("200..0", "1s", 100),
        ("100..300", "500ms", 100),
        ("50,100,150", "600ms", 60),
        ("0,100", "400ms", 20),
    ] {
        let run = run(&server, &["-R", rate, "-d", length]);
        run.assert_all("ok");
        assert_eq!(run.arrivals("scheduled"), scheduled, "{rate}");
    }
}

#[test]
fn a_count_ends_the_run() {
    let server = healthy();
    for threads in ["1", "2", "3"] {
        let run = run(&server, &["-R", "500", "-n", "37", "-t", threads]);
        run.assert_all("ok");
        assert_eq!(run.arrivals("scheduled"), 37);
        assert!((run.number("/rate/offered") - 500.0).abs() < 1e-6, "{}", run.at("/rate"));
    }
    // The earlier of the two limits.
    assert_eq!(run(&server, &["-R", "500", "-n", "37", "-d", "20ms"]).arrivals("scheduled"), 10);
    assert_eq!(run(&server, &["-R", "500", "-n", "37", "-d", "10s"]).arrivals("scheduled"), 37);
}

#[test]
fn warm_up_is_counted_apart() {
    let server = healthy();
    let run = run(&server, &["-R", "100", "--warmup", "300ms", "-d", "500ms", "-t", "2"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 50);
    assert_eq!(run.count("/warmup/scheduled"), 30);
    assert_eq!(run.count("/warmup/ok"), 30);
    assert_eq!(run.count("/send_lag/count"), 50);
    assert_eq!(run.document["codes"], serde_json::json!({ "200": 50 }));
    assert_eq!(server.seen().len(), 80);
    assert_eq!(run.number("/rate/offered"), 100.0);
    assert_eq!(run.count("/series/load_from_ns"), 300_000_000);
    let counted = Hostile::start(|_| Act::Answer(ok()));
    let run = self::run(&counted, &["-R", "100", "--warmup", "100ms", "-n", "5"]);
    assert_eq!((run.arrivals("scheduled"), run.count("/warmup/ok")), (5, 10));
}

#[test]
fn closed_users_wait_for_their_answers_and_think() {
    let server = Hostile::start(|_| Act::AnswerAfter(50 * MS, ok()));
    let run = run(&server, &["--closed", "4", "--think", "100ms", "-d", "900ms"]);
    run.assert_all("ok");
    // Each user comes every 150 ms at the most: six times in 900 ms.
    let scheduled = run.arrivals("scheduled");
    assert!((4..=24).contains(&scheduled), "{scheduled}");
    // All begin within the think time, which is not measured.
    assert_eq!(run.count("/loads/0/ramp_up_ns"), 100_000_000);
    assert_eq!(run.count("/series/load_from_ns"), 100_000_000);
    assert_eq!(run.count("/warmup/scheduled"), 4);
    assert!(!run.has_finding("users_not_begun"), "{:#}", run.at("/validity"));
    assert_eq!(run.at("/rate/offered"), &serde_json::Value::Null);
    assert!(run.connections("peak") <= 4);
    assert!(run.quantile("response_time", 0.5).0 >= 50_000_000);
    assert_eq!((run.at("/loads/0/users"), run.at("/loads/0/think_ns")), (&4.into(), &100_000_000.into()));
}

#[test]
fn closed_counts() {
    let server = Hostile::start(|_| Act::AnswerAfter(10 * MS, ok()));
    for (users, threads) in [("3", "1"), ("3", "3"), ("20", "2")] {
        let run = run(&server, &["--closed", users, "-n", "10", "-t", threads]);
        run.assert_all("ok");
        assert_eq!(run.arrivals("scheduled"), 10);
        // Ten answers of 10 ms for at most 20 users: between 10 ms and, on a slow machine, 2 s.
        let sent = run.number("/rate/sent");
        assert!((5.0..=1000.0).contains(&sent), "{sent}/s");
    }
}

#[test]
fn arrivals_wait_for_a_fixed_pool() {
    let (place, lab_place) = (Place::new(), Place::new());
    let lab = Lab::serve(&lab_place, &["--scenario", "healthy", "--baseline", "10ms"]);
    // Five connections carry 500 of the 1,000 requests a second: a second of load takes two.
    let run = place.measure(&[&lab.url, "-c", "5", "-R", "1000", "-d", "1s"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 1000);
    assert_eq!((run.connections("peak"), run.connections("opened")), (5, 5));
    assert_eq!(run.at("/origins/0/connections/mode"), "fixed");
    assert!(run.count("/lag_causes/no_connection") > 800, "{}", run.at("/lag_causes"));
    assert_eq!(run.count("/lag_causes/connecting"), 0, "the pool was open before the start");
    let (response, service) = (run.quantile("response_time", 0.9).0, run.quantile("service_time", 0.5).0);
    assert!(service >= 10_000_000, "{service}");
    assert!(response > 10 * service, "{response} {service}");
    assert!(run.has_finding("pool_limit_reached"), "{:#}", run.at("/validity"));
}

#[test]
fn a_pool_shared_by_threads() {
    let server = Hostile::start(|_| Act::AnswerAfter(5 * MS, ok()));
    let run = run(&server, &["-c", "5", "-t", "3", "-R", "300", "-n", "150"]);
    run.assert_all("ok");
    assert_eq!((run.connections("opened"), server.connections()), (5, 5));
}

#[test]
fn auto_keeps_to_its_limit() {
    let server = Hostile::start(|_| Act::AnswerAfter(20 * MS, ok()));
    let run = run(&server, &["-c", "auto:3", "-R", "300", "-n", "90"]);
    run.assert_all("ok");
    assert_eq!((run.connections("limit"), run.connections("peak")), (3, 3));
    assert_eq!(server.connections(), 3);
    assert!(run.count("/lag_causes/no_connection") > 0);
}

/// Requests in turn do not fall in step with the threads, open or closed: each connection carries both.
#[test]
fn every_thread_sends_every_request() {
    for load in [&["-R", "400"][..], &["-R", "400", "--arrivals", "poisson"], &["--closed", "2"]] {
        let (server, place) = (Hostile::start(|_| Act::Answer(ok())), Place::new());
        let targets = place.file("both.txt", format!("GET {0}one\nGET {0}two\n", server.url()));
        let targets = targets.to_str().expect("UTF-8");
        let rest = ["-n", "400", "-t", "2", "-c", "2", "--no-preflight"];
        place.measure(&[&["--targets", targets], load, &rest[..]].concat()).assert_accounts();
        let seen = server.seen();
        let connections: std::collections::BTreeSet<usize> = seen.iter().map(|s| s.connection).collect();
        assert_eq!(connections.len(), 2, "{load:?}");
        for connection in connections {
            let of = |target: &str| {
                seen.iter().filter(|s| s.connection == connection && s.target == target).count()
            };
            // Two hundred arrivals or so, half of them each: 50 are 7σ off.
            assert!(of("/one") > 50 && of("/two") > 50, "{load:?}: {} and {}", of("/one"), of("/two"));
        }
    }
}

/// A target that is listed four times beside another has four fifths of what each thread sends, in any 250 requests in a row: within 4σ.
#[test]
fn a_target_listed_four_times_has_four_fifths_of_every_connection() {
    let (server, place) = (healthy(), Place::new());
    let (often, seldom) = (format!("GET {}often\n", server.url()), format!("GET {}seldom\n", server.url()));
    let targets = place.file("five.txt", often.repeat(4) + &seldom);
    let targets = targets.to_str().expect("UTF-8");
    let load = ["-R", "500", "-n", "2000", "-t", "2", "-c", "2", "--no-preflight"];
    place.measure(&[&["--targets", targets], &load[..]].concat()).assert_all("ok");
    let seen = server.seen();
    let connections: std::collections::BTreeSet<usize> = seen.iter().map(|s| s.connection).collect();
    assert_eq!(connections.len(), 2);
    for connection in connections {
        let of_it: Vec<&Seen> = seen.iter().filter(|s| s.connection == connection).collect();
        assert!((990..=1010).contains(&of_it.len()), "{} of 2,000", of_it.len());
        for row in of_it.chunks_exact(250) {
            let often = row.iter().filter(|s| s.target == "/often").count();
            // 4 · √(250 · 0.8 · 0.2) is 25.3.
            assert!((175..=225).contains(&often), "{often} of 250");
        }
    }
}

#[test]
fn timeouts_censor_the_quantiles() {
    let script = |seen: &Seen| match seen.target.as_str() {
        "/slow" => Act::SendThenStall(Vec::new()),
        _ => Act::Answer(ok()),
    };
    let server = Hostile::start(script);
    let (quick, slow) = (server.url(), server.url() + "slow");
    let urls = [quick.as_str(), &quick, &slow];
    let load = ["-R", "150", "-n", "60", "--timeout", "400ms", "--no-preflight"];
    let run = Place::new().measure(&[&urls[..], &load].concat());
    run.assert_accounts();
    assert_eq!((run.arrivals("ok"), run.arrivals("timed_out")), (40, 20), "{run:?}");
    assert_eq!(run.arrivals("timed_out_never_sent"), 0);
    assert_eq!(run.connections("closed_on_timeout"), 20);
    let (median, censored) = run.quantile("response_time", 0.5);
    assert!(median < 400_000_000 && !censored);
    for q in [0.75, 0.9, 0.99] {
        assert_eq!(run.quantile("response_time", q), (400_000_000, true), "read: > 400 ms");
    }
    assert_eq!((run.count("/response_time/censored"), run.count("/service_time/censored")), (20, 20));
    assert_eq!(run.at("/response_time/mean"), &serde_json::Value::Null);
}

/// A timeout counts from the intended time: what never got a connection has timed out too.
#[test]
fn a_pool_too_small_sheds_load_and_says_so() {
    let server = Hostile::start(|_| Act::SendThenStall(Vec::new()));
    // Arrivals expire faster than a connection is replaced.
    let run = run(&server, &["-c", "1", "-R", "50000", "-n", "1000", "--timeout", "300ms"]);
    run.assert_all("timed_out");
    let never_sent = run.arrivals("timed_out_never_sent");
    assert!((1..1000).contains(&never_sent), "{run:?}");
    assert!(run.has_finding("client_shed_load"), "{:#}", run.at("/validity"));
    assert_eq!(run.quantile("response_time", 0.5), (300_000_000, true));
    // What had timed out was not sent after all.
    assert!(server.seen().len() as u64 <= 1000 - never_sent);
}

/// With a short drain the run does not wait for answers that will not come.
#[test]
fn what_the_drain_leaves_is_unfinished_or_unsent() {
    let server = Hostile::start(|_| Act::SendThenStall(Vec::new()));
    let run = run(&server, &["-c", "4", "-R", "100", "-n", "20", "--drain", "100ms"]);
    run.assert_accounts();
    assert_eq!((run.arrivals("unfinished"), run.arrivals("unsent")), (4, 16), "{run:?}");
    assert_eq!(run.count("/response_time/censored"), 20);
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn no_drain_at_all() {
    let server = Hostile::start(|_| Act::SendThenStall(Vec::new()));
    let run = run(&server, &["-R", "100", "-d", "200ms", "--drain", "0"]);
    run.assert_accounts();
    assert_eq!(run.arrivals("unfinished") + run.arrivals("unsent"), 20, "{run:?}");
}

/// The count of `-n` is of measured requests, for closed users too.
#[test]
fn closed_counts_leave_the_warm_up_out() {
    let server = Hostile::start(|_| Act::AnswerAfter(10 * MS, ok()));
    let run = run(&server, &["--closed", "2", "--warmup", "200ms", "-n", "10"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 10);
    assert!(run.count("/warmup/ok") > 0);
}

/// (index, intended, response) of arrivals, which the document lists up to five a second.
fn listed(run: &Run) -> Vec<(u64, u64, u64)> {
    let slowest = run.at("/slowest").as_array().expect("a list");
    let number = |arrival: &serde_json::Value, name: &str| arrival[name].as_u64().expect("a number");
    let mut listed: Vec<_> = slowest
        .iter()
        .map(|a| (number(a, "index"), number(a, "intended_ns"), number(a, "response_ns")))
        .collect();
    listed.sort_unstable();
    listed
}

#[test]
fn intended_times_are_exact() {
    let server = Hostile::start(|_| Act::AnswerAfter(20 * MS, ok()));
    let open = listed(&run(&server, &["-R", "8", "-n", "5"]));
    let intended: Vec<_> = open.iter().map(|&(index, intended, _)| (index, intended)).collect();
    assert_eq!(intended, [(0, 0), (1, 125_000_000), (2, 250_000_000), (3, 375_000_000), (4, 500_000_000)]);
    // A closed user comes again exactly one think time after its answer.
    let closed = listed(&run(&server, &["--closed", "1", "--think", "50ms", "-n", "5"]));
    assert_eq!(closed.len(), 5);
    assert!(closed.windows(2).all(|w| w[1].1 == w[0].1 + w[0].2 + 50_000_000), "{closed:?}");
}

#[test]
fn a_request_that_asks_to_close_gets_its_own_connection() {
    let server = healthy();
    let run = run(&server, &["-R", "200", "-n", "20", "-H", "Connection: close"]);
    run.assert_all("ok");
    assert_eq!((run.connections("opened"), server.connections()), (20, 20));
}

#[test]
fn the_smallest_and_the_steepest() {
    let server = healthy();
    for (args, scheduled) in [
        (&["-R", "1", "-n", "1"][..], 1),
        (&["-R", "0.001", "-d", "50ms"], 1),
        (&["-R", "1000000", "-d", "100us", "-c", "8"], 100),
        (&["--closed", "1", "-n", "1"], 1),
        // Users whose answers take 10 ms each: how many ask within a moment is theirs.
        (&["--closed", "5", "-d", "50ms"], 5),
        (&["-R", "10", "-d", "1ns"], 1),
    ] {
        let run = run(&server, args);
        run.assert_accounts();
        let counted = run.arrivals("scheduled");
        assert!(counted == scheduled || args[0] == "--closed" && counted >= scheduled, "{args:?}: {counted}");
        assert_eq!(run.arrivals("ok"), counted);
    }
}

//! `unblink sim` through the binary: the published figures, the marks of a simulated run, and bad words.

use crate::support::{Place, Run};
use std::time::Duration;

/// `unblink sim ARGS --json -o out`.
fn sim(place: &Place, args: &[&str]) -> Run {
    place.call(&[&["sim"], args, &["--json", "-o", "out"]].concat()).run()
}

#[track_caller]
fn percentiles(args: &[&str], samples: u64, expected: [f64; 7]) -> Run {
    let place = Place::new();
    let run = sim(&place, args);
    assert_eq!(run.count("/response_time/count"), samples, "{run:?}");
    for (q, want) in [0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999].into_iter().zip(expected) {
        let (ns, censored) = run.quantile("response_time", q);
        let got = ns as f64 / 1e6;
        assert!(
            (got - want).abs() <= want * 0.001 && !censored,
            "{args:?} at {q}: {got} ms, expected {want} ms"
        );
    }
    run
}

/// Constants of an independent model. Its closed loops add floats up and count 59,010, 58,841 (p99.9 200 ms) and 30,006;
/// whole nanoseconds give what stands here, as the lab's own exact model does.
#[test]
fn every_case_of_the_oracle() {
    let of = |scenario| ["--scenario", scenario];
    percentiles(&of("healthy"), 60_000, [10.0; 7]);
    percentiles(&of("stall"), 60_000, [10.0, 10.0, 10.0, 10.0, 410.0, 950.0, 1004.0]);
    percentiles(&of("ramp"), 60_000, [39.997, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
    percentiles(&of("pauses"), 60_000, [10.0, 10.0, 10.0, 10.0, 110.0, 200.0, 209.0]);
    let q = [30_005.0, 54_005.0, 57_005.0, 58_805.0, 59_405.0, 59_945.0, 60_000.0];
    percentiles(&["--scenario", "saturation", "--timeout", "1h"], 60_000, q);
    percentiles(&of("one-server"), 13_500, [1.0, 137.667, 169.444, 187.778, 193.889, 200.0, 200.0]);
    let pool = |n| ["--scenario", "stall", "-c", n];
    percentiles(&pool("10"), 60_000, [1001.0, 1009.0, 1010.0, 1010.0, 1010.0, 1010.0, 1010.0]);
    percentiles(&pool("20"), 60_000, [10.0, 10.0, 10.0, 405.0, 705.0, 975.0, 1004.0]);
    percentiles(&pool("50"), 60_000, [10.0, 10.0, 10.0, 45.0, 525.0, 960.0, 1004.0]);
}

/// The lab's exact model and the simulator were written apart. Scenarios that both know have one truth.
#[test]
fn the_labs_truth_is_the_simulators() {
    let stall = |at: &str| format!("service=10ms pause=1s@{at}");
    for (name, words) in [
        ("healthy", "service=10ms".to_string()),
        ("stall", stall("30s")),
        ("ramp", "service=ramp(10ms,100ms,20s,50s)".into()),
        ("pauses", "service=10ms pause=200ms@9.5s/10s*6".into()),
        ("saturation", "slots=5 service=10ms".into()),
        ("headroom", "slots=50 service=10ms".into()),
        ("early", stall("5s")),
        ("late", stall("59.5s")),
        ("resets", "service=10ms down=1s@30s".into()),
        ("trickle", "service=50ms".into()),
        ("fast", "service=200us".into()),
    ] {
        let case = unblink_lab::Case::preset(name, Duration::from_secs(60)).expect("a scenario");
        let (rate, timeout) = (case.rate_per_s.to_string(), format!("{}s", case.timeout_s));
        let run = sim(&Place::new(), &["--server", &words, "-R", &rate, "-d", "60s", "--timeout", &timeout]);
        let truth = case.truth();
        for q in [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999] {
            let (ns, is_longer) = run.quantile("response_time", q);
            let (low, high) = truth.at(q);
            let low = low.expect("a lower bound") as f64 * 0.998;
            assert!(ns as f64 >= low, "{name} at {q}: {ns} ns of {low} at least");
            match high {
                Some(high) => {
                    assert!(ns as f64 <= high as f64 * 1.002, "{name} at {q}: {ns} ns of {high} at most")
                }
                None => assert!(is_longer, "{name} at {q}: {ns} ns, and the truth is beyond the timeout"),
            }
        }
    }
}

#[test]
fn every_wrong_client_of_the_oracle() {
    let client = |scenario, words| ["--scenario", scenario, "--client", words];
    let late = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1004.0];
    percentiles(&client("stall", "connections=50 clock=sent"), 60_000, late);
    let run = percentiles(&client("stall", "k6"), 59_040, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0]);
    assert_eq!((run.count("/simulated/omitted"), run.count("/simulated/invented")), (960, 0));
    assert!(run.has_finding("simulated_client") && run.at("/validity/status") == "degraded");
    run.assert_accounts();
    let closed = |scenario| client(scenario, "closed=10");
    percentiles(&closed("stall"), 59_000, [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0]);
    percentiles(&closed("ramp"), 28_687, [10.0, 57.132, 87.788, 100.0, 100.0, 100.0, 100.0]);
    percentiles(&closed("pauses"), 58_800, [10.0, 10.0, 10.0, 10.0, 10.0, 202.0, 210.0]);
    percentiles(&closed("saturation"), 30_005, [20.0; 7]);
    let iterations = ["--scenario", "ramp", "-n", "60000", "--client", "closed=10"];
    percentiles(&iterations, 60_000, [100.0; 7]);
    let one = ["--scenario", "one-server", "-n", "13500", "--client", "closed=1"];
    percentiles(&one, 13_500, [1.0, 1.0, 1.0, 1.0, 1.0, 200.0, 200.0]);
    // The same users as the dispatcher's own.
    percentiles(
        &["--scenario", "stall", "--closed", "10", "--ramp-up", "10ms"],
        59_000,
        [10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1005.0],
    );
}

#[test]
fn a_correction_says_what_it_made_up() {
    let words = "closed=10 correct=expected-interval:10.17ms";
    let run = sim(&Place::new(), &["--scenario", "stall", "--client", words]);
    // The same model: p99 400.97 ms, p99.9 950.15 ms; its ten further samples of 10 ms move the rank by one value.
    for (q, want) in [(0.99, 400.97), (0.999, 950.15)] {
        let got = run.quantile("response_time", q).0 as f64 / 1e6;
        assert!((got - want).abs() <= want * 0.001 + 1.0, "{q}: {got} ms");
    }
    assert_eq!((run.count("/simulated/invented"), run.arrivals("ok")), (974, 59_000));
    assert_eq!(run.count("/simulated/omitted"), 1000);
}

#[test]
fn a_timeout_is_a_bound() {
    let run = sim(&Place::new(), &["--scenario", "saturation", "--timeout", "5s"]);
    // The same model counts 55,005 that take longer.
    assert_eq!((run.arrivals("ok"), run.arrivals("timed_out")), (4_995, 55_005));
    assert_eq!(run.quantile("response_time", 0.5), (5_000_000_000, true));
    assert_eq!((run.code, run.has_finding("saturated")), (Some(3), true));
    run.assert_accounts();
}

/// The tolerance is the width of the interval that the run itself prints for the percentile, some four standard errors.
#[test]
fn mm1_waits_as_theory_says() {
    for (rate, length) in [("500", "3m"), ("700", "5m"), ("800", "8m"), ("900", "40m")] {
        let server = ["--server", "slots=1 service=exp(1ms)", "--arrivals", "poisson", "--warmup", "5s"];
        let run = sim(&Place::new(), &[&server[..], &["-R", rate, "-d", length]].concat());
        for q in [0.5, 0.9, 0.99f64] {
            // Exponential with the rate μ − λ.
            let want = -(1.0 - q).ln() / (1000.0 - rate.parse::<f64>().expect("a number")) * 1e9;
            let quantiles = run.at("/response_time/quantiles").as_array().expect("a list");
            let found = quantiles.iter().find(|found| found["q"] == q).expect("it is printed");
            let of = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{rate}/s: {found}"));
            let width = of("high") - of("low");
            assert!(
                (of("value") - want).abs() <= width && width < want * 0.25,
                "{rate}/s: {want} ns, {found}"
            );
        }
    }
}

#[test]
fn the_folder_is_that_of_a_run() {
    let place = Place::new();
    let words = "k6 correct=expected-interval";
    let run = sim(&place, &["--scenario", "stall", "--client", words, "--network", "latency=1ms"]);
    assert_eq!(place.list("out"), ["intervals.hlog", "intervals.jsonl", "report.html", "run.json"]);
    assert_eq!(run.document, place.run_json());
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!(again.document, run.document, "from the folder as at once");
    let text = place.call(&["report", "out"]).stdout;
    assert!(text.starts_with("SIMULATED  no request was sent."), "{text}");
    assert!(text.contains("not what users feel") && text.contains("latency=1ms"), "{text}");
    assert!(place.text("out/report.html").contains("<b>SIMULATED</b>"));
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let run = |seed: &str| {
        let server = ["--server", "slots=2 service=lognormal(1ms,0.5) slow=50ms/100 pause=20ms~1s"];
        let load = ["-R", "500", "-d", "10s", "--arrivals", "poisson", "--seed", seed];
        sim(&Place::new(), &[&server[..], &load].concat()).document["response_time"].clone()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

/// A simulated generator that is away or busy is judged like a real one.
#[test]
fn a_generator_that_is_late_is_found_out() {
    let load = ["--server", "service=10ms", "-R", "1000", "-d", "20s"];
    let run = |generator| sim(&Place::new(), &[&load[..], &["--generator", generator]].concat());
    let paused = run("pause=50ms@500ms/1s");
    assert_eq!(paused.count("/generator/pause_max_ns"), 50_000_000);
    assert_eq!(paused.count("/generator/paused_ns"), 20 * 50_000_000);
    assert_eq!(paused.count("/generator_late/max"), 50_000_000);
    assert!(paused.has_finding("generator_late") && paused.has_finding("generator_paused"), "{paused:?}");
    assert!(!paused.has_finding("generator_busy"), "{paused:?}");
    // Each request costs three times 300 µs of each ms.
    let busy = run("cpu=300us");
    let share = busy.number("/generator/busy_share");
    assert!((0.88..0.92).contains(&share) && busy.has_finding("generator_busy"), "{share} {busy:?}");
    let sound = run("cpu=1us");
    assert!(!sound.has_finding("generator_busy") && !sound.has_finding("generator_paused"), "{sound:?}");
    assert_eq!((sound.code, busy.at("/validity/status") != "valid"), (Some(0), true));
}

/// What a client does not send, it has not held.
#[test]
fn what_was_claimed_offered_and_omitted() {
    for (client, moves) in
        [("k6", false), ("connections=50 late=shift", true), ("schedule=dynamic connections=50", true)]
    {
        let place = Place::new();
        let run = sim(&place, &["--scenario", "stall", "--client", client]);
        let (claimed, offered) = (run.number("/simulated/claimed"), run.number("/rate/offered"));
        let omitted = run.number("/simulated/omitted");
        assert_eq!((claimed, run.at("/simulated/world/moves_schedule") == true), (1000.0, moves), "{client}");
        assert!(omitted > 900.0 && (offered + omitted / 60.0 - claimed).abs() < 0.001, "{client}: {offered}");
        for text in [place.call(&["report", "out"]).stdout, place.text("out/report.html")] {
            assert!(!text.contains("schedule was held"), "{client}: {text}");
            assert!(text.contains("claimed") && text.contains("omitted"), "{client}: {text}");
        }
    }
}

/// The same rule as for a real run, and the folder gives the same document again.
#[test]
fn a_simulated_cold_start_is_left_out() {
    let place = Place::new();
    let server = ["--server", "service=ramp(100ms,10ms,0s,10s)", "-R", "200", "-d", "60s"];
    let run = sim(&place, &[&server[..], &["--warmup", "auto"]].concat());
    assert_eq!(
        (run.at("/plan/warmup_auto") == true, run.at("/transient/status") == "left_out"),
        (true, true)
    );
    let cut = run.count("/transient/to_ns");
    assert!((10_000_000_000..=15_000_000_000).contains(&cut), "{cut}");
    assert_eq!(run.count("/response_time/count") + run.count("/transient/arrivals/ok"), 12_000);
    assert_eq!(run.quantile("response_time", 0.99), (10_000_000, false));
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!(again.document, run.document);
    // A stall is an event, and stays.
    let stall = sim(&Place::new(), &["--scenario", "stall", "--warmup", "auto"]);
    let p99 = stall.quantile("response_time", 0.99).0;
    assert!(stall.at("/transient/status") == "none" && p99.abs_diff(410_000_000) < 1_000_000, "{p99}");
}

/// Neither what `--warmup auto` leaves out nor what lies behind an early end was to be sent.
#[test]
fn an_ideal_client_omits_nothing() {
    let cold = ["--server", "service=ramp(100ms,10ms,0s,10s)", "-R", "200", "-d", "60s", "--warmup", "auto"];
    let run = sim(&Place::new(), &cold);
    assert!(run.at("/transient/status") == "left_out" && run.count("/simulated/omitted") == 0, "{run:?}");
    let early = ["--scenario", "healthy", "-R", "100", "--precision", "20%", "--max-duration", "3m"];
    let run = sim(&Place::new(), &early);
    assert!(run.at("/precision/reached") == true && run.count("/simulated/omitted") == 0, "{run:?}");
}

/// Whenever one looks, some arrival has no answer yet.
#[test]
fn a_busy_server_s_percentile_is_known_while_it_works() {
    let world = ["--server", "slots=8 service=exp(10ms)", "-R", "500", "--arrivals", "poisson"];
    let run = sim(&Place::new(), &[&world[..], &["--precision", "20%", "--max-duration", "3m"]].concat());
    assert_eq!(
        (run.at("/precision/reached") == true, run.count("/precision/after_ns")),
        (true, 60_000_000_000)
    );
}

/// A simulation that stops itself is what one of that length would have been, but that its interval is wider for the
/// two looks.
#[test]
fn a_simulation_goes_on_until_its_percentile_is_known() {
    let world = ["--server", "slots=1 service=exp(1ms)", "-R", "500", "--arrivals", "poisson"];
    let place = Place::new();
    let goal = ["--precision", "10%", "--precision-of", "p90", "--max-duration", "30m"];
    let run = sim(&place, &[&world[..], &goal].concat());
    assert_eq!(
        (run.at("/precision/reached") == true, run.at("/status") == "complete"),
        (true, true),
        "{run:?}"
    );
    let after = run.count("/precision/after_ns");
    assert!((60_000_000_000..1_800_000_000_000).contains(&after), "{after}");
    assert!(run.number("/precision/share_found") <= 0.1);
    assert_eq!(run.count("/arrivals/scheduled"), run.count("/arrivals/ok"));
    assert_eq!(place.call(&["report", "out", "--json"]).run().document, run.document);
    let length = format!("{after}ns");
    let fixed = sim(&Place::new(), &[&world[..], &["-d", &length]].concat());
    for q in [0.5, 0.9, 0.99, 0.999] {
        assert_eq!(run.quantile("response_time", q), fixed.quantile("response_time", q), "{q}");
    }
    assert_eq!(run.count("/arrivals/scheduled"), fixed.count("/arrivals/scheduled"));
    // One event decides it, however long the load.
    let never = ["--precision", "5%", "--max-duration", "2m", "--scenario", "stall"];
    let never = sim(&Place::new(), &never);
    assert_eq!(
        (never.at("/precision/reached") == true, never.count("/response_time/count")),
        (false, 120_000)
    );
}

#[test]
fn users_who_try_again_amplify() {
    let server = ["--server", "slots=10 service=10ms pause=2s@5s", "-R", "900", "-d", "20s"];
    let run = |client| sim(&Place::new(), &[&server[..], &["--client", client]].concat());
    let (patient, impatient) = (run("ideal"), run("retry patience=200ms back-off=0s"));
    assert_eq!(patient.number("/simulated/requests_per_arrival"), 1.0);
    assert!(impatient.number("/simulated/requests_per_arrival") > 1.2, "{impatient:?}");
    let p99 = |run: &Run| run.quantile("response_time", 0.99).0;
    assert!(p99(&impatient) > 2 * p99(&patient), "{} and {}", p99(&impatient), p99(&patient));
    impatient.assert_accounts();
}

#[test]
fn pages_wait_for_their_slowest_request() {
    let run = sim(&Place::new(), &["--scenario", "stall", "--fanout", "100"]);
    assert_eq!(run.count("/fanout/requests"), 100);
    let slower = run.at("/fanout/slower").as_array().expect("a list");
    let p99 = slower.iter().find(|slower| slower["q"] == 0.99).expect("p99");
    // 600 of 60,000 requests are slower than p99: 1 − 0.99¹⁰⁰.
    let share = p99["share"].as_f64().expect("a share");
    assert!((share - 0.634).abs() < 0.001, "{share}");
    // 1 − 0.5^(1/100) = 0.69 % and 1 − 0.99^(1/100) = 0.010 % of the requests.
    let (p50, p99) = (run.number("/fanout/p50_ns") / 1e6, run.number("/fanout/p99_ns") / 1e6);
    assert!((p50 - 595.0).abs() < 3.0 && (p99 - 1004.0).abs() < 2.0, "{p50} {p99}");
    // The stall is one event: the requests of a page meet it together, or not at all.
    assert_eq!(
        (run.at("/fanout/p50_one_event"), run.at("/fanout/p99_one_event")),
        (&true.into(), &true.into())
    );
    let place = Place::new();
    let text =
        place.call(&["sim", "--scenario", "stall", "--fanout", "100", "-o", "out"]).stdout.replace('\n', " ");
    assert!(text.contains("can't be told") && text.contains("One event at t = 30"), "{text}");
    let steady =
        ["sim", "-R", "100", "-d", "60s", "--server", "service=exp(5ms)", "--fanout", "2", "-o", "two"];
    let text = place.call(&steady).stdout.replace('\n', " ");
    assert!(text.contains("Half of the pages that need 2 requests take"), "{text}");
}

#[test]
fn what_can_not_be_simulated_is_refused() {
    let place = Place::new();
    let refused = |args: &[&str], parts: &[&str]| place.call(&[&["sim"], args].concat()).refused(parts);
    refused(&["-R", "10"], &["which server?", "--scenario", "--server"]);
    refused(&["--server", "service=1ms"], &["how much load?", "-R"]);
    refused(
        &["-R", "10", "--server", "slots=1 sevice=1ms"],
        &["--server: word 2", "sevice=1ms", "service=TIME"],
    );
    refused(&["-R", "10", "--server", "service=1ms pause=2s@0s/1s"], &["never ends"]);
    refused(&["-R", "10", "--scenario", "stall", "--client", "jmeter"], &["--client: word 1", "ycsb"]);
    refused(&["-R", "10", "--scenario", "stall", "--network", "delay=1ms"], &["latency=TIME"]);
    refused(&["-R", "10", "--scenario", "stall", "--generator", "pause=1s"], &["LENGTH@BEGIN"]);
    refused(&["--closed", "10", "--server", "service=0s"], &["without end", "--network latency=100us"]);
    refused(&["--closed", "1", "--server", "service=1ms error=1/2"], &["without end"]);
    refused(&["--closed", "10", "--scenario", "stall", "--client", "wrk"], &["--closed and --client"]);
    refused(&["-R", "1000000", "-d", "24h", "--server", "service=1ms"], &["events", "-n"]);
    let many = ["-R", "10000", "-d", "10m", "--server", "service=1ms error=1/2", "--client"];
    refused(&[&many[..], &["herd attempts=1000000"]].concat(), &["events", "attempts=", "budget="]);
    refused(&["--scenario", "stall", "--client", "late=drop"], &["connections=50"]);
    refused(&["--scenario", "stall", "-d", "5s", "--client", "wrk2"], &["first 10 s", "discard=0s"]);
    let auto = ["--scenario", "stall", "--warmup", "auto"];
    refused(&[&auto[..], &["--client", "k6"]].concat(), &["--client", "--warmup 5s"]);
    refused(&[&auto[..], &["-d", "19s"]].concat(), &["at least 20 s", "19 s"]);
    let precision = ["--scenario", "stall", "--precision", "5%"];
    refused(&[&precision[..], &["--client", "k6"]].concat(), &["--precision", "--client", "-d"]);
    refused(&[&precision[..], &["-d", "60s"]].concat(), &["--precision", "--duration"]);
    refused(&["--scenario", "stall", "--max-duration", "60s"], &["--precision 5%"]);
    refused(&["--scenario", "stall", "--streams", "5"], &["--streams is for HTTP/2"]);
    refused(
        &["--scenario", "stall", "--http", "2", "--client", "wrk"],
        &["one request at a time", "--http 2"],
    );
    place.call(&[&["explain"], &auto[..]].concat()).refused(&["explain", "--warmup 5s"]);
    refused(
        &["-R", "10", "--server", "service=1ms refuse=1/2", "--client", "k6"],
        &["refuse=", "always open"],
    );
    assert!(place.list(".").is_empty(), "nothing was written");
}

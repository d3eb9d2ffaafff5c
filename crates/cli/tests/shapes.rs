//! Named shapes through the binary.

use crate::support::Place;
use crate::support::lab::Lab;
use serde_json::Value;

fn shape(document: &Value) -> &Value {
    &document["shape"]
}

fn seconds(ns: &Value) -> f64 {
    ns.as_f64().unwrap_or_else(|| panic!("{ns} is no time")) / 1e9
}

fn simulated(place: &Place, args: &[&str]) -> Value {
    let said = place.call(&[&["sim"], args, &["-o", "out", "--json"]].concat());
    serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"))
}

/// 1,000 a second are carried: 5,000 pile up in 5 s and melt at 900/s.
#[test]
fn a_spike_has_its_backlog_and_its_recovery_and_the_folder_agrees() {
    let place = Place::new();
    let world = ["--server", "slots=10 service=10ms", "--warmup", "2s"];
    let args =
        [&["--shape", "spike", "-R", "100..2000", "-d", "60s", "--peak-for", "5s"], &world[..]].concat();
    let run = simulated(&place, &args);
    let spike = shape(&run);
    assert_eq!((&run["plan"]["shape"], &spike["name"]), (&"spike".into(), &"spike".into()));
    assert_eq!((seconds(&spike["from_ns"]), seconds(&spike["to_ns"])), (20.0, 25.0));
    assert!((seconds(&spike["recovery"]["after_ns"]) / (5_000.0 / 900.0) - 1.0).abs() < 0.05, "{spike}");
    assert!((spike["unanswered_max"].as_f64().unwrap() / 5_000.0 - 1.0).abs() < 0.01, "{spike}");
    assert_eq!(run["validity"]["status"], "valid");
    let report = place.call(&["report", "out", "--json"]);
    assert!(
        serde_json::from_str::<Value>(&report.stdout).expect("JSON") == run,
        "the report says something else"
    );
    let part = place.call(&["report", "out", "--from", "10s", "--json"]);
    assert!(shape(&serde_json::from_str(&part.stdout).expect("JSON")).is_null(), "a part has no shape");
    let page = place.text("out/report.html");
    assert!(page.contains("It was as before 5.6") && page.contains("as before after 5.6"));
}

/// A target that is down for the whole spike answers with errors at once, and so needs no time to recover.
#[test]
fn a_spike_that_is_lost_was_not_carried() {
    for down in ["5s@18s", "60s@12s"] {
        let place = Place::new();
        let server = format!("slots=1 service=1ms down={down}");
        let spike = ["--shape", "spike", "-R", "500..2000", "--peak-for", "5s", "-d", "60s"];
        let said = place.call(&[&["sim", "--server", &server, "-o", "out"], &spike[..]].concat());
        assert!(said.stdout.contains("It lost ") && !said.stdout.contains("It carried"), "{said:?}");
    }
}

/// An objective's limit takes the place of what is too slow by itself.
#[test]
fn an_objective_says_what_is_too_slow() {
    let place = Place::new();
    let world =
        ["--server", "slots=10 service=10ms", "--slo", "errors < 1%", "--slo", "p90 < 1s in 50% of 1s"];
    let args =
        [&["--shape", "spike", "-R", "100..2000", "-d", "60s", "--peak-for", "5s"], &world[..]].concat();
    let run = simulated(&place, &args);
    let limit = &shape(&run)["limit"];
    assert_eq!(
        (&limit["ns"], &limit["quantile"], &limit["is_objective"]),
        (&1_000_000_000u64.into(), &0.9.into(), &true.into())
    );
    // It rises by 1 s in each second, from 1 s on, and falls by 0.9.
    let exact = (5.0 - 1.0) + (5.0 - 1.0) / 0.9;
    assert!((seconds(&shape(&run)["above_ns"]) / exact - 1.0).abs() < 0.05, "{}", shape(&run));
}

/// 500 a second are carried. From 50/s to 1,000/s in 10 s: 5,132 pile up and melt at up to 450/s.
#[test]
fn stress_names_the_failure_and_the_recovery_of_a_saturated_server() {
    let place = Place::new();
    let run =
        simulated(&place, &["--shape", "stress", "-R", "50..1000", "-d", "42s", "--scenario", "saturation"]);
    let stress = shape(&run);
    assert_eq!((&stress["name"], &stress["mode"]), (&"stress".into(), &"queues".into()));
    assert_eq!(run["validity"]["status"], "valid", "it grows on purpose");
    // A queue of a few is not yet too slow.
    assert!((500.0..=550.0).contains(&stress["broken"]["per_s"].as_f64().unwrap()), "{stress}");
    assert!((stress["delivered_best_per_s"].as_f64().unwrap() / 500.0 - 1.0).abs() < 0.01, "{stress}");
    let below = 450.0 / 95.0;
    let exact = below + (500.0 * (500.0 / 95.0 + 5.0) - below * 225.0) / 450.0;
    assert!((seconds(&stress["recovery"]["after_ns"]) / exact - 1.0).abs() < 0.05, "{stress}, exact {exact}");
}

/// Most arrivals are shed or time out, and the run can be believed all the same.
#[test]
fn what_is_lost_on_purpose_does_not_make_a_run_invalid() {
    let modes = [("slots=5 service=10ms queue=20", "30s", "sheds"), ("slots=5 service=10ms", "2s", "stalls")];
    for (server, timeout, mode) in modes {
        let place = Place::new();
        let load = ["--shape", "stress", "-R", "50..5000", "-d", "42s", "--timeout", timeout];
        let run = simulated(&place, &[&load, &["--server", server][..]].concat());
        assert_eq!(shape(&run)["mode"], mode, "{}", shape(&run));
        assert_eq!(run["validity"]["status"], "degraded", "{}", run["validity"]);
        assert!(
            run["arrivals"]["ok"].as_u64() < run["arrivals"]["scheduled"].as_u64().map(|n| n / 2),
            "{run}"
        );
    }
}

/// 100 a second are carried.
#[test]
fn stress_on_a_real_server_says_the_same() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "saturation", "--max-concurrency", "1"]);
    let run = place.measure(&[&lab.url, "--shape", "stress", "-R", "20..150", "-d", "32s"]);
    run.assert_accounts();
    let stress = shape(&run.document);
    assert_eq!(stress["mode"], "queues", "{stress}");
    assert!(stress["recovery"]["after_ns"].is_u64(), "{stress}");
    let broken = stress["broken"]["per_s"].as_f64().expect("it broke");
    // A machine with pauses of its own is told from a queue a little later.
    assert!((70.0..150.0).contains(&broken), "{stress}");
}

#[test]
fn shapes_that_can_not_be() {
    let refused = |args: &[&str], parts: &[&str]| {
        let place = Place::new();
        place.call(&[&["run", "http://127.0.0.1:9/"], args].concat()).refused(parts);
    };
    refused(&["--shape", "spike", "-R", "100"], &["--shape spike", "-R 100..800"]);
    refused(&["--shape", "stress", "-R", "800..100"], &["--shape stress", "then a higher one"]);
    refused(&["--shape", "spike", "-R", "0..100"], &["above 0"]);
    refused(&["--shape", "spike", "-R", "10..100", "-n", "50"], &["-d instead of -n"]);
    refused(&["--shape", "spike", "-R", "10..100", "-d", "10s"], &["a longer -d"]);
    refused(
        &["--shape", "stress", "-R", "10..100", "-d", "30s", "--peak-for", "20s"],
        &["a shorter --peak-for"],
    );
    refused(&["--shape", "spike", "--closed", "5"], &["-R both"]);
    refused(&["--shape", "load", "-R", "10..100"], &["holds one rate"]);
    refused(&["-R", "10", "--peak-for", "1s"], &["add --shape spike or stress"]);
    refused(&["--shape", "load", "-R", "10", "--peak-for", "1s"], &["has no peak"]);
    refused(&["--shape", "spike", "-R", "10..100", "--warmup", "auto", "-d", "30s"], &["one constant rate"]);
}

#[test]
fn a_soak_finds_the_drift_that_is_there_and_no_other() {
    let place = Place::new();
    let load = ["--shape", "soak", "-R", "50", "-d", "5m", "--arrivals", "poisson"];
    for (server, drifts) in [("service=ramp(10ms,12ms,0s,300s)", true), ("service=10ms", false)] {
        let out = if drifts { "drifting" } else { "steady" };
        let said = place.call(&[&["sim"], &load[..], &["--server", server, "-o", out, "--json"]].concat());
        let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        let figures = shape(&run)["figures"].as_array().expect("figures");
        let names: Vec<&str> = figures.iter().map(|f| f["figure"].as_str().expect("a name")).collect();
        assert_eq!(names, ["p50", "p99", "errors", "connections"]);
        assert_eq!(figures[0]["is_drift"], drifts, "{figures:#?}");
        assert_eq!(figures[2]["is_drift"], false, "{figures:#?}");
        let report = place.call(&["report", out, "--json"]);
        assert!(
            serde_json::from_str::<Value>(&report.stdout).expect("JSON") == run,
            "the report says something else"
        );
    }
}

/// Half a minute at the least.
#[test]
fn a_soak_watches_a_process_and_a_folder_and_the_folder_agrees() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--metrics", "127.0.0.1:0"]);
    let metrics = lab.metrics.clone().expect("metrics");
    place.file("logs", "");
    let pid = std::process::id().to_string();
    let args = [
        "--shape",
        "soak",
        "-R",
        "20",
        "-d",
        "32s",
        "--drain",
        "1s",
        "--watch-pid",
        &pid,
        "--watch-path",
        "logs",
        "--cross-check-scrape",
        &metrics,
        "--cross-check-watch",
        "process_resident_memory_bytes",
    ];
    let started = place.start(&[&[lab.url.as_str()], &args[..]].concat());
    // The file grows while it is watched.
    for n in 0..30 {
        place.file("logs", "x".repeat(1_000 * n));
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    let run = started.wait().run();
    run.assert_accounts();
    let figures = shape(&run.document)["figures"].as_array().expect("figures").clone();
    let of = |name: &str| {
        figures.iter().find(|f| f["figure"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert!(of("memory")["level"].as_f64() > Some(1e5) && of("descriptors")["level"].as_f64() >= Some(3.0));
    let of_service = of("metric");
    assert_eq!(of_service["metric"], "process_resident_memory_bytes");
    assert!(of_service["level"].as_f64() > Some(1e6), "{of_service}");
    assert_eq!(of("size")["is_drift"], true, "{figures:#?}");
    assert!(of("size")["change"].as_f64() > Some(10_000.0), "{figures:#?}");
    assert!(place.text("out/watch.jsonl").lines().count() >= 30);
    let report = place.call(&["report", "out", "--json"]).run();
    assert!(report.document == run.document, "the report says something else");
}

#[test]
fn a_process_is_watched_in_any_run() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    place.file("logs", "x".repeat(700));
    let pid = std::process::id().to_string();
    let args = ["-R", "50", "-d", "4s", "--watch-pid", &pid, "--watch-path", "logs"];
    let run = place.measure(&[&[lab.url.as_str()], &args[..]].concat());
    let watched = run.at("/watched").as_array().expect("series").clone();
    let of = |name: &str| {
        let is_it = |one: &&Value| one["metric"].as_str().is_some_and(|metric| metric.starts_with(name));
        watched.iter().find(is_it).unwrap_or_else(|| panic!("no {name}: {watched:#?}")).clone()
    };
    let memory = of("process_resident_memory_bytes");
    assert_eq!(
        (&memory["metric"], &memory["is_local"]),
        (&format!("process_resident_memory_bytes{{pid=\"{pid}\"}}").into(), &true.into())
    );
    let values = |series: &Value| -> Vec<f64> {
        let points = series["points"].as_array().expect("points").iter();
        points.filter_map(|point| point[1].as_f64()).collect()
    };
    assert!(values(&memory).len() >= 4 && values(&memory).iter().all(|bytes| *bytes > 1e5), "{memory}");
    let cpu = of("process_cpu_seconds_total");
    assert_eq!(cpu["per_second"], true);
    // This process waits, on so many processors at the most.
    assert!(
        values(&cpu).iter().all(|share| (0.0..256.0).contains(share)) && values(&cpu).len() >= 3,
        "{cpu}"
    );
    assert!(values(&of("file_size_bytes")).iter().all(|bytes| *bytes == 700.0));
    let report = place.call(&["report", "out", "--json"]).run();
    assert!(report.document == run.document, "the report says something else");
}

/// A group that may use a tenth of a processor, with a process in it that would use all of it; both end with this.
struct Throttled {
    group: std::path::PathBuf,
    child: std::process::Child,
}

impl Throttled {
    /// None where no group can be made, as it takes root, and a hierarchy that has processor time.
    fn start() -> Option<Throttled> {
        let name = format!("unblink-test-{}", std::process::id());
        let first = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "10000")];
        let second = [("cpu.max", "10000 100000")];
        for (mount, limits) in [
            ("/sys/fs/cgroup/cpu", &first[..]),
            ("/sys/fs/cgroup/cpu,cpuacct", &first),
            ("/sys/fs/cgroup", &second),
        ] {
            let group = std::path::Path::new(mount).join(&name);
            // Where nothing is mounted, the folder gets no files.
            if std::fs::create_dir(&group).is_err() {
                continue;
            }
            let is_limited = limits.iter().all(|(file, text)| std::fs::write(group.join(file), text).is_ok());
            if is_limited && group.join("cgroup.procs").exists() {
                let mut busy = std::process::Command::new("sh");
                let child = busy.args(["-c", "while :; do :; done"]).spawn().expect("a shell");
                let throttled = Throttled { group, child };
                let pid = throttled.child.id().to_string();
                std::fs::write(throttled.group.join("cgroup.procs"), pid).expect("it moves");
                return Some(throttled);
            }
            limits.iter().for_each(|(file, _)| drop(std::fs::remove_file(group.join(file))));
            std::fs::remove_dir(&group).expect("it is empty");
        }
        None
    }

    /// How long it was throttled, in s, by the kernel.
    fn seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(self.group.join("cpu.stat")).expect("figures");
        let of =
            |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        of("throttled_usec ")
            .map(|us| us / 1e6)
            .or_else(|| of("throttled_time ").map(|ns| ns / 1e9))
            .expect("one")
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The kernel lets go of a process a little later.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The run's figure is the kernel's, whichever version of groups there is and in whichever unit it counts.
#[test]
#[allow(clippy::print_stderr)] // Nobody is to take its silence for a test.
fn how_long_a_group_was_throttled_is_seen_beside_the_answers() {
    let Some(throttled) = Throttled::start() else {
        eprintln!(
            "no group for processor time can be made here: nothing is tested (root can, on most systems)"
        );
        return;
    };
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let pid = throttled.child.id().to_string();
    let before = throttled.seconds();
    let run = place.measure(&[&lab.url, "-R", "50", "-d", "5s", "--watch-pid", &pid]);
    let kernel = throttled.seconds() - before;
    let watched = run.at("/watched").as_array().expect("series");
    let is_it = |one: &&Value| {
        one["metric"].as_str().is_some_and(|name| name.starts_with("cgroup_throttled_seconds_total"))
    };
    let series = watched.iter().find(is_it).unwrap_or_else(|| panic!("{watched:#?}"));
    assert_eq!((&series["per_second"], &series["is_local"]), (&true.into(), &true.into()));
    // Seconds per second, from one look to the next; before the first and behind the last one nobody looked.
    let points: Vec<[f64; 2]> = series["points"]
        .as_array()
        .expect("points")
        .iter()
        .map(|point| [0, 1].map(|k| point[k].as_f64().unwrap()))
        .collect();
    assert!(points.len() >= 3, "{series}");
    let grown: f64 = points.windows(2).map(|two| two[1][1] * (two[1][0] - two[0][0]) / 1e9).sum();
    assert!(grown > 0.3 * kernel && grown <= kernel, "{grown} s of {kernel} s: {series}");
}

#[test]
fn what_can_not_be_watched() {
    let refused = |args: &[&str], parts: &[&str]| {
        let place = Place::new();
        place.call(&[&["run", "http://127.0.0.1:9/", "-R", "10"], args].concat()).refused(parts);
    };
    refused(&["--watch-pid", "4194304"], &["is there such a process"]);
    refused(&["--shape", "soak"], &["takes its time"]);
    refused(&["--shape", "soak", "-d", "29s"], &["takes its time"]);
    refused(&["--shape", "soak", "-d", "60s", "--watch-pid", "4194304999"], &["watch-pid"]);
    refused(&["--shape", "soak", "-d", "60s", "--watch-pid", "4194304"], &["is there such a process"]);
    refused(&["--shape", "soak", "-d", "60s", "--watch-path", "nowhere"], &["nowhere"]);
}

/// Where nothing can be said, that is said.
#[test]
fn too_few_arrivals_give_no_verdict_and_say_so() {
    let place = Place::new();
    let args =
        ["sim", "--shape", "spike", "-R", "0.5..10", "-d", "30s", "--server", "service=10ms", "-o", "out"];
    let said = place.call(&args);
    assert!(said.stdout.contains("No verdict: at 0.5/s too few arrivals"), "{said:?}");
    let page = place.text("out/report.html");
    assert!(page.contains("No verdict: at 0.5/s") && page.contains("all rates mixed"));
}

/// 5/s before and after: five arrivals to a step are enough to judge by.
#[test]
fn a_spike_at_a_low_rate_is_judged() {
    let place = Place::new();
    let world = ["--server", "slots=1 service=50ms", "-d", "60s", "--peak-for", "5s"];
    let run = simulated(&place, &[&["--shape", "spike", "-R", "2..40"], &world[..]].concat());
    let spike = shape(&run);
    // 20/s are carried: 100 pile up and melt at 18/s.
    let after = seconds(&spike["recovery"]["after_ns"]);
    let resolution = seconds(&spike["recovery"]["resolution_ns"]);
    assert!((after - 100.0 / 18.0).abs() <= resolution, "{spike}");
    let page = place.text("out/report.html");
    assert!(!page.contains("No event stands out") && page.contains("p99 before"));
}

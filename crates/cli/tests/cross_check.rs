//! The service's own metrics beside what was measured: from its own page, and from a real Prometheus server.

use crate::support::hostile::{Act, Hostile, Seen, answer};
use crate::support::lab::Lab;
use crate::support::{Place, Run};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const METRICS: [&str; 2] = ["--metrics", "127.0.0.1:0"];
const ALL: [&str; 6] = [
    "--cross-check-latency",
    "lab_request_duration_seconds",
    "--cross-check-requests",
    "lab_requests_total",
    "--cross-check-errors",
    "lab_requests_total{code=~\"5..\"}",
];
const SCRAPE: &str = "--cross-check-scrape";

/// The bounds of one of the service's quantiles, in ns.
fn bounds(run: &Run, q: f64) -> (u64, u64) {
    let quantiles = run.at("/cross_check/latency/quantiles").as_array().expect("a list");
    let found = quantiles.iter().find(|of| of["q"] == q).unwrap_or_else(|| panic!("no {q}: {quantiles:?}"));
    (found["lower_ns"].as_u64().expect("a bound"), found["upper_ns"].as_u64().unwrap_or(u64::MAX))
}

fn ours(run: &Run, q: f64) -> u64 {
    let quantiles = run.at("/response_time/quantiles").as_array().expect("a list");
    quantiles.iter().find(|of| of["q"] == q).and_then(|of| of["value"].as_u64()).expect("a quantile")
}

/// The findings that are of the check.
fn findings(run: &Run) -> Vec<String> {
    let codes = ["counts_disagree", "foreign_traffic", "cross_check_failed"];
    let all = run.at("/validity/findings").as_array().expect("a list").iter();
    all.filter_map(|finding| finding["code"].as_str())
        .filter(|code| codes.contains(code))
        .map(Into::into)
        .collect()
}

/// A stall in which nothing is accepted is in no figure of the server's, and in ours.
#[track_caller]
fn assert_stall_is_the_difference(run: &Run) {
    assert_eq!(findings(run), [""; 0]);
    let counted = run.count("/cross_check/requests/there");
    assert!((2_400..=run.count("/cross_check/requests/here_max")).contains(&counted), "{counted}");
    assert_eq!(run.count("/cross_check/requests/here_min"), 2_400);
    assert_eq!(run.count("/cross_check/errors/there"), 0);
    // The lab's server answers after 10 ms, and its buckets are native ones, a tenth wide.
    let ((lower, upper), felt) = (bounds(run, 0.5), ours(run, 0.5));
    assert!(lower < upper && upper <= lower + lower / 9, "{lower} to {upper}");
    assert!(lower >= 9_000_000 && lower <= felt, "{lower}, and {felt} here");
    let stalled = run.number("/response_time/max") as u64;
    let (felt, there) = (ours(run, 0.99), bounds(run, 0.99).1);
    assert!(stalled >= 180_000_000 && felt > there, "{stalled}; p99 of {felt}, and at most {there} there");
}

/// 200 ms of 12 s in which nothing is accepted.
const STALL: [&str; 4] = ["--scenario", "accept", "--made-for", "12s"];
const LOAD: [&str; 4] = ["-R", "200", "-d", "12s"];

#[test]
fn the_page_of_a_service_misses_a_stall_that_users_felt() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[&STALL[..], &METRICS].concat());
    let metrics = lab.metrics.as_deref().expect("metrics");
    let own = [SCRAPE, metrics, "--cross-check-watch", "process_resident_memory_bytes"];
    let watch = ["--cross-check-watch", "lab_requests_total"];
    let run = place.measure(&[&[&lab.url[..]], &LOAD[..], &ALL, &own, &watch].concat());
    assert_stall_is_the_difference(&run);
    assert_eq!(run.at("/cross_check/source"), "scrape");
    assert_eq!((run.count("/cross_check/failed"), run.count("/cross_check/resets")), (0, 0));
    assert_eq!(run.count("/cross_check/requests/there"), 2_400);
    // What is watched stands over time, a counter as its growth.
    let watched = run.at("/watched").as_array().expect("a list");
    assert_eq!((watched.len(), &watched[1]["per_second"]), (2, &true.into()));
    for series in watched {
        let points = series["points"].as_array().expect("points");
        assert!((5..=14).contains(&points.len()), "{series}");
        assert!(points.iter().any(|point| point[1].as_f64() > Some(0.0)), "{series}");
    }
    // The folder says the same as the run did, and so do its reports.
    let again = place.call(&["report", "out", "--json"]);
    assert_eq!(again.run().document["cross_check"], run.document["cross_check"]);
    let said = place.call(&["report", "out"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("At p99") && said.contains("its clock shows at least"), "{said}");
    let page = place.text("out/report.html");
    assert!(page.contains("Cross-check") && page.contains("process_resident_memory_bytes: "));
}

#[test]
fn what_can_t_be_asked_is_refused_before_the_load() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[&["--scenario", "healthy"], &METRICS[..]].concat());
    let metrics = lab.metrics.as_deref().expect("metrics");
    let call = |args: &[&str]| place.call(&[&["run", &lab.url, "-R", "10", "-d", "1s"], args].concat());
    let requests = ["--cross-check-requests", "lab_requests_total"];
    call(&requests).refused(&["--cross-check-requests", "whom to ask"]);
    call(&[SCRAPE, metrics]).refused(&[SCRAPE, "nothing is asked for"]);
    call(&[SCRAPE, metrics, "--cross-check-requests", "lab_request_total"])
        .refused(&["has no lab_request_total", "there are lab_requests_total"]);
    call(&[SCRAPE, metrics, "--cross-check-watch", "nothing"])
        .refused(&["--cross-check-watch", "has no nothing"]);
    call(&[SCRAPE, metrics, "--cross-check-latency", "a_duration"]).refused(&["a_duration", "_seconds"]);
    call(&[SCRAPE, metrics, "--cross-check-requests", "sum(a)"]).refused(&["sum(a)"]);
    call(&[&[SCRAPE, &lab.url], &requests[..]].concat()).refused(&["line 1 of the page"]);
    call(&[&["--cross-check-prometheus", &lab.url], &requests[..]].concat())
        .refused(&["not that of a Prometheus server"]);
    call(&[&["--cross-check-prometheus", "http://127.0.0.1:9/?a=b"], &requests[..]].concat())
        .refused(&["address of the server alone"]);
    call(&[&[SCRAPE, "http://u:s3cret@127.0.0.1:1/m?token=s3cret"], &requests[..]].concat())
        .refused(&["http://***@127.0.0.1:1/m?token=***"]);
    call(&[&[SCRAPE, "ws://127.0.0.1:1/"], &requests[..]].concat()).refused(&["asked in HTTP"]);
    let plan = format!(
        "target = {:?}\n[load]\nrate = 10\nduration = \"1s\"\n[cross-check]\nscrape = {metrics:?}\nrequests = \"lab_request_total\"\n",
        lab.url
    );
    place.file("plan.toml", plan);
    place.call(&["run", "plan.toml"]).refused(&["--cross-check-requests", "has no lab_request_total"]);
}

/// A page of metrics, with what it says by how often it was asked.
fn page(says: impl Fn(usize) -> Act + Send + Sync + 'static) -> (Hostile, String) {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let server =
        Hostile::start(move |_: &Seen| says(asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst)));
    let url = format!("http://{}/metrics", server.address);
    (server, url)
}

fn counted(n: u64) -> Act {
    Act::AnswerThenClose(answer("200 OK", &format!("# TYPE a_total counter\na_total{{code=\"200\"}} {n}\n")))
}

const A_TOTAL: [&str; 2] = ["--cross-check-requests", "a_total"];

#[test]
fn a_hostile_page_is_an_error_before_the_load_and_a_gap_within_it() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let head = |more: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{more}\r\n").into_bytes();
    let line = b"a_total 1\n";
    let whole = |head: Vec<u8>, body: &[u8]| Act::AnswerThenClose([&head, body].concat());
    let endless = Act::Endless(head(""), line.repeat(10), Duration::from_millis(5));
    let run = |url: &str, more: &[&str]| {
        let load = ["run", &lab.url, "-R", "10", SCRAPE, url, "--json", "-o", "out"];
        place.call(&[&load[..], &A_TOTAL, more].concat())
    };
    let large = line.repeat((11 << 20) / line.len());
    for (act, why) in [
        (whole(head(&format!("Content-Length: {}\r\n", large.len())), &large), "larger than its limit"),
        (whole(head("Content-Length: 100\r\n"), line), "closed"),
        (whole(head("Content-Length: 5\r\n"), b"a \xff\xfe\n"), "UTF-8"),
        (endless.clone(), "timeout"),
    ] {
        let (_server, url) = page(move |_| act.clone());
        run(&url, &["-d", "1s"]).refused(&[SCRAPE, why]);
    }
    // Within the load the same is a gap: the second answer is hostile, and the last one whole again.
    let (_server, url) =
        page(move |n| if n == 1 { endless.clone() } else { counted(if n == 0 { 100 } else { 115 }) });
    let said = run(&url, &["-d", "1500ms", "--cross-check-watch", "a_total"]);
    said.assert_ran();
    let run = said.run();
    assert_eq!(run.count("/cross_check/failed"), 1);
    assert_eq!(run.count("/cross_check/requests/there"), 15);
    assert_eq!(findings(&run), ["cross_check_failed"]);
}

#[test]
fn a_service_that_starts_again_loses_counts_and_others_traffic_is_named() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let run = |url: &str| {
        let place = Place::new();
        let load = [&lab.url, "-R", "20", "-d", "3500ms", SCRAPE, url, "--cross-check-watch", "a_total"];
        place.measure(&[&load[..], &A_TOTAL].concat())
    };
    let (_server, url) = page(|n| counted([100, 110, 5].get(n).copied().unwrap_or(9)));
    let again = run(&url);
    assert_eq!((again.count("/cross_check/resets"), again.count("/cross_check/requests/there")), (1, 19));
    assert_eq!(findings(&again), ["counts_disagree"]);
    let (_server, url) = page(|n| counted(if n == 0 { 5_000 } else { 9_000 }));
    let foreign = run(&url);
    assert_eq!(foreign.count("/cross_check/requests/there"), 4_000);
    assert_eq!(findings(&foreign), ["foreign_traffic"]);
}

/// A rule on the service's own metrics stops the load, and one that does not hold doesn't.
#[test]
fn a_rule_on_a_metric_stops_the_load() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let (_server, url) = page(|n| {
        let level = if n < 3 { 5 } else { 50 };
        Act::AnswerThenClose(answer("200 OK", &format!("# TYPE a_open gauge\na_open {level}\n")))
    });
    let rules = ["--abort-on", "prom(a_open) > 90 for 1s", "--abort-on", "prom(a_open) >= 50 for 1s"];
    let started = place.call(
        &[&["run", &lab.url, "-R", "20", "-d", "30s", SCRAPE, &url, "--json", "-o", "out"], &rules[..]]
            .concat(),
    );
    assert_eq!(started.code(), Some(1), "{started:?}");
    let run = started.run();
    assert_eq!(run.at("/aborted/rule"), "prom(a_open) >= 50 for 1s");
    assert!((2_000_000_000..15_000_000_000).contains(&run.count("/aborted/at_ns")));
    assert!(run.withheld() > 0);
    let call = |args: &[&str]| place.call(&[&["run", &lab.url, "-R", "10", "-d", "1s"], args].concat());
    call(&rules).refused(&["prom(a_open) > 90 for 1s", "whom to ask"]);
    call(&[SCRAPE, &url, "--abort-on", "prom(rate(a[1m])) > 5 for 1s"])
        .refused(&["of a page one metric", "rate(a[1m])"]);
    call(&[SCRAPE, &url, "--abort-on", "prom(a_opn) > 5 for 1s"])
        .refused(&["has no a_opn", "there are a_open"]);
    call(&[SCRAPE, &url, "--abort-on", "prom(a) > 5"]).refused(&["how long must it hold"]);
    let plan = "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 1\n[objectives]\nabort-on = [\"prom(a) > 5 for 1s\"]\n";
    place.file("plan.toml", plan);
    place.call(&["run", "plan.toml"]).refused(&["plan.toml:5:", "whom to ask"]);
}

/// A Prometheus server in the foreground, which looks at one page each second; it ends with this.
struct Prometheus {
    child: Child,
    url: String,
    _place: Place,
}

impl Prometheus {
    fn start(metrics: &str) -> Prometheus {
        let place = Place::new();
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let target = metrics.trim_start_matches("http://").trim_end_matches("/metrics");
        place.file(
            "prometheus.yml",
            format!(
                "global: {{scrape_interval: 1s, scrape_timeout: 900ms}}\nscrape_configs:\n  - job_name: lab\n    \
                 static_configs: [{{targets: [\"{target}\"]}}]\n"
            ),
        );
        let mut command = Command::new("prometheus");
        command.current_dir(place.path()).args([
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            "--enable-feature=native-histograms",
            "--log.level=error",
        ]);
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child
            .expect("there is no prometheus; install it: apt-get install prometheus (or: tools/setup test)");
        let prometheus = Prometheus { child, url: format!("http://127.0.0.1:{port}"), _place: place };
        prometheus.wait_for_a_sample(port);
        prometheus
    }

    /// It listens, and has looked at the page once, after a few seconds.
    fn wait_for_a_sample(&self, port: u16) {
        for _ in 0..300 {
            let mut said = String::new();
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
                let ask = "GET /api/v1/query?query=lab_requests_in_flight HTTP/1.0\r\n\r\n";
                let _ = stream.write_all(ask.as_bytes()).and_then(|()| stream.read_to_string(&mut said));
            }
            if said.contains("\"value\"") {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("prometheus has no sample");
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_prometheus_server_has_the_same_counts_and_misses_the_stall() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[&STALL[..], &METRICS].concat());
    let prometheus = Prometheus::start(lab.metrics.as_deref().expect("metrics"));
    let own = [
        "--cross-check-prometheus",
        prometheus.url.as_str(),
        "--cross-check-watch",
        "lab_requests_in_flight",
    ];
    let rule = ["--abort-on", "prom(sum(lab_requests_in_flight) < bool 0) > 0 for 1s"];
    let run = place.measure(&[&[&lab.url[..]], &LOAD[..], &ALL, &own, &rule].concat());
    assert_stall_is_the_difference(&run);
    assert_eq!(run.at("/cross_check/source"), "prometheus");
    let wrong = ["--abort-on", "prom(sum(a b)) > 0 for 1s"];
    let said = place.call(&[&["run", &lab.url, "-R", "9", "-d", "1s"], &own[..2], &wrong].concat());
    said.refused(&["prom(sum(a b)) > 0 for 1s", "parse error"]);
    assert!(run.at("/cross_check/to_ns").as_i64() > Some(12_000_000_000));
    assert!(run.at("/cross_check/from_ns").as_i64() < Some(0));
}

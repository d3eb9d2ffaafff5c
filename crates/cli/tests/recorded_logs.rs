//! From a load to a log, to a trace and to the same load again: logs of a real Apache and a real nginx, and files of GoReplay.

use crate::nginx::{self, Nginx};
use crate::support::hostile::{Act, Hostile, ok};
use crate::support::{Place, Run};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A start in µs, what was asked, and a duration in µs.
const LOGGED: &str = r#"%h %l %u [%{begin:usec}t] "%r" %>s %B %D"#;

/// Apache in the foreground; it ends with this.
struct Apache {
    child: Child,
    port: u16,
    place: Place,
}

fn program() -> &'static str {
    let places = ["/usr/sbin/apache2", "/usr/sbin/httpd", "/usr/local/bin/httpd"];
    let found = places.into_iter().find(|path| std::path::Path::new(path).exists());
    found.expect("there is no Apache; install it: apt-get install apache2-bin (or: tools/setup test)")
}

/// Where its modules are, by distribution.
fn modules() -> &'static str {
    let places = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/local/apache2/modules"];
    places.into_iter().find(|path| std::path::Path::new(path).exists()).expect("modules of Apache")
}

impl Apache {
    fn start() -> Apache {
        let place = Place::new();
        // Free a moment ago; Apache can't be asked to choose one itself.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let folder = place.path().to_str().expect("UTF-8").to_string();
        let modules = modules();
        let load = |name: &str| format!("LoadModule {name}_module {modules}/mod_{name}.so");
        place.file("www/file", "hello\n");
        let configuration = format!(
            "ServerRoot \"{folder}\"\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile \"{folder}/pid\"
             ErrorLog \"{folder}/error.log\"\nMutex file:{folder} default\nMaxKeepAliveRequests 0
             {}\n{}\n{}
             LogFormat {LOGGED:?} timed\nCustomLog \"{folder}/access.log\" timed
             DocumentRoot \"{folder}/www\"\nAliasMatch \"^/(items|about)\" \"{folder}/www/file\"\n",
            load("mpm_event"),
            load("authz_core"),
            load("alias"),
        );
        let path = place.file("httpd.conf", configuration);
        let child = Command::new(program())
            .args(["-X", "-f"])
            .arg(path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Apache starts");
        let mut apache = Apache { child, port, place };
        for _ in 0..1000 {
            if TcpStream::connect(("127.0.0.1", apache.port)).is_ok() {
                return apache;
            }
            let ended = apache.child.try_wait().expect("a child");
            assert!(ended.is_none(), "Apache has ended: {:?}", apache.text("error.log"));
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("Apache does not listen");
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.path().join(name)).unwrap_or_default()
    }

    /// What it has logged of requests, once these are so many: it logs one when its answer was sent.
    fn log(&self, lines: usize) -> String {
        for _ in 0..1000 {
            let log = self.text("access.log");
            let requests: Vec<&str> =
                log.split_inclusive('\n').filter(|line| line.contains("HTTP/1.1")).collect();
            if requests.len() >= lines && log.ends_with('\n') {
                return requests.concat();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("Apache has not logged {lines} requests");
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// When each request started, in µs, and what it asked, in the order of their starts.
fn logged(log: &str) -> Vec<(u64, String)> {
    let of = |line: &str| {
        let start = line.split(['[', ']']).nth(1).and_then(|us| us.parse().ok()).expect("a time in µs");
        (start, line.split('"').nth(1).expect("a request").trim_end_matches(" HTTP/1.1").to_string())
    };
    let mut all: Vec<(u64, String)> = log.lines().map(of).collect();
    all.sort_by_key(|(start, _)| *start);
    all
}

/// What was asked for, line by line of a log.
fn asked(log: &str) -> Vec<&str> {
    log.lines()
        .filter_map(|line| line.split('"').nth(1))
        .map(|line| line.trim_end_matches(" HTTP/1.1"))
        .collect()
}

/// What a trace has, in the same words: µs after the first, and what was asked.
fn traced(place: &Place, name: &str) -> Vec<(u64, String)> {
    let trace = std::fs::read(place.path().join(name)).expect("a trace");
    let text = String::from_utf8(zstd::decode_all(&trace[..]).expect("Zstandard")).expect("UTF-8");
    let rows: Vec<Value> = text.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let mut at = 0;
    let requests = rows.iter().filter(|row| row["after"].is_u64());
    requests
        .map(|row| {
            at += row["after"].as_u64().expect("ns");
            let text = |name: &str| row[name].as_str().expect("text");
            (at / 1_000, format!("{} {}", text("method"), text("path")))
        })
        .collect()
}

/// What was asked, in order.
fn words(all: &[(u64, String)]) -> Vec<&str> {
    all.iter().map(|(_, asked)| asked.as_str()).collect()
}

/// A server stamps a request between the time at which it was due and that of its answer. So the stamps, in µs, exceed the times at
/// which they were due by a constant and no more than the response times do, percentile by percentile.
#[track_caller]
fn assert_times(run: &Run, due_us: impl Iterator<Item = u64>, stamped: &[(u64, String)], resolution_us: u64) {
    let after = |((us, _), due): (&(u64, String), u64)| *us as i64 - due as i64;
    let mut excess: Vec<i64> = stamped.iter().zip(due_us).map(after).collect();
    excess.sort_unstable();
    assert_eq!(excess.len(), stamped.len());
    let quantile = |q| run.quantile("response_time", q).0;
    let bounds = [0.5, 0.9, 0.99].map(|q| (q, quantile(q))).into_iter();
    for (q, bound_ns) in bounds.chain([(1.0, run.number("/response_time/max") as u64)]) {
        let of = excess[(q * excess.len() as f64).ceil() as usize - 1] - excess[0];
        // Quantiles have three digits, and both clocks are cut to what the log writes.
        let bound = bound_ns as f64 * 1.001 / 1e3 + 2.0 * resolution_us as f64;
        assert!(of as f64 <= bound, "{of} us at {q}, response times of {bound} us: {excess:?}");
    }
}

/// One connection, so that a log is in the order in which requests were sent.
const ONE: [&str; 3] = ["-c", "1", "--no-preflight"];

/// Replays `hour.trace` of `place`.
fn replayed(place: &Place, url: &str) -> Run {
    let again = Place::new();
    std::fs::copy(place.path().join("hour.trace"), again.path().join("hour.trace")).expect("a trace");
    let run = again.measure(&[&[url, "--replay", "hour.trace"], &ONE[..]].concat());
    run.assert_all("ok");
    run
}

#[track_caller]
fn import(place: &Place, log: &str, format: &[&str], requests: u64) {
    let args = [&["import", log, "-o", "hour.trace", "--keep", "path,query"], format].concat();
    let said = place.call(&args);
    let count = format!("{requests}  requests");
    assert!(said.code() == Some(0) && said.stdout.contains(&count), "{said:?}");
}

#[test]
fn what_apache_logs_is_imported_and_replayed_as_it_was() {
    let (apache, place) = (Apache::start(), Place::new());
    let url = apache.url();
    let load = ["-R", "100", "-n", "200", "--arrivals", "poisson", "--order", "random"];
    let mix = ["--request", "70% /items/{{index}}?page=2", "--request", "30% HEAD /about"];
    place.measure(&[&[url.as_str()], &load[..], &mix, &ONE].concat()).assert_all("ok");
    let offered = apache.log(200);
    place.file("access.log", &offered);
    import(&place, "access.log", &["--format", "apache", "--log-format", LOGGED], 200);

    // The trace has every start to the µs that Apache writes, and what was asked.
    let then = logged(&offered);
    let zero = then[0].0;
    let expected: Vec<(u64, String)> = then.iter().map(|(us, asked)| (us - zero, asked.clone())).collect();
    assert_eq!(traced(&place, "hour.trace"), expected);
    let heads = expected.iter().filter(|(_, asked)| asked == "HEAD /about").count() as u64;
    assert!((40..80).contains(&heads), "the mix that was asked for: {heads}");

    let run = replayed(&place, &url);
    let now: Vec<(u64, String)> = logged(&apache.log(400)).split_off(200);
    assert_eq!(words(&now), words(&then));
    assert_eq!(run.at("/plan/replay/operations/0/requests"), &serde_json::json!(200 - heads));
    assert_times(&run, expected.into_iter().map(|(us, _)| us), &now, 1);
}

/// Even arrivals, so that it is known when each was due.
#[test]
fn what_nginx_logs_is_imported_replayed_and_imported_again() {
    const EVERY_US: u64 = 8_000;
    let (offering, place) = (Nginx::start(), Place::new());
    let url = offering.url();
    let load = ["-R", "125", "-n", "250", "--arrivals", "even", "--order", "random"];
    let mix = [
        "--request",
        "60% /logged/items/{{index}}?page=2&q=a%20b",
        "--request",
        "30% HEAD /logged/about",
        "--request",
        "10% /logged/say%22hi%22",
    ];
    let run = place.measure(&[&[url.as_str()], &load[..], &mix, &ONE].concat());
    run.assert_all("ok");
    let offered = offering.log(250);
    place.file("access.log", &offered);
    let format = ["--format", "nginx", "--log-format", nginx::LOGGED];
    import(&place, "access.log", &format, 250);
    let then = traced(&place, "hour.trace");
    // The log's own words, in the order of its lines.
    assert_eq!(words(&then), asked(&offered));
    for (what, share) in [("/logged/items/", 110..190), ("HEAD /logged/about", 45..105), ("%22hi%22", 8..50)]
    {
        let count = then.iter().filter(|(_, asked)| asked.contains(what)).count();
        assert!(share.contains(&count), "{count} of {what}");
    }
    // nginx writes ms.
    assert_times(&run, (0..250).map(|k| k * EVERY_US), &then, 1_000);

    let replaying = Nginx::start();
    let run = replayed(&place, &replaying.url());
    let again = Place::new();
    again.file("access.log", replaying.log(250));
    import(&again, "access.log", &format, 250);
    let now = traced(&again, "hour.trace");
    assert_eq!(words(&now), words(&then));
    assert_times(&run, then.iter().map(|(us, _)| *us), &now, 1_000);
    let count = |what: &str| words(&then).into_iter().filter(|asked| asked.contains(what)).count() as u64;
    for operation in run.at("/plan/replay/operations").as_array().expect("a list") {
        assert_eq!(operation["requests"], operation["codes"]["200"]);
    }
    let items = count("/logged/items/");
    assert_eq!(run.at("/plan/replay/operations/0/requests"), &serde_json::json!(items));
}

/// GoReplay, which writes what goes to a port into `requests.gor`; it ends with this.
struct GoReplay {
    child: Child,
    port: u16,
    place: Place,
}

impl GoReplay {
    /// Once it captures what is asked of `server`.
    fn start(server: &Hostile) -> GoReplay {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/gor");
        assert!(built.is_file(), "there is no {}: run tools/setup test", built.display());
        let place = Place::new();
        let url = server.url();
        let authority = url.trim_start_matches("http://").trim_end_matches('/');
        let file = |name: &str| std::fs::File::create(place.path().join(name)).expect("a file");
        let child = Command::new(built)
            .args(["--input-raw", authority, "--input-raw-track-response"])
            .args(["--output-file", "requests.gor", "--output-file-append", "--output-stdout"])
            .current_dir(place.path())
            .stdin(Stdio::null())
            .stdout(file("said"))
            .stderr(file("complained"))
            .spawn()
            .expect("GoReplay starts");
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        let mut gor = GoReplay { child, port, place };
        for _ in 0..300 {
            gor.ask();
            std::thread::sleep(Duration::from_millis(100));
            if gor.text("said").contains("GET /is-it-captured ") {
                return gor;
            }
            let ended = gor.child.try_wait().expect("a child");
            let said = || ["said", "complained"].map(|name| gor.text(name));
            assert!(
                ended.is_none(),
                "GoReplay has ended; it captures as root, or as whom tools/setup test lets: {:?}",
                said()
            );
        }
        panic!("GoReplay captures nothing");
    }

    fn ask(&self) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.write_all(b"GET /is-it-captured HTTP/1.1\r\nHost: a\r\n\r\n").expect("it reads");
    }

    fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.place.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The records of its file, those of answers, too, once it has seen as many requests. It writes the last ones when it is told to end.
    fn end(mut self, requests: usize) -> Vec<String> {
        let is_of_load = |text: &str| text.contains(" HTTP/1.1") && !text.contains("/is-it-captured");
        let seen =
            |gor: &GoReplay| gor.text("said").lines().filter(|line| is_of_load(line.trim_end())).count();
        for _ in 0..300 {
            if seen(&self) >= requests {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        self.child.wait().expect("it ends");
        let text = self.text("requests.gor");
        let all = text.split_inclusive("\n🐵🙈🙉\n").map(ToString::to_string);
        let of_load: Vec<String> =
            all.filter(|record| record.starts_with("2 ") || is_of_load(record)).collect();
        assert_eq!(of_load.iter().filter(|record| record.starts_with("1 ")).count(), requests, "{text}");
        of_load
    }
}

impl Drop for GoReplay {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

#[test]
fn what_goreplay_captures_is_imported_replayed_and_captured_again() {
    let server = Hostile::start(|request| match request.method.as_str() {
        "HEAD" => Act::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".into()),
        _ => Act::Answer(ok()),
    });
    let (gor, url) = (GoReplay::start(&server), server.url());
    let offered = || -> Vec<String> {
        let all = server.seen().into_iter().filter(|one| one.target != "/is-it-captured");
        all.map(|one| format!("{} {}", one.method, one.target)).collect()
    };
    let place = Place::new();
    let load = ["-R", "100", "-n", "200", "--arrivals", "poisson", "--order", "random"];
    let mix = ["--request", "70% /items/{{index}}?q=a%20b", "--request", "30% HEAD /about"];
    place.measure(&[&[url.as_str()], &load[..], &mix, &ONE].concat()).assert_all("ok");
    let records = gor.end(200);
    place.file("load.gor", records.concat());
    import(&place, "load.gor", &["--format", "gor"], 200);
    let then = traced(&place, "hour.trace");
    assert_eq!(words(&then), offered());
    // It stamps requests in ns, of which a trace keeps all.
    let mut stamps: Vec<u64> =
        records.iter().filter(|record| record.starts_with("1 ")).map(|record| stamp(record)).collect();
    stamps.sort_unstable();
    let expected: Vec<u64> = stamps.iter().map(|ns| (ns - stamps[0]) / 1_000).collect();
    assert!(then.iter().map(|(us, _)| *us).eq(expected));

    let gor = GoReplay::start(&server);
    let run = replayed(&place, &url);
    let again = Place::new();
    again.file("load.gor", gor.end(200).concat());
    import(&again, "load.gor", &["--format", "gor"], 200);
    let now = traced(&again, "hour.trace");
    assert_eq!(words(&now), words(&then));
    assert_eq!(offered().len(), 400);
    assert_times(&run, then.into_iter().map(|(us, _)| us), &now, 1);
}

/// When the request of a record was captured, in ns.
fn stamp(record: &str) -> u64 {
    record.split([' ', '\n']).nth(2).and_then(|ns| ns.parse().ok()).expect("a time")
}

/// As GoReplay writes it (`gor --output-file`): requests and answers between lines of three monkeys.
#[test]
fn a_file_of_goreplay_is_imported_and_replayed_as_it_was() {
    let between = "\n🐵🙈🙉\n";
    let record = |n: u64| {
        let at = 1_769_860_800_000_000_000 + n * 4_000_000 + n * 7_919 % 13 * 200_000;
        let path = if n % 5 == 4 { "/about".to_string() } else { format!("/items/{n}?q=a%20b") };
        let request =
            format!("1 {n:040x} {at} 0\nGET {path} HTTP/1.1\r\nHost: shop\r\nX-User: u{}\r\n\r\n", n % 3);
        let answer =
            format!("2 {n:040x} {} 900000\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", at + 900_000);
        ((at, format!("GET {path}")), format!("{request}{between}{answer}{between}"))
    };
    let (then, text): (Vec<(u64, String)>, Vec<String>) = (0..150).map(record).unzip();
    let place = Place::new();
    place.file("requests.gor", text.concat());
    let said = place.call(&[
        "import",
        "requests.gor",
        "--format",
        "gor",
        "--keep",
        "path,query",
        "--map",
        "user=X-User",
        "-o",
        "hour.trace",
    ]);
    assert!(said.code() == Some(0) && said.stdout.contains("150  requests"), "{said:?}");
    let zero = then[0].0;
    let expected: Vec<(u64, String)> =
        then.iter().map(|(ns, asked)| ((ns - zero) / 1_000, asked.clone())).collect();
    assert_eq!(traced(&place, "hour.trace"), expected);
    assert!(said.stdout.contains("150  answers: their requests have status, size and duration"), "{said:?}");
    let server = Hostile::start(|_| Act::Answer(ok()));
    let run = place.measure(&[&server.url(), "--replay", "hour.trace", "-c", "1", "--no-preflight"]);
    run.assert_all("ok");
    // Status, size and duration of both, side by side: nothing was answered then, and "hello" now.
    for (place, requests) in [(0, 120), (1, 30)] {
        let then = |what: &str| run.at(&format!("/plan/replay/operations/{place}/{what}")).clone();
        assert_eq!((then("codes/200"), then("answer_bytes_mean")), (requests.into(), 0.0.into()), "{run:?}");
        assert_eq!((then("took/count"), then("took/max_ns")), (requests.into(), 1_800_000.into()), "{run:?}");
        let bytes = run.at(&format!("/operations/{place}/body_bytes"));
        assert_eq!(bytes, &serde_json::json!(5 * requests), "{run:?}");
    }
    let report = place.text("out/report.html");
    assert!(report.contains("Recorded and replayed") && report.contains("5\u{a0}B"), "both sizes");
    let now: Vec<String> = server.seen().iter().map(|one| format!("{} {}", one.method, one.target)).collect();
    let asked: Vec<String> = then.into_iter().map(|(_, asked)| asked).collect();
    assert_eq!(now, asked);
}

//! From a load to a log, to a trace and to the same load again: logs of a real Apache, and files of GoReplay. nginx has its own tests.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, ok};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
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

/// One connection, so that the log is in the order in which requests were sent.
#[test]
fn what_apache_logs_is_imported_and_replayed_as_it_was() {
    let (apache, place) = (Apache::start(), Place::new());
    let url = apache.url();
    let one = ["-c", "1", "--no-preflight"];
    let load = ["-R", "100", "-n", "200", "--arrivals", "poisson", "--order", "random"];
    let mix = ["--request", "70% /items/{{index}}?page=2", "--request", "30% HEAD /about"];
    place.measure(&[&[url.as_str()], &load[..], &mix, &one].concat()).assert_all("ok");
    let offered = apache.log(200);
    place.file("access.log", &offered);
    let format = ["--format", "apache", "--log-format", LOGGED, "--keep", "path,query"];
    let import = [&["import", "access.log", "-o", "hour.trace"], &format[..]].concat();
    let said = place.call(&import);
    assert!(said.code() == Some(0) && said.stdout.contains("200  requests"), "{said:?}");

    // The trace has every start to the µs that Apache writes, and what was asked.
    let then = logged(&offered);
    let zero = then[0].0;
    let expected: Vec<(u64, String)> = then.iter().map(|(us, asked)| (us - zero, asked.clone())).collect();
    assert_eq!(traced(&place, "hour.trace"), expected);
    let heads = expected.iter().filter(|(_, asked)| asked == "HEAD /about").count() as u64;
    assert!((40..80).contains(&heads), "the mix that was asked for: {heads}");

    let again = Place::new();
    std::fs::copy(place.path().join("hour.trace"), again.path().join("hour.trace")).expect("a trace");
    let run = again.measure(&[&[url.as_str(), "--replay", "hour.trace"], &one[..]].concat());
    run.assert_all("ok");
    let both = apache.log(400);
    let now: Vec<(u64, String)> = logged(&both).split_off(200);
    let asked = |all: &[(u64, String)]| all.iter().map(|(_, asked)| asked.clone()).collect::<Vec<_>>();
    assert_eq!(asked(&now), asked(&then));
    assert_eq!(run.at("/plan/replay/operations/0/requests"), &serde_json::json!(200 - heads));
    // None is early, and most are where they were: a busy machine delays some.
    let later: Vec<i64> =
        now.iter().zip(&then).map(|((now, _), (then, _))| now.abs_diff(*then) as i64).collect();
    let least = *later.iter().min().expect("requests");
    let near = later.iter().filter(|later| **later - least < 50_000).count();
    assert!(near >= 150, "{near} of 200 within 50 ms: {later:?}");
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
    let server = Hostile::start(|_| Act::Answer(ok()));
    let run = place.measure(&[&server.url(), "--replay", "hour.trace", "-c", "1", "--no-preflight"]);
    run.assert_all("ok");
    let now: Vec<String> = server.seen().iter().map(|one| format!("{} {}", one.method, one.target)).collect();
    let asked: Vec<String> = then.into_iter().map(|(_, asked)| asked).collect();
    assert_eq!(now, asked);
}

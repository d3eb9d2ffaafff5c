//! `unblink mirror` behind a real nginx: real copies, real targets, and a candidate that stands still.

mod support;

use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::lab::Lab;
use support::{Place, Started};

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

fn wait_for(port: u16) {
    for _ in 0..1_000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing listens on {port}");
}

/// A mirror on a port of its own.
struct Mirror<'a> {
    place: &'a Place,
    port: u16,
    started: Started,
}

impl<'a> Mirror<'a> {
    fn start(place: &'a Place, baseline: &str, candidate: &str, more: &[&str]) -> Mirror<'a> {
        let port = free_port();
        let listen = format!("127.0.0.1:{port}");
        let own = [
            "mirror",
            "--listen",
            &listen,
            "--baseline",
            baseline,
            "--candidate",
            candidate,
            "--json",
            "-o",
            "m",
        ];
        let started = Started::spawn(&mut place.command(&[&own, more].concat()));
        wait_for(port);
        Mirror { place, port, started }
    }

    /// Ends it by Ctrl-C: the exit code, and the document, whose account must be closed.
    fn end(self) -> (Option<i32>, Value) {
        self.started.signal(Signal::INT);
        let said = self.started.wait();
        let document: Value =
            serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {}", said.stderr));
        assert_eq!(document, serde_json::from_str::<Value>(&self.place.text("m/mirror.json")).expect("JSON"));
        let sum = |part: &str| {
            document["account"][part]
                .as_object()
                .expect("causes")
                .values()
                .filter_map(Value::as_u64)
                .sum::<u64>()
        };
        let count = |name: &str| document["account"][name].as_u64().expect("a count");
        assert_eq!(
            count("offered"),
            count("compared") + sum("censored") + sum("skipped"),
            "{}",
            document["account"]
        );
        let mut schema: Value =
            serde_json::from_str(&self.place.call(&["schema", "mirror"]).stdout).expect("JSON");
        schema.as_object_mut().expect("an object").remove("$id");
        let valid = jsonschema::validator_for(&schema).expect("a schema");
        assert!(
            valid.is_valid(&document),
            "{:?}",
            valid.iter_errors(&document).next().map(|e| e.to_string())
        );
        (said.status.code(), document)
    }
}

/// nginx before a production server, with a mirror.
struct Nginx {
    child: Child,
    port: u16,
    _place: Place,
}

impl Nginx {
    fn start(production: &str, mirror: u16) -> Nginx {
        let (place, port) = (Place::new(), free_port());
        let folder = place.path().to_str().expect("UTF-8").to_string();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};"));
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        let configuration = format!(
            "daemon off; {user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
             events {{ worker_connections 1024; }}
             http {{
                 access_log off; {} keepalive_requests 1000000;
                 upstream production {{ server {production}; keepalive 32; }}
                 upstream copies {{ server 127.0.0.1:{mirror}; keepalive 32; }}
                 proxy_http_version 1.1; proxy_set_header Connection \"\";
                 server {{
                     listen 127.0.0.1:{port};
                     location / {{ mirror /copy; proxy_pass http://production; }}
                     location = /copy {{ internal; proxy_pass http://copies$request_uri; }}
                 }}
             }}",
            temporary.join(" ")
        );
        let path = place.file("nginx.conf", configuration);
        let places = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"];
        let found = places.into_iter().find(|path| std::path::Path::new(path).exists());
        let program =
            found.expect("there is no nginx; install it: apt-get install nginx-light (or: tools/setup test)");
        let arguments = ["-p", &folder, "-e", &format!("{folder}/error.log"), "-c"];
        let child = Command::new(program)
            .args(arguments)
            .arg(path)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx starts");
        wait_for(port);
        Nginx { child, port, _place: place }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn origin(lab: &Lab) -> &str {
    lab.url.trim_end_matches('/')
}

/// Takes connections and never answers.
fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    (format!("http://{}", listener.local_addr().expect("an address")), listener)
}

/// Sends requests on one connection and reads as many answers: their first lines.
fn ask(port: u16, requests: &str, answers: usize) -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(requests.as_bytes()).expect("it reads");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut first = Vec::new();
    while first.len() < answers {
        match lines.next() {
            Some(line) if line.starts_with("HTTP/") => first.push(line),
            Some(_) => {}
            None => break,
        }
    }
    first
}

#[test]
fn copies_that_nginx_makes_are_compared_and_secrets_are_kept_nowhere() {
    let place = Place::new();
    let labs: Vec<Lab> = (0..4).map(|_| Lab::serve(&place, &[])).collect();
    let noise = ["--noise", origin(&labs[2]), "-H", "X-Mirror: 1"];
    let mirror = Mirror::start(&place, origin(&labs[0]), origin(&labs[1]), &noise);
    let nginx = Nginx::start(labs[3].url.trim_start_matches("http://").trim_end_matches('/'), mirror.port);
    let url = format!("http://127.0.0.1:{}/items/90471147114709?token=geheim", nginx.port);
    let run = [
        "run",
        &url,
        "-n",
        "400",
        "-R",
        "400",
        "--no-store",
        "-q",
        "--no-preflight",
        "-H",
        "Authorization: Bearer geheim",
    ];
    assert_eq!(place.call(&run).code(), Some(0));
    let (_, document) = mirror.end();
    let account = &document["account"];
    assert_eq!(
        (account["offered"].as_u64(), account["compared"].as_u64()),
        (Some(400), Some(400)),
        "{account}"
    );
    assert_eq!(document["bodies"]["compared"].as_u64(), Some(400));
    let operation = &document["operations"][0];
    assert_eq!(operation["name"], "GET /items/{id}");
    assert_eq!(operation["statuses"]["200/200"].as_u64(), Some(400));
    for file in ["m/mirror.json", "m/report.html"] {
        let text = place.text(file);
        assert!(!text.contains("geheim") && !text.contains("90471147114709"), "{file}");
    }
}

/// A candidate that stands still has the copies that find room, and no more; whoever mirrors is answered all the same.
#[test]
fn a_candidate_that_stands_still_keeps_nobody_waiting_and_its_share_is_right() {
    let place = Place::new();
    let labs: Vec<Lab> = (0..2).map(|_| Lab::serve(&place, &[])).collect();
    let (candidate, _held) = silent();
    let more = ["--queue", "50", "--timeout", "60s"];
    let mirror = Mirror::start(&place, origin(&labs[0]), &candidate, &more);
    let nginx = Nginx::start(labs[1].url.trim_start_matches("http://").trim_end_matches('/'), mirror.port);
    let url = format!("http://127.0.0.1:{}/", nginx.port);
    let run = ["run", &url, "-n", "500", "-R", "1000", "--no-store", "-q", "--no-preflight", "--json"];
    let said = place.call(&run);
    let run: Value = serde_json::from_str(&said.stdout).expect("JSON");
    // Production has lost none.
    assert_eq!(run["arrivals"]["ok"].as_u64(), Some(500), "{}", run["arrivals"]);
    mirror.started.signal(Signal::INT);
    // The second does not wait for a minute.
    std::thread::sleep(Duration::from_millis(300));
    let (code, document) = mirror.end();
    let account = &document["account"];
    assert_eq!(account["offered"].as_u64(), Some(500));
    // Closed form: as many as have room are under way to the end, and all others found none.
    assert_eq!(account["censored"]["unfinished"].as_u64(), Some(50), "{account}");
    assert_eq!(account["censored"]["queue_full"].as_u64(), Some(450), "{account}");
    assert_eq!(document["open_max"].as_u64(), Some(50));
    assert!(
        document["quantiles"].as_array().is_some_and(|all| all.iter().all(|of| of["candidate_ns"].is_null()))
    );
    assert_eq!((code, &document["verdict"]), (Some(3), &Value::from("unknown")));
}

#[test]
fn what_is_not_mirrored_is_answered_and_counted_by_cause() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[]);
    let mirror = Mirror::start(&place, origin(&lab), origin(&lab), &["--body-max", "10"]);
    let large = "x".repeat(11);
    let requests = format!(
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab\
         GET /c HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n{large}\
         GET /d HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\
         GET /e HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
    let first = ask(mirror.port, &requests, 5);
    assert_eq!(first[..4], ["HTTP/1.1 204 No Content"; 4]);
    assert_eq!(first[4], "HTTP/1.1 400 Bad Request");
    let (_, document) = mirror.end();
    let skipped = &document["account"]["skipped"];
    for cause in ["mutating", "body_above_bound", "upgrade", "unreadable"] {
        assert_eq!(skipped[cause].as_u64(), Some(1), "{cause}: {skipped}");
    }
    assert_eq!(document["account"]["compared"].as_u64(), Some(1));
}

/// The candidate's first answer waits behind nothing but its own connections: with one connection and a server that takes a
/// while, the last of ten waits ten times as long as the first, since its clock starts when the baseline is asked.
#[test]
fn the_candidates_queue_is_part_of_its_time() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--baseline", "20ms"]);
    let mirror = Mirror::start(&place, origin(&lab), origin(&lab), &["-c", "1"]);
    let first = ask(mirror.port, &"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10), 10);
    assert_eq!(first.len(), 10);
    let (_, document) = mirror.end();
    let all = document["quantiles"].as_array().expect("percentiles");
    let last = all.last().expect("one");
    assert!(last["candidate_ns"].as_u64() >= Some(180_000_000), "{last}");
}

#[test]
fn what_can_not_be_mirrored_is_refused_before_anything_listens() {
    let place = Place::new();
    let own = ["mirror", "--listen", "127.0.0.1:0", "--candidate", "http://127.0.0.1:1"];
    for (more, said) in [
        (&["--baseline", "http://127.0.0.1:1/path"][..], "scheme, host and port alone"),
        (&["--baseline", "http://192.0.2.1"], "unblink allow"),
        (&["--baseline", "http://127.0.0.1:1", "-H", "nonsense"], "Name: value"),
        (&["--baseline", "http://127.0.0.1:1", "--listen", "0.0.0.0:9"], "--listen-anywhere"),
    ] {
        let own: Vec<&str> =
            if more.contains(&"--listen") { [&own[..1], &own[3..]].concat() } else { own.to_vec() };
        let refused = place.call(&[&own[..], more].concat());
        assert_eq!(refused.code(), Some(2), "{more:?}");
        assert!(refused.stderr.contains(said), "{more:?}: {}", refused.stderr);
    }
}

#[test]
fn a_silent_client_costs_nobody_anything() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[]);
    let mirror = Mirror::start(&place, origin(&lab), origin(&lab), &[]);
    let mut half = TcpStream::connect(("127.0.0.1", mirror.port)).expect("it listens");
    half.write_all(b"GET / HTTP/1.1\r\nHo").expect("it reads");
    assert_eq!(ask(mirror.port, "GET / HTTP/1.0\r\n\r\n", 1), ["HTTP/1.1 204 No Content"]);
    let (_, document) = mirror.end();
    // The half of a request is none.
    assert_eq!(document["account"]["offered"].as_u64(), Some(1));
    let mut rest = Vec::new();
    let _ = half.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

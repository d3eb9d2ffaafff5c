//! A real server: nginx with a configuration, a folder and a port of its own.

use crate::support::{Place, Started};
use rustix::process::{Pid, Signal};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What is logged below `/logged`.
pub(crate) const LOGGED: &str = r#"$remote_addr [$msec] "$request" $status $body_bytes_sent $request_time"#;

/// What is logged of HTTP/2.
const ASKED: &str = r#""$request" "$http_x_tenant" "$http_authorization""#;

/// nginx in the foreground; it ends with this.
pub(crate) struct Nginx {
    child: Child,
    port: u16,
    /// Of HTTP/2: without TLS, with TLS, and where a connection takes ten requests.
    two: [u16; 3],
    /// The Unix-domain socket that it also listens on.
    socket: PathBuf,
    _place: Place,
}

fn program() -> &'static str {
    let places = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"];
    let found = places.into_iter().find(|path| std::path::Path::new(path).exists());
    found.expect("there is no nginx; install it: apt-get install nginx-light (or: tools/setup test)")
}

impl Nginx {
    pub(crate) fn start() -> Nginx {
        let place = Place::new();
        // Free a moment ago; nginx can't be asked to choose one itself.
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let (port, two) = (free(), [free(), free(), free()]);
        let [plain, tls, limited] = two;
        let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
        place.file("cert.pem", certified.cert.pem());
        place.file("key.pem", certified.signing_key.serialize_pem());
        let folder = place.path().to_str().expect("UTF-8").to_string();
        let socket = place.path().join("nginx.sock");
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};"))
            .join(" ");
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        let configuration = format!(
            "daemon off; {user} worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
             events {{ worker_connections 1024; }}
             http {{
                 access_log off; {temporary} keepalive_requests 1000000;
                 log_format timed '{LOGGED}'; log_format asked '{ASKED}';
                 ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
                 server {{
                     listen 127.0.0.1:{plain} http2; listen 127.0.0.1:{tls} ssl http2;
                     location / {{ access_log {folder}/access.log asked; return 200 \"hello\n\"; }}
                     location /file {{ root {folder}; }}
                 }}
                 server {{
                     listen 127.0.0.1:{limited} http2; keepalive_requests 10;
                     location / {{ access_log {folder}/access.log asked; return 200 \"hello\n\"; }}
                 }}
                 server {{
                     listen 127.0.0.1:{port}; listen unix:{folder}/nginx.sock;
                     location / {{ return 200 \"hello\\n\"; }}
                     location /logged {{ access_log {folder}/access.log timed; return 200 \"hello\\n\"; }}
                     location /file {{ root {folder}; }}
                     location /limited {{ keepalive_requests 10; return 200 \"hello\\n\"; }}
                 }}
             }}"
        );
        place.file("file", vec![b'x'; 100_000]);
        let path = place.file("nginx.conf", configuration);
        let child = Command::new(program())
            .args(["-p", &folder, "-e", &format!("{folder}/error.log"), "-c"])
            .arg(path)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let mut nginx = Nginx { child, port, two, socket, _place: place };
        nginx.wait_until_it_listens();
        nginx
    }

    fn wait_until_it_listens(&mut self) {
        for _ in 0..1000 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return;
            }
            let ended = self.child.try_wait().expect("a child");
            let log = || std::fs::read_to_string(self._place.path().join("error.log"));
            assert!(ended.is_none(), "nginx has ended: {:?}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nginx does not listen");
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// What it has logged, once that is so many lines: it logs a request when its answer was written.
    pub(crate) fn log(&self, lines: usize) -> String {
        for _ in 0..1000 {
            let log = std::fs::read_to_string(self._place.path().join("access.log")).unwrap_or_default();
            if log.lines().count() >= lines && log.ends_with('\n') {
                return log;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nginx has not logged {lines} requests");
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its worker when asked, not when killed.
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn a_thousand_a_second_on_kept_connections() {
    let (nginx, place) = (Nginx::start(), Place::new());
    let run = place.measure(&[&nginx.url(), "-R", "1000", "-d", "2s", "--expect", "contains=hello"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 2000);
    assert_eq!(run.number("/rate/offered"), 1000.0);
    // What a pause of the machine at the end makes late is sent after the load.
    assert!((900.0..=1000.0).contains(&run.number("/rate/sent")), "{run:?}");
    assert!(run.connections("opened") < 500, "connections are used again: {run:?}");
    assert_eq!(run.document["codes"], serde_json::json!({ "200": 2000 }));
    assert_ne!(run.code, Some(2));
}

#[test]
fn files_posts_threads_and_closed_users() {
    let nginx = Nginx::start();
    let url = nginx.url();
    let file =
        Place::new().measure(&[&format!("{url}file"), "-R", "200", "-n", "100", "--expect", "size=100000"]);
    file.assert_all("ok");
    assert!(file.count("/bytes_received") > 10_000_000);
    let head = Place::new().measure(&[&format!("{url}file"), "-X", "HEAD", "-R", "200", "-n", "50"]);
    head.assert_all("ok");
    let threads = Place::new().measure(&[&url, "-R", "1000", "-n", "500", "-t", "2", "-c", "8"]);
    threads.assert_all("ok");
    assert_eq!(threads.connections("opened"), 8);
    let users = Place::new().measure(&[&url, "--closed", "8", "-n", "500"]);
    users.assert_all("ok");
    assert!(users.connections("opened") <= 8);
    let missing =
        Place::new().measure(&[&format!("{url}file/none"), "-R", "200", "-n", "20", "--no-preflight"]);
    missing.assert_all("failed");
    assert_eq!(missing.failures("status_4xx"), 20);
    let posts = Place::new().measure(&[
        &format!("{url}file"),
        "--body",
        "x",
        "-R",
        "200",
        "-n",
        "20",
        "--no-preflight",
    ]);
    // Static files take no POST: 405.
    posts.assert_all_failed("status_4xx");
}

/// nginx closes a connection after some requests: no arrival may suffer from it.
#[test]
fn connections_that_nginx_closes_are_replaced() {
    let nginx = Nginx::start();
    let url = format!("{}limited", nginx.url());
    let run = Place::new().measure(&[&url, "-R", "1000", "-n", "500"]);
    run.assert_all("ok");
    assert!(run.connections("opened") >= 50, "{run:?}");
    assert!(run.connections("closed_by_target") >= 45);
}

#[test]
fn over_a_unix_socket() {
    let nginx = Nginx::start();
    let socket = nginx.socket.to_str().expect("UTF-8");
    let run = Place::new().measure(&["http://nginx/", "--unix-socket", socket, "-R", "500", "-n", "250"]);
    run.assert_all("ok");
}

/// A server that goes away in the middle of a run.
#[test]
fn a_server_that_dies_during_the_run() {
    let (nginx, place) = (Nginx::start(), Place::new());
    let args = ["-R", "200", "-d", "2s", "--timeout", "2s"];
    let child: Started = place.start(&[&[nginx.url().as_str()], &args[..]].concat());
    std::thread::sleep(Duration::from_millis(1000));
    drop(nginx);
    let run = child.wait().run();
    run.assert_accounts();
    assert_eq!((run.arrivals("scheduled"), run.at("/status")), (400, &"complete".into()));
    assert!(run.arrivals("ok") > 0 && run.failures("connect_refused") > 0, "{run:?}");
}

/// The example as a plan and as the command line that stands in its head.
#[test]
fn the_worked_example() {
    let nginx = Nginx::start();
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/worked.toml");
    let short = ["-d", "2s", "--warmup", "0s"];
    let planned = Place::new().measure(&[&[plan, &nginx.url()], &short[..]].concat());
    let url = nginx.url();
    let body = plan.replace("worked.toml", "item.json");
    let post = format!("20% POST /items/{{{{key}}}} @{body}");
    let requests = [
        "--let",
        "key=uniform(10k)",
        "--request",
        "80% GET /items/{{key}}",
        "--request",
        &post,
        "--expect",
        "status=200",
        "--slo",
        "p99 < 200ms",
        "--slo",
        "errors < 0.1%",
    ];
    let written = Place::new().measure(&[&[&url, "-R", "500"], &short[..], &requests].concat());
    for run in [&planned, &written] {
        run.assert_all("ok");
        assert_eq!(run.arrivals("scheduled"), 1_000);
        let shares: Vec<u64> = (0..2).map(|n| run.count(&format!("/operations/{n}/arrivals/ok"))).collect();
        assert_eq!(shares, [800, 200]);
        assert_eq!(run.at("/plan/values/0/name"), "key");
        assert!(run.at("/verdict/slos").as_array().is_some_and(|all| all.len() == 2), "{run:?}");
    }
}

/// The log of a load has its arrivals, as exactly as nginx writes them.
#[test]
fn the_log_of_a_load_becomes_a_trace_of_it() {
    let (nginx, place) = (Nginx::start(), Place::new());
    let [a, b] = ["60% GET", "40% POST"].map(|share| format!("{share} /logged/{{{{index}}}}?q=1"));
    let url = nginx.url();
    let load = [&*url, "--request", &a, "--request", &b, "-R", "200", "-n", "200", "--no-preflight"];
    place.measure(&load).assert_all("ok");
    let log = nginx._place.path().join("access.log");
    let log = log.to_str().expect("UTF-8");
    let from =
        ["import", log, "--format", "nginx", "--log-format", LOGGED, "--keep", "path", "-o", "load.trace"];
    let said = place.call(&from);
    assert!(said.status.code() == Some(0) && said.stdout.contains("200  requests"), "{said:?}");

    // Start in ms, and what was asked, as the log's own figures have it.
    let mut logged: Vec<(u64, String)> = std::fs::read_to_string(log)
        .expect("a log")
        .lines()
        .map(|line| {
            let ms = |text: &str| text.replace('.', "").parse::<u64>().expect("a number with three digits");
            let end = ms(line.split(['[', ']']).nth(1).expect("a time"));
            let took = ms(line.rsplit(' ').next().expect("a duration"));
            let request: Vec<&str> = line.split('"').nth(1).expect("a request").split(' ').collect();
            (end - took, format!("{} {}", request[0], request[1].trim_end_matches('1')))
        })
        .collect();
    logged.sort_by_key(|(ms, _)| *ms);
    let trace = std::fs::read(place.path().join("load.trace")).expect("a trace");
    let text = String::from_utf8(zstd::decode_all(&trace[..]).expect("Zstandard")).expect("UTF-8");
    let rows: Vec<serde_json::Value> =
        text.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let mut ms = logged[0].0;
    let traced: Vec<(u64, String)> = rows[1..rows.len() - 1]
        .iter()
        .map(|row| {
            ms += row["after"].as_u64().expect("ns") / 1_000_000;
            let text = |name: &str| row[name].as_str().expect("text").to_string();
            (ms, format!("{} {}", text("method"), text("path")))
        })
        .collect();
    assert_eq!(traced, logged);
    let posts = traced.iter().filter(|(_, request)| request.starts_with("POST")).count();
    assert_eq!((traced.len(), posts), (200, 80), "the mix that was asked for");
}

/// Header fields that are sent once and referred to afterwards arrive with each request, and drawn ones with their own values.
#[test]
fn streams_of_http_2_with_and_without_tls() {
    for (which, scheme, trust) in [(0, "http", &[][..]), (1, "https", &["-k"])] {
        let nginx = Nginx::start();
        let url = format!("{scheme}://127.0.0.1:{}/{{{{index}}}}", nginx.two[which]);
        let load = ["-R", "1000", "-n", "600", "-c", "2", "--streams", "20", "--http", "2", "--no-preflight"];
        let own = ["-H", "X-Tenant: acme", "-H", "Authorization: Bearer 1", "--expect", "contains=hello"];
        let run = Place::new().measure(&[&[url.as_str()], &load[..], &own, trust].concat());
        run.assert_all("ok");
        assert_eq!(run.document["codes"], serde_json::json!({ "200": 600 }));
        assert_eq!(run.at("/operations/0/protocol"), "http/2");
        assert!((1..=2).contains(&run.connections("opened")), "{run:?}");
        let log = nginx.log(600);
        let mut lines: Vec<&str> = log.lines().collect();
        lines.sort_unstable();
        let mut expected: Vec<String> =
            (0..600).map(|i| format!("\"GET /{i} HTTP/2.0\" \"acme\" \"Bearer 1\"")).collect();
        expected.sort_unstable();
        assert_eq!(lines, expected);
        let file = format!("{scheme}://127.0.0.1:{}/file", nginx.two[which]);
        let load = ["-R", "200", "-n", "40", "-c", "1", "--http", "2", "--expect", "size=100000"];
        Place::new().measure(&[&[file.as_str()], &load[..], trust].concat()).assert_all("ok");
    }
}

/// nginx says GOAWAY after ten requests of a connection: none is lost, none is counted twice.
#[test]
fn connections_of_http_2_that_nginx_retires_are_replaced() {
    let nginx = Nginx::start();
    let url = format!("http://127.0.0.1:{}/{{{{index}}}}", nginx.two[2]);
    let load = ["-R", "500", "-n", "300", "-c", "2", "--streams", "8", "--http", "2", "--no-preflight"];
    let run = Place::new().measure(&[&[url.as_str()], &load[..]].concat());
    run.assert_all("ok");
    assert!(run.connections("opened") >= 25, "{run:?}");
    // What was sent again was not looked at the first time.
    let mut paths = asked(&nginx.log(300));
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), 300);
}

/// What was asked for, line by line of a log.
fn asked(log: &str) -> Vec<String> {
    log.lines().filter_map(|line| line.split('"').nth(1)).map(str::to_string).collect()
}

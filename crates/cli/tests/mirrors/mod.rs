//! `unblink mirror`, and a real nginx that copies requests to it.
#![allow(dead_code)] // each test binary uses its part

use crate::support::lab::Lab;
use crate::support::{Place, Started};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

pub(crate) fn wait_for(port: u16) {
    for _ in 0..1_000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing listens on {port}");
}

/// A mirror on a port of its own.
pub(crate) struct Mirror<'a> {
    place: &'a Place,
    pub(crate) port: u16,
    pub(crate) started: Started,
}

impl<'a> Mirror<'a> {
    pub(crate) fn start(place: &'a Place, baseline: &str, candidate: &str, more: &[&str]) -> Mirror<'a> {
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
    pub(crate) fn end(self) -> (Option<i32>, Value) {
        self.started.signal(Signal::INT);
        self.ended()
    }

    /// The same of one that ends by itself.
    pub(crate) fn ended(self) -> (Option<i32>, Value) {
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
pub(crate) struct Nginx {
    child: Child,
    pub(crate) port: u16,
    _place: Place,
}

impl Nginx {
    pub(crate) fn start(production: &str, mirror: u16) -> Nginx {
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

pub(crate) fn origin(lab: &Lab) -> &str {
    lab.url.trim_end_matches('/')
}

/// Takes connections and never answers.
pub(crate) fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    (format!("http://{}", listener.local_addr().expect("an address")), listener)
}

/// Sends requests on one connection and reads as many answers: their first lines.
pub(crate) fn ask(port: u16, requests: &str, answers: usize) -> Vec<String> {
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

//! A real Redis.

use crate::support::{Place, Run};
use rustix::process::{Pid, Signal};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server in the foreground; it ends with this.
pub(crate) struct Redis {
    child: Child,
    pub(crate) port: u16,
    more: Vec<String>,
    pub(crate) place: Place,
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

impl Redis {
    pub(crate) fn start(more: &[&str]) -> Redis {
        let more: Vec<String> = more.iter().map(ToString::to_string).collect();
        // Somebody else may have taken the port since it was free.
        for _ in 0..5 {
            let (place, port) = (Place::new(), free_port());
            let mut redis =
                Redis { child: Redis::spawn(&place, port, &more), port, more: more.clone(), place };
            if redis.listens() {
                return redis;
            }
        }
        panic!("redis-server has ended");
    }

    fn spawn(place: &Place, port: u16, more: &[String]) -> Child {
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        command
            .args(["--dir", place.path().to_str().expect("UTF-8"), "--unixsocket", "redis.sock"])
            .args(more);
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        started.expect(
            "there is no redis-server; install it: apt-get install redis-server (or: tools/setup test)",
        )
    }

    /// Waits until it does; false if it ends. Its own socket tells it from whoever else listens at the port.
    fn listens(&mut self) -> bool {
        let socket = self.place.path().join("redis.sock");
        for _ in 0..1_000 {
            if UnixStream::connect(&socket).is_ok() {
                return true;
            }
            if self.child.try_wait().expect("a child").is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not listen");
    }

    pub(crate) fn end(&mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }

    pub(crate) fn start_again(&mut self) {
        self.child = Redis::spawn(&self.place, self.port, &self.more);
        assert!(self.listens(), "redis-server has ended");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("a process");
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends commands in a line each, and gives what comes until `end` is there.
    pub(crate) fn ask(&self, lines: &str, end: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.write_all(lines.as_bytes()).expect("it is written");
        let (mut said, mut buffer) = (String::new(), [0; 4096]);
        while !said.contains(end) {
            let n = stream.read(&mut buffer).expect("it answers");
            assert!(n > 0, "{said}");
            said += &String::from_utf8_lossy(&buffer[..n]);
        }
        said
    }

    pub(crate) fn run(&self, more: &[&str]) -> Run {
        Place::new().measure(&[&[self.url().as_str()], &super::FORTY[..], more].concat())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports, certificate and key of a server that speaks TLS, too, for localhost.
pub(crate) fn tls(place: &Place, port: u16) -> Vec<String> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let certificate = place.file("redis.crt", made.cert.pem());
    let key = place.file("redis.key", made.signing_key.serialize_pem());
    let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
    let port = port.to_string();
    let args = [
        ["--tls-port", &port],
        ["--tls-cert-file", &certificate],
        ["--tls-key-file", &key],
        ["--tls-ca-cert-file", &certificate],
        ["--tls-auth-clients", "no"],
    ];
    args.concat().into_iter().map(str::to_string).collect()
}

//! Servers that are programs.

use super::{AGE, Counted, LARGE, Server, Want};
use crate::support::Place;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// A server's process and its folder, which end with this.
pub(super) struct Process {
    child: Child,
    /// What it says on stdout, if it counts requests.
    says: Option<BufReader<std::process::ChildStdout>>,
    _place: Place,
}

impl Process {
    pub(super) fn served(mut self) -> Option<u64> {
        let mut said = String::new();
        drop(self.child.stdin.take());
        self.says.as_mut()?.read_to_string(&mut said).expect("text");
        Some(said.trim().parse().unwrap_or_else(|_| panic!("no number: {said:?}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// nghttpd, which answers an upload with the same bytes. It retires no connection.
pub(crate) fn nghttpd(want: Want) -> Server {
    let place = Place::new();
    place.file("www/index.html", "hello\n");
    place.file("www/large", vec![b'x'; LARGE]);
    // Free a moment ago; it can't be asked to choose one itself.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let child = Command::new("nghttpd")
        .args(["--no-tls", "--echo-upload", "--address=127.0.0.1", "-d"])
        .arg(place.path().join("www"))
        .args([format!("--max-concurrent-streams={}", want.streams), port.to_string()])
        .env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("there is no nghttpd; install it: apt-get install nghttp2-server (or: tools/setup test)");
    let process = Process { child, says: None, _place: place };
    for _ in 0..1000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Server { name: "nghttpd", port, is_tls: false, counted: Counted::There(process) };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nghttpd does not listen");
}

/// Go's net/http. Every 100 requests it shuts down, and another one serves on the same socket.
pub(crate) fn go_http(want: Want) -> Server {
    go("net/http", Place::new(), "http", (want.streams, if want.retires { 100 } else { 0 }))
}

/// The same over TLS.
pub(crate) fn go_https(want: Want) -> Server {
    let place = Place::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let certificate = place.file("cert.pem", made.cert.pem());
    let key = place.file("key.pem", made.signing_key.serialize_pem());
    let how = format!("{},{}", certificate.display(), key.display());
    go("net/http with TLS", place, &how, (want.streams, if want.retires { 100 } else { 0 }))
}

/// grpc-go.
pub(crate) fn go_grpc(want: Want) -> Server {
    go("grpc-go", Place::new(), "grpc", (want.streams, if want.retires { AGE.as_millis() } else { 0 }))
}

fn go(name: &'static str, place: Place, how: &str, (streams, retire): (u32, u128)) -> Server {
    let mut child = Command::new(built())
        .args([how.to_string(), streams.to_string(), retire.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("what was built starts");
    let mut says = BufReader::new(child.stdout.take().expect("its stdout"));
    let mut port = String::new();
    says.read_line(&mut port).expect("a line");
    let port = port.trim().parse().expect("a port");
    let process = Process { child, says: Some(says), _place: place };
    Server { name, port, is_tls: how.contains(','), counted: Counted::There(process) }
}

/// The program, built once. Go keeps what it has compiled, so that the next time costs little.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-servers");
        let built = Command::new("go")
            .args(["build", "-C", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/go")])
            .args(["-buildvcs=false", "-o"])
            .args([path.as_os_str(), ".".as_ref()])
            .env("PATH", format!("{}:/usr/local/go/bin", std::env::var("PATH").unwrap_or_default()))
            .output()
            .expect("there is no go; install Go 1.25 or newer (tools/setup test says how)");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        path
    })
}

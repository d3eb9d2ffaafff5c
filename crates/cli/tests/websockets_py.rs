//! Messages against a server of another language: PyPI's `websockets`, which `tools/setup test` installs.

use crate::support::{Place, Run};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Echoes; pings before each tenth answer and waits for the pong. At `/close` it closes with 1012 in the place of each tenth.
const SERVER: &str = r#"
import asyncio, sys
from websockets.asyncio.server import serve
async def each(ws):
    assert "Sec-WebSocket-Extensions" not in ws.request.headers
    n = 0
    async for message in ws:
        n += 1
        if n % 10 == 0:
            if ws.request.path == "/close":
                return await ws.close(1012, "restart")
            await (await ws.ping())
        await ws.send(message)
async def main():
    async with serve(each, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()
asyncio.run(main())
"#;

struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Server {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/websockets/bin/python");
        let mut command = Command::new(&python);
        command.args(["-c", SERVER]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("no {}: {error}; install it: tools/setup test", python.display()));
        let mut line = String::new();
        let out = child.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("its port");
        let port = line.trim().parse().expect("websockets is not installed: tools/setup test");
        Server { child, port }
    }

    fn run(&self, path: &str) -> Run {
        let url = format!("ws://127.0.0.1:{}{path}", self.port);
        let load = [
            "-R",
            "200",
            "-n",
            "100",
            "-c",
            "2",
            "-t",
            "1",
            "--no-preflight",
            "--message",
            "hello {{index}}",
        ];
        let run =
            Place::new().measure(&[&[url.as_str()], &load[..], &["--expect", "contains=hello"]].concat());
        run.assert_accounts();
        run
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_message_is_answered_and_every_ping() {
    let server = Server::start();
    let run = server.run("/");
    run.assert_all("ok");
    let pinged = run.connections("pinged");
    // Each socket is pinged at its own tenth message.
    assert!((9..=10).contains(&pinged), "{pinged}");
    assert_eq!((run.connections("opened"), run.arrivals("ok")), (2, 100));
}

#[test]
fn a_close_in_the_middle_fails_what_met_it() {
    let server = Server::start();
    let run = server.run("/close");
    let failed = run.failures("protocol_closed_restart");
    assert!((8..=10).contains(&failed), "{failed}");
    assert_eq!(run.arrivals("ok") + failed, 100);
    assert!(run.connections("opened") >= failed);
}

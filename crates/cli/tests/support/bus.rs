//! A real nats-server on loopback, and the keys of who is on it.

use super::relay::Relay;
use super::{Place, Started};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use unblink_cluster::signed::KeyPair;

/// Its disk, within its folder.
const KEPT: &str = "kept";

/// A server that ends with this.
pub(crate) struct Bus {
    child: Child,
    dir: PathBuf,
    pub(crate) url: String,
    pub(crate) operator: KeyPair,
}

/// The one that the set-up has built.
pub(crate) fn server() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/nats-server");
    assert!(built.is_file(), "there is no {}: run tools/setup test", built.display());
    built
}

impl Bus {
    /// With a file `operator.nk` in `place`.
    pub(crate) fn start(place: &Place) -> Bus {
        let operator = KeyPair::new_user();
        place.file("operator.nk", operator.seed().expect("a private key"));
        Bus::start_at(place, "-1", operator)
    }

    /// On this port, for this operator.
    pub(crate) fn start_at(place: &Place, port: &str, operator: KeyPair) -> Bus {
        let dir = place.path().join("bus");
        std::fs::create_dir_all(&dir).expect("a folder");
        let (child, url) = Bus::spawn(&dir, port);
        Bus { child, dir, url, operator }
    }

    /// One that lets in whom a file `nats.conf` in `place` names ([`Bus::lets_in`]).
    pub(crate) fn for_those(place: &Place, operator: KeyPair, users: &str) -> Bus {
        place.file("operator.nk", operator.seed().expect("a private key"));
        let dir = place.path().join("bus");
        std::fs::create_dir_all(&dir).expect("a folder");
        place.file("nats.conf", users);
        let mut command = Command::new(server());
        command.args(["-a", "127.0.0.1", "-p", "-1", "-c"]).arg(place.path().join("nats.conf"));
        let (child, url) = Bus::started(command, &dir);
        Bus { child, dir, url, operator }
    }

    /// From now on those of this file, once it has read it.
    pub(crate) fn lets_in(&self, place: &Place, users: &str) {
        place.file("nats.conf", users);
        self.signal(Signal::HUP);
    }

    fn spawn(dir: &Path, port: &str) -> (Child, String) {
        let mut command = Command::new(server());
        command.args(["-a", "127.0.0.1", "-p", port]);
        Bus::started(command, dir)
    }

    fn started(mut command: Command, dir: &Path) -> (Child, String) {
        command.args(["-js", "-sd"]).arg(dir.join(KEPT));
        command.arg("--ports_file_dir").arg(dir);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let ports = dir.join(format!("nats-server_{}.ports", child.id()));
        let url = (0..400).find_map(|_| {
            std::thread::sleep(Duration::from_millis(25));
            let said: Value = serde_json::from_str(&std::fs::read_to_string(&ports).ok()?).ok()?;
            said["nats"][0].as_str().map(ToString::to_string)
        });
        let Some(url) = url else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the bus does not start");
        };
        (child, url)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Killed, and gone for so long; then it is at the same port again, with what it had kept on its disk.
    pub(crate) fn gone_for(&mut self, time: Duration) {
        self.kill();
        std::thread::sleep(time);
        self.start_again();
    }

    /// Killed, and gone for so long; then it is at the same port again, and its disk is empty.
    pub(crate) fn gone_with_its_disk_for(&mut self, time: Duration) {
        self.kill();
        std::fs::remove_dir_all(self.dir.join(KEPT)).expect("it had kept something");
        std::thread::sleep(time);
        self.start_again();
    }

    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }

    fn start_again(&mut self) {
        let port = self.url.rsplit(':').next().expect("a port").to_string();
        self.child = Bus::spawn(&self.dir, &port).0;
    }

    /// An agent that does what this operator says, with its record in `folder`.
    pub(crate) fn agent(&self, place: &Place, folder: &str, more: &[&str]) -> Started {
        self.agent_for(place, folder, &self.operator.public_key(), more)
    }

    /// The same for the holder of that key.
    pub(crate) fn agent_for(&self, place: &Place, folder: &str, key: &str, more: &[&str]) -> Started {
        agent_at(&self.url, place, folder, key, more)
    }

    /// An agent to which this bus is behind a relay.
    pub(crate) fn agent_behind(&self, relay: &Relay, place: &Place, folder: &str) -> Started {
        let url = format!("nats://{}", relay.address);
        agent_at(&url, place, folder, &self.operator.public_key(), &[])
    }

    /// A way to it that can be cut.
    pub(crate) fn relay(&self) -> Relay {
        let address = self.url.strip_prefix("nats://").and_then(|address| address.parse().ok());
        Relay::to(address.expect("an address"))
    }

    /// `unblink run ARGS --agents COUNT --json -o out`.
    pub(crate) fn run(&self, place: &Place, count: &str, args: &[&str]) -> Started {
        let own = ["--agents", count, "--bus", &self.url, "--nkey", "operator.nk", "--json", "-o", "out"];
        Started::spawn(&mut place.command(&[&["run"], args, &own].concat()))
    }
}

fn agent_at(url: &str, place: &Place, folder: &str, key: &str, more: &[&str]) -> Started {
    let args = ["agent", "--bus", url, "--accept-from", key, "-o", folder];
    let fewer = if more.contains(&"--shares") { &[][..] } else { &["--shares", "1"] };
    Started::spawn(&mut place.command(&[&args[..], fewer, more].concat()))
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A Redis of the lab's own.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::program::{find, free_port, say};
use super::{Folder, Hold, Started};
use crate::process::{Processors, Side};

/// Keys that are there: what `redis-benchmark -r` asks for has twelve digits, and each is there without them, too.
const KEYS: u32 = 10_000;
/// Somebody else may take a port between its choice and its use.
const TRIES: u32 = 5;
const STEP: Duration = Duration::from_millis(10);
/// Until it listens.
const STEPS_MAX: u32 = 1_000;

/// Started and filled.
pub(super) fn start(processors: &Processors) -> Result<(Started, Hold), String> {
    let program = find("redis-server", "apt-get install redis-server")?;
    let said = say(Command::new(&program).arg("--version"))?;
    let version = said.split_whitespace().find_map(|word| word.strip_prefix("v=")).unwrap_or("?").to_owned();
    for _ in 0..TRIES {
        let io = |error: std::io::Error| format!("redis-server: {error}");
        let folder = Folder::new("redis").map_err(io)?;
        let port = free_port()?;
        let mut command = Command::new(&program);
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        // Nothing but commands takes its time; as many clients as come while it is frozen may wait.
        command.args(["--save", "", "--appendonly", "no", "--tcp-backlog", "16384"]);
        command.arg("--dir").arg(&folder.0).args(["--unixsocket", "redis.sock"]);
        command.stdout(folder.log().map_err(io)?);
        let child = processors.spawn(Side::Server, command).map_err(io)?;
        let mut started =
            Started { child, ends_by: Signal::TERM, port, version: version.clone(), _folder: folder };
        if let Some(mut stream) = connect(&mut started)? {
            fill(&mut stream).map_err(|error| format!("redis-server does not take its data: {error}"))?;
            let hold = Hold::Freeze { process: Pid::from_child(&started.child), is_frozen: false };
            return Ok((started, hold));
        }
    }
    Err("redis-server ends as soon as it is started".to_owned())
}

/// `None`: it has ended. Its own socket tells it from whoever else may listen at the port.
fn connect(started: &mut Started) -> Result<Option<UnixStream>, String> {
    let socket = started._folder.0.join("redis.sock");
    for _ in 0..STEPS_MAX {
        if let Ok(stream) = UnixStream::connect(&socket) {
            return Ok(Some(stream));
        }
        if started.child.try_wait().map_err(|error| error.to_string())?.is_some() {
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
    Err(format!("redis-server does not listen: {:?}", started._folder.last_words()))
}

fn fill(stream: &mut UnixStream) -> std::io::Result<()> {
    const VALUE: &str = "a value of the lab";
    let mut text = String::new();
    for key in 0..KEYS {
        // Writing to a String can't fail.
        let _ = write!(text, "MSET key:{key:012} '{VALUE}' key:{key} '{VALUE}'\r\n");
    }
    stream.write_all(text.as_bytes())?;
    const OK: &[u8] = b"+OK\r\n";
    let mut answers = vec![0; OK.len() * KEYS as usize];
    stream.read_exact(&mut answers)?;
    match answers.chunks_exact(OK.len()).all(|answer| answer == OK) {
        true => Ok(()),
        false => Err(std::io::Error::other("it refuses a key")),
    }
}

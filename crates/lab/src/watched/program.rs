//! Programs of a database, and what they are asked.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program of this name: on the PATH, or where Debian puts those of PostgreSQL, the newest first.
pub(super) fn find(name: &str, remedy: &str) -> Result<PathBuf, String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut of_debian: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    of_debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(of_debian.into_iter().rev());
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|program| program.is_file()).ok_or_else(|| format!("there is no {name}: {remedy}"))
}

/// What it says, or why it failed.
pub(super) fn say(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let said =
        command.stdin(Stdio::null()).output().map_err(|error| format!("can't start {name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match said.status.success() {
        true => Ok(text(&said.stdout)),
        false => Err(format!("{name} ended with {}: {:?}", said.status, text(&said.stderr))),
    }
}

/// One that is free now.
pub(super) fn free_port() -> Result<u16, String> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|error| format!("no port of the loopback is free: {error}"))
}

//! Processes: where they run, and what they cost.

use crate::clock::SECOND_NS;
use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// What a process cost, from beginning to end, with all its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// User and system time.
    pub cpu_ns: u64,
    /// Peak of resident memory.
    pub memory_bytes_max: u64,
    /// Exit code; 128 + the signal that ended it.
    pub exit: i32,
}

/// A process that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    pub usage: Usage,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Whether this process may run on the processor `cpu`.
pub(crate) fn may_use(cpu: usize) -> Result<bool> {
    Ok(cpu < CpuSet::MAX_CPU && sched_getaffinity(None)?.is_set(cpu))
}

/// Starts `command` on the processor `cpu` alone.
pub(crate) fn spawn_on(cpu: usize, command: &mut Command) -> Result<Child> {
    // A child inherits the processors of the thread that starts it.
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).with_context(|| format!("cannot use processor {cpu}"))?;
    let child = command.spawn();
    sched_setaffinity(None, &before)?;
    child.with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// A measured process under way.
pub(crate) struct Measured {
    group: Pid,
    ended: mpsc::Receiver<std::io::Result<std::process::ExitStatus>>,
    folder: tempfile::TempDir,
}

/// Starts `words` on the processor `cpu`. A small process of ours stands between, so that what the kernel says of
/// its children is about this one alone.
pub(crate) fn start_measured(cpu: usize, words: &[String]) -> Result<Measured> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("measure").arg(folder.path().join("usage")).arg("--").args(words);
    // A group of its own, to be ended with all that it starts.
    command.process_group(0).stdin(Stdio::null());
    command.stdout(File::create(folder.path().join("stdout"))?);
    command.stderr(File::create(folder.path().join("stderr"))?);
    let mut child = spawn_on(cpu, &mut command)?;
    let group = Pid::from_child(&child);
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait()));
    Ok(Measured { group, ended, folder })
}

impl Measured {
    /// Waits for its end, for `limit` at the most.
    pub(crate) fn wait(self, limit: Duration) -> Result<Ended> {
        let Ok(status) = self.ended.recv_timeout(limit) else {
            kill_process_group(self.group, Signal::KILL)?;
            bail!("did not end within {} s", limit.as_secs());
        };
        let stderr = std::fs::read(self.folder.path().join("stderr"))?;
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        if !status?.success() {
            bail!("could not be measured: {}", stderr.trim());
        }
        let usage = serde_json::from_slice(&std::fs::read(self.folder.path().join("usage"))?)?;
        Ok(Ended { usage, stdout: std::fs::read(self.folder.path().join("stdout"))?, stderr })
    }
}

/// The process between: runs `words` to its end and writes what it cost.
pub(crate) fn measure(usage: &Path, words: &[String]) -> Result<()> {
    let (program, arguments) = words.split_first().context("nothing to run")?;
    // Of unblink: nothing of this is for the user's history.
    let status = Command::new(program).args(arguments).env("UNBLINK_STORE", "none").status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = used.user_time() + used.system_time();
    let usage_found = Usage {
        cpu_ns: cpu.num_microseconds() as u64 * (SECOND_NS / 1_000_000),
        // Linux counts in KiB (getrusage(2)).
        memory_bytes_max: used.max_rss() as u64 * 1024,
        exit: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
    };
    Ok(std::fs::write(usage, serde_json::to_vec(&usage_found)?)?)
}

//! Other programs: started on processors of their own, waited for with patience, and ended for certain.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::timing::Clock;

/// Between two looks at whether it has ended.
const STEP: Duration = Duration::from_millis(5);
/// For a program that was asked to end, before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None`: its time was over, and it was killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Runs a program to its end, its output in memory.
pub(crate) fn run_to_end(command: &mut Command, patience: Duration) -> std::io::Result<Ended> {
    let (mut stdout, mut stderr) = (scratch()?, scratch()?);
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let status = wait(&mut child, patience)?;
    Ok(Ended { status, stdout: read_all(&mut stdout)?, stderr: read_all(&mut stderr)? })
}

/// Waits for its end, so long; then ends it.
pub(crate) fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let status = ended_within(child, patience)?;
    if status.is_none() {
        end(child)?;
    }
    Ok(status)
}

/// Asks it to end, as Ctrl-C does, and kills it when it does not.
pub(crate) fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    let _ = kill_process(Pid::from_child(child), Signal::INT);
    if let Some(status) = ended_within(child, GRACE)? {
        return Ok(status);
    }
    child.kill()?;
    child.wait()
}

fn ended_within(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let clock = Clock::start();
    while clock.now_ns() < patience.as_nanos() as u64 {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(STEP);
    }
    Ok(None)
}

/// A file without a name: its writer never waits for a reader, as one of a pipe would.
fn scratch() -> std::io::Result<File> {
    let fd = rustix::fs::memfd_create("unblink-lab", rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(fd))
}

fn read_all(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Which processors the server has, and which the tools.
#[derive(Clone, Debug)]
pub struct Processors {
    apart: Option<(CpuSet, CpuSet)>,
}

/// Who is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Tool,
}

impl Processors {
    /// The first that may be used for the server, the others for the tools; both share where there is only one.
    pub fn divide() -> Processors {
        let Ok(all) = sched_getaffinity(None) else { return Processors { apart: None } };
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)).collect();
        let Some((&first, others)) = usable.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Processors { apart: None };
        };
        let (mut server, mut tool) = (CpuSet::new(), CpuSet::new());
        server.set(first);
        others.iter().for_each(|&cpu| tool.set(cpu));
        Processors { apart: Some((server, tool)) }
    }

    /// Do both have their own?
    pub fn are_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// Starts a program on its side's processors, all its threads included: they inherit them from a thread of
    /// ours that exists for this alone.
    pub(crate) fn spawn(&self, side: Side, mut command: Command) -> std::io::Result<Child> {
        command.stdin(Stdio::null());
        let Some((server, tool)) = &self.apart else { return command.spawn() };
        let set = if side == Side::Server { *server } else { *tool };
        let thread = std::thread::Builder::new().name("lab-spawn".to_owned());
        let spawned = thread.spawn(move || {
            // Where it is not allowed, the two share.
            let _ = sched_setaffinity(None, &set);
            command.spawn()
        })?;
        spawned
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("the thread that starts programs panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; exec sleep 60"]);
        let ended = run_to_end(&mut command, Duration::from_millis(300)).expect("it starts");
        assert!(ended.status.is_none());
        assert_eq!(ended.stdout, b"begun\n");
    }

    #[test]
    fn what_ends_is_read_whole() {
        let mut command = Command::new("sh");
        command.args(["-c", "seq 1 50000; echo bad >&2; exit 3"]);
        let ended = run_to_end(&mut command, Duration::from_secs(20)).expect("it starts");
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
        assert!(ended.stdout.ends_with(b"50000\n"));
        assert_eq!(ended.stderr, b"bad\n");
    }
}

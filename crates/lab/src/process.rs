//! Other programs: started on processors of their own, waited for with patience, and ended for certain.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use unblink_artifact::lab::LabProcessors;

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
    let mut child = command.process_group(0).spawn()?;
    let status = wait(&mut child, patience, &AtomicBool::new(false))?;
    Ok(Ended { status, stdout: read_all(&mut stdout)?, stderr: read_all(&mut stderr)? })
}

/// Waits for its end, so long and while nobody `stop`s it; then ends it.
pub(crate) fn wait(
    child: &mut Child,
    patience: Duration,
    stop: &AtomicBool,
) -> std::io::Result<Option<ExitStatus>> {
    let status = ended_within(child, patience, stop)?;
    if status.is_none() {
        end(child)?;
    }
    Ok(status)
}

/// Asks it and all that it started to end, as Ctrl-C does, and kills them when it does not.
pub(crate) fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    let _ = kill_process_group(Pid::from_child(child), Signal::INT);
    end_with(child)
}

/// Waits for the end of one that was told to end in its own way, and kills it when it does not.
pub(crate) fn end_with(child: &mut Child) -> std::io::Result<ExitStatus> {
    let status = ended_within(child, GRACE, &AtomicBool::new(false))?;
    kill(child)?;
    status.map_or_else(|| child.wait(), Ok)
}

/// At once, with all that it started.
pub(crate) fn kill(child: &Child) -> std::io::Result<()> {
    match kill_process_group(Pid::from_child(child), Signal::KILL) {
        // Nobody is left.
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

fn ended_within(
    child: &mut Child,
    patience: Duration,
    stop: &AtomicBool,
) -> std::io::Result<Option<ExitStatus>> {
    let clock = Clock::start();
    while clock.now_ns() < patience.as_nanos() as u64 && !stop.load(Ordering::Relaxed) {
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
    sides: Option<(CpuSet, CpuSet)>,
    are_apart: bool,
}

/// Who is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Tool,
}

impl Processors {
    /// For cells that run at once: each has the first of its processors for its server, the others for its tools.
    /// Where there are not two for each, all cells share one division; a lone processor is not divided.
    pub fn divide(cells: usize) -> Vec<Processors> {
        Self::divided(&usable(), cells.max(1))
    }

    /// For one cell at a time.
    pub fn whole() -> Processors {
        Self::of(&usable(), true)
    }

    fn divided(usable: &[usize], cells: usize) -> Vec<Processors> {
        let size = usable.len() / cells;
        if size >= 2 {
            return usable.chunks_exact(size).take(cells).map(|own| Self::of(own, true)).collect();
        }
        vec![Self::of(usable, false); cells]
    }

    fn of(usable: &[usize], are_apart: bool) -> Processors {
        let Some((&first, others)) = usable.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Processors { sides: None, are_apart: false };
        };
        let (mut server, mut tool) = (CpuSet::new(), CpuSet::new());
        server.set(first);
        others.iter().for_each(|&cpu| tool.set(cpu));
        Processors { sides: Some((server, tool)), are_apart }
    }

    /// As a cell's document says it.
    pub fn describe(&self) -> LabProcessors {
        let tool = match &self.sides {
            Some((_, tool)) => tool.count(),
            None => usable().len() as u32,
        };
        LabProcessors { tool, are_apart: self.are_apart }
    }

    /// Moves the calling thread to the tool's processors, so that a cell's neighbours have theirs for themselves.
    pub fn enter(&self) {
        if let Some((_, tool)) = &self.sides {
            // Where it is not allowed, they share.
            let _ = sched_setaffinity(None, tool);
        }
    }

    /// Starts a program on its side's processors, all its threads included: they inherit them from a thread of
    /// ours that exists for this alone. It is a process group of its own, so that it ends with all that it starts.
    pub(crate) fn spawn(&self, side: Side, mut command: Command) -> std::io::Result<Child> {
        command.stdin(Stdio::null()).process_group(0);
        let Some((server, tool)) = &self.sides else { return command.spawn() };
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

/// Processors that this process may use, at most as many as it is given time for.
fn usable() -> Vec<usize> {
    let Ok(all) = sched_getaffinity(None) else { return Vec::new() };
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_at_once_have_processors_of_their_own_where_there_are_enough() {
        let sides = |usable: &[usize], cells| {
            let set = |set: &CpuSet| (0..16).filter(|&cpu| set.is_set(cpu)).collect::<Vec<_>>();
            let divided = Processors::divided(usable, cells);
            let side = |one: &Processors| {
                (one.sides.as_ref().map(|(server, tool)| (set(server), set(tool))), one.describe().are_apart)
            };
            divided.iter().map(side).collect::<Vec<_>>()
        };
        let of = |server: usize, tool: &[usize]| Some((vec![server], tool.to_vec()));
        assert_eq!(sides(&[0, 1], 1), [(of(0, &[1]), true)]);
        assert_eq!(sides(&[2, 3, 5, 7, 8], 1), [(of(2, &[3, 5, 7, 8]), true)]);
        assert_eq!(sides(&[2, 3, 5, 7, 8], 2), [(of(2, &[3]), true), (of(5, &[7]), true)]);
        assert_eq!(sides(&[0, 1, 2], 2), [(of(0, &[1, 2]), false), (of(0, &[1, 2]), false)]);
        assert_eq!(sides(&[4], 1), [(None, false)]);
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; exec sleep 60"]);
        let ended = run_to_end(&mut command, Duration::from_millis(300)).expect("it starts");
        assert!(ended.status.is_none());
        assert_eq!(ended.stdout, b"begun\n");
    }

    #[test]
    fn what_it_started_ends_with_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!; wait"]).stdout(Stdio::piped());
        let mut child = Processors::of(&[], false).spawn(Side::Tool, command).expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("a line");
        let status = wait(&mut child, Duration::from_secs(60), &AtomicBool::new(true)).expect("it waits");
        assert!(status.is_none());
        // Whoever is killed stands there until it is reaped, but runs no more.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", line.trim())).unwrap_or_default();
        let is_gone = |_: &u32| {
            std::thread::sleep(STEP);
            state().is_empty() || state().contains(") Z ")
        };
        assert!((0..1_000).any(|i| is_gone(&i)), "{}", state());
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

//! `--watch-pid` and `--watch-path`: a process of this machine, its cgroup and files beside the answers. And the service's own metrics
//! over time.

use super::cross_check::News;
use crate::args::run::RunArgs;
use crate::errors::{refuse, refused};
use crate::observe::{End, Observer};
use crate::output;
use anyhow::Result;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{WatchPlan, WatchSample};
use unblink_artifact::folder::WatchWriter;
use unblink_artifact::tally::Tally;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;

/// Files of a folder that are looked at, at the most: a look must not take long.
const FILES_MAX: usize = 10_000;

/// What is to be watched. Refuses what can't be read now, before anything is sent.
pub(super) fn plan(args: &RunArgs) -> Result<WatchPlan> {
    let plan = WatchPlan {
        pid: args.watch_pid,
        path: args.watch_path.as_ref().map(|path| path.display().to_string()),
        metrics: Vec::new(),
    };
    if plan.is_empty() {
        return Ok(plan);
    }
    if let Some(pid) = plan.pid {
        let unread = |what: &str| refused(&["watch-pid"], format!("--watch-pid {pid}: can't read {what}"));
        memory_bytes(pid).ok_or_else(|| unread(&format!("/proc/{pid}/status: is there such a process?")))?;
        descriptors(pid)
            .ok_or_else(|| unread(&format!("/proc/{pid}/fd: run as the user that the process belongs to")))?;
    }
    if let Some(path) = args.watch_path.as_ref().filter(|path| size_bytes(path).is_none()) {
        refuse!(["watch-path"], "--watch-path {path:?}: can't be read, or holds more than {FILES_MAX} files");
    }
    Ok(plan)
}

/// Looks once for each interval.
pub(super) struct Watch {
    pid: Option<u32>,
    /// `cpu.stat` of the process's cgroup.
    cgroup: Option<PathBuf>,
    path: Option<PathBuf>,
    metrics: News,
    writer: Option<WatchWriter>,
}

impl Watch {
    /// Nothing without a plan. Samples go into the run's folder.
    pub(super) fn new(plan: &WatchPlan, metrics: News, folder: &Path) -> Option<Watch> {
        if plan.is_empty() {
            return None;
        }
        let writer =
            WatchWriter::create(folder).map_err(|error| output::note(format_args!("warning: {error}"))).ok();
        let cgroup = plan.pid.and_then(|pid| {
            let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
            // A process without a quota is never throttled, and its group may not count it.
            places_of(&groups).into_iter().find(|path| throttled_ns(path).is_some())
        });
        Some(Watch { pid: plan.pid, cgroup, path: plan.path.as_ref().map(PathBuf::from), metrics, writer })
    }

    /// What there is to see at `at`. What can't be read any more, such as a process that has ended, is left out.
    fn sample(&mut self, at: Nanos) -> WatchSample {
        let sample = WatchSample {
            at_ns: at.0,
            memory_bytes: self.pid.and_then(memory_bytes),
            descriptors: self.pid.and_then(descriptors),
            cpu_ns: self.pid.and_then(cpu_ns),
            throttled_ns: self.cgroup.as_deref().and_then(throttled_ns),
            size_bytes: self.path.as_deref().and_then(size_bytes),
            metrics: self.metrics.take(),
        };
        if let Some(writer) = &mut self.writer {
            writer.write(&sample);
        }
        sample
    }
}

impl Observer for Watch {
    fn look(&mut self, interval: &Interval, tally: &mut Tally) -> Option<End> {
        tally.watch(&self.sample(interval.start + interval.length));
        None
    }
}

/// `VmRSS` of proc(5).
fn memory_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn descriptors(pid: u32) -> Option<u64> {
    std::fs::read_dir(format!("/proc/{pid}/fd")).ok().map(|entries| entries.count() as u64)
}

/// `utime` and `stime` of proc(5), in units of 10 ms.
fn cpu_ns(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may have spaces and brackets in it.
    let (_, behind) = stat.rsplit_once(')')?;
    let mut ticks = behind.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    (user + system).checked_mul(1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// Where `cpu.stat` of a process may be, by its /proc/PID/cgroup: cgroups(7), version 2 and 1.
fn places_of(groups: &str) -> Vec<PathBuf> {
    let places = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?.to_string(), parts.next()?);
        let mounts = match &*controllers {
            "" => vec![String::new()],
            // The folder may be called by them in another order; `cpu` is then a link to it.
            list if list.split(',').any(|one| one == "cpu") => vec![format!("/{list}"), "/cpu".to_string()],
            _ => return None,
        };
        let place = |mount: &String| PathBuf::from(format!("/sys/fs/cgroup{mount}{path}")).join("cpu.stat");
        Some(mounts.iter().map(place).collect::<Vec<_>>())
    };
    groups.lines().filter_map(places).flatten().collect()
}

fn throttled_ns(cpu_stat: &Path) -> Option<u64> {
    throttled_in(&std::fs::read_to_string(cpu_stat).ok()?)
}

/// Version 2 counts µs, version 1 ns.
fn throttled_in(cpu_stat: &str) -> Option<u64> {
    let figure = |name: &str| {
        let mut words = cpu_stat.lines().filter_map(|line| line.split_once(' '));
        words.find(|(of, _)| *of == name).and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    figure("throttled_usec").and_then(|us| us.checked_mul(1_000)).or_else(|| figure("throttled_time"))
}

/// Of a file, or of all files below a folder, in which links are not followed. A file that goes away meanwhile counts nothing.
fn size_bytes(path: &Path) -> Option<u64> {
    let (mut sum, mut files, mut rest) = (0, 0, vec![path.canonicalize().ok()?]);
    while let Some(path) = rest.pop() {
        files += 1;
        let Ok(about) = std::fs::symlink_metadata(&path) else { continue };
        match about.is_dir() {
            true => rest.extend(std::fs::read_dir(&path).ok()?.filter_map(|entry| Some(entry.ok()?.path()))),
            false => sum += about.len(),
        }
        if files > FILES_MAX {
            return None;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_a_folder_are_seen() {
        let pid = std::process::id();
        assert!(memory_bytes(pid) > Some(100_000) && descriptors(pid) >= Some(3));
        let before = cpu_ns(pid).expect("a time");
        let mut sum = 0_u64;
        while cpu_ns(pid) < Some(before + 30_000_000) {
            sum = std::hint::black_box(sum + 1);
        }
        assert_eq!(cpu_ns(u32::MAX), None);
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("inner")).expect("a folder");
        std::fs::write(folder.path().join("a"), [0; 700]).expect("a file");
        std::fs::write(folder.path().join("inner/b"), [0; 300]).expect("a file");
        assert_eq!(size_bytes(folder.path()), Some(1_000));
        assert_eq!(size_bytes(&folder.path().join("a")), Some(700));
        assert_eq!(size_bytes(&folder.path().join("none")), None);
    }

    #[test]
    fn a_group_says_how_long_it_was_throttled() {
        let second = places_of("0::/system.slice/shop.service\n");
        assert_eq!(second, [PathBuf::from("/sys/fs/cgroup/system.slice/shop.service/cpu.stat")]);
        let first = places_of("12:memory:/a\n4:cpuacct,cpu:/docker/b:c\n1:name=systemd:/a\n");
        let folders =
            ["cpuacct,cpu", "cpu"].map(|folder| format!("/sys/fs/cgroup/{folder}/docker/b:c/cpu.stat"));
        assert_eq!(first, folders.map(PathBuf::from));
        let text = "usage_usec 77\nnr_periods 10\nnr_throttled 3\nthrottled_usec 2500\n";
        assert_eq!(throttled_in(text), Some(2_500_000));
        assert_eq!(throttled_in("nr_periods 10\nnr_throttled 3\nthrottled_time 2500\n"), Some(2_500));
        assert_eq!(throttled_in("usage_usec 77\n"), None, "a group without a quota");
    }
}

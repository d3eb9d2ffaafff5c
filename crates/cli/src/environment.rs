//! The machine that offers the load, as far as a reader of the report must know it.

use std::ffi::OsString;
use std::fs::read_to_string;
use std::sync::{Mutex, PoisonError};
use unblink_artifact::document::{Environment, Tool};
use unblink_engine::limits::Limits;

/// The command line of a part of what this process does.
static OF_PART: Mutex<Option<Vec<OsString>>> = Mutex::new(None);

/// The command line that does what is being done, as a record shows it: the process's own, or that of the part under way.
pub(crate) fn arguments() -> Vec<String> {
    let of_part = OF_PART.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let all = of_part.unwrap_or_else(|| std::env::args_os().collect());
    all.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect()
}

/// From now on a part is done that has a command line of its own, by which it can be done again; with `None` no more.
pub(crate) fn begin_part(argv: Option<Vec<OsString>>) {
    *OF_PART.lock().unwrap_or_else(PoisonError::into_inner) = argv;
}

/// What measures.
pub(crate) fn tool() -> Tool {
    let commit = env!("UNBLINK_COMMIT");
    Tool {
        name: "unblink".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: (!commit.is_empty()).then(|| commit.into()),
    }
}

/// What this machine is.
pub(crate) fn describe(limits: &Limits) -> Environment {
    let system = read_to_string("/proc/sys/kernel/ostype").unwrap_or_else(|_| std::env::consts::OS.into());
    let release = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Environment {
        kernel: format!("{} {}", system.trim(), release.trim()).trim().to_string(),
        cpu: processor(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        file_descriptors_max: limits.descriptors,
        local_ports: limits.ports,
    }
}

fn processor() -> String {
    let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or(std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}

/// Processor time that the hypervisor gave to others, from `/proc/stat` (proc_stat(5)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct StealMeter {
    stolen: u64,
    all: u64,
}

impl StealMeter {
    /// The counters now; `None` where the kernel does not keep them.
    pub(crate) fn now() -> Option<StealMeter> {
        let stat = read_to_string("/proc/stat").ok()?;
        let fields: Vec<u64> = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .filter_map(|n| n.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; guest time is in user already.
        (fields.len() >= 8).then(|| StealMeter { stolen: fields[7], all: fields[..8].iter().sum() })
    }

    /// Share stolen since then, 0 to 1.
    pub(crate) fn share_since(self) -> Option<f64> {
        let now = StealMeter::now()?;
        let all = now.all.checked_sub(self.all).filter(|&all| all > 0)?;
        Some(now.stolen.saturating_sub(self.stolen) as f64 / all as f64)
    }
}

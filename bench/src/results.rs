//! What was measured, as JSON: one file for each part.

use crate::deviation::Deviation;
use crate::generator::report::Reported;
use crate::part::Part;
use crate::stall::Responses;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Another shape of this file has another name.
const SCHEMA: &str = "unblink.bench/1";

/// All runs of one part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    pub schema: String,
    pub part: Part,
    pub machine: Machine,
    pub tools: Vec<Version>,
    pub missing: Vec<Missing>,
    /// Of each load.
    pub seconds: u64,
    pub rounds: u32,
    pub rounds_done: u32,
    pub runs: Vec<Run>,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
}

/// A tool that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub tool: String,
    /// Empty: it does not say.
    pub version: String,
}

/// A tool that is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub tool: String,
    /// The command that installs it.
    pub install: String,
}

/// One load by one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub tool: String,
    pub round: u32,
    /// Offered; `None`: a closed loop.
    pub rate_per_s: Option<u64>,
    pub command: Vec<String>,
    /// Why there are no figures.
    pub failure: Option<String>,
    /// Requests that the server answered.
    pub requests: u64,
    /// Answers per second, without the first and the last half second.
    pub answers_per_s: Option<f64>,
    /// User and system time of the client's whole process.
    pub client_cpu_ns: u64,
    /// The same of the server, over the time from its first request to its last; `None`: not known.
    pub server_busy_share: Option<f64>,
    /// Peak of the client's resident memory.
    pub memory_bytes_max: u64,
    pub deviation: Option<Deviation>,
    pub reported: Option<Reported>,
    pub exact: Option<Responses>,
    pub by_server: Option<Responses>,
}

/// From this share of the offered rate on, a tool holds it.
const HELD_FROM: f64 = 0.98;

impl Run {
    /// Whether the server answered what was to be offered: else its cost is that of another load.
    pub(crate) fn holds_rate(&self) -> bool {
        let share = |rate: u64| self.answers_per_s.is_some_and(|answers| answers >= HELD_FROM * rate as f64);
        self.rate_per_s.is_none_or(share)
    }

    /// Client's processor seconds for a million requests.
    pub(crate) fn cpu_s_per_million(&self) -> Option<f64> {
        let is_known = self.failure.is_none() && self.requests > 0;
        is_known.then(|| self.client_cpu_ns as f64 / 1e9 / (self.requests as f64 / 1e6))
    }
}

impl Results {
    pub(crate) fn new(part: Part, machine: Machine, seconds: u64, rounds: u32) -> Results {
        Results {
            schema: SCHEMA.to_string(),
            part,
            machine,
            tools: Vec::new(),
            missing: Vec::new(),
            seconds,
            rounds,
            rounds_done: 0,
            runs: Vec::new(),
        }
    }

    /// What `folder` holds of `part`, if anything.
    pub(crate) fn read(folder: &Path, part: Part) -> Result<Option<Results>> {
        let path = path(folder, part);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let results: Results = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not of this bench", path.display()))?;
        if results.schema != SCHEMA {
            bail!("{} is {}, not {SCHEMA}: measure again", path.display(), results.schema);
        }
        Ok(Some(results))
    }

    /// Replaces what `folder` holds of this part, in one step.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = path(folder, self.part);
        let beside = path.with_extension("json.tmp");
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn path(folder: &Path, part: Part) -> PathBuf {
    folder.join(format!("{}.json", part.name()))
}

impl Machine {
    /// This one.
    pub(crate) fn here() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Machine {
            cpu: model.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_string(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        }
    }
}

//! Measures the constants here: the lab's server in this process, unblink as another, on loopback.
//!
//! Processor time is that of the whole other process. What it needs to start, to report and to end is that of a run with next to
//! no requests, and is taken off.

use crate::environment;
use crate::exit::NoVerdict;
use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unblink_artifact::document::RunDocument;
use unblink_artifact::size::{CONSTANTS_SCHEMA, Constant, ConstantsDocument};
use unblink_lab::{Baseline, Fault, Gate, Harm, Scenario, ServerConfig, Tls};
use unblink_report::format;

/// Users of a closed loop.
const USERS: u64 = 64;
/// Those of one whose answers are large.
const USERS_OF_LARGE: u64 = 4;
/// The body of a large answer.
const LARGE_BYTES: usize = 1_000_000;
/// A worker that was busy for less than this waited for the server.
const BUSY: f64 = 0.9;

/// A load whose cost is measured.
#[derive(Clone, Copy, Default)]
struct Trial {
    tls: bool,
    large: bool,
    /// Each answer ends its connection.
    closes: bool,
    /// Next to no requests.
    idle: bool,
}

/// What a trial came to.
#[derive(Clone, Copy, Debug)]
struct Cost {
    requests: u64,
    cpu_us: f64,
    load_us: f64,
}

impl Cost {
    /// Of a request, without what `idle` took.
    fn each_us(self, idle: Cost) -> f64 {
        (self.cpu_us - idle.cpu_us) / self.requests.max(1) as f64
    }
}

/// `None` where it was interrupted. Each step is told before it begins: its number, and what it is.
pub(super) fn measure(
    is_stopped: &dyn Fn() -> bool,
    tell: impl Fn(String, &str),
) -> Result<Option<ConstantsDocument>> {
    let place = Place::new()?;
    let plain = Trial::default();
    let tls = Trial { tls: true, ..plain };
    let trials = [
        ("idle", Trial { idle: true, ..plain }),
        ("requests", plain),
        ("requests over TLS", tls),
        ("answers of 1 MB", Trial { large: true, ..plain }),
        ("new connections", Trial { closes: true, ..plain }),
        ("new connections over TLS", Trial { closes: true, ..tls }),
    ];
    let mut costs = Vec::new();
    for (number, (name, trial)) in trials.into_iter().enumerate() {
        tell(format!("{}/{}", number + 1, trials.len()), name);
        let cost = place.run(trial, number);
        if is_stopped() {
            return Ok(None);
        }
        costs.push(cost?);
    }
    let limits = unblink_engine::limits::raise();
    Ok(Some(ConstantsDocument {
        schema: CONSTANTS_SCHEMA.into(),
        tool: environment::tool(),
        environment: environment::describe(&limits),
        constants: constants(&costs, f64::from(limits.ports), limits.descriptors as f64),
    }))
}

/// What the trials come to, in their order. A difference that is lost in what the machine did beside is left out.
fn constants(costs: &[Cost], ports: f64, descriptors: f64) -> Vec<Constant> {
    let &[idle, plain, tls, large, new, new_tls] = costs else { return Vec::new() };
    let each = |cost: Cost| cost.each_us(idle);
    let of = |cost: Cost| format!("measured here: {} requests", format::plain(&format::count(cost.requests)));
    let busy = (plain.cpu_us - idle.cpu_us) / plain.load_us;
    let ceiling = match busy >= BUSY {
        true => (plain.requests as f64 * 1e6 / plain.load_us, of(plain)),
        false => {
            (1e6 / each(plain), "reckoned: 1 s of cpu_us_per_request; the server was the slower one".into())
        }
    };
    let known = |name: &str, value: f64, source: String| Constant {
        name: name.into(),
        value: rounded(value),
        source,
        is_given: true,
    };
    let all = [
        known("cpu_us_per_request", each(plain), of(plain)),
        known("cpu_us_per_request_tls", each(tls), of(tls)),
        known("cpu_us_per_mb", (each(large) - each(plain)) * 1e6 / LARGE_BYTES as f64, of(large)),
        known("cpu_us_per_connection", each(new) - each(plain), of(new)),
        known("cpu_us_per_connection_tls", each(new_tls) - each(tls), of(new_tls)),
        known("ceiling_per_s", ceiling.0, ceiling.1),
        known("ports", ports, "read here: ip_local_port_range".into()),
        known("descriptors", descriptors.min(1e12), "read here: the limit of this process".into()),
    ];
    all.into_iter().filter(|one| one.value.is_finite() && one.value > 0.0).collect()
}

/// To three digits, of which no measurement here has more; whole numbers from a hundred on.
fn rounded(value: f64) -> f64 {
    let digits = 10f64.powi(2 - value.abs().max(1e-9).log10().floor() as i32);
    if value.abs() >= 1_000.0 { value.round() } else { (value * digits).round() / digits }
}

/// A folder for what runs leave behind, and gone with this.
struct Place {
    folder: PathBuf,
    own: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Place {
    fn new() -> Result<Place> {
        let own = std::env::current_exe().context("can't find this program's own file")?;
        let temporary = std::env::temp_dir();
        // A container may have one folder alone that can be written to, and work there.
        let here = || std::env::current_dir().and_then(|here| made_in(&here)).ok();
        let folder = made_in(&temporary).or_else(|error| here().ok_or(error));
        let cant =
            || format!("can't make a folder in {temporary:?} or the current one (TMPDIR names another)");
        Ok(Place { folder: folder.with_context(cant)?, own })
    }

    /// One run against a server of its own.
    fn run(&self, trial: Trial, number: usize) -> Result<Cost> {
        let server = unblink_lab::spawn(config(trial)?)?;
        let scheme = if trial.tls { "https" } else { "http" };
        let url = format!("{scheme}://{}/", server.local_addr());
        let users = if trial.large { USERS_OF_LARGE } else { USERS }.to_string();
        let load: &[&str] = match trial.idle {
            true => &["-R", "50", "-d", "100ms"],
            false if trial.tls => &["-k", "--closed", &users, "--ramp-up", "10ms", "-d", "1s"],
            false => &["--closed", &users, "--ramp-up", "10ms", "-d", "1s"],
        };
        let before = children_us()?;
        let document = self.document(&url, load, &self.folder.join(number.to_string()))?;
        let cpu_us = children_us()? - before;
        server.stop()?;
        let all = |arrivals: &unblink_artifact::document::Arrivals| arrivals.ok + arrivals.failed;
        let requests = all(&document.arrivals) + document.warmup.as_ref().map_or(0, all);
        if requests == 0 {
            let why = "no request of the run that measures this machine was answered: measure it while nothing else runs";
            return Err(NoVerdict(why.into()).into());
        }
        Ok(Cost { requests, cpu_us, load_us: 1.01e6 })
    }

    fn document(&self, url: &str, load: &[&str], folder: &Path) -> Result<RunDocument> {
        let ran = Command::new(&self.own)
            .args(["run", url, "-t", "1", "--pacing", "frugal", "--no-preflight", "-q", "--json"])
            .args(load)
            .arg("-o")
            .arg(folder)
            // What is measured here is no part of the user's history, and no cap of theirs is meant for it.
            .env("UNBLINK_STORE", "none")
            .env("XDG_CONFIG_HOME", &self.folder)
            .stdin(Stdio::null())
            .output()
            .context("can't start unblink run")?;
        // On a busy machine its figures are invalid (3), and what it cost is known all the same.
        if !matches!(ran.status.code(), Some(0 | 3)) {
            bail!("unblink run ended with {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr).trim());
        }
        serde_json::from_slice(&ran.stdout).context("unblink run printed no document")
    }
}

/// A new folder. One that was killed may have left its own, and in a container all have one process id.
fn made_in(place: &Path) -> std::io::Result<PathBuf> {
    for number in 1.. {
        let folder = place.join(format!("unblink-size-{}-{number}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|()| folder),
        }
    }
    unreachable!("there are names enough")
}

fn config(trial: Trial) -> Result<ServerConfig> {
    let mut scenario = Scenario::preset("fast").context("the lab has no scenario \"fast\"")?;
    scenario.baseline = Baseline::Constant { delay_ns: 0 };
    if trial.closes {
        // Connections end with their answers, and the stretch in which none is accepted is long after the run.
        scenario.faults.push(Fault { when: Gate::once(3_600_000_000_000, 1), harm: Harm::NoAccept });
    }
    let mut config = ServerConfig::new(scenario);
    config.listen.set_port(0);
    config.tls = trial.tls.then_some(Tls::SelfSigned);
    if trial.large {
        config.body_bytes = LARGE_BYTES;
    }
    Ok(config)
}

/// User and system time of the processes that were waited for.
fn children_us() -> Result<f64> {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).context("can't read the time of a process")?;
    Ok((used.user_time().num_microseconds() + used.system_time().num_microseconds()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_differences_of_costs() {
        let cost = |requests: u64, each_us: f64| Cost {
            requests,
            cpu_us: 50e3 + requests as f64 * each_us,
            load_us: 1e6,
        };
        let costs = [
            cost(0, 0.0),
            cost(190_000, 5.0),
            cost(100_000, 7.5),
            cost(4_000, 80.0),
            cost(20_000, 48.0),
            cost(5_000, 165.5),
        ];
        let value = |costs: &[Cost], name| {
            let all = constants(costs, 28_232.0, 20_000.0);
            all.iter().find(|one| one.name == name).map(|one| one.value)
        };
        let found = |name| value(&costs, name);
        assert_eq!((found("cpu_us_per_request"), found("cpu_us_per_request_tls")), (Some(5.0), Some(7.5)));
        assert_eq!((found("cpu_us_per_mb"), found("cpu_us_per_connection")), (Some(75.0), Some(43.0)));
        assert_eq!(
            (found("cpu_us_per_connection_tls"), found("ceiling_per_s")),
            (Some(158.0), Some(190_000.0))
        );
        // A worker that waited for its server says nothing of its own ceiling, and what is no cost is none.
        let slow = [costs[0], cost(50_000, 5.0), costs[2], costs[3], cost(20_000, 4.9), costs[5]];
        assert_eq!(
            (value(&slow, "ceiling_per_s"), value(&slow, "cpu_us_per_connection")),
            (Some(200_000.0), None)
        );
        assert_eq!([4.9612, 0.0123, 158.4, 190_321.7].map(rounded), [4.96, 0.0123, 158.0, 190_322.0]);
    }
}

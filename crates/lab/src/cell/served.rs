//! The server of one cell: the lab's own, or a database under watch.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{CellError, Job};
use crate::process::{Side, end, kill};
use crate::watched::{Seen, Watched};

/// Whichever it is.
pub(super) enum Server {
    Own(Served),
    Database(Watched),
}

/// What it has to say at its end.
pub(super) struct Account {
    /// Its own lateness.
    pub(super) late_p99_ns: u64,
    /// Rows that its log lost.
    pub(super) lost: u64,
    /// Of a database: what was seen of it.
    pub(super) seen: Option<Seen>,
}

impl Server {
    pub(super) fn start(job: &Job<'_>, truth: &Path) -> Result<Server, CellError> {
        let scenario = &job.case.scenario;
        Ok(match scenario.database {
            Some(database) => {
                Server::Database(Watched::start(database, scenario, job.processors, truth, job.tap)?)
            }
            None => Server::Own(Served::start(job, truth)?),
        })
    }

    pub(super) fn address(&self) -> String {
        match self {
            Server::Own(server) => server.address.clone(),
            Server::Database(watched) => watched.address(),
        }
    }

    pub(super) fn stop(self) -> Result<Account, CellError> {
        match self {
            Server::Own(server) => {
                let summary = server.stop()?;
                Ok(Account {
                    late_p99_ns: summary["lateness"]["p99"].as_u64().unwrap_or(0),
                    lost: summary["truth_rows_lost"].as_u64().unwrap_or(0),
                    seen: None,
                })
            }
            Server::Database(watched) => {
                let seen = watched.stop()?;
                Ok(Account { late_p99_ns: 0, lost: seen.lost_rows, seen: Some(seen) })
            }
        }
    }
}

/// Between two requests of a load no more than this many times the usual passes with nothing in flight.
const PROBE_GAP_INTERVALS: u64 = 5;

/// The lab's own server, a process of its own.
pub(super) struct Served {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    address: String,
}

impl Served {
    fn start(job: &Job<'_>, truth: &Path) -> Result<Served, CellError> {
        let mut command = Command::new(job.own);
        let length = format!("{}ms", job.case.duration.as_millis());
        command.args(["lab", "serve", "--json", "--listen", "127.0.0.1:0", "--scenario"]);
        // Or a slow load would be taken for probes.
        let probe_gap = format!("{}ms", (PROBE_GAP_INTERVALS * 1_000 / job.case.rate_per_s).max(20));
        command.args([&job.case.scenario.name, "--made-for", &length, "--probe-gap", &probe_gap]);
        command.args(job.definition.serve_flags()).arg("--truth").arg(truth);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let start = |source| CellError::Start { program: job.own.display().to_string(), source };
        let mut child = job.processors.spawn(Side::Server, command).map_err(start)?;
        let Some(stdout) = child.stdout.take() else {
            return Err(CellError::Server("it has no output".to_owned()));
        };
        let mut stdout = BufReader::new(stdout);
        let first = read_json(&mut stdout);
        let address = first["address"].as_str().map(str::to_owned);
        let mut server = Served { child, stdout, address: String::new() };
        match address {
            Some(address) => {
                server.address = address;
                Ok(server)
            }
            None => Err(CellError::Server("it did not start".to_owned())),
        }
    }

    /// Its account at the end.
    fn stop(mut self) -> Result<serde_json::Value, CellError> {
        let status = end(&mut self.child).map_err(|error| CellError::Server(error.to_string()))?;
        match status.success() {
            true => Ok(read_json(&mut self.stdout)),
            false => Err(CellError::Server(format!("it ended with {status}"))),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Nothing is left behind, whatever went wrong.
        let _ = kill(&self.child);
        let _ = self.child.wait();
    }
}

/// One line of JSON; `null` for none.
fn read_json(from: &mut impl BufRead) -> serde_json::Value {
    let mut line = String::new();
    let _ = from.read_line(&mut line);
    serde_json::from_str(&line).unwrap_or_default()
}

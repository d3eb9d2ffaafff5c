//! What is asked: the responder, or nginx where TLS is needed. Both count for themselves.

use crate::clock::SECOND_NS;
use crate::process::spawn_on;
use crate::responder::{Summary, TICK_NS};
use crate::stamps::{self, Stamp};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A responder in a process of its own.
pub(crate) struct Responder {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stamps: Option<tempfile::NamedTempFile>,
    /// `127.0.0.1:PORT`.
    pub address: String,
}

/// What a responder saw.
pub(crate) struct Seen {
    pub summary: Summary,
    /// In order of arrival; empty unless asked for.
    pub stamps: Vec<Stamp>,
}

impl Responder {
    /// Starts one on the processor `cpu`. `arguments` as for `respond`; `room` for so many stamps, if any.
    pub(crate) fn start(cpu: usize, arguments: &[String], room: Option<u64>) -> Result<Responder> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("respond").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let stamps = room.map(|_| tempfile::NamedTempFile::new()).transpose()?;
        if let (Some(room), Some(file)) = (room, &stamps) {
            command.arg("--stamps").arg(file.path()).arg("--room").arg(room.to_string());
        }
        let mut child = spawn_on(cpu, &mut command)?;
        let mut stdout = BufReader::new(child.stdout.take().context("no output")?);
        let mut address = String::new();
        stdout.read_line(&mut address)?;
        let address = address.trim().to_string();
        if address.is_empty() {
            bail!("the responder did not start");
        }
        Ok(Responder { child, stdout, stamps, address })
    }

    /// Ends it and takes what it saw.
    pub(crate) fn finish(mut self) -> Result<Seen> {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.stdout.read_to_string(&mut text)?;
        if !self.child.wait()?.success() {
            bail!("the responder failed");
        }
        let summary = serde_json::from_str(&text).context("the responder's summary")?;
        let stamps = self.stamps.as_ref().map_or(Ok(Vec::new()), |file| stamps::read(file.path()))?;
        Ok(Seen { summary, stamps })
    }
}

/// Answers per second without the first and the last half second, in which generators start and end.
pub(crate) fn steady_rate(summary: &Summary) -> Option<f64> {
    let edge = (SECOND_NS / 2 / TICK_NS) as usize;
    let ticks = &summary.answers_per_tick;
    let steady = ticks.get(edge..ticks.len().checked_sub(edge)?)?;
    let seconds = steady.len() as f64 * TICK_NS as f64 / SECOND_NS as f64;
    let answers: u64 = steady.iter().map(|&n| u64::from(n)).sum();
    (answers > 0).then(|| answers as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steady_rate_leaves_the_edges_out() {
        let mut ticks = vec![1_000_000; 50];
        ticks.extend([20; 200]);
        ticks.extend([0; 50]);
        let summary = Summary { answers_per_tick: ticks, ..Summary::default() };
        assert_eq!(steady_rate(&summary), Some(2000.0));
    }

    #[test]
    fn a_load_of_one_second_has_no_steady_part() {
        let ticks = |n| Summary { answers_per_tick: vec![7; n], ..Summary::default() };
        assert_eq!(steady_rate(&ticks(100)), None);
        assert_eq!(steady_rate(&ticks(99)), None);
        assert_eq!(steady_rate(&ticks(101)), Some(700.0));
    }
}

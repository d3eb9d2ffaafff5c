//! Plays parts in rounds: everybody in turn, then everybody again, so that what changes on the machine meanwhile
//! changes it for all.

use crate::generator::{Field, Generator, Tool, Way};
use crate::part::Part;
use crate::play::{Processors, Turn};
use crate::results::{Machine, Missing, Results, Run, Version};
use anyhow::Result;
use std::path::PathBuf;

/// How to play.
pub(crate) struct Session {
    pub field: Field,
    pub processors: Processors,
    /// Of every part, unless each has its own.
    pub rounds: Option<u32>,
    pub seconds: Option<u64>,
    /// Only these tools, by name; empty: all.
    pub only: Vec<String>,
    /// Go on where an earlier session stopped.
    pub resume: bool,
    pub folder: PathBuf,
}

impl Session {
    /// Plays `part`; `tell` gets a line about each run.
    pub(crate) fn play(&self, part: Part, tell: &mut dyn FnMut(String)) -> Result<Results> {
        let rounds = self.rounds.unwrap_or(part.rounds());
        let seconds = self.seconds.unwrap_or(part.seconds()).max(part.seconds_min());
        let mut results = Results::new(part, Machine::here(), seconds, rounds);
        results.tools = self.players(part).iter().map(version).collect();
        let missing =
            self.field.missing.iter().filter(|(tool, _)| part.admits(*tool) && self.is_wanted(*tool));
        results.missing =
            missing.map(|(tool, install)| Missing { tool: tool.name(), install: install.clone() }).collect();
        if self.resume
            && let Some(earlier) = Results::read(&self.folder, part)?
            && (earlier.seconds, earlier.rounds, &earlier.tools) == (seconds, rounds, &results.tools)
        {
            results = earlier;
        }
        for round in results.rounds_done..rounds {
            for rate_per_s in part.rates() {
                for generator in self.players(part).iter().filter(|g| part.plays(g.tool, round, rounds)) {
                    let turn = Turn { part, generator, rate_per_s, seconds, processors: self.processors };
                    let Some(run) = turn.play(round) else { continue };
                    tell(line(part, &run, rounds));
                    results.runs.push(run);
                }
            }
            results.rounds_done = round + 1;
            results.write(&self.folder)?;
        }
        Ok(results)
    }

    /// Who takes part in `part`, unblink first, in the pacing modes that matter there.
    fn players(&self, part: Part) -> Vec<Generator> {
        let mut players = Vec::new();
        for generator in self.field.present.iter().filter(|g| part.admits(g.tool) && self.is_wanted(g.tool)) {
            if part == Part::Threads {
                players.extend([1, 2].map(|threads| generator.told(Way::Threads(threads))));
                continue;
            }
            players.push(generator.clone());
            let modes: &[&'static str] = match part {
                Part::Pacing => &["precise", "frugal"],
                // Where the server is what limits, processor time is what waiting for it costs.
                Part::Tls => &["frugal"],
                _ => &[],
            };
            if generator.tool == Tool::Unblink(Way::Plain) {
                players.extend(modes.iter().map(|mode| generator.told(Way::Pacing(mode))));
            }
        }
        players
    }

    fn is_wanted(&self, tool: Tool) -> bool {
        self.only.is_empty() || self.only.contains(&tool.name())
    }
}

fn version(generator: &Generator) -> Version {
    Version { tool: generator.tool.name(), version: generator.version.clone() }
}

fn line(part: Part, run: &Run, rounds: u32) -> String {
    let rate = run.rate_per_s.map_or(String::new(), |rate| format!(" {rate}/s"));
    let head = format!("{}{rate}  round {} of {rounds}  {:<17}", part.name(), run.round + 1, run.tool);
    let Some(cpu) = run.cpu_s_per_million() else {
        return format!("{head} {}", run.failure.as_deref().unwrap_or("nothing was answered"));
    };
    let answers = run.answers_per_s.map_or("?".into(), |n| format!("{n:.0}"));
    let mut text = format!("{head} {answers:>7}/s  {cpu:>6.2} s per million");
    if let Some(d) = run.deviation {
        text += &format!("  off by {:.1}, {:.1} µs", d.p50_ns as f64 / 1e3, d.p99_ns as f64 / 1e3);
    }
    text
}

//! The records that came together, merged as the program merges them, beside what happened.

use super::books::Counts;
use super::load::Load;
use super::{Node, SECOND, World};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{RunDocument, ValidityStatus};
use unblink_artifact::folder::{FolderError, RUN_FILE, merge, read_folder, replay};
use unblink_cluster::coordinator::AgentPart;
use unblink_core::record::{Outcomes, Series};

/// What is here of an agent's record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Here {
    /// Its intervals end there, after the schedule's zero.
    pub(super) to: u64,
    /// Its own document is here.
    pub(super) has_document: bool,
}

/// What is to be in the account.
#[derive(Debug, Default)]
struct Expected {
    counts: Counts,
    planned: u64,
    withheld: u64,
    lost: u64,
    /// Where the loads ended, after the schedule's zero, of which all is here.
    ends: Vec<u64>,
    /// Machines whose lease ended well before the load of the others did, and nothing else went wrong: what they withheld.
    cut_off: Vec<u64>,
    /// A document says that a record is whole of which something is missing.
    is_cut: bool,
}

impl World {
    /// Merges what the coordinator has gathered, of whom `parts` are told, or else what agents have themselves. Gives what the
    /// document says of itself; nothing where there is no record.
    pub(super) fn check_merged(&self, parts: &[AgentPart]) -> Option<ValidityStatus> {
        let place = self.place.as_ref()?.path();
        let dirs: Vec<PathBuf> = (0..self.nodes.len())
            .map(|number| if parts.is_empty() { self.own_dir(number) } else { self.gathered_dir(number) })
            .collect();
        let to = place.join("merged");
        // Of who is lost anything may be missing, the first line of its record as well: then it is left out, as if nothing had come.
        let lost: BTreeSet<usize> =
            parts.iter().filter(|part| part.is_lost).map(|part| number_of(&part.agent)).collect();
        let here: Vec<Option<Here>> = (0..)
            .zip(&dirs)
            .map(|(number, dir)| match here(dir) {
                Ok(here) => here,
                Err(_) if lost.contains(&number) => None,
                Err(error) => panic!("seed {}: agent {number} is not lost, and {error}", self.seed),
            })
            .collect();
        for part in parts.iter().filter(|part| !part.is_lost) {
            let number = number_of(&part.agent);
            let node = &self.nodes[number];
            let is_whole = here[number].is_some_and(|here| here.has_document && here.to == node.end());
            // Who has not begun has nothing to tell.
            assert!(
                is_whole || node.load.is_none(),
                "seed {}: {part:?} is whole, and {:?} is here",
                self.seed,
                here[number]
            );
        }
        let dirs: Vec<PathBuf> =
            dirs.into_iter().zip(&here).filter_map(|(dir, here)| here.map(|_| dir)).collect();
        if dirs.is_empty() {
            return None;
        }
        let merged = merge(&self.gathered_badly(dirs), &to);
        let document = merged.unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        self.check_document(&document, &self.expected(&here), &to);
        self.check_times(&here, &to);
        self.check_crowd(&document, &here);
        Some(document.validity.status)
    }

    fn expected(&self, here: &[Option<Here>]) -> Expected {
        let mut all = Expected::default();
        for (node, here) in self.nodes.iter().zip(here) {
            let planned = self.planned(node);
            all.planned += planned;
            let Some(here) = here else {
                all.lost += planned;
                continue;
            };
            let counts = node.until(here.to);
            all.counts += counts;
            match here.has_document && here.to >= node.end() {
                true => {
                    all.withheld += planned - node.until(u64::MAX).due;
                    all.ends.push(node.load_to(self.asked.length));
                    all.is_cut |= counts != node.until(u64::MAX);
                }
                // What its document says of the end is not here, so it counts for nothing.
                false => all.lost += planned - counts.ended(),
            }
        }
        all.cut_off = self.cut_off(here);
        all
    }

    fn cut_off(&self, here: &[Option<Here>]) -> Vec<u64> {
        let length = self.asked.length;
        let mut cut_off = Vec::new();
        for (node, here) in self.nodes.iter().zip(here) {
            let is_whole = here.is_some_and(|here| here.has_document && here.to >= node.end());
            let by_lease = node.lease.ended.is_some() && node.lease.ended == node.lease.stop;
            match node.load_to(length) {
                _ if !is_whole => return Vec::new(),
                to if to == length => {}
                to if by_lease && to + SECOND < length => {
                    cut_off.push(self.planned(node) - node.until(u64::MAX).due);
                }
                _ => return Vec::new(),
            }
        }
        if cut_off.len() < self.nodes.len() { cut_off } else { Vec::new() }
    }

    fn check_document(&self, document: &RunDocument, expected: &Expected, dir: &Path) {
        let (seed, counts, arrivals) = (self.seed, &expected.counts, &document.arrivals);
        let (tally, _) = replay(dir, None, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let known = recorded(&tally.totals().counters.measured);
        assert_eq!(known, *counts, "seed {seed}: what was recorded, and what happened");
        let samples = [Series::Response, Series::ResponseCensored].map(|of| tally.totals().track(of).count());
        let happened = [counts.ok, counts.timed_out + counts.unfinished + counts.unsent];
        assert_eq!(samples, happened, "seed {seed}: response times");
        let told = [
            arrivals.ok,
            arrivals.failed,
            arrivals.timed_out,
            arrivals.timed_out_never_sent,
            arrivals.unfinished,
            arrivals.unsent,
        ];
        let happened = [
            counts.ok,
            counts.failed,
            counts.timed_out,
            counts.timed_out_never_sent,
            counts.unfinished,
            counts.unsent,
        ];
        assert_eq!(told, happened, "seed {seed}: the document");
        if expected.is_cut {
            let status = document.validity.status;
            assert_eq!(
                status,
                ValidityStatus::Invalid,
                "seed {seed}: a record that is cut is called {status:?}"
            );
            return;
        }
        let told = [arrivals.scheduled, arrivals.withheld, arrivals.lost];
        // One that may be lost spoils no more where it is only cut off.
        let as_lost = match &expected.cut_off[..] {
            [withheld] if self.asked.tolerates => *withheld,
            _ => 0,
        };
        let counted = [expected.planned, expected.withheld - as_lost, expected.lost + as_lost];
        assert_eq!(told, counted, "seed {seed}: {document:?}");
        // Of a load that some offered alone for a while, no figure is that of the whole load.
        let ends = &expected.ends;
        let apart = ends.iter().max().unwrap_or(&0) - ends.iter().min().unwrap_or(&0);
        let is_exact = expected.lost + as_lost == 0 && counts.ended() == counts.due && apart <= SECOND;
        let is_valid = document.validity.status == ValidityStatus::Valid;
        assert!(is_exact || !is_valid, "seed {seed}: valid, and {expected:?}");
    }

    /// Arrivals of the shares of an agent, by the schedule alone.
    pub(super) fn planned(&self, node: &Node) -> u64 {
        let books = node.load.iter().flat_map(Load::happened).map(|worker| worker.books.planned());
        match (&node.load, &node.offer) {
            (None, Some(offer)) => {
                let all = self
                    .asked
                    .plan(offer)
                    .scheduled(Default::default(), unblink_core::time::Nanos(self.asked.length));
                all.map_or(0, |scheduled| scheduled.measured)
            }
            _ => books.sum(),
        }
    }
}

impl Node {
    /// What its workers have told for the time up to then.
    pub(super) fn until(&self, to: u64) -> Counts {
        let mut sum = Counts::default();
        self.load.iter().flat_map(Load::happened).for_each(|worker| sum += worker.books.until(to));
        sum
    }

    /// Where its load ended.
    fn load_to(&self, length: u64) -> u64 {
        let zero = self.load.as_ref().map_or(0, |load| load.zero);
        self.lease.stop.map_or(length, |stop| stop.saturating_sub(zero).min(length))
    }

    fn end(&self) -> u64 {
        self.load.as_ref().map_or(0, |load| load.end())
    }
}

/// The counts of a record.
pub(super) fn recorded(outcomes: &Outcomes) -> Counts {
    Counts {
        due: outcomes.due,
        sent: outcomes.sent,
        ok: outcomes.ok,
        failed: outcomes.failed_total(),
        timed_out: outcomes.timed_out,
        timed_out_never_sent: outcomes.timed_out_never_sent,
        unfinished: outcomes.unfinished,
        unsent: outcomes.unsent,
    }
}

/// What is in a folder; nothing where no document is.
fn here(dir: &Path) -> Result<Option<Here>, FolderError> {
    if !dir.join(RUN_FILE).exists() {
        return Ok(None);
    }
    let run = read_folder(dir)?;
    let mut here = Here { to: 0, has_document: run.final_document.is_some() };
    run.for_each_interval(|interval| here.to = (interval.start + interval.length).0)?;
    Ok(Some(here))
}

/// The number in the name of an agent.
pub(super) fn number_of(agent: &str) -> usize {
    agent[1..].parse().expect("a number")
}

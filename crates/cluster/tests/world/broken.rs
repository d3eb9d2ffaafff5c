//! Rules that a world breaks on purpose: an account that says nothing then says nothing at all.

use super::{SECOND, World};
use std::path::{Path, PathBuf};
use unblink_artifact::folder::{FolderWriter, read_folder};
use unblink_cluster::agent::Action;
use unblink_cluster::coordinator::FleetOutcome;
use unblink_cluster::message::{Cause, Reading, Time};

/// What somebody does not heed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// Load ends with the lease.
    Lease,
    /// Also where the process stood still: who sends looks at the lease first.
    LeaseFirst,
    /// Also between choosing a request and writing it.
    Unsent,
    /// What waits then is not sent later.
    Cease,
    /// It begins when that was told.
    Start,
    /// It begins then by a clock that nobody sets.
    Monotonic,
    /// What a clock may be off by is stated.
    Error,
    /// A stop is one instant for all.
    Stop,
    /// Who is lost is said to be.
    Lost,
    /// What comes twice counts once.
    Once,
    /// What is not here is not called whole.
    Whole,
}

impl Rule {
    pub(crate) const ALL: [Rule; 11] = [
        Rule::Lease,
        Rule::LeaseFirst,
        Rule::Unsent,
        Rule::Cease,
        Rule::Start,
        Rule::Monotonic,
        Rule::Error,
        Rule::Stop,
        Rule::Lost,
        Rule::Once,
        Rule::Whole,
    ];
}

impl World {
    /// One in which nobody heeds this rule.
    pub(crate) fn without(rule: Rule, seed: u64) -> World {
        World { broken: Some(rule), ..World::new(seed) }
    }

    /// What an agent's process makes of an action, where it does not do as it was told.
    pub(super) fn misread(&self, own: Time, action: Action) -> Option<Action> {
        Some(match (action, self.broken) {
            (Action::StopLoad { cause: Cause::Lease, .. }, Some(Rule::Lease)) => return None,
            (Action::LeaseUntil(_), Some(Rule::Lease | Rule::LeaseFirst)) => return None,
            (Action::StopLoad { cause, why, .. }, Some(Rule::Stop)) if cause != Cause::Lease => {
                // When it is heard, which is another moment for each.
                Action::StopLoad { at: own + SECOND, cause, why }
            }
            (Action::Begin { start_at, told, reading }, Some(Rule::Start)) => {
                Action::Begin { start_at: start_at + SECOND, told, reading }
            }
            (Action::Begin { start_at, told, reading }, Some(Rule::Error)) => {
                let reading = Reading { error_ns: 0, ..reading };
                Action::Begin { start_at, told, reading }
            }
            (action, _) => action,
        })
    }

    /// What a coordinator's process tells of a run.
    pub(super) fn told(&self, mut outcome: FleetOutcome) -> FleetOutcome {
        if let (FleetOutcome::Run { parts, .. }, Some(Rule::Lost)) = (&mut outcome, self.broken) {
            parts.iter_mut().for_each(|part| part.is_lost = false);
        }
        outcome
    }

    /// The records to be merged, where whoever gathers them does not do as it should.
    pub(super) fn gathered_badly(&self, dirs: Vec<PathBuf>) -> Vec<PathBuf> {
        let times = match self.broken {
            Some(Rule::Once) => 2,
            Some(Rule::Whole) => 0,
            _ => return dirs,
        };
        dirs.iter().map(|dir| with_a_second_counted(dir, times)).collect()
    }
}

/// A record with the one second in which the most fell due counted so often.
fn with_a_second_counted(dir: &Path, times: u32) -> PathBuf {
    let run = read_folder(dir).expect("a record");
    let mut busiest = (0, 0);
    let mut place = 0u64;
    let read = run.for_each_interval(|interval| {
        busiest = busiest.max((interval.bank.counters.measured.due, place));
        place += 1;
    });
    read.expect("intervals");
    let to = dir.with_extension("counted");
    let mut writer = FolderWriter::create(&to, &run.header).expect("a new folder");
    let mut place = 0u64;
    let read = run.for_each_interval(|interval| {
        for _ in 0..if place == busiest.1 { times } else { 1 } {
            writer.interval(interval).expect("written");
        }
        place += 1;
    });
    read.expect("intervals");
    if let Some(document) = &run.final_document {
        writer.finish(document).expect("written");
    }
    to
}

//! Rules that a world breaks on purpose: an account that says nothing then says nothing at all.

use super::bus::Word;
use super::{MS, SECOND, World};
use rand_xoshiro::rand_core::Rng;
use std::path::{Path, PathBuf};
use unblink_artifact::folder::{FolderWriter, read_folder};
use unblink_cluster::agent::Action;
use unblink_cluster::coordinator::FleetOutcome;
use unblink_cluster::message::{Cause, Reading, Time};
use unblink_core::record::{Interval, Series, Track};
use unblink_core::time::Nanos;

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
    /// What belongs to a second is counted in no other.
    Second,
    /// A time is that of one machine's clock.
    Time,
}

impl Rule {
    pub(crate) const ALL: [Rule; 13] = [
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
        Rule::Second,
        Rule::Time,
    ];
}

impl World {
    /// One in which nobody heeds this rule.
    pub(crate) fn without(rule: Rule, seed: u64) -> World {
        World { broken: Some(rule), ..World::new(seed) }
    }

    /// One with somebody else on the bus who tells a wrong time now and then.
    pub(crate) fn lied_to(seed: u64) -> World {
        World { liar: true, ..World::new(seed) }
    }

    /// Somebody else answers a question about the time, and is there first.
    pub(super) fn lie(&mut self, to: usize, asked_at: Time, at: Time) {
        if self.liar && self.random.next_u64().is_multiple_of(8) {
            self.sent += 1;
            let at = at + 3 * SECOND;
            self.words.insert((self.now + 1, self.sent), Word::Time { to, asked_at, at });
        }
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
        let change = match self.broken {
            Some(Rule::Once) => counts_the_busiest_twice,
            Some(Rule::Whole) => leaves_the_busiest_out,
            Some(Rule::Second) => takes_seconds_for_each_other,
            Some(Rule::Time) => adds_an_offset,
            _ => return dirs,
        };
        dirs.iter().map(|dir| changed(dir, change)).collect()
    }
}

/// A record with something done to its intervals.
fn changed(dir: &Path, change: fn(&mut Vec<Interval>)) -> PathBuf {
    let run = read_folder(dir).expect("a record");
    let mut all = Vec::new();
    run.for_each_interval(|interval| all.push(interval.clone())).expect("intervals");
    if !all.is_empty() {
        change(&mut all);
    }
    let to = dir.with_extension("changed");
    let mut writer = FolderWriter::create(&to, &run.header).expect("a new folder");
    all.iter().for_each(|interval| writer.interval(interval).expect("written"));
    if let Some(document) = &run.final_document {
        writer.finish(document).expect("written");
    }
    to
}

/// The one in which the most fell due.
fn busiest(all: &[Interval]) -> usize {
    (0..all.len()).max_by_key(|place| all[*place].bank.counters.measured.due).expect("there is one")
}

fn counts_the_busiest_twice(all: &mut Vec<Interval>) {
    let place = busiest(all);
    all.insert(place, all[place].clone());
}

fn leaves_the_busiest_out(all: &mut Vec<Interval>) {
    all.remove(busiest(all));
}

/// The sum of both is what it was.
fn takes_seconds_for_each_other(all: &mut Vec<Interval>) {
    let Some(mut other) = all.pop() else { return };
    if let Some(one) = all.last_mut() {
        std::mem::swap(&mut one.bank, &mut other.bank);
    }
    all.push(other);
}

/// There are as many response times as there were.
fn adds_an_offset(all: &mut Vec<Interval>) {
    for interval in all {
        let track = interval.bank.track_mut(Series::Response);
        let mut wrong = Track::default();
        for (ns, n) in track.bins() {
            (0..n).for_each(|_| wrong.record(Nanos(ns + 5 * MS)));
        }
        *track = wrong;
    }
}

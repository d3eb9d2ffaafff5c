//! Rules that a world breaks on purpose: an account that says nothing then says nothing at all.

use super::{SECOND, Word, World};
use rand_xoshiro::rand_core::Rng;
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
    /// It begins when that was told.
    Start,
    /// What a clock may be off by is stated.
    Error,
    /// A stop is one instant for all.
    Stop,
    /// Who is lost is said to be.
    Lost,
}

impl Rule {
    pub(crate) const ALL: [Rule; 6] =
        [Rule::Lease, Rule::LeaseFirst, Rule::Start, Rule::Error, Rule::Stop, Rule::Lost];
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
}

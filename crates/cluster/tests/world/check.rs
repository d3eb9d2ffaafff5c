//! What an account that knows everything says of what the coordinator and the agents say.

use super::{Fate, MS, Node, RATE, SECOND, TICK, World};
use std::collections::BTreeSet;
use unblink_cluster::agent::LEASE;
use unblink_cluster::coordinator::FleetOutcome;

impl World {
    /// What agents and coordinator have said to each other.
    pub(crate) fn words(&self) -> u64 {
        self.sent
    }

    /// Another coordinator has taken up the run of one that died.
    pub(crate) fn was_resumed(&self) -> bool {
        self.was_resumed
    }

    /// How long it took, and how many agents there are.
    pub(crate) fn size(&self) -> (u64, usize) {
        (self.now / SECOND, self.nodes.len())
    }

    /// Holds what the coordinator says against what happened.
    pub(crate) fn check(&self) -> Fate {
        let seed = self.seed;
        for (number, node) in self.nodes.iter().enumerate() {
            self.check_lease(number, node);
            self.check_start(number, node);
            assert!(
                node.has_left || node.life.is_dead(self.now) || !node.was_offered,
                "seed {seed}: agent {number} never leaves"
            );
        }
        let Some(outcome) = &self.outcome else {
            assert!(self.life.is_dead(self.now), "seed {seed}: no end");
            return Fate::NoCoordinator;
        };
        match outcome {
            FleetOutcome::NotBegun(why) => {
                assert!(!why.reasons.is_empty(), "seed {seed}");
                Fate::NotBegun
            }
            FleetOutcome::Run { parts, stopped, .. } => {
                assert_eq!(parts.len(), self.nodes.len(), "seed {seed}");
                for part in parts {
                    let number: usize = part.agent[1..].parse().expect("a number");
                    let node = &self.nodes[number];
                    assert_eq!(u64::from(part.last - part.first + 1), node.shares, "seed {seed}");
                    // A record that is called whole is of a load that is over.
                    assert!(part.is_lost || node.ended || node.start_at.is_none(), "seed {seed}: {part:?}");
                }
                let first: Vec<u32> = parts.iter().map(|part| part.first).collect();
                assert!(first.is_sorted() && first.first() == Some(&1), "seed {seed}: {first:?}");
                if parts.iter().any(|part| part.is_lost) {
                    return Fate::Lost;
                }
                let planned: u64 =
                    self.nodes.iter().map(|node| self.length * RATE / SECOND * node.shares).sum();
                let offered: u64 = self.nodes.iter().map(|node| node.offered.len() as u64).sum();
                if stopped.is_some() {
                    let stops: BTreeSet<i128> =
                        self.nodes.iter().filter_map(|node| node.stopped_at).collect();
                    assert!(stops.len() <= 1, "seed {seed}: stopped at {stops:?}");
                    return Fate::Stopped;
                }
                // Nobody is lost and nobody was stopped: each has ended by itself, or by its lease, which its record says.
                let by_lease = self.nodes.iter().any(|node| node.stop_at.is_some());
                assert!(offered == planned || by_lease, "seed {seed}: {offered} of {planned}");
                if by_lease { Fate::Lost } else { Fate::Whole }
            }
        }
    }

    /// No load without a coordinator that was heard less than a lease ago, however long the process stood still meanwhile.
    fn check_lease(&self, number: usize, node: &Node) {
        let Some(last) = node.offered.last() else { return };
        let drift = 2 * MS;
        let until = node.known_until + LEASE + 2 * TICK + drift;
        assert!(
            *last <= until,
            "seed {}: agent {number} offers load at {last}, known until {until}",
            self.seed
        );
    }

    /// It begins when it was told to, within the error that it states and what drifted since.
    fn check_start(&self, number: usize, node: &Node) {
        let Some(start_at) = node.start_at else { return };
        let is_off = i128::from(start_at) + i128::from(node.reading.offset_ns) - i128::from(node.told);
        assert_eq!(is_off, 0, "seed {}: agent {number}", self.seed);
        let truth = self.clock.at(self.now) as i128 - node.clock.at(self.now) as i128;
        let drift = self.now as i128 * 100 / 1_000_000;
        let wrong = (truth - i128::from(node.reading.offset_ns)).unsigned_abs();
        let stated = u128::from(node.reading.error_ns) + drift as u128;
        assert!(wrong <= stated, "seed {}: agent {number} is off by {wrong} and states {stated}", self.seed);
    }
}

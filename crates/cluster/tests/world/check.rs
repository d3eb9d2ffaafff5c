//! What an account that knows everything says of what the coordinator and the agents say.

use super::load::Load;
use super::merged::number_of;
use super::{Fate, Node, SECOND, World};
use std::collections::BTreeSet;
use unblink_artifact::document::ValidityStatus;
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

    /// Pieces of records that the bus has lost before the coordinator had them.
    pub(crate) fn missed(&self) -> usize {
        self.missed
    }

    /// How long it took, and how many agents there are.
    pub(crate) fn size(&self) -> (u64, usize) {
        (self.now / SECOND, self.nodes.len())
    }

    /// Requests that servers took.
    pub(crate) fn requests(&self) -> u64 {
        let loads = self.nodes.iter().filter_map(|node| node.load.as_ref());
        loads.flat_map(Load::happened).map(|worker| worker.books.until(u64::MAX).sent).sum()
    }

    /// Holds what the coordinator says, and the document of all records, against what happened. Gives whether that document says
    /// that it is valid.
    pub(crate) fn check(&self) -> (Fate, bool) {
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
            // Agents have what they recorded.
            let status = self.check_merged(&[]);
            return (Fate::NoCoordinator, status == Some(ValidityStatus::Valid));
        };
        match outcome {
            FleetOutcome::NotBegun(why) => {
                assert!(!why.reasons.is_empty(), "seed {seed}");
                (Fate::NotBegun, false)
            }
            FleetOutcome::Run { parts, stopped, .. } => {
                assert_eq!(parts.len(), self.nodes.len(), "seed {seed}");
                for part in parts {
                    let node = &self.nodes[number_of(&part.agent)];
                    assert_eq!(u64::from(part.last - part.first + 1), node.shares, "seed {seed}");
                    // A record that is called whole is of a load that is over.
                    assert!(part.is_lost || node.ended || node.start_at.is_none(), "seed {seed}: {part:?}");
                }
                let first: Vec<u32> = parts.iter().map(|part| part.first).collect();
                assert!(first.is_sorted() && first.first() == Some(&1), "seed {seed}: {first:?}");
                let is_valid = self.check_merged(parts) == Some(ValidityStatus::Valid);
                let fate = self.fate(parts.iter().any(|part| part.is_lost), stopped.is_some());
                (fate, is_valid)
            }
        }
    }

    fn fate(&self, has_lost: bool, is_stopped: bool) -> Fate {
        let seed = self.seed;
        if has_lost {
            return Fate::Lost;
        }
        if is_stopped {
            let stops: BTreeSet<i128> = self.nodes.iter().filter_map(|node| node.stopped_at).collect();
            assert!(stops.len() <= 1, "seed {seed}: stopped at {stops:?}");
            return Fate::Stopped;
        }
        // Nobody is lost and nobody was stopped: each has ended by itself, or by its lease, which its record says.
        let by_lease = self.nodes.iter().any(|node| node.lease.ended.is_some());
        let workers = self.nodes.iter().filter_map(|node| node.load.as_ref()).flat_map(Load::happened);
        let (due, planned) = workers.fold((0, 0), |(due, planned), worker| {
            (due + worker.books.until(u64::MAX).due, planned + worker.books.planned())
        });
        assert!(due == planned || by_lease, "seed {seed}: {due} of {planned}");
        if due < planned { Fate::Lost } else { Fate::Whole }
    }

    /// No request without a coordinator that was heard less than a lease ago, however long the process stood still meanwhile.
    fn check_lease(&self, number: usize, node: &Node) {
        let Some((sent, until)) = node.orphan else { return };
        panic!("seed {}: agent {number} sends at {sent}, known until {until}", self.seed);
    }

    /// It begins when it was told to, within the error that it states and what drifted since, whatever its wall clock was set to;
    /// and nothing is sent before its time.
    fn check_start(&self, number: usize, node: &Node) {
        let Some(load) = &node.load else { return };
        let seed = self.seed;
        let began = node.clock.when(load.zero);
        let wrong = (i128::from(self.clock.at(began)) - i128::from(node.told)).unsigned_abs();
        // Both clocks have drifted since it asked for the time first, and are read to the nanosecond.
        let since = began.saturating_sub(node.asked_at.unwrap_or(0));
        let apart_ppm = node.clock.drift_ppm.abs_diff(self.clock.drift_ppm);
        let stated = u128::from(node.reading.error_ns) + u128::from(since * apart_ppm / 1_000_000) + 3;
        assert!(wrong <= stated, "seed {seed}: agent {number} is off by {wrong} and states {stated}");
        let too_early = load.happened().iter().any(|worker| worker.sent_too_early);
        assert!(!too_early, "seed {seed}: agent {number} sends before the time");
    }
}

//! Several runs, one after the other, against one target.

use super::server::Server;
use super::world::World;
use super::{WorldSpec, ZERO, drive_until};
use crate::plan::Plan;
use crate::record::Interval;
use crate::time::{Instant, Nanos};
use std::ops::ControlFlow;

/// A world whose server outlives a run: what one run does to it, the next one meets. Stretches on the server's clock
/// (`shut`, `down` …) count from the first run, those of the generator from each run.
#[derive(Clone, Debug)]
pub struct LastingWorld {
    spec: WorldSpec,
    /// As the last run has left them; none before the first.
    servers: Vec<Server>,
    now: Instant,
    runs: u64,
}

impl LastingWorld {
    /// Nothing has been asked yet.
    pub fn new(spec: WorldSpec) -> LastingWorld {
        LastingWorld { spec, servers: Vec::new(), now: ZERO, runs: 0 }
    }

    /// Asks nothing until the server has ended its work, whoever still waits for it, and then for `time`.
    pub fn rest(&mut self, time: Nanos) {
        self.now = self.servers.iter().map(Server::busy_until).fold(self.now, Instant::max) + time;
    }

    /// Runs `plan` with one worker and hands every interval to `look`, which says whether the load is to go on. Gives
    /// for how long the load was offered, after the schedule's zero.
    pub fn run(&mut self, plan: &Plan, look: impl FnMut(&Interval) -> ControlFlow<()>) -> Nanos {
        let zero = self.now;
        let servers = match self.servers.is_empty() {
            true => self.spec.servers(plan),
            false => std::mem::take(&mut self.servers),
        };
        let seed = self.spec.seed.wrapping_add(self.runs);
        let mut world = World::new(&self.spec, servers, zero, seed, ());
        let driven = drive_until(plan, &mut world, zero, look);
        self.servers = world.into_servers();
        self.now = driven.end.max(zero);
        self.runs += 1;
        driven.offered(plan, zero)
    }
}

//! How much of a load the largest share is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::schedule::STREAMS;

/// How arrivals are dealt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SizeDealt")]
pub enum Dealt {
    /// Poisson arrivals are so many streams, and a share is whole ones.
    Streams,
    /// Even arrivals: each share has as many.
    Equally,
}

/// A fleet whose shares are dealt: agents that have as many workers each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dealing {
    /// How.
    pub dealt: Dealt,
    /// Machines; agent k has the shares that follow those of agent k − 1.
    pub agents: u32,
    /// Shares of each.
    pub workers: u32,
}

impl Dealing {
    /// Shares of the whole load.
    pub fn shares(self) -> u64 {
        u64::from(self.agents) * u64::from(self.workers)
    }

    /// Streams of the agent that has most; `None` where shares are equal.
    pub fn streams_of_largest(self) -> Option<u64> {
        let (each, rest) = (STREAMS / self.shares(), STREAMS % self.shares());
        // The first shares have one more, and the first agent has the first of these.
        let most = u64::from(self.workers) * each + rest.min(u64::from(self.workers));
        (self.dealt == Dealt::Streams).then_some(most)
    }

    /// How much of the load the largest agent offers.
    pub fn agent(self) -> f64 {
        match self.streams_of_largest() {
            Some(streams) => streams as f64 / STREAMS as f64,
            None => 1.0 / f64::from(self.agents),
        }
    }

    /// The same of its largest worker.
    pub fn worker(self) -> f64 {
        match self.dealt {
            Dealt::Streams => STREAMS.div_ceil(self.shares()) as f64 / STREAMS as f64,
            Dealt::Equally => 1.0 / self.shares() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One by one, as shares are dealt: stream j to the share j mod n.
    #[test]
    fn the_largest_is_that_of_the_streams_one_by_one() {
        for agents in (1..=64).chain([100, 355, 511, 512, 513, 1_000, 1_024]) {
            for workers in [1, 2, 3, 7, 16] {
                let dealing = Dealing { dealt: Dealt::Streams, agents, workers };
                if dealing.shares() > STREAMS {
                    continue;
                }
                let (mut of_agent, mut of_share) =
                    (vec![0u64; agents as usize], vec![0u64; dealing.shares() as usize]);
                for stream in 0..STREAMS {
                    let share = stream % dealing.shares();
                    of_share[share as usize] += 1;
                    of_agent[(share / u64::from(workers)) as usize] += 1;
                }
                assert_eq!(dealing.streams_of_largest(), of_agent.iter().max().copied());
                let most = *of_share.iter().max().unwrap() as f64;
                assert_eq!(dealing.worker(), most / STREAMS as f64);
            }
        }
    }
}

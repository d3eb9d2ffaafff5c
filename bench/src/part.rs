//! The parts of the bench: what is offered, to whom, how often.

use crate::generator::{Tool, Way};
use crate::stall::Stall;
use serde::{Deserialize, Serialize};

/// One part; each can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    /// Closed loop, 64 connections kept alive
    Throughput,
    /// Where arrivals lie at 1,000 to 100,000/s
    Pacing,
    /// What is reported when the server answers nothing for a second
    Stall,
    /// Closed loop, a connection for each request
    Connect,
    /// Closed loop, 64 TLS connections kept alive
    Tls,
    /// Closed loop, a TLS handshake for each request
    Handshake,
    /// Closed loop, answers of 1 MB
    Large,
    /// A second worker thread at the same rate
    Threads,
}

/// In the order in which they run and stand in the tables.
pub(crate) const PARTS: [Part; 8] = [
    Part::Throughput,
    Part::Pacing,
    Part::Stall,
    Part::Connect,
    Part::Tls,
    Part::Handshake,
    Part::Large,
    Part::Threads,
];

/// Connections, and requests in flight in a closed loop.
pub(crate) const CONNECTIONS: u64 = 64;
/// The stall begins so many seconds before the end of the load, and lasts one.
const STALL_BEFORE_END: u64 = 4;
const PACING_RATES: [u64; 4] = [1_000, 10_000, 50_000, 100_000];
const STALL_RATES: [u64; 2] = [1_000, 10_000];
const THREADS_RATES: [u64; 2] = [10_000, 50_000];

/// Who answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Server {
    /// The responder with these arguments; with stamps or without.
    Responder { arguments: Vec<String>, stamped: bool },
    /// nginx with TLS.
    Nginx { close: bool },
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Throughput => "throughput",
            Part::Pacing => "pacing",
            Part::Stall => "stall",
            Part::Connect => "connect",
            Part::Tls => "tls",
            Part::Handshake => "handshake",
            Part::Large => "large",
            Part::Threads => "threads",
        }
    }

    /// Rates to be offered; a single `None` for a closed loop.
    pub(crate) fn rates(self) -> Vec<Option<u64>> {
        match self {
            Part::Pacing => PACING_RATES.map(Some).to_vec(),
            Part::Stall => STALL_RATES.map(Some).to_vec(),
            Part::Threads => THREADS_RATES.map(Some).to_vec(),
            _ => vec![None],
        }
    }

    /// Rounds unless others are asked for.
    pub(crate) fn rounds(self) -> u32 {
        match self {
            Part::Throughput => 9,
            Part::Tls => 5,
            Part::Stall => 2,
            _ => 3,
        }
    }

    /// Seconds of each load unless others are asked for.
    pub(crate) fn seconds(self) -> u64 {
        match self {
            // The first 10 s are wrk2's calibration, which it forgets.
            Part::Stall => 15,
            // What a thread costs once, when it starts, is not the question.
            Part::Threads => 10,
            _ => 3,
        }
    }

    /// Fewer seconds than this say nothing.
    pub(crate) fn seconds_min(self) -> u64 {
        if self == Part::Stall { STALL_BEFORE_END + 1 } else { 2 }
    }

    /// The stall of a load of `seconds`.
    pub(crate) fn stall(self, rate_per_s: u64, seconds: u64) -> Option<Stall> {
        let from_ns = seconds.checked_sub(STALL_BEFORE_END)? * crate::clock::SECOND_NS;
        let to_ns = from_ns + crate::clock::SECOND_NS;
        (self == Part::Stall).then_some(Stall { rate_per_s, seconds, from_ns, to_ns })
    }

    /// Whether each request has a connection of its own.
    pub(crate) fn is_fresh(self) -> bool {
        matches!(self, Part::Connect | Part::Handshake)
    }

    pub(crate) fn server(self, seconds: u64) -> Server {
        let responder = |words: &str, stamped| Server::Responder {
            arguments: words.split_whitespace().map(str::to_string).collect(),
            stamped,
        };
        match self {
            Part::Throughput | Part::Threads => responder("", false),
            Part::Pacing => responder("--busy", true),
            Part::Stall => {
                let from = seconds.saturating_sub(STALL_BEFORE_END);
                responder(&format!("--busy --stall {from}..{}", from + 1), true)
            }
            Part::Connect => responder("--close", false),
            Part::Large => responder("--size 1048576", false),
            Part::Tls => Server::Nginx { close: false },
            Part::Handshake => Server::Nginx { close: true },
        }
    }

    /// Whether `tool` has a place here. The command that it is given decides the rest.
    pub(crate) fn admits(self, tool: Tool) -> bool {
        match tool {
            // Its own affair.
            _ if self == Part::Threads => matches!(tool, Tool::Unblink(_)),
            Tool::Unblink(way) => way == Way::Plain || self == Part::Pacing,
            Tool::Raw => self == Part::Throughput,
            Tool::Pace => self == Part::Pacing,
            // What these report of a load at a rate is no latency of an open load; their arrivals can be judged.
            Tool::Bombardier => self != Part::Stall,
            // It has no closed loop; one part shows what comes of a rate that it can't reach.
            Tool::Wrk2 => matches!(self, Part::Throughput | Part::Pacing | Part::Stall),
            _ => true,
        }
    }

    /// Whether `tool` plays in `round` (from 0) of `rounds`: those that something is claimed of in each; the others
    /// in three, and where a load takes long in one.
    pub(crate) fn plays(self, tool: Tool, round: u32, rounds: u32) -> bool {
        let is_paired = match tool {
            Tool::Unblink(_) | Tool::Raw | Tool::Pace => true,
            Tool::Wrk => matches!(self, Part::Throughput | Part::Tls),
            Tool::Wrk2 => self == Part::Pacing,
            _ => false,
        };
        let others = if matches!(self, Part::Pacing | Part::Stall) { 1 } else { 3 };
        is_paired || round.is_multiple_of(rounds.div_ceil(others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_play_in_three_rounds_or_in_one() {
        let played =
            |part: Part, tool, rounds| (0..rounds).filter(|&round| part.plays(tool, round, rounds)).count();
        assert_eq!((played(Part::Throughput, Tool::Wrk, 9), played(Part::Throughput, Tool::Ab, 9)), (9, 3));
        assert_eq!((played(Part::Pacing, Tool::Wrk2, 3), played(Part::Pacing, Tool::Vegeta, 3)), (3, 1));
        assert_eq!(
            (played(Part::Stall, Tool::Unblink(Way::Plain), 2), played(Part::Stall, Tool::Fortio, 2)),
            (2, 1)
        );
    }

    #[test]
    fn the_stall_that_the_server_makes_is_the_one_that_is_computed() {
        let stall = Part::Stall.stall(1000, 15).unwrap();
        let Server::Responder { arguments, stamped } = Part::Stall.server(15) else { panic!() };
        assert_eq!((stall.from_ns, stall.to_ns), (11_000_000_000, 12_000_000_000));
        assert!(stamped && arguments.contains(&"11..12".to_string()), "{arguments:?}");
        assert_eq!(Part::Pacing.stall(1000, 15), None);
    }
}

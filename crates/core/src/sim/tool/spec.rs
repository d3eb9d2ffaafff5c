//! How a load tool behaves: each choice by itself, so that each mistake can be seen alone.

use crate::time::Nanos;

/// Who decides when the next request is to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// The plan's schedule, fixed beforehand; one queue for all workers, first come first served.
    Static,
    /// The same schedule, dealt out beforehand: worker i of n takes the arrivals k ≡ i (mod n).
    StaticLocal,
    /// A rate limiter that all workers share and that owes no more than its burst: it goes on from there.
    Dynamic,
    /// A limiter like that for each worker, at its share of the rate.
    DynamicLocal,
    /// No schedule: a worker sends when its last answer is there.
    Closed,
}

/// What becomes of a request that falls due while no worker is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// It is sent as soon as a worker is free, and the schedule stays as it is.
    Queue,
    /// It is sent as soon as a worker is free, and the rest of the schedule moves by the delay.
    Shift,
    /// It is never sent.
    Drop,
}

/// From when a response time is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockFrom {
    /// From the time at which the schedule, or the limiter, wanted the request to start.
    Intended,
    /// From the send.
    Sent,
}

/// What is added to the recorded values for the requests that were not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Correct {
    /// Nothing.
    Nothing,
    /// With each value v also v−I, v−2I, … down to I: HdrHistogram's `recordValueWithExpectedInterval`.
    ExpectedInterval(Nanos),
    /// After the run, for values of at least twice the mean interval I in which a connection sent: also v−I, v−2I,
    /// … while above I. wrk's `stats_correct`.
    Backfill,
}

/// A load tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToolSpec {
    /// When the next request is to start.
    pub pacing: Pacing,
    /// What becomes of late ones. A limiter without debt, and closed users, move their schedule by nature.
    pub late: Late,
    /// From when is counted.
    pub clock: ClockFrom,
    /// What is added afterwards.
    pub correct: Correct,
    /// Workers, each with one connection that is always open and one request at a time; no limit without it.
    pub workers: Option<u32>,
    /// Permits that a limiter saves up at the most while its workers wait; what is beyond is forgotten.
    pub burst: u32,
    /// A worker that is behind its own schedule catches up at this multiple of its rate; at once without it.
    pub catch_up: Option<u32>,
    /// What is intended within this time after the start counts as warm-up.
    pub discard: Nanos,
    /// The run ends when the plan's limit of requests is reached, however long that takes.
    pub by_count: bool,
}

impl ToolSpec {
    /// One schedule for all, queueing, measured from the intended time, without a limit of connections.
    pub fn right() -> ToolSpec {
        ToolSpec {
            pacing: Pacing::Static,
            late: Late::Queue,
            clock: ClockFrom::Intended,
            correct: Correct::Nothing,
            workers: None,
            burst: 0,
            catch_up: None,
            discard: Nanos::ZERO,
            by_count: false,
        }
    }
}

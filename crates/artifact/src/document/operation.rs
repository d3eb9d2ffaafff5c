//! What came of each operation.

use super::{Arrivals, Distribution, OperationEvents, Retries};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One operation as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationPlan {
    /// As in `targets`, or `(others)`: all behind those that are recorded apart.
    pub name: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// Its place in `origins`. Absent where the run has one origin, and of `(others)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<u8>,
    /// Its share of the load as planned, from 0 to 1. Absent where requests were given no shares, or a load asks for some
    /// of them only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// One operation and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// As it was planned.
    #[serde(flatten)]
    pub plan: OperationPlan,
    /// Where its arrivals ended.
    pub arrivals: OperationArrivals,
    /// Failed arrivals by kind. Empty where they were not recorded by operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Answers by code, as its protocol has them: of HTTP the status. Those that came after the timeout
    /// count as well. Empty where they were not recorded by operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codes: BTreeMap<String, u64>,
    /// Bytes of the bodies of these answers, as they were sent: codings such as gzip are not undone. Absent where they were not
    /// recorded, and in a simulated run, whose answers have no size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// What came of its retries, without their causes; absent where none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// Intended start to last byte.
    pub response_time: Distribution,
    /// Send to last byte; absent where it was not recorded by operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Distribution>,
    /// Its answers come event by event. Absent where they do not, where they had no event, and of a run's only operation: its
    /// times are those of the whole document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<OperationEvents>,
    /// Response and service times of it, and times of its events, for which no page of its histograms was left. They count, but how long each is,
    /// is known of all operations together only (`spilled` of the document), so that such a time has no quantiles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spilled: u64,
}

impl Operation {
    /// Mean size of the body of an answer; `None` where that is not known, or nothing was answered.
    pub fn body_bytes_mean(&self) -> Option<f64> {
        let answers: u64 = self.codes.values().sum();
        self.body_bytes.filter(|_| answers > 0).map(|bytes| bytes as f64 / answers as f64)
    }

    /// Each of its arrivals has ended once, and each that failed did so in one way. `Err` says what does not add up.
    pub(crate) fn check(&self) -> Result<(), String> {
        let OperationArrivals { scheduled, ok, failed, timed_out, unfinished, unsent, .. } = self.arrivals;
        let parts = [Some(ok), Some(failed), timed_out, unfinished, unsent];
        let sum = parts.iter().copied().try_fold(0u64, |sum, part| Some(sum.saturating_add(part?)));
        let name = &self.plan.name;
        if let Some((scheduled, ended)) = scheduled.zip(sum).filter(|(scheduled, ended)| scheduled != ended) {
            return Err(format!("{scheduled} requests of {name:?} are scheduled, {ended} ended"));
        }
        let by_kind = self.failures.values().fold(0u64, |sum, n| sum.saturating_add(*n));
        match self.failures.is_empty() || by_kind == failed {
            true => Ok(()),
            false => Err(format!("{failed} requests of {name:?} failed, {by_kind} of them in some way")),
        }
    }
}

/// What an operation speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http11,
    /// HTTP/2.
    #[serde(rename = "http/2")]
    Http2,
    /// gRPC: an arrival is a call, and its code is the call's status.
    #[serde(rename = "grpc")]
    Grpc,
    /// WebSocket: an arrival is a message, and the message that answers it is its answer.
    #[serde(rename = "websocket")]
    WebSocket,
    /// Redis: an arrival is a command, and its reply is its answer.
    #[serde(rename = "redis")]
    Redis,
    /// PostgreSQL: an arrival is a transaction, and its rows are its answer.
    #[serde(rename = "postgres")]
    Postgres,
    /// CQL, as Cassandra speaks it: an arrival is a statement, and its rows are its answer.
    #[serde(rename = "cql")]
    Cql,
    /// Nothing: the run is simulated.
    #[serde(rename = "simulated")]
    Simulated,
}

/// Where the arrivals of an operation, or of a load, ended; `null` where that was not recorded apart. Where all is known,
/// `ok + failed + timed_out + unfinished + unsent = scheduled`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationArrivals {
    /// Counted from the schedule; of closed users, and of requests that follow others in journeys, as many as fell due.
    pub scheduled: Option<u64>,
    /// Whole answers, as expected.
    pub ok: u64,
    /// See `failures`.
    pub failed: u64,
    /// Longer than the timeout.
    pub timed_out: Option<u64>,
    /// Those of `timed_out` that were never sent.
    pub timed_out_never_sent: Option<u64>,
    /// In flight when the run ended.
    pub unfinished: Option<u64>,
    /// Still waiting when the run ended.
    pub unsent: Option<u64>,
}

impl OperationArrivals {
    /// Of the only operation: where all arrivals ended.
    pub fn of_all(arrivals: &Arrivals) -> OperationArrivals {
        OperationArrivals {
            scheduled: Some(arrivals.scheduled),
            ok: arrivals.ok,
            failed: arrivals.failed,
            timed_out: Some(arrivals.timed_out),
            timed_out_never_sent: Some(arrivals.timed_out_never_sent),
            unfinished: Some(arrivals.unfinished),
            unsent: Some(arrivals.unsent),
        }
    }
}

/// Durations for which no page was left, of all operations together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spilled {
    /// Intended start to last byte.
    pub response_time: Distribution,
    /// Send to last byte.
    pub service_time: Distribution,
}

/// Most have none: what is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

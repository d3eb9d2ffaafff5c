//! What happened to connections, and what bounds them.

use super::{Distribution, RingSeen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Connections over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Who decides how many there are.
    pub mode: ConnectionMode,
    /// Limit (auto) or number asked for (fixed).
    pub limit: u64,
    /// What this machine lacks for a higher limit of `auto`; `null` when it lacks nothing.
    #[serde(default)]
    pub limited_by: Option<MachineLimit>,
    /// Nobody has said how many: the number is the default for this database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_default: Option<Database>,
    /// Most that were usable at once.
    pub peak: u64,
    /// Attempts to open one.
    pub attempted: u64,
    /// Attempts that led to a usable connection.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts refused by the target.
    pub refused: u64,
    /// Opened beyond the peak: connections that replaced others. Of journeys' own only those of `own_again`.
    pub reconnects: u64,
    /// Usable connections that ended by the target's doing, or after an answer that closes.
    pub closed_by_target: u64,
    /// Closed because their request timed out.
    pub closed_on_timeout: u64,
    /// Closed because they had not been needed for 30 s (`auto`).
    #[serde(default)]
    pub closed_unneeded: u64,
    /// Closed because they had been open for as long as `--connection-age` says.
    #[serde(default)]
    pub closed_by_age: u64,
    /// Of the opened ones, those that a journey had for itself (`own-connection`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own: u64,
    /// Of `own`, those in place of one that the journey had lost before its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_again: u64,
    /// Of `own`, those that were closed because their journey had ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closed_with_journey: u64,
    /// Requests at once on a connection, as asked for; nothing where it takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// The limit in force beside `streams`: requests at once that the target allows a connection (`SETTINGS_MAX_CONCURRENT_STREAMS`),
    /// or `streams` where it allows more. Absent where a connection takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<AllowedAtOnce>,
    /// How messages went over WebSockets; absent of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_socket: Option<WebSocketPlan>,
    /// How commands went to Redis; absent of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<RedisPlan>,
    /// How transactions went to PostgreSQL; absent of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresPlan>,
    /// How statements of CQL went; absent of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cql: Option<CqlPlan>,
    /// The ring by which requests were sent to nodes that have what they ask for; absent where they went to any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingSeen>,
    /// Requests that were sent to a node that has what they ask for, attempts after the first among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub routed: u64,
    /// The same of those that were sent to another, because no such node had a connection with room.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// The same of those of which nothing tells which nodes have what they ask for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without_key: u64,
    /// Connections that were closed so that others could be opened to nodes that had fewer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closed_to_spread: u64,
    /// A connection is used for so long, if a time was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ns: Option<u64>,
    /// The target's name was resolved again this often, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve_every_ns: Option<u64>,
    /// So often a name could not be resolved again; connections went on to the addresses known before.
    #[serde(default)]
    pub resolving_failed: u64,
    /// Requests sent a second time because a reused connection had died.
    pub resent: u64,
    /// Messages that came and answer nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsolicited: u64,
    /// Pings of the target that were answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pinged: u64,
    /// Answers 429 or 503 that asked to wait before asking again (`Retry-After`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_to_wait: u64,
    /// Requests that followed another one of the same arrival, once that was answered: commands of a read-modify-write or of a scan.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub followed: u64,
    /// Requests of which the target had lost a statement: it was prepared again, and the request sent again on the same connection.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prepared_again: u64,
    /// Of the failed attempts, those that the target refused because it had as many connections as it takes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub full: u64,
    /// How often the target said that a connection takes no requests at once (`SETTINGS_MAX_CONCURRENT_STREAMS` of 0).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allowed_none: u64,
    /// How often a journey took a connection from all and held it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: u64,
    /// Closed because something was left open on them, such as a transaction, which the target undoes then: when a journey that held
    /// one ended, or after the answer to a request that stands alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closed_open: u64,
    /// Usable connections that were closed because of what came on them: an answer that can't be read or is too large, or one that
    /// no request had asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closed_broken: u64,
    /// Of `closed_broken`, those on which something came that no request had asked for, and that might have been taken for the
    /// answer to another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub closed_unasked: u64,
    /// `closed_broken` by what was wrong, in the codes of `failures`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub broken_by_code: BTreeMap<String, u64>,
    /// Attempts that this machine could not make: no descriptor, no port.
    pub local_limit: u64,
    /// How requests spread over the connections; absent in a simulated run, and where none was usable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Usable connections by address of the target.
    pub by_address: BTreeMap<String, u64>,
    /// Attempts to connect that failed, by address of the target; addresses without one are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_by_address: BTreeMap<String, FailedAttempts>,
    /// Measured arrivals by address of the target, where it has several or may come to have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrivals_by_address: BTreeMap<String, AddressArrivals>,
}

/// Requests at once on a connection; both are the same where that did not change and was the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedAtOnce {
    /// The fewest that any was allowed at any time.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// How messages go over WebSockets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocketPlan {
    /// Messages that may be under way at once on a socket.
    pub depth: u32,
    /// The first message that comes answers the first that was sent.
    pub in_order: bool,
    /// The same as it was asked for: `order`, or where both have the same value.
    pub matching: String,
    /// Messages are sent as bytes, not as text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_binary: bool,
}

/// How transactions go to PostgreSQL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PostgresPlan {
    /// Transactions at once on a connection, as asked for.
    pub depth: u32,
}

impl PostgresPlan {
    /// In words.
    pub fn describe(&self) -> String {
        match self.depth {
            1 => "PostgreSQL, one transaction at a time on a connection".into(),
            depth => format!(
                "PostgreSQL, up to {depth} transactions at once on a connection (so that service time includes waiting behind \
                 our own transactions)"
            ),
        }
    }
}

/// How statements of CQL go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CqlPlan {
    /// Requests at once on a connection, as asked for.
    pub streams: u32,
    /// Consistencies that requests ask for, each once.
    pub consistency: Vec<String>,
    /// The same of their conditions (`IF …`), where it is not the server's own choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serial_consistency: Vec<String>,
    /// Rows of one answer at the most, where requests have such a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub page_size: Vec<u32>,
}

impl CqlPlan {
    /// In words, for a line of its own or a part of one.
    pub fn describe(&self) -> String {
        let CqlPlan { streams, consistency, serial_consistency, page_size } = self;
        let mut how = consistency.join(", ");
        if !serial_consistency.is_empty() {
            how += &format!("; conditions {}", serial_consistency.join(", "));
        }
        if !page_size.is_empty() {
            let sizes: Vec<String> = page_size.iter().map(u32::to_string).collect();
            how += &format!("; pages of {} rows", sizes.join(", "));
        }
        match streams {
            1 => format!("CQL ({how}), one request at a time on a connection"),
            n => format!("CQL ({how}), up to {n} requests at once on a connection"),
        }
    }
}

/// How commands go to Redis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RedisPlan {
    /// Commands that may be under way at once on a connection.
    pub depth: u32,
    /// Version of its protocol: 2 or 3.
    pub resp: u32,
}

impl RedisPlan {
    /// In words, for a line of its own or a part of one.
    pub fn describe(&self) -> String {
        let RedisPlan { depth, resp } = self;
        match depth {
            1 => format!("Redis (RESP{resp}), one command at a time on a connection"),
            _ => format!(
                "Redis (RESP{resp}), up to {depth} commands at once on a connection (so that service time includes waiting \
                 behind our own commands)"
            ),
        }
    }
}

impl WebSocketPlan {
    /// In words, for a line of its own or a part of one.
    pub fn describe(&self) -> String {
        let at_once = match self.depth {
            1 => "one message at a time on a socket".to_string(),
            n => format!("up to {n} messages at once on a socket"),
        };
        match (self.in_order, self.depth) {
            (true, 1) => format!("WebSocket, {at_once}"),
            (true, _) => format!(
                "WebSocket, {at_once}, answered in order (so that service time includes waiting behind our own messages)"
            ),
            (false, _) => format!("WebSocket, {at_once}, answers matched by {}", self.matching),
        }
    }
}

/// Requests by connection, warm-up and those that were sent again included. Every connection counts that was usable, though
/// nothing may have been sent on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Fewest requests on one connection.
    pub requests_min: u64,
    /// Median over the connections, to within 1 %.
    pub requests_median: u64,
    /// Most requests on one connection.
    pub requests_max: u64,
    /// Most requests under way at once on one connection.
    pub at_once_max: u32,
}

/// What came of the measured arrivals whose last attempt was sent to one address. An arrival that was never sent is at none, so
/// that these add up to all arrivals but those.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressArrivals {
    /// Whole answers, as expected.
    pub ok: u64,
    /// See `failures`.
    pub failed: u64,
    /// Longer than the timeout.
    pub timed_out: u64,
    /// In flight when the run ended.
    pub unfinished: u64,
    /// Attempts that came to nothing here and after which the arrival was tried again. They are the end of none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tried_again: u64,
    /// Intended start to last byte, over all attempts. It has no 95 % intervals.
    pub response_time: Distribution,
}

/// Attempts to connect to one address that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedAttempts {
    /// Refused by it.
    pub refused: u64,
    /// Left without an answer.
    pub unanswered: u64,
    /// Failed otherwise: no route to it, say.
    pub unreachable: u64,
}

/// What a machine has too few of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachineLimit {
    /// `ulimit -n`.
    FileDescriptors,
    /// `net.ipv4.ip_local_port_range`.
    LocalPorts,
}

/// What a run asks that is a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Database {
    /// Or whatever speaks its protocol.
    Redis,
    /// Or whatever speaks its protocol.
    PostgreSql,
    /// Or whatever speaks CQL.
    Cassandra,
}

impl Database {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Database::Redis => "Redis",
            Database::PostgreSql => "PostgreSQL",
            Database::Cassandra => "Cassandra",
        }
    }
}

/// Who decides how many connections there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// The load: one more whenever an arrival is due and none is usable, up to the limit.
    #[default]
    Auto,
    /// The user, or the default for a database.
    Fixed,
}

/// Most protocols have none: what is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

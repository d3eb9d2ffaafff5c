//! What `unblink size --json` prints: the machines that a load takes, and what breaks first; and the file that `unblink size --calibrate
//! -o FILE` writes.

use crate::document::{Environment, Tool};
pub use unblink_analysis::fleet::constants::Constant;
pub use unblink_analysis::fleet::{Agent, Bound, Dealt, Fleet, Limit, OpenBefore, Total};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`SizeDocument`].
pub const SIZE_SCHEMA: &str = "unblink.size/1";
/// The version of [`ConstantsDocument`].
pub const CONSTANTS_SCHEMA: &str = "unblink.size-constants/1";

/// How many machines?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeDocument {
    /// `unblink.size/1`.
    pub schema: String,
    /// What is to be offered.
    pub load: SizeLoad,
    /// A machine to offer it from.
    pub machine: SizeMachine,
    /// How many of these, and what they do.
    pub fleet: Fleet,
    /// What was reckoned with.
    pub constants: Vec<Constant>,
}

/// What is to be offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeLoad {
    /// Requests per second, at their highest.
    pub per_s: f64,
    /// How long one takes while all is well.
    pub latency_ns: u64,
    /// How long the slowest one takes in the worst stall that is to be carried.
    pub stall_ns: u64,
    /// How arrivals are dealt to shares.
    pub dealt: Dealt,
    /// Over TLS.
    pub tls: bool,
    /// Body of a request.
    pub request_body_bytes: u64,
    /// Body of an answer.
    pub answer_body_bytes: u64,
    /// A connection is closed after so many; kept if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u64>,
    /// Requests that are recorded apart.
    pub operations: u32,
    /// Addresses and ports of the target that connections are spread over.
    pub addresses: u32,
    /// Connections are opened before the load, so that a stall opens none.
    pub open_before: bool,
    /// The number of agents that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_asked: Option<u32>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeMachine {
    /// Its processors.
    pub cores: u32,
    /// The speed of its network in each direction.
    pub nic_bits_per_s: f64,
}

/// Constants as they were measured on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstantsDocument {
    /// `unblink.size-constants/1`.
    pub schema: String,
    /// What measured them.
    pub tool: Tool,
    /// Where.
    pub environment: Environment,
    /// Those that it could measure.
    pub constants: Vec<Constant>,
}

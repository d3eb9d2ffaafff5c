//! Many machines, one run. A coordinator gathers agents, gives each its shares of the load, sets one start, and knows at any
//! moment who is still there. What an agent may do without it is bounded: load ends five seconds after the last word.
//!
//! [`coordinator`] and [`agent`] are state machines without a clock or a socket, so that thousands of hostile worlds can be
//! played from a seed. [`bus`] is the only place that talks to NATS.

pub mod agent;
pub mod bus;
pub mod clock;
pub mod coordinator;
pub mod message;
pub mod record;
pub mod signed;

/// What is said is understood by machines that say the same number.
pub const PROTOCOL: u32 = 4;

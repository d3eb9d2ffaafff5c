//! WebSocket (RFC 6455) as a protocol: a message is a request, and the message that answers it is its answer.
//!
//! A connection begins with an upgrade of HTTP/1.1 ([`Handshake`]) and takes messages once that is accepted. Which message of
//! the server answers which of ours is not a matter of the protocol: [`Matching`] says it.

mod connection;
mod exchange;
mod fault;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod handshake;
mod keys;
mod matching;
mod message;
mod reader;
mod shared;
mod steps;
mod utf8;
mod words;

pub use connection::{Settings, Ws};
pub use fault::Fault;
pub use handshake::{Handshake, Unrenderable};
pub use matching::{Finder, Matching};
pub use message::Message;
pub use shared::Shared;
pub use steps::{Ask, Opening, SharedOfSteps, Step, StepSettings, Steps};

/// The code of every answer: that of the switch to this protocol, as messages have none.
pub const CODE: u16 = 101;

/// Bytes of a message that are collected, where nothing is known of it before its end. What may be looked at of a body of HTTP is as
/// long.
pub const COLLECTED_MAX: usize = 16 << 20;

/// Messages that may be under way on one socket.
pub const DEPTH_MAX: u32 = 64;

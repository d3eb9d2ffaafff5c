//! Time, schedules, the dispatcher and the recorder.
//!
//! Nothing in this crate reads a clock, opens a socket or starts a thread: `now` is always an argument.
//! The real engine and any simulator drive the same [`dispatch::Dispatch`] and the same
//! [`record::Recorder`].

pub mod arrival;
pub mod code;
pub mod dispatch;
pub mod failure;
pub mod heat;
pub mod journey;
pub mod load;
pub mod mix;
mod near;
pub mod origins;
pub mod outcome;
pub mod plan;
pub mod random;
pub mod rate;
pub mod record;
pub mod recorded;
pub mod recorded_users;
pub mod schedule;
pub mod share;
pub mod shuffle;
pub mod sim;
pub mod time;
pub mod trace_context;

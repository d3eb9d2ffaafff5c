//! The real world around the dispatcher: the OS clock, worker threads, epoll, connections and TLS.
//!
//! [`run::start`] takes a [`job::Job`] and gives a handle that yields one merged interval a second.

pub mod addresses;
pub mod alpn;
mod awake;
pub mod bounded;
pub mod clock;
pub mod codes;
mod composing;
mod conn;
pub mod control;
pub mod controls;
mod directory;
pub mod error;
pub mod failed;
pub mod feeding;
mod gate;
pub mod job;
pub mod limits;
pub mod mirror;
mod pace;
pub mod pacing;
pub mod packets;
pub mod preflight;
pub mod priority;
pub mod routing;
pub mod run;
pub mod setup;
mod so_far;
pub mod spill;
mod starvation;
pub mod target;
pub mod tls;
pub mod walk;
mod worker;

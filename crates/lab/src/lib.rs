//! The misbehaving lab server: an HTTP/1.x server whose latency is known in advance.
//!
//! A [`Scenario`] says what every answer takes and when the server misbehaves; [`oracle`] computes from it what a
//! perfect load tester must report; [`Server`] plays it on a real socket and writes what it did to a truth log.
//! A request's life (`model`), the event clock (`clock`) and HTTP's framing (`framer`) are pure state machines with
//! time and bytes passed in; `event_loop` joins them to the sockets, and only `timing` reads the system's clock.
//!
//! This crate shares no protocol code with the load tester, so that one misreading cannot cancel out on both
//! sides. It prints nothing.

mod answer;
mod clock;
mod config;
mod connection;
mod error;
mod event_loop;
mod framer;
mod lateness;
mod model;
pub mod oracle;
mod scenario;
mod server;
mod summary;
mod timing;
mod tls;
mod truth;

pub use clock::{CLOCK_HELP, ClockStart};
pub use config::{ServerConfig, Tls};
pub use error::LabError;
pub use scenario::{Baseline, Gate, Scenario};
pub use server::{Running, Server, Stopper, spawn};
pub use summary::{Lateness, Summary};
pub use truth::{TRUTH_HEADER, TruthRow, read_truth};

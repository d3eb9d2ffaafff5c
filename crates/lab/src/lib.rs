//! The misbehaving lab server: a server whose latency is known in advance.
//!
//! A [`Scenario`] says what every answer takes and when the server misbehaves; [`oracle`] computes from it what a
//! perfect load tester must report; [`Server`] plays it on a real socket and writes what it did to a truth log.
//! A request's life (`model`), the event clock (`clock`) and HTTP's framing (`framer`; `streams` for HTTP/2, with `grpc` on it; `messages` for WebSocket) are pure state machines with
//! time and bytes passed in; `event_loop` joins them to the sockets, and only `timing` reads the system's clock.
//!
//! The other half runs load tools against it: a [`Definition`] says how a tool is called and read, a [`Job`] runs one
//! tool in one [`Case`] and holds what it says beside the truth. Of a [`Database`], which nobody here has written, the truth
//! is told from the packets on the loopback.
//!
//! This crate shares no protocol code with the load tester, so that one misreading cannot cancel out on both
//! sides. It prints nothing.

mod answer;
mod audit;
mod case;
mod cell;
mod clock;
mod config;
mod connection;
mod database;
mod error;
mod event_loop;
mod events;
mod fault;
mod framer;
mod freezer;
mod gate;
mod grpc;
mod lateness;
mod messages;
mod metrics;
mod model;
mod multiplexed;
mod offered;
pub mod oracle;
mod pipe;
mod process;
mod read;
mod rows;
mod scenario;
mod server;
mod streams;
mod summary;
mod timing;
mod tls;
mod tool;
mod truth;
mod watched;

pub use audit::{SCENARIOS as AUDIT_SCENARIOS, Scorecard, audit};
pub use case::{Case, Truth};
pub use cell::{CELL_FILE, CellError, Job, TRUTH_FILE, compare};
pub use clock::{CLOCK_HELP, ClockStart};
pub use config::{Protocol, ServerConfig, Tls};
pub use database::Database;
pub use error::LabError;
pub use events::EventStream;
pub use fault::{Ending, Fault, Harm, Slow};
pub use gate::Gate;
pub use offered::requests;
pub use process::Processors;
pub use read::{CsvFormat, JsonFormat, Output, PatternFormat, ReadError, Source, Unit, value_at};
pub use rows::rows;
pub use scenario::{Baseline, Scenario, Treatment};
pub use server::{Running, Server, Stopper, spawn};
pub use summary::{Lateness, Summary};
pub use tool::{
    Arrivals, Definition, DefinitionError, Found, Install, Places, Registry, Step, TemplateError, Values,
    Version, steps,
};
pub use truth::{TRUTH_HEADER, TruthRow, read_truth};
pub use watched::{OpenTap, Tap, WatchError};

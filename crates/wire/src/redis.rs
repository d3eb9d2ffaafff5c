//! Redis (RESP2 and RESP3) as a protocol: a command is a request, and its reply is its answer.
//!
//! A connection greets before its first command ([`Greeting`]): it says who it is, and chooses a database. Replies come in the
//! order of the commands. Nothing of a reply is kept: [`reader`] checks it as its bytes pass by.

mod codes;
mod command;
mod connection;
mod control;
mod fault;
#[doc(hidden)]
pub mod fuzzing;
mod greeting;
mod line;
mod names;
mod reader;
mod series;
mod values;
mod words;

pub use codes::{NIL, OK, name as code_name};
pub use command::Command;
pub use connection::{Redis, Settings, Shared};
pub use fault::Fault;
pub use greeting::{Greeting, User};
pub use names::{Refused, is_reading, refused};

/// Commands that may be under way on one connection.
pub const DEPTH_MAX: u32 = 64;

/// Values inside values that a reply may have: Redis itself nests no deeper than a script's answer, which is less.
pub const NESTING_MAX: usize = 32;

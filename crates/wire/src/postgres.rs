//! PostgreSQL (protocol 3.0, extended queries) as a protocol: a transaction is a request, and its rows are its answer.
//!
//! A connection logs in and prepares all statements of the run before its first request ([`Session`]). A request binds its values
//! to prepared statements and ends in a Sync of its own, so that an error of one leaves those behind it alone. Values are never
//! spliced into a statement's text ([`Transaction`]). Nothing of an answer is kept: [`reader`] checks it as its bytes pass by.

#[cfg(test)]
mod again;
mod asked;
mod codes;
mod columns;
mod connection;
mod fault;
#[cfg(test)]
mod following;
mod found;
#[doc(hidden)]
pub mod fuzzing;
mod lexer;
mod login;
mod message;
mod reader;
mod refused;
mod scram;
mod session;
mod sql;
mod words;

pub use codes::{DONE, EMPTY, name as code_name};
pub use connection::{Postgres, Settings, Shared};
pub use fault::Fault;
pub use session::{Session, User};
pub use sql::{BadSql, Transaction, shown};

/// Asks a server for TLS; one that takes it answers [`TLS_GRANTED`], and then the handshake begins.
pub const TLS_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

/// The answer of a server that takes TLS.
pub const TLS_GRANTED: u8 = b'S';

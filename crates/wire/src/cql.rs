//! CQL (version 4 of the native protocol of Apache Cassandra) as a protocol: a prepared statement that is executed is a request, and
//! its rows are its answer.
//!
//! A connection logs in and prepares all statements of the run before its first request ([`Session`]). Many requests are under way
//! at once on a connection, each under a stream's number, which rests until its answer has come. Values are bound with the types that
//! the server says the statement has, and never spliced into its text ([`Statement`]). Nothing of an answer is kept: [`reader`] checks
//! it as its bytes pass by.

mod cluster;
mod codes;
mod connection;
mod control;
mod fault;
mod fields;
mod following;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod key;
mod lexer;
mod login;
mod prepared;
mod reader;
mod result;
mod rows;
mod session;
mod statement;
mod streams;
mod table;
mod text;
mod token;
mod types;
mod value;
mod words;

pub use cluster::Cluster;
pub use codes::{NO_ROWS, NOT_APPLIED, ROWS, VOID, name as code_name};
pub use connection::{Cql, Settings, Shared};
pub use control::{Change, Control, Told};
pub use fault::Fault;
pub use session::{Session, User};
pub use statement::{BadCql, Consistency, Options, Statement, shown};

/// Requests that a connection has room for unless the user says otherwise.
pub const STREAMS: u32 = 100;

/// Requests that a connection can have room for: numbers of streams have 16 bits, and those below zero are the server's.
pub const STREAMS_MAX: u32 = 32_768;

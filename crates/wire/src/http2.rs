//! HTTP/2 (RFC 9113) as a protocol: many requests at once on one connection.
//!
//! Requests are encoded once, ahead of their time. What they have in common goes into the server's table of header fields, which
//! soon comes to rest, and with it the blocks that refer to it. What answers say is decoded with a table of their own, and a block
//! of fields that has been read before is recognised where nothing has changed in that table since.

mod answer;
mod connection;
mod fault;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod head;
mod hpack;
mod incoming;
mod outgoing;
mod request;
mod resets;
mod stream;
mod words;

pub(crate) use connection::STREAMS_EXPECTED;
pub use connection::{Http2, Settings, Shared};
pub use fault::Fault;
pub use request::{Request, Scheme, Unrenderable};

/// How TLS calls it (ALPN, RFC 9113 §3.2).
pub const ALPN: &[u8] = b"h2";

/// Requests that a connection has room for unless the user or the server says otherwise.
pub const STREAMS: u32 = 100;

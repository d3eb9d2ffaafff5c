//! Recorded arrivals: access logs of many kinds become one trace, which is documented, compressed and anonymised.
//!
//! A trace says when each request *started* and what it asked ([`format`]). [`import`] makes one of logs, in one pass
//! and in memory of a fixed size; [`edit`] cuts, samples and merges traces, [`summary`] says what is in one, and [`fit`]
//! fits laws to it.
//! Formats of logs are values of [`source::Source`].
//!
//! ```
//! use unblink_trace::anonymous::{Anonymous, Keep, Key};
//! use unblink_trace::import::{Import, Input};
//! use unblink_trace::source::{self, Map, Source};
//! use unblink_trace::format::{Reader, Writer};
//!
//! let log = "9.9.9.9 - - [01/Jan/2026:00:00:00 +0000] \"GET /items/17?q=x HTTP/1.1\" 200 5\n";
//! let source = Source::Lines(source::combined_or_common(false));
//! let anonymous = Anonymous::new(Key::from_secret(b"a secret of 16 bytes and more"), Keep::default());
//! let mut import = Import::new(source, "common", anonymous, 1_000);
//! let mut trace = Vec::new();
//! let inputs = [Input { name: "a.log".into(), bytes: Box::new(log.as_bytes()) }];
//! let imported = import.run(inputs, Writer::to(&mut trace).unwrap(), &mut |_| true).unwrap();
//! assert_eq!(imported.requests, 1);
//! let request = Reader::new(&trace[..]).unwrap().next_request().unwrap().unwrap();
//! assert!(request.path.starts_with("/items/") && request.path.ends_with("?q="));
//! # let _ = Map::default();
//! ```

pub mod anonymous;
mod counts;
pub mod edit;
mod entry;
pub mod fit;
pub mod format;
pub mod import;
mod lines;
mod order;
pub mod route;
pub mod source;
pub mod summary;
mod time;

pub use counts::{AnswerIs, Counts, Finding, Lacking, Unreadable};

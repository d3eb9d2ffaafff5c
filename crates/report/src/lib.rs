//! The run document as terminal text, HTML, SVG and CSV; pure: a document goes in, text comes out.
//!
//! Nothing here computes a statistic: figures stand in the document, or are sums and differences of what
//! stands there. The sentences around them are chosen by plain rules in one place, `facts`, so that terminal,
//! page and pictures say the same; where the document doesn't bear a sentence out, a plainer one is used.
//!
//! ```
//! use unblink_report::{fixture, html, terminal};
//!
//! let run = fixture::stall();
//! let text = terminal::render(&run, &terminal::Style { width: 80, color: false });
//! assert!(text.contains("VALID"));
//! assert!(html::render(&run).starts_with("<!doctype html>"));
//! ```

mod block;
pub mod compare;
pub mod csv;
pub mod demo;
mod event;
pub mod explain;
mod facts;
#[doc(hidden)]
pub mod fixture;
pub mod format;
pub mod github;
pub mod history;
pub mod html;
pub mod junit;
pub mod knee;
pub mod lab;
pub mod mirror;
pub mod signoff;
pub mod size;
pub mod svg;
pub mod terminal;
pub mod trace;
pub mod tried;

pub use facts::{load_in_words, process_in_words, rates_in_words};

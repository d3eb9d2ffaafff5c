//! The run document as terminal text, HTML, SVG and CSV; pure: a document goes in, text comes out.
//!
//! Nothing here computes a statistic: every figure that is printed stands in the document. The same rules
//! ([`facts`](crate) in the source) choose the sentences for terminal and page, so that both say the same.

pub mod csv;
pub mod demo;
mod event;
mod facts;
#[doc(hidden)]
pub mod fixture;
pub mod format;
pub mod html;
pub mod svg;
pub mod terminal;

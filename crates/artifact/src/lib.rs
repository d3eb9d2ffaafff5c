//! The run document, its JSON Schema, and the run folder.
//!
//! Core types do not serialise; this crate owns everything that is written. A figure in the document has
//! its unit in its name, and `null` stands for "not known", never for 0.

pub mod bounded;
mod causes;
pub mod codes;
pub mod compare;
pub mod document;
pub mod exchange;
pub mod fingerprint;
pub mod folder;
pub mod harmless;
pub mod header;
pub mod hgrm;
pub mod history;
pub mod knee;
pub mod lab;
pub mod mirror;
pub mod names;
pub mod plan_check;
pub mod schema;
pub mod signoff;
pub mod simulated;
pub mod size;
pub mod tally;
pub mod trace;
pub mod tried;
pub mod ycsb;

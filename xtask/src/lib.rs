//! Checks of the repository itself: what the compiler and clippy cannot hold.
//!
//! Each check is a function from a [`Repo`] to [`Complaint`]s, so that it can be tried on good and bad
//! snippets in memory. `tests/repository.rs` runs them on this repository; `cargo xtask check` prints them.

pub mod circles;
pub mod clock;
pub mod complaint;
pub mod corpora;
pub mod exceptions;
pub mod flags;
pub mod help;
pub mod layering;
pub mod length;
pub mod links;
pub mod markdown;
pub mod modules;
pub mod names;
pub mod paths;
pub mod printing;
pub mod purity;
pub mod repo;
pub mod shell;
pub mod source;
pub mod unfinished;
pub mod unsafety;
pub mod worlds;

use complaint::Complaint;
use repo::Repo;

/// A check: its name and what it does.
pub type Check = (&'static str, fn(&Repo) -> Vec<Complaint>);

/// Every check, in the order in which `cargo xtask check` runs them.
pub const CHECKS: &[Check] = &[
    ("layering", layering::check),
    ("purity", purity::check),
    ("length", length::check),
    ("circles", circles::check),
    ("names", names::check),
    ("clock", clock::check),
    ("printing", printing::check),
    ("unsafety", unsafety::check),
    ("unfinished", unfinished::check),
    ("links", links::check),
    ("flags", flags::check),
    ("corpora", corpora::check),
];

//! What an arrival asks, beyond which operation: the values that a plan's `let` names, drawn as functions of the run's seed
//! and the arrival's key. So any worker of any machine, and the simulator, draw the same for the same arrival.
//!
//! Logarithms and powers come from `libm`, whose results are the same bits on every machine.

mod draws;
mod error;
mod expression;
mod feeder;
mod keys;
#[cfg(test)]
mod laws;
mod lines;
mod sizes;
mod source;
mod weighted;
mod ycsb;

pub use draws::{Drawing, Draws};
pub use error::{Place, SourceError};
pub use source::{Needs, Source};
pub use ycsb::hashed as ycsb_hashed;

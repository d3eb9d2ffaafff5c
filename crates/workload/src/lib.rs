//! What an arrival asks, beyond which operation: the values that a plan's `let` names, drawn as functions of the run's seed
//! and the arrival's key. So any worker of any machine, and the simulator, draw the same for the same arrival.
//!
//! Logarithms and powers come from `libm`, whose results are the same bits on every machine.
//!
//! And what its answer must be like, and what is taken from it: [`answer`].

pub mod answer;
mod balanced;
mod composition;
mod date;
mod decimal;
mod draws;
mod encode;
mod error;
mod expression;
mod feeder;
mod frozen;
mod globals;
mod hole;
mod identity;
mod in_order;
mod inserted;
mod inserting;
mod kept;
mod keys;
#[cfg(test)]
mod laws;
mod lets;
mod lines;
pub mod records;
pub mod script;
mod sent;
mod sizes;
mod source;
pub mod template;
mod values;
mod weighted;
mod ycsb;

pub use balanced::{Balanced, Unbalanced};
pub use composition::Composition;
pub use draws::{Drawing, Draws};
pub use encode::Context;
pub use error::{Place, SourceError, ValuesError};
pub use globals::Globals;
pub use hole::{Hole, RECORDED};
pub use kept::{KEPT_MAX, Kept};
pub use lets::{LETS_MAX, Lets};
pub use sent::Sent;
pub use source::{Needs, Source};
pub use values::{Composer, Values};
pub use ycsb::hashed as ycsb_hashed;

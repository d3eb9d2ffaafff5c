//! What an arrival asks, beyond which operation: the values that a plan's `let` names, drawn as functions of the run's seed
//! and the arrival's key. So any worker of any machine, and the simulator, draw the same for the same arrival.

mod draws;

pub use draws::{Drawing, Draws};

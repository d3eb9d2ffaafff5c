//! What an arrival asks, beyond which operation: the values that a plan's `let` names, drawn as functions of the run's seed
//! and the arrival's key. So any worker of any machine, and the simulator, draw the same for the same arrival.

mod date;
mod draws;
mod encode;
mod hole;
mod lets;
mod quantity;
pub mod source;
pub mod template;
mod values;

pub use draws::{Drawing, Draws};
pub use hole::Hole;
pub use lets::{LETS_MAX, Lets};
pub use source::Source;
pub use values::{Composer, Composition, Values, ValuesError};

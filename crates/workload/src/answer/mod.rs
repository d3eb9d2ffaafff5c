//! What answers must be like, and what is taken from them.
//!
//! An [`Expect`] says what the answers to one request must be like. Whoever reads the answer asks it in the order in which
//! the answer comes: the status, the head, the body. Nothing is allocated for an answer whose body is sent plain, once the
//! buffers that the caller gives have grown. A worker has a copy of its own: a regular expression that threads share would
//! make them wait for each other.

mod capture;
mod condition;
mod decode;
mod events;
mod expects;
mod explain;
#[doc(hidden)]
pub mod fuzzing;
pub mod head;
pub mod json;
mod needle;
mod reader;
mod redirect;

pub use capture::{Capture, CaptureError, Captured, KEPT_BYTES_MAX, Missed, Told};
pub use condition::{Condition, ConditionError, Literal, NamedCode, Pattern, Test};
pub use decode::{BODY_MAX, Coding, Undecoded};
pub use events::{EventFormat, EventReader, Found};
pub use expects::{Expect, Expects};
pub use explain::Unmet;
pub use needle::Needle;
pub use reader::Reader;
pub use redirect::{Elsewhere, Method, Redirects, TargetText};

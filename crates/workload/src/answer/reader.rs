//! What makes a text of a body that is none, such as a message of protobuf.

use super::decode::Undecoded;
use std::fmt;
use std::sync::Arc;

/// Appends the text of a body, and says whether it is one.
type Read = dyn Fn(&[u8], &mut Vec<u8>) -> bool + Send + Sync;

/// Reads bodies. It may allocate, and is only asked where a condition looks at the text.
#[derive(Clone)]
pub struct Reader(Arc<Read>);

impl Reader {
    /// Of what appends the text of a body, and says whether it is one.
    pub fn new(read: impl Fn(&[u8], &mut Vec<u8>) -> bool + Send + Sync + 'static) -> Reader {
        Reader(Arc::new(read))
    }

    /// The text of `body`. `text` is written over.
    ///
    /// # Errors
    /// It is no such body.
    pub fn read<'a>(&self, body: &[u8], text: &'a mut Vec<u8>) -> Result<&'a [u8], Undecoded> {
        text.clear();
        if (self.0)(body, text) { Ok(text) } else { Err(Undecoded::NoMessage) }
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Reader) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

//! Which message of the server answers which of ours.

use std::fmt;
use std::sync::Arc;

/// Appends the name of a message; false where it has none.
type Find = dyn Fn(&[u8], &mut Vec<u8>) -> bool + Send + Sync;

/// Finds what a message is called, such as the value at a path of its JSON.
#[derive(Clone)]
pub struct Finder(Arc<Find>);

impl Finder {
    /// `find` appends the name of a message; it is false where the message has none.
    pub fn new(find: impl Fn(&[u8], &mut Vec<u8>) -> bool + Send + Sync + 'static) -> Finder {
        Finder(Arc::new(find))
    }

    /// Writes the name of `message` over `name`. False where it has none.
    pub fn find(&self, message: &[u8], name: &mut Vec<u8>) -> bool {
        name.clear();
        (self.0)(message, name)
    }
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Finder")
    }
}

/// What makes a message of the server the answer to one of ours on the same socket.
#[derive(Clone, Debug)]
pub enum Matching {
    /// Its place: the first that comes answers the first that was sent.
    Order,
    /// Both have the same name. Of several that do, the one that was sent first is answered first.
    Name(Finder),
}

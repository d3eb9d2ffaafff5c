//! The first answers of a server, all at once.

use std::io::{self, Write};

/// Closed users, as many as ask at the same time.
pub(crate) const USERS: u32 = 8;

/// Holds the first answers back until every user waits for one. What a connection keeps for those that are under way has grown to
/// its full size then, and it is not left to chance whether that happens before or after the worker is watched.
#[derive(Default)]
pub(crate) struct FirstTogether {
    held: Vec<u8>,
    asked: u32,
}

impl FirstTogether {
    pub(crate) fn answer(&mut self, stream: &mut impl Write, answer: &[u8]) -> io::Result<()> {
        self.asked = self.asked.saturating_add(1);
        if self.asked > USERS {
            return stream.write_all(answer);
        }
        self.held.extend_from_slice(answer);
        if self.asked == USERS { stream.write_all(&self.held) } else { Ok(()) }
    }
}

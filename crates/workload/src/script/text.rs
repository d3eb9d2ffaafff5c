//! Texts that a script is handed again and again.

use super::state::MEMORY_MAX;
use mlua::{Lua, LuaString, Result};

/// Of a longer one so much is kept, and one byte more: it is like no other.
const KEPT_MAX: usize = 4096;

/// The text of its kind that was handed over last. The heads and the bodies of many answers are all alike: to compare one takes less
/// than to make it anew.
#[derive(Default)]
pub(super) struct Last {
    bytes: Vec<u8>,
    text: Option<LuaString>,
}

impl Last {
    /// `bytes` as a text of Lua's, which the state holds until the next one.
    #[inline]
    pub(super) fn of(&mut self, bytes: &[u8], lua: &Lua) -> Result<&LuaString> {
        // The place of the one before is free for this one.
        let last = self.text.take().filter(|_| bytes.len() <= KEPT_MAX && bytes == self.bytes);
        let text = match last {
            Some(same) => same,
            None => self.anew(bytes, lua)?,
        };
        Ok(self.text.insert(text))
    }

    fn anew(&mut self, bytes: &[u8], lua: &Lua) -> Result<LuaString> {
        self.bytes.clear();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(KEPT_MAX + 1)]);
        // Under a limit a text is made within a call that catches what goes beyond it, which takes longer than to make it. Without
        // one, whatever the script asks for next goes beyond it. Where the allocator can't be told, there is none.
        let _ = lua.set_memory_limit(0);
        let text = lua.create_string(bytes);
        let _ = lua.set_memory_limit(MEMORY_MAX);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_one_that_was_asked_for_whatever_came_before() {
        let (lua, mut last) = (Lua::new(), Last::default());
        let long = |end: &[u8]| [&[b'x'; KEPT_MAX + 1][..], end].concat();
        let all = [b"".to_vec(), b"a".to_vec(), b"ab".to_vec(), long(b""), long(b"a"), long(b"b")];
        for one in &all {
            for other in &all {
                for bytes in [one, other, other] {
                    assert_eq!(*last.of(bytes, &lua).unwrap().as_bytes(), **bytes);
                }
            }
        }
    }
}

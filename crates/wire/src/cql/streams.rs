//! What is under way on a connection, by the numbers of its streams.

use super::codes;
use super::following::Following;
use super::prepared::Prepared;
use super::statement::{Statement, Unfit};
use crate::blank::Filler;
use crate::protocol::Tag;

/// What a stream waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// It is free.
    Nothing,
    /// The answer to its request.
    Answer,
    /// That its statement is prepared again, after which the request is sent again.
    Preparing,
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) waits: Waits,
    pub(super) tag: Tag,
    /// Which statement it is.
    pub(super) statement: u32,
    /// A byte of an answer has come.
    pub(super) has_begun: bool,
    /// The statement was prepared again for it.
    pub(super) is_second: bool,
    /// It is the second statement of its request.
    pub(super) is_further: bool,
    /// No row at all is a failure.
    pub(super) must_find: bool,
    /// Values of its first row are told by themselves.
    pub(super) tells_values: bool,
    /// What was told of its rows.
    pub(super) bytes: u64,
    /// What follows the statement's number in its frame, in case that is sent again. Its memory is used again.
    pub(super) rest: Vec<u8>,
    pub(super) following: Following,
}

impl Stream {
    /// Writes all of a request, whose statements are `prepared`. Gives the number of its first one.
    #[inline]
    pub(super) fn write(
        &mut self,
        request: &Statement,
        prepared: &[Prepared],
        filler: &mut impl Filler,
        text: &mut Vec<u8>,
    ) -> Result<(), Unfit> {
        // Whoever only wants to know what would be sent asks before anything is prepared.
        let nothing = Prepared::default();
        let of = |one: &Statement| prepared.get(one.number as usize).unwrap_or(&nothing);
        let first = request.chosen(filler, text);
        (self.statement, self.must_find) = (first.number, request.must_find);
        self.tells_values = request.tells_values;
        first.write(of(first), filler, text, &mut self.rest)?;
        if let Some(next) = &request.next {
            let one = next.chosen(filler, text);
            self.following.statement = Some(one.number);
            self.following.must_find = next.must_find;
            self.following.rest.clear();
            one.write(of(one), filler, text, &mut self.following.rest)?;
        }
        Ok(())
    }

    /// Forgets the request before.
    pub(super) fn forget(&mut self) {
        (self.is_further, self.must_find, self.following.statement) = (false, false, None);
        self.rest.clear();
    }

    /// What an answer with this code comes to.
    pub(super) fn found(&self, code: u16) -> u16 {
        if self.must_find && code == codes::NO_ROWS { codes::NOT_FOUND } else { code }
    }

    /// The statement is done with this code. If another one follows, it takes its place, and its number is given.
    pub(super) fn follow(&mut self, code: u16) -> Option<usize> {
        let next = self.following.statement.take().filter(|_| code < codes::SUCCESSES)?;
        std::mem::swap(&mut self.rest, &mut self.following.rest);
        (self.statement, self.must_find) = (next, self.following.must_find);
        (self.is_second, self.is_further) = (false, true);
        Some(next as usize)
    }
}

/// Those of a connection. There are as many as were under way at once.
#[derive(Debug, Default)]
pub(super) struct Streams {
    all: Vec<Stream>,
    /// The last that became free comes first, so that little memory is used.
    free: Vec<u16>,
    /// So many wait for a statement that is prepared again.
    pub(super) preparing: u32,
    /// So many have executed the first of their statements.
    pub(super) further: u32,
}

impl Streams {
    /// A free stream, which is taken.
    pub(super) fn take(&mut self, tag: Tag) -> (i16, &mut Stream) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(Stream {
                waits: Waits::Nothing,
                tag,
                statement: 0,
                has_begun: false,
                is_second: false,
                is_further: false,
                must_find: false,
                tells_values: false,
                bytes: 0,
                rest: Vec::new(),
                following: Following::default(),
            });
            // There are at most 32,768.
            (self.all.len() - 1) as u16
        });
        let stream = &mut self.all[usize::from(place)];
        (stream.waits, stream.tag) = (Waits::Answer, tag);
        (stream.has_begun, stream.is_second, stream.bytes) = (false, false, 0);
        stream.forget();
        (place as i16, stream)
    }

    /// One on which something is under way.
    #[inline]
    pub(super) fn get_mut(&mut self, number: i16) -> Option<&mut Stream> {
        let stream = self.all.get_mut(usize::try_from(number).ok()?)?;
        (stream.waits != Waits::Nothing).then_some(stream)
    }

    /// Nothing is under way there any more.
    pub(super) fn give_back(&mut self, number: i16) {
        if let Some(stream) = self.get_mut(number) {
            let waited = std::mem::replace(&mut stream.waits, Waits::Nothing);
            let was_further = stream.is_further;
            self.preparing -= u32::from(waited == Waits::Preparing);
            self.further -= u32::from(was_further);
            self.free.push(number as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_once_its_answer_has_come() {
        let mut streams = Streams::default();
        let take = |streams: &mut Streams, tag| streams.take(Tag(tag)).0;
        assert_eq!([1, 2, 3].map(|tag| take(&mut streams, tag)), [0, 1, 2]);
        assert!(streams.get_mut(3).is_none() && streams.get_mut(-1).is_none());
        streams.give_back(1);
        assert!(streams.get_mut(1).is_none());
        streams.give_back(1);
        assert_eq!([4, 5].map(|tag| take(&mut streams, tag)), [1, 3]);
        assert_eq!(streams.get_mut(1).map(|stream| stream.tag), Some(Tag(4)));
    }
}

//! A command, prepared ahead of its time.

use super::control::Control;
use crate::blank::{Blank, Filler};
use std::sync::Arc;

/// What is sent for one arrival: a command, and what follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    pieces: Arc<[Piece]>,
    pub(super) then: Then,
    /// Nothing at all is a failure.
    pub(super) must_find: bool,
    /// What it begins or ends on its connection.
    pub(super) control: Option<Control>,
    /// The values of its reply are told by themselves.
    pub(super) tells_values: bool,
}

/// What follows a command, once its reply has come. An error ends the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Then {
    Nothing,
    /// Another command.
    Command(Arc<Command>),
    /// `HGETALL` of each value of the reply, one after another.
    Each,
}

/// A part of a command's bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    /// As it is sent.
    Ready(Box<[u8]>),
    /// A word whose length is known once it is filled in.
    Word(Blank),
}

impl Command {
    /// Of these words. If it `is_filled`, they may have places ([`crate::blank`]); otherwise they are sent as they are.
    pub fn new(words: &[Vec<u8>], is_filled: bool) -> Command {
        let (mut pieces, mut ready) = (Vec::new(), Vec::new());
        put_length(b'*', words.len(), &mut ready);
        for word in words {
            match is_filled.then(|| Blank::new(word)).filter(Blank::has_gaps) {
                None => put_word(word, &mut ready),
                Some(blank) => {
                    pieces.push(Piece::Ready(std::mem::take(&mut ready).into()));
                    pieces.push(Piece::Word(blank));
                }
            }
        }
        pieces.push(Piece::Ready(ready.into()));
        let control = words.first().and_then(|word| Control::of(word));
        let then = Then::Nothing;
        Command { pieces: pieces.into(), then, must_find: false, control, tells_values: false }
    }

    /// The same, and `next` once its reply has come.
    pub fn then(self, next: Command) -> Command {
        Command { then: Then::Command(next.into()), ..self }
    }

    /// The same, and then `HGETALL` of each value of its reply, one after another.
    pub fn then_each(self) -> Command {
        Command { then: Then::Each, ..self }
    }

    /// The same, which fails if its reply is nothing at all.
    pub fn finding(self) -> Command {
        Command { must_find: true, ..self }
    }

    /// The same, whose reply's values are told by themselves ([`Sink::value`](crate::protocol::Sink::value)).
    pub fn telling(self) -> Command {
        Command { tells_values: true, ..self }
    }

    /// All of it, if it is always the same.
    #[inline]
    pub(super) fn ready(&self) -> Option<&[u8]> {
        match &*self.pieces {
            [Piece::Ready(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Appends it, filled in. `scratch` is written over.
    #[inline]
    pub(super) fn write(&self, filler: &mut impl Filler, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        for piece in &*self.pieces {
            match piece {
                Piece::Ready(bytes) => out.extend_from_slice(bytes),
                Piece::Word(blank) => {
                    scratch.clear();
                    blank.write(|place, word| filler.fill(place, word), scratch);
                    put_word(scratch, out);
                }
            }
        }
    }
}

/// Appends a command of these words.
pub(super) fn put_words(words: &[&[u8]], out: &mut Vec<u8>) {
    put_length(b'*', words.len(), out);
    words.iter().for_each(|word| put_word(word, out));
}

/// Appends a word as a bulk string.
#[inline]
fn put_word(word: &[u8], out: &mut Vec<u8>) {
    put_length(b'$', word.len(), out);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

#[inline]
fn put_length(kind: u8, length: usize, out: &mut Vec<u8>) {
    // As many digits as 2^64 has.
    let (mut digits, mut at, mut left) = ([0; 20], 20, length);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.push(kind);
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl Filler for Numbers {
        fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
            out.extend(std::iter::repeat_n(b'x', place as usize));
        }
    }

    fn written(words: &[&str], is_filled: bool) -> String {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let (mut out, mut scratch) = (Vec::new(), b"old".to_vec());
        let command = Command::new(&words, is_filled);
        command.write(&mut Numbers, &mut scratch, &mut out);
        assert!(command.ready().is_none_or(|ready| ready == out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn words_become_bulk_strings() {
        assert_eq!(written(&["GET", "a"], false), "*2\r\n$3\r\nGET\r\n$1\r\na\r\n");
        assert_eq!(written(&["SET", "k", ""], false), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
        assert_eq!(written(&["GET", "{{7}}"], false), "*2\r\n$3\r\nGET\r\n$5\r\n{{7}}\r\n");
    }

    #[test]
    fn the_length_of_a_word_is_that_of_what_is_filled_in() {
        assert_eq!(
            written(&["SET", "k:{{3}}:{{0}}", "v", "{{12}}"], true),
            "*4\r\n$3\r\nSET\r\n$6\r\nk:xxx:\r\n$1\r\nv\r\n$12\r\nxxxxxxxxxxxx\r\n"
        );
        assert_eq!(written(&["SET", "{{0}}"], true), "*2\r\n$3\r\nSET\r\n$0\r\n\r\n");
    }
}

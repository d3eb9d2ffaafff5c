//! Requests of several commands, each of which is sent once the reply before it has come.

use super::command::put_words;
use crate::protocol::Violation;

/// Names that one reply may bring: far more than a scan is asked for.
const NAMES_BYTES_MAX: usize = 1 << 20;

/// What follows a command of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// This place is free.
    Free,
    /// What is kept, all of it.
    Kept,
    /// Values of the reply are being kept, a line each.
    Collecting,
    /// `HGETALL` of each that is kept, from this byte on.
    Each(usize),
}

/// A request under way of which commands are still to be sent.
#[derive(Debug)]
struct Series {
    next: Next,
    kept: Vec<u8>,
    /// Of the replies before.
    bytes: u64,
}

/// Those of a connection. A place is used again, with its memory.
#[derive(Debug, Default)]
pub(super) struct AllSeries {
    places: Vec<Series>,
    /// Of these so many have sent more than their first command.
    further: u32,
}

impl AllSeries {
    /// A request whose second command `write` appends.
    pub(super) fn begin_pair(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
        let (place, series) = self.begin(Next::Kept);
        write(&mut series.kept);
        place
    }

    /// A request that asks for each value of its first reply.
    pub(super) fn begin_each(&mut self) -> u8 {
        self.begin(Next::Collecting).0
    }

    fn begin(&mut self, next: Next) -> (u8, &mut Series) {
        let free = self.places.iter().position(|series| series.next == Next::Free);
        let place = free.unwrap_or_else(|| {
            self.places.push(Series { next, kept: Vec::new(), bytes: 0 });
            self.places.len() - 1
        });
        let series = &mut self.places[place];
        (series.next, series.bytes) = (next, 0);
        series.kept.clear();
        // A connection has 64 requests under way at the most.
        (place as u8, series)
    }

    /// A piece of the reply to the command of `place` that is under way.
    #[inline]
    pub(super) fn hear(&mut self, place: u8, piece: &[u8]) -> Result<(), Violation> {
        let series = &mut self.places[usize::from(place)];
        if series.next == Next::Collecting {
            if series.kept.len() + piece.len() > NAMES_BYTES_MAX {
                return Err(Violation::TooLarge);
            }
            series.kept.extend_from_slice(piece);
        }
        Ok(())
    }

    /// A reply of so many bytes is whole. Appends the next command if the request `goes_on`; false if there is none.
    pub(super) fn follow(&mut self, place: u8, (bytes, goes_on): (u64, bool), out: &mut Vec<u8>) -> bool {
        let series = &mut self.places[usize::from(place)];
        let is_first = !matches!(series.next, Next::Each(_));
        series.bytes += bytes;
        if !goes_on {
            return false;
        }
        let from = match series.next {
            Next::Kept => {
                out.extend_from_slice(&series.kept);
                series.kept.clear();
                // Nothing is left to be asked for behind it.
                series.next = Next::Each(0);
                self.further += 1;
                return true;
            }
            Next::Collecting => 0,
            Next::Each(from) => from,
            Next::Free => return false,
        };
        let names = series.kept.get(from..).unwrap_or_default();
        if names.is_empty() {
            return false;
        }
        let length = names.iter().position(|&byte| byte == b'\n').unwrap_or(names.len());
        put_words(&[b"HGETALL", &names[..length]], out);
        series.next = Next::Each(from + length + 1);
        self.further += u32::from(is_first);
        true
    }

    /// The request of `place` has ended. Gives the bytes of all of its replies.
    pub(super) fn end(&mut self, place: u8) -> u64 {
        let series = &mut self.places[usize::from(place)];
        self.further -= u32::from(matches!(series.next, Next::Each(_)));
        series.next = Next::Free;
        series.bytes
    }

    /// Some request has sent more than its first command.
    pub(super) fn have_begun(&self) -> bool {
        self.further > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Greeting, Redis, Settings, code_name};
    use crate::Limits;
    use crate::blank::NothingToFill;
    use crate::protocol::{Carrier, Protocol, Tag};
    use crate::said::Said;
    use std::sync::Arc;

    fn command(text: &str) -> Command {
        Command::new(&text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>(), false)
    }

    /// Submits `commands`, each with its place as its tag, and feeds `replies` one after another. Gives what is said and written.
    fn driven(commands: &[Command], replies: &[&str]) -> (Vec<String>, Vec<String>, bool) {
        let greeting = Arc::new(Greeting::new(false, None, 0));
        let settings = Settings { greeting, is_resp3: false, limits: Limits::default(), depth: 8 };
        let (mut redis, mut shared, mut said) =
            (Redis::new(&settings), Redis::shared(1), Said::new(code_name));
        redis.begin(Carrier::Plain).unwrap();
        let mut written = Vec::new();
        let mut take = |redis: &mut Redis| {
            let mut all = Vec::new();
            loop {
                let output = redis.output(commands).concat();
                if output.is_empty() {
                    break;
                }
                redis.wrote(output.len());
                all.extend(output);
            }
            let text = String::from_utf8(all).unwrap();
            // Only words, without their lengths.
            let words = text.split("\r\n").filter(|word| !word.starts_with(['*', '$']));
            written.push(words.collect::<Vec<_>>().join(" ").trim().to_string());
        };
        take(&mut redis);
        redis.feed(&mut shared, b"+PONG\r\n", &mut said).unwrap();
        for (number, command) in commands.iter().enumerate() {
            redis.submit(&mut shared, Tag(number as u64), number as u32, command, &mut NothingToFill);
        }
        take(&mut redis);
        for reply in replies {
            redis.feed(&mut shared, reply.as_bytes(), &mut said).unwrap();
            take(&mut redis);
        }
        written.drain(..1);
        (said.lines, written, redis.is_answering())
    }

    #[test]
    fn a_command_follows_another_once_that_is_answered() {
        let both = command("HGETALL k").finding().then(command("HSET k f v"));
        let (said, written, _) =
            driven(&[both.clone(), command("GET x")], &["*2\r\n+f\r\n+a\r\n", "+b\r\n", ":0\r\n"]);
        assert_eq!(said, ["first 0", "followed 0", "first 1", "done 1 ok 1", "done 0 ok 4"]);
        assert_eq!(written, ["HGETALL k GET x", "HSET k f v", "", ""]);
        let (said, _, is_answering) = driven(std::slice::from_ref(&both), &["*2\r\n+f\r\n+a\r\n"]);
        assert!(is_answering && said.len() == 2, "it must not be sent again: {said:?}");
        // Nothing follows what was not found, or failed.
        for (reply, code) in [("*0\r\n", "not_found 0"), ("-WRONGTYPE x\r\n", "WRONGTYPE 11")] {
            let (said, written, is_answering) = driven(std::slice::from_ref(&both), &[reply]);
            assert_eq!(said, ["first 0".to_string(), format!("done 0 {code}")]);
            assert_eq!((&*written[1], is_answering), ("", false));
        }
    }

    #[test]
    fn each_value_of_a_reply_is_asked_for() {
        let scan = command("ZRANGEBYSCORE i 0 9").then_each();
        let (said, written, is_answering) =
            driven(std::slice::from_ref(&scan), &["*2\r\n$2\r\nab\r\n$1\r\nc\r\n", "*1\r\n+x\r\n", "*0\r\n"]);
        assert_eq!(said, ["first 0", "followed 0", "followed 0", "done 0 ok 5"]);
        assert_eq!(written, ["ZRANGEBYSCORE i 0 9", "HGETALL ab", "HGETALL c", ""]);
        assert!(!is_answering);
        let (said, ..) = driven(std::slice::from_ref(&scan), &["*0\r\n"]);
        assert_eq!(said, ["first 0", "done 0 ok 0"]);
        // Two at once, and a place is used again.
        let (said, written, _) =
            driven(&[scan.clone(), scan], &["*1\r\n+a\r\n*1\r\n+b\r\n", "*1\r\n+1\r\n-WRONGTYPE x\r\n"]);
        assert_eq!(said[4..], ["done 0 ok 2", "done 1 WRONGTYPE 12"]);
        assert_eq!(written[1], "HGETALL a HGETALL b");
    }
}

//! Values of replies by themselves, for requests that ask for them.

use crate::protocol::{Sink, Tag, Value};
use crate::valued::Gathered;

/// The value that is coming, and the one before it, which may be its name: fields and values come in turn.
#[derive(Debug, Default)]
pub(super) struct Values {
    value: Gathered,
    before: Gathered,
    /// The place of that one, if there was one in this reply.
    before_at: Option<u64>,
}

impl Values {
    /// A reply begins.
    pub(super) fn begin(&mut self) {
        self.value.clear();
        self.before_at = None;
    }

    /// Another value begins.
    pub(super) fn part(&mut self) {
        self.value.clear();
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        self.value.add(piece);
    }

    /// What came is a value, at this place among those that the reply holds.
    pub(super) fn tell(&mut self, place: Option<u64>, tag: Tag, sink: &mut impl Sink) {
        // A value is called by what stands before it, and not by what stands anywhere else.
        let is_named = place.is_some_and(|place| place % 2 == 1 && self.before_at == Some(place - 1));
        let name = is_named.then(|| self.before.text());
        sink.value(tag, Value { place, name, text: self.value.text() });
        std::mem::swap(&mut self.value, &mut self.before);
        self.before_at = place;
    }
}

#[cfg(test)]
mod tests {
    use crate::Limits;
    use crate::blank::NothingToFill;
    use crate::protocol::{Carrier, Protocol, Tag};
    use crate::redis::{Command, Greeting, Redis, Settings, code_name};
    use crate::said::Said;

    /// What is said of the replies to these commands, whose values are told, with the replies in pieces of so many bytes.
    fn said(is_resp3: bool, commands: &[&str], replies: &str, piece: usize) -> Vec<String> {
        let greeting = Greeting::new(false, None, 0).into();
        let settings = Settings { greeting, is_resp3, limits: Limits::default(), depth: 8 };
        let (mut redis, mut shared) = (Redis::new(&settings), Redis::shared(1));
        let mut said = Said::new(code_name);
        redis.begin(Carrier::Plain).expect("it begins");
        redis.feed(&mut shared, b"+PONG\r\n", &mut said).expect("it is greeted");
        for (tag, text) in (0..).zip(commands) {
            let words: Vec<Vec<u8>> = text.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            let command = Command::new(&words, false).telling();
            redis.submit(&mut shared, Tag(tag), 0, &command, &mut NothingToFill);
            assert_eq!(redis.body_left(), 0, "nothing is passed over");
        }
        replies
            .as_bytes()
            .chunks(piece)
            .for_each(|piece| redis.feed(&mut shared, piece, &mut said).expect("replies"));
        said.lines.retain(|line| !line.starts_with("first"));
        said.lines
    }

    #[test]
    fn values_of_a_reply_are_told_by_their_places_and_names() {
        for (is_resp3, reply, values) in [
            (false, "$5\r\nhello\r\n", &["all =hello"][..]),
            (false, "+OK\r\n", &["all =OK"]),
            (false, ":-7\r\n", &["all =-7"]),
            (false, "$0\r\n\r\n", &["all ="]),
            (false, "*2\r\n$1\r\na\r\n:1\r\n", &["0 =a", "1 a=1"]),
            (false, "*3\r\n$1\r\na\r\n$0\r\n\r\n$3\r\nx\ny\r\n", &["0 =a", "1 a=", "2 =x\ny"]),
            // Nothing at all, and errors, are no values; nor is what holds others.
            (false, "$-1\r\n", &[]),
            (false, "*-1\r\n", &[]),
            (false, "*0\r\n", &[]),
            (false, "-ERR x\r\n", &[]),
            (false, "*3\r\n$-1\r\n*-1\r\n+a\r\n", &["2 =a"]),
            (false, "*3\r\n-ERR x\r\n+b\r\n+c\r\n", &["1 =b", "2 =c"]),
            (false, "*4\r\n+a\r\n*2\r\n+x\r\n*1\r\n+y\r\n+b\r\n+c\r\n", &["0 =a", "2 =b", "3 b=c"]),
            (false, "*2\r\n*1\r\n+a\r\n+b\r\n", &["1 =b"]),
            (true, "%2\r\n+a\r\n,1.5\r\n+b\r\n_\r\n", &["0 =a", "1 a=1.5", "2 =b"]),
            (true, "_\r\n", &[]),
            (true, "!5\r\nERR x\r\n", &[]),
            (true, "#t\r\n", &["all =t"]),
            (true, "|1\r\n+ttl\r\n:7\r\n$1\r\na\r\n", &["all =a"]),
            (true, "*2\r\n|1\r\n+ttl\r\n*1\r\n+z\r\n+a\r\n+b\r\n", &["0 =a", "1 a=b"]),
            (true, ">2\r\n+a\r\n+b\r\n~1\r\n+c\r\n", &["0 =c"]),
        ] {
            let expected: Vec<String> = values.iter().map(|value| format!("value 0 {value}")).collect();
            for piece in 1..=reply.len() {
                let mut told = said(is_resp3, &["X"], reply, piece);
                assert!(told.pop().is_some_and(|line| line.starts_with("done 0")), "{reply:?}");
                assert_eq!(told, expected, "{reply:?} by {piece}");
            }
        }
    }

    /// A command that is queued brings nothing yet, and what is open is said of each until it is over.
    #[test]
    fn a_transaction_brings_its_values_at_its_end() {
        let commands = ["WATCH k", "GET k", "MULTI", "GET k", "EXEC", "GET k"];
        let replies = "+OK\r\n$1\r\na\r\n+OK\r\n+QUEUED\r\n*2\r\n$1\r\na\r\n-ERR x\r\n$1\r\nb\r\n";
        for piece in 1..=replies.len() {
            let told = said(false, &commands, replies, piece);
            let expected = [
                "value 0 all =OK",
                "open 0",
                "done 0 ok 2",
                "value 1 all =a",
                "open 1",
                "done 1 ok 1",
                "value 2 all =OK",
                "open 2",
                "done 2 ok 2",
                "open 3",
                "done 3 ok 6",
                "value 4 0 =a",
                "done 4 ERR 7",
                "value 5 all =b",
                "done 5 ok 1",
            ];
            assert_eq!(told, expected, "by {piece}");
        }
    }
}

//! Requests of two statements, of which the second is executed once the first is done, and statements of which one is chosen by
//! what is drawn.

use super::statement::{Options, Statement};
use crate::blank::{Filler, number_in};

impl Statement {
    /// One of `all`, by the number from 0 that the filler writes into `place`: what can't be bound, such as the name of a column,
    /// can differ so.
    ///
    /// # Panics
    /// There is none.
    pub fn one_of(place: u32, all: Vec<Statement>) -> Statement {
        let first = all.first().expect("there is one").clone();
        let is_reading = all.iter().all(Statement::is_reading);
        Statement { choice: Some((place, all.into())), is_reading, ..first }
    }

    /// The same, and `next` once it is done. What `next` itself has behind it is left out.
    pub fn then(self, next: Statement) -> Statement {
        let is_reading = self.is_reading && next.is_reading;
        Statement { next: Some(next.into()), is_reading, ..self }
    }

    /// The same, which fails if there are no rows where there could be.
    pub fn finding(self) -> Statement {
        Statement { must_find: true, ..self }
    }

    /// The same, whose first row's values are told by themselves ([`Sink::value`](crate::protocol::Sink::value)): the server is asked
    /// for the names of its columns with each answer.
    pub fn telling(self) -> Statement {
        Statement { tells_values: true, ..self }
    }

    /// How each of its statements is executed, in turn.
    pub fn options(&self) -> impl Iterator<Item = Options> + '_ {
        [Some(self), self.next.as_deref()].into_iter().flatten().map(|one| one.options)
    }

    /// All statements that it may come to.
    pub(super) fn each_mut(&mut self, act: &mut impl FnMut(&mut Statement)) {
        act(self);
        let chosen = self.choice.iter_mut().flat_map(|(_, all)| all.iter_mut());
        chosen.chain(self.next.as_deref_mut()).for_each(|one| one.each_mut(act));
    }

    /// The one that is drawn. `scratch` is as long as before.
    #[inline]
    pub(super) fn chosen(&self, filler: &mut impl Filler, scratch: &mut Vec<u8>) -> &Statement {
        match &self.choice {
            None => self,
            Some((place, all)) => &all[number_in(*place, filler, scratch) % all.len()],
        }
    }
}

/// What is executed once the statement before it is done, written ahead. Its memory is used again.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// Which statement it is; nothing where none follows.
    pub(super) statement: Option<u32>,
    pub(super) must_find: bool,
    pub(super) rest: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::super::frame::{RESPONSE, opcode, put, put_short_bytes};
    use super::super::{Cql, Session, Settings, code_name};
    use super::*;
    use crate::Limits;
    use crate::protocol::{Carrier, Protocol, Tag};
    use crate::said::{Number, Said};
    use std::sync::Arc;

    fn frame(stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put(stream, opcode, &mut out, |out| out.extend_from_slice(body));
        out[0] = RESPONSE;
        out
    }

    /// The statement on this stream, with so many values of text and a column of text if it is read.
    fn prepared(stream: i16, values: u32, columns: u32, id: &str) -> Vec<u8> {
        let mut body = 4u32.to_be_bytes().to_vec();
        put_short_bytes(id.as_bytes(), &mut body);
        for (number, has_keys) in [(values, true), (columns, false)] {
            body.extend(1u32.to_be_bytes());
            body.extend(number.to_be_bytes());
            body.extend(&[0; 4][..if has_keys { 4 } else { 0 }]);
            if number > 0 {
                body.extend(b"\0\x01k\0\x01t");
            }
            (0..number).for_each(|_| body.extend(b"\0\x01c\0\x0d"));
        }
        frame(stream, opcode::RESULT, &body)
    }

    const ROW: &[u8] = b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x01x";
    const NO_ROW: &[u8] = b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\0";
    const VOID: &[u8] = b"\0\0\0\x01";

    fn cql(text: &str) -> Statement {
        Statement::new(text, true, Options::default()).unwrap()
    }

    fn updates() -> Statement {
        let of = |n: u32| cql(&format!("UPDATE t SET f{n} = {{{{1}}}} WHERE k = {{{{0}}}}"));
        Statement::one_of(2, (0..3).map(of).collect())
    }

    fn read_modify_write() -> Statement {
        cql("SELECT a FROM t WHERE k = {{0}}").finding().then(updates())
    }

    /// Executes `requests` with `number` in each place, and feeds `answers` one after another. Gives what is said, what is written
    /// after each, and whether something is being answered at the end.
    fn driven(
        mut requests: Vec<Statement>,
        number: &'static str,
        answers: &[Vec<u8>],
    ) -> (Vec<String>, Vec<String>, bool) {
        let session = Session::new(None, None, &mut requests);
        let texts: Vec<(String, usize)> =
            session.statements.iter().map(|(text, values)| (text.to_string(), *values)).collect();
        let settings = Settings { session: Arc::new(session), limits: Limits::default(), streams: 8 };
        let (mut one, mut shared, mut said) = (Cql::new(&settings), Cql::shared(1), Said::new(code_name));
        let take = |one: &mut Cql| {
            let all = one.output(&[]).concat();
            one.wrote(all.len());
            all
        };
        one.begin(Carrier::Plain).unwrap();
        take(&mut one);
        one.feed(&mut shared, &frame(0, opcode::READY, b""), &mut said).unwrap();
        take(&mut one);
        for (stream, (text, values)) in (0..).zip(&texts) {
            let columns = u32::from(text.starts_with("SELECT"));
            // Of an update of f1 the id is `f1`.
            let id = if columns == 1 { "read" } else { &text["UPDATE t SET ".len()..][..2] };
            one.feed(&mut shared, &prepared(stream, *values as u32, columns, id), &mut said).unwrap();
        }
        for (tag, request) in (0..).zip(&requests) {
            one.submit(&mut shared, Tag(tag), tag as u32, request, &mut Number(number));
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let mut written = vec![text(take(&mut one))];
        for answer in answers {
            one.feed(&mut shared, answer, &mut said).unwrap();
            written.push(text(take(&mut one)));
        }
        (said.lines, written, one.is_answering())
    }

    fn result(stream: i16, body: &[u8]) -> Vec<u8> {
        frame(stream, opcode::RESULT, body)
    }

    #[test]
    fn a_statement_follows_another_once_that_is_done() {
        let both = read_modify_write();
        assert!(!both.is_reading() && cql("SELECT a FROM t").then(cql("SELECT b FROM t")).is_reading());
        let (said, written, is_answering) =
            driven(vec![both.clone(), updates()], "1", &[result(1, VOID), result(0, ROW), result(0, VOID)]);
        assert_eq!(said, ["first 1", "done 1 void 0", "first 0", "followed 0", "done 0 void 2"]);
        assert!(written[0].contains("read") && written[0].contains("f1") && !written[0].contains("f0"));
        assert!(written[2].contains("\0\u{2}f1") && written[1].is_empty() && written[3].is_empty());
        assert!(!is_answering);
        let (said, _, is_answering) = driven(vec![both.clone()], "4", &[result(0, ROW)]);
        assert!(is_answering && said.len() == 2, "it must not be sent again: {said:?}");
        // Nothing follows what was not found, or failed.
        let failed = frame(0, opcode::ERROR, b"\0\0\x10\x01\0\x04busy");
        for (answer, code) in [(result(0, NO_ROW), "not_found"), (failed, "overloaded")] {
            let (said, written, is_answering) = driven(vec![both.clone()], "1", &[answer]);
            assert_eq!(said, ["first 0".to_string(), format!("done 0 {code} 0")]);
            assert_eq!((&*written[1], is_answering), ("", false));
        }
        // A place is used again, and knows nothing of the request before.
        let plain = cql("SELECT a FROM t WHERE k = {{0}}");
        let (said, ..) = driven(vec![plain], "1", &[result(0, NO_ROW)]);
        assert_eq!(said, ["first 0", "done 0 no_rows 0"]);
    }

    #[test]
    fn what_follows_is_prepared_again_where_it_is_forgotten() {
        let unprepared = frame(0, opcode::ERROR, b"\0\0\x25\0\0\x04gone\0\x02f2");
        let answers = [result(0, ROW), unprepared, prepared(0, 2, 0, "g2"), result(0, VOID)];
        let (said, written, is_answering) = driven(vec![read_modify_write()], "2", &answers);
        assert_eq!(said, ["first 0", "followed 0", "again 0", "done 0 void 2"]);
        assert!(written[2].contains("UPDATE t SET f2 = ? WHERE k = ?"), "{written:?}");
        assert!(
            written[3].contains("\0\u{2}g2") && written[3].ends_with("\0\0\0\u{1}2\0\0\0\u{1}2"),
            "{written:?}"
        );
        assert!(!is_answering);
    }

    #[test]
    fn all_statements_are_prepared_and_told_how_they_are_executed() {
        let mut requests = [read_modify_write(), updates()];
        let session = Session::new(None, None, &mut requests);
        assert_eq!(session.statements.len(), 4, "each once");
        let quorum = Options { consistency: super::super::Consistency::QUORUM, ..Options::default() };
        let both = cql("SELECT a FROM t").then(Statement::new("TRUNCATE t", true, quorum).unwrap());
        let told: Vec<String> = both.options().map(|one| one.consistency.to_string()).collect();
        assert_eq!(told, ["local_one", "quorum"]);
    }
}

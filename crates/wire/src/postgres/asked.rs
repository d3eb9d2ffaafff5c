//! What is under way on a connection, and what comes of the answers to it.
//!
//! A pooler may give a transaction a server on which its statements are not prepared. If that is the first thing that the server says
//! of it, nothing was done, and it goes out once more with the text of its statements.

use super::codes;
use super::columns::Columns;
use super::fault::Fault;
use super::found::Found;
use super::message::field;
use super::reader::{COLUMNS, COLUMNS_BYTES_MAX};
use super::session::Session;
use crate::outgoing::{Outgoing, Spare};
use crate::protocol::{Reply, Sink, Tag, Violation};
use std::collections::VecDeque;

/// What is to be answered.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) transactions: VecDeque<Awaited>,
    /// Of the oldest one.
    pub(super) answer: Answer,
    /// What follows transactions under way, by place.
    next: Vec<Next>,
    /// Requests under way that have had an answer already: their first transaction is done, or was sent again.
    further: u32,
    pub(super) columns: Columns,
}

/// An answer that is to come.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) tag: Tag,
    pub(super) must_find: bool,
    /// It may leave its transaction open.
    pub(super) may_stay_open: bool,
    pub(super) tells_values: bool,
    /// Where what follows it lies, if something does.
    pub(super) next: Option<u8>,
    /// Of the answers to the request before this one, if there were any.
    pub(super) bytes_before: Option<u64>,
    /// What was sent, if it relies on statements that are prepared; otherwise nothing.
    pub(super) sent: Vec<u8>,
}

/// By which requests go out.
pub(super) struct Way<'a> {
    pub(super) session: &'a Session,
    pub(super) outgoing: &'a mut Outgoing,
    pub(super) spare: &'a mut Spare,
}

/// What follows a transaction, written ahead.
#[derive(Debug, Default)]
struct Next {
    bytes: Vec<u8>,
    must_find: bool,
}

/// The answer that is coming.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answer {
    has_begun: bool,
    /// Nothing came before its error, so that nothing was done.
    begins_with_error: bool,
    found: Found,
    /// Of its error.
    failed: Option<u16>,
    pub(super) bytes: u64,
}

impl Asked {
    /// A message begins.
    pub(super) fn begins(
        &mut self,
        kind: u8,
        length: u32,
        max: u64,
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        match (kind, self.transactions.front()) {
            // Asked for by nobody else.
            (COLUMNS | b'n', Some(Awaited { tells_values: true, .. })) => {
                return if length as usize > COLUMNS_BYTES_MAX { Err(Violation::TooLarge) } else { Ok(()) };
            }
            // These answer nothing and come at any time.
            (b'N' | b'S' | b'A', _) => return Ok(()),
            (b'1' | b'2' | b'C' | b'D' | b'E' | b'I' | b'Z', Some(&Awaited { tag, bytes_before, .. })) => {
                if !std::mem::replace(&mut self.answer.has_begun, true) {
                    self.answer.begins_with_error = kind == b'E';
                    if bytes_before.is_none() {
                        sink.first(tag);
                    }
                }
            }
            // As a rule the server says why it closes the connection.
            (b'E', None) => {}
            (b'1' | b'2' | b'C' | b'D' | b'I' | b'Z', None) => return Err(Fault::Unasked.into()),
            (b'G' | b'H' | b'W', _) => return Err(Fault::CopyUnasked.into()),
            _ => return Err(Fault::UnknownMessage.into()),
        }
        if kind == b'D' && self.answer.bytes.saturating_add(u64::from(length)) > max {
            return Err(Violation::TooLarge);
        }
        Ok(())
    }

    /// A message is whole.
    pub(super) fn ends(
        &mut self,
        (kind, kept): (u8, &[u8]),
        way: &mut Way<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        let answer = &mut self.answer;
        match kind {
            b'A' => sink.unsolicited(false),
            COLUMNS => self.columns.read(kept)?,
            b'D' => {
                answer.found = Found::Rows;
                self.columns.row_ends();
            }
            b'C' => answer.found.add(Found::by_tag(kept)?),
            b'E' => {
                let code = codes::of_state(field(kept, b'C').ok_or(Fault::BadMessage)?);
                let is_last = matches!(field(kept, b'V').or(field(kept, b'S')), Some(b"FATAL" | b"PANIC"));
                if self.transactions.is_empty() && !is_last {
                    return Err(Fault::Unasked.into());
                }
                answer.failed.get_or_insert(code);
                // Behind this nothing comes but the end of the connection.
                if is_last {
                    sink.retired();
                    if !self.transactions.is_empty() {
                        self.done(false, way, sink);
                    }
                }
                if codes::is_of_lost_statement(code) {
                    way.session.unprepare();
                }
            }
            b'Z' => match kept {
                [b'I'] if self.is_lost() => self.send_again(way, sink),
                [b'I'] => self.done(true, way, sink),
                [b'T' | b'E'] => {
                    // It would change what the next request means, unless that goes on with it.
                    let awaited = self.transactions.front();
                    awaited.into_iter().for_each(|awaited| sink.left_open(awaited.tag));
                    let may_stay_open = awaited.is_some_and(|awaited| awaited.may_stay_open);
                    self.done(may_stay_open, way, sink);
                }
                _ => return Err(Fault::BadMessage.into()),
            },
            _ => {}
        }
        Ok(())
    }

    /// A statement of the transaction is not there, before anything was done, and it was not sent again for that yet.
    fn is_lost(&self) -> bool {
        let Answer { begins_with_error, failed, .. } = self.answer;
        begins_with_error
            && failed.is_some_and(codes::is_of_lost_statement)
            && self.transactions.front().is_some_and(|awaited| !awaited.sent.is_empty())
    }

    /// Sends the oldest transaction again, with the text of its statements: whichever server gets it can do it. Its answer comes behind
    /// those to all that were sent before.
    #[cold]
    fn send_again(&mut self, way: &mut Way<'_>, sink: &mut impl Sink) {
        self.answer = Answer::default();
        self.columns.forget();
        let mut awaited = self.transactions.pop_front().expect("an answer is asked for");
        let sent = std::mem::take(&mut awaited.sent);
        way.session.put_unnamed(&sent, way.outgoing.out(way.spare));
        way.spare.give(sent);
        self.further += u32::from(awaited.bytes_before.is_none());
        awaited.bytes_before.get_or_insert(0);
        sink.prepared_again(awaited.tag);
        self.transactions.push_back(awaited);
    }

    /// Nobody waits for it any more.
    pub(super) fn give_up(&mut self, tag: Tag) {
        let of_it = self.transactions.iter_mut().filter(|awaited| awaited.tag == tag);
        of_it.for_each(|awaited| awaited.sent.clear());
    }

    /// A byte of an answer to what is under way has come.
    pub(super) fn is_answering(&self) -> bool {
        self.answer.has_begun || self.further > 0
    }

    fn done(&mut self, reusable: bool, way: &mut Way<'_>, sink: &mut impl Sink) {
        let Answer { found, failed, bytes, .. } = std::mem::take(&mut self.answer);
        self.columns.forget();
        let awaited = self.transactions.pop_front().expect("an answer is asked for");
        let Awaited { tag, must_find, next, bytes_before, sent, .. } = awaited;
        way.spare.give(sent);
        self.further -= u32::from(bytes_before.is_some());
        let found = match (found.is_something(), must_find) {
            (true, _) => codes::DONE,
            (false, true) => codes::NOT_FOUND,
            (false, false) => codes::EMPTY,
        };
        let code = failed.unwrap_or(found);
        let bytes = bytes + bytes_before.unwrap_or(0);
        if let Some(place) = next {
            let Next { bytes: kept, must_find } = &mut self.next[usize::from(place)];
            let goes_on = reusable && code < codes::SUCCESSES;
            if goes_on {
                let mut sent = Vec::new();
                if way.session.is_prepared() {
                    sent = way.spare.take();
                    sent.extend_from_slice(kept);
                    way.outgoing.out(way.spare).extend_from_slice(kept);
                } else {
                    // It may have been written before that was known.
                    way.session.put_unnamed(kept, way.outgoing.out(way.spare));
                }
                let (must_find, bytes_before) = (*must_find, Some(bytes));
                let further = Awaited {
                    tag,
                    must_find,
                    may_stay_open: false,
                    tells_values: false,
                    next: None,
                    bytes_before,
                    sent,
                };
                self.transactions.push_back(further);
                self.further += 1;
                sink.followed(tag);
            }
            // The place is free.
            kept.clear();
            if goes_on {
                return;
            }
        }
        sink.done(tag, Reply { code, body_bytes: bytes, reusable });
    }

    /// Keeps what `write` appends until what comes before it is done.
    pub(super) fn keep(&mut self, must_find: bool, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
        let free = self.next.iter().position(|next| next.bytes.is_empty());
        let place = free.unwrap_or_else(|| {
            self.next.push(Next::default());
            self.next.len() - 1
        });
        let next = &mut self.next[place];
        next.must_find = must_find;
        write(&mut next.bytes);
        // A connection has 64 requests under way at the most.
        place as u8
    }
}

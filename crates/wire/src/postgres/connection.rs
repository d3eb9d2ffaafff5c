//! One connection, as the driver sees it.

use super::codes;
use super::columns::Columns;
use super::fault::Fault;
use super::login::Login;
use super::message::field;
use super::reader::{COLUMNS, COLUMNS_BYTES_MAX, Event, Reader};
use super::session::Session;
use super::sql::Transaction;
use crate::Limits;
use crate::blank::Filler;
use crate::outgoing::{Outgoing, Spare};
use crate::protocol::{Carrier, Codes, Places, Protocol, Reply, Sink, Tag, Violation};
use std::collections::VecDeque;
use std::sync::Arc;

/// A longer message while a connection logs in is none: the target speaks something else.
const LOGIN_MESSAGE_MAX: u32 = 64 * 1024;

/// What is the same for all connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How each begins.
    pub session: Arc<Session>,
    /// How large an answer may be.
    pub limits: Limits,
    /// Transactions that may be under way on a connection; not zero.
    pub depth: u32,
}

/// Memory that the connections of a thread use in turn.
#[derive(Debug, Default)]
pub struct Shared {
    spare: Spare,
}

/// A connection.
#[derive(Debug)]
pub struct Postgres {
    reader: Reader,
    /// Until it is ready.
    pub(super) login: Option<Box<Login>>,
    asked: Asked,
    bytes_max: u64,
    outgoing: Outgoing,
    /// Knows whether statements got lost, as behind a pooler: each is prepared again then, without a name, with every request.
    session: Arc<Session>,
}

/// What is to be answered.
#[derive(Debug, Default)]
struct Asked {
    transactions: VecDeque<Awaited>,
    /// Of the oldest one.
    answer: Answer,
    /// What follows transactions under way, by place.
    next: Vec<Next>,
    /// Requests under way whose first transaction is done.
    further: u32,
    columns: Columns,
}

/// An answer that is to come.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    tag: Tag,
    must_find: bool,
    /// It may leave its transaction open.
    may_stay_open: bool,
    tells_values: bool,
    /// Where what follows it lies, if something does.
    next: Option<u8>,
    /// Of the answer to the transaction before, if there was one.
    bytes_before: Option<u64>,
}

/// What follows a transaction, written ahead.
#[derive(Debug, Default)]
struct Next {
    bytes: Vec<u8>,
    must_find: bool,
}

/// The answer that is coming.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    has_begun: bool,
    has_rows: bool,
    /// Of its error.
    failed: Option<u16>,
    bytes: u64,
}

impl Asked {
    /// A message begins.
    fn begins(&mut self, kind: u8, length: u32, max: u64, sink: &mut impl Sink) -> Result<(), Violation> {
        match (kind, self.transactions.front()) {
            // Asked for by nobody else.
            (COLUMNS | b'n', Some(Awaited { tells_values: true, .. })) => {
                return if length as usize > COLUMNS_BYTES_MAX { Err(Violation::TooLarge) } else { Ok(()) };
            }
            // These answer nothing and come at any time.
            (b'N' | b'S' | b'A', _) => return Ok(()),
            (b'1' | b'2' | b'C' | b'D' | b'E' | b'I' | b'Z', Some(&Awaited { tag, bytes_before, .. })) => {
                if !std::mem::replace(&mut self.answer.has_begun, true) && bytes_before.is_none() {
                    sink.first(tag);
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

    /// A message is whole. True if statements are no longer prepared.
    fn ends(
        &mut self,
        (kind, kept): (u8, &[u8]),
        to_write: (&mut Outgoing, &mut Spare),
        sink: &mut impl Sink,
    ) -> Result<bool, Violation> {
        let answer = &mut self.answer;
        match kind {
            b'A' => sink.unsolicited(false),
            COLUMNS => self.columns.read(kept)?,
            b'D' => {
                answer.has_rows = true;
                self.columns.row_ends();
            }
            b'C' => answer.has_rows |= is_of_rows(kept)?,
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
                        self.done(false, to_write, sink);
                    }
                }
                return Ok(codes::name(code) == "invalid_statement_name");
            }
            b'Z' => match kept {
                [b'I'] => self.done(true, to_write, sink),
                [b'T' | b'E'] => {
                    // It would change what the next request means, unless that goes on with it.
                    let awaited = self.transactions.front();
                    awaited.into_iter().for_each(|awaited| sink.left_open(awaited.tag));
                    let may_stay_open = awaited.is_some_and(|awaited| awaited.may_stay_open);
                    self.done(may_stay_open, to_write, sink);
                }
                _ => return Err(Fault::BadMessage.into()),
            },
            _ => {}
        }
        Ok(false)
    }

    fn done(&mut self, reusable: bool, (outgoing, spare): (&mut Outgoing, &mut Spare), sink: &mut impl Sink) {
        let Answer { has_rows, failed, bytes, .. } = std::mem::take(&mut self.answer);
        self.columns.forget();
        let awaited = self.transactions.pop_front().expect("an answer is asked for");
        let Awaited { tag, must_find, next, bytes_before, .. } = awaited;
        let found = match (has_rows, must_find) {
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
                outgoing.out(spare).extend_from_slice(kept);
                let (must_find, bytes_before) = (*must_find, Some(bytes));
                let further = Awaited {
                    tag,
                    must_find,
                    may_stay_open: false,
                    tells_values: false,
                    next: None,
                    bytes_before,
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
        self.further -= u32::from(bytes_before.is_some());
        sink.done(tag, Reply { code, body_bytes: bytes, reusable });
    }

    /// Keeps what `write` appends until what comes before it is done.
    fn keep(&mut self, must_find: bool, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
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

/// Did the statement find or change something? Of one that does not count, such as CREATE TABLE, it is so.
fn is_of_rows(tag: &[u8]) -> Result<bool, Fault> {
    let tag = tag.strip_suffix(b"\0").ok_or(Fault::BadMessage)?;
    let last = tag.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
    Ok(last != b"0")
}

impl Protocol for Postgres {
    type Request = Transaction;
    type Settings = Settings;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = Fault::CODES;

    const CODES: Codes = Codes::Named { protocol: "postgres", names: codes::NAMES };

    const FULL: Option<u16> = Some(Fault::TooManyConnections.number());

    const SUCCESSES: u16 = codes::SUCCESSES;

    fn is_unasked(violation: Violation) -> bool {
        violation == Fault::Unasked.into()
    }

    const TAKES_TURNS: bool = false;

    /// A transaction that was sent can't be called back on its connection.
    fn places(settings: &Settings) -> Places {
        Places { max: settings.depth, cancels: false }
    }

    fn shared(_: usize) -> Shared {
        Shared::default()
    }

    fn new(settings: &Settings) -> Postgres {
        let Settings { session, limits, depth: _ } = settings;
        Postgres {
            reader: Reader::new(),
            login: Some(Box::new(Login::new(session.clone()))),
            asked: Asked::default(),
            bytes_max: limits.body_bytes_max,
            outgoing: Outgoing::default(),
            session: session.clone(),
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        if let Some(login) = &self.login {
            login.begin(self.outgoing.greeting());
        }
        Ok(false)
    }

    #[inline]
    fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        number: u32,
        transaction: &Transaction,
        filler: &mut impl Filler,
    ) {
        let is_prepared = self.session.is_prepared();
        let ready = transaction.ready().filter(|_| is_prepared);
        self.outgoing.put(&mut shared.spare, number, ready, |out| {
            transaction.write(is_prepared, filler, out);
        });
        let next = transaction
            .next
            .as_ref()
            .map(|next| self.asked.keep(next.must_find, |out| next.write(is_prepared, filler, out)));
        let &Transaction { must_find, may_stay_open, tells_values, .. } = transaction;
        let awaited = Awaited { tag, must_find, may_stay_open, tells_values, next, bytes_before: None };
        self.asked.transactions.push_back(awaited);
    }

    /// Its place is taken until the answer has come: answers have no names.
    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, transactions: &'a [Transaction]) -> [&'a [u8]; 2] {
        self.outgoing.output(|number| transactions[number as usize].ready())
    }

    #[inline]
    fn wrote(&mut self, n: usize) {
        self.outgoing.wrote(n);
    }

    #[inline]
    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        if self.login.is_none() {
            self.outgoing.rest(&mut shared.spare);
        }
        let Postgres { reader, login, asked, bytes_max, outgoing, session } = self;
        reader.take(bytes, &mut |event| match (event, &mut *login) {
            (Event::Begins(kind, length), Some(_)) => match kind {
                // So begins an answer of HTTP.
                b'H' => Err(Fault::HttpAnswer.into()),
                _ if length > LOGIN_MESSAGE_MAX => Err(Fault::BadLength.into()),
                b'R' | b'E' | b'S' | b'K' | b'Z' | b'N' | b'A' | b'v' | b'1' => Ok(()),
                _ => Err(Fault::UnknownMessage.into()),
            },
            (Event::Ends(kind, kept), Some(at_login)) => {
                if at_login.hear(kind, kept, outgoing.greeting())? {
                    if at_login.is_unprepared() {
                        session.unprepare();
                    }
                    *login = None;
                    sink.ready();
                }
                Ok(())
            }
            (Event::Piece(_) | Event::Between(_) | Event::Value(_), Some(_)) => Ok(()),
            (Event::Begins(kind, length), None) => asked.begins(kind, length, *bytes_max, sink),
            (Event::Piece(piece) | Event::Between(piece), None) => {
                let Awaited { tag, tells_values, .. } = *asked.transactions.front().ok_or(Fault::Unasked)?;
                asked.answer.bytes += piece.len() as u64;
                if tells_values && matches!(event, Event::Piece(_)) {
                    asked.columns.add(piece);
                }
                sink.body(tag, piece);
                Ok(())
            }
            (Event::Value(column), None) => {
                let Awaited { tag, tells_values, .. } = *asked.transactions.front().ok_or(Fault::Unasked)?;
                if tells_values {
                    asked.columns.tell(column, tag, sink);
                }
                Ok(())
            }
            (Event::Ends(kind, kept), None) => {
                if asked.ends((kind, kept), (outgoing, &mut shared.spare), sink)? {
                    session.unprepare();
                }
                Ok::<(), Violation>(())
            }
        })
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(Violation::ClosedEarly)
    }

    /// Each value is looked at, to find its end.
    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}

    fn is_answering(&self) -> bool {
        self.asked.answer.has_begun || self.asked.further > 0
    }
}

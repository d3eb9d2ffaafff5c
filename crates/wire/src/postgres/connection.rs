//! One connection, as the driver sees it.

use super::asked::{Asked, Awaited, Way};
use super::codes;
use super::fault::Fault;
use super::login::Login;
use super::reader::{Event, Reader};
use super::session::Session;
use super::sql::Transaction;
use crate::Limits;
use crate::blank::Filler;
use crate::outgoing::{Outgoing, Spare};
use crate::protocol::{Carrier, Codes, Places, Protocol, Sink, Tag, Violation};
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
        // A pooler may have lost a statement. What brings its own can't be lost, so that it is not kept.
        let mut sent = if is_prepared { shared.spare.take() } else { Vec::new() };
        if let Some(ready) = ready {
            sent.extend_from_slice(ready);
        }
        self.outgoing.put(&mut shared.spare, number, ready, |out| {
            let from = out.len();
            transaction.write(is_prepared, filler, out);
            if is_prepared {
                sent.extend_from_slice(&out[from..]);
            }
        });
        let next = transaction
            .next
            .as_ref()
            .map(|next| self.asked.keep(next.must_find, |out| next.write(is_prepared, filler, out)));
        let &Transaction { must_find, may_stay_open, tells_values, .. } = transaction;
        let awaited = Awaited { tag, must_find, may_stay_open, tells_values, next, bytes_before: None, sent };
        self.asked.transactions.push_back(awaited);
    }

    /// Its place is taken until the answer has come: answers have no names. What nobody waits for is not sent again.
    fn cancel(&mut self, tag: Tag, _: u64) -> bool {
        self.asked.give_up(tag);
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
                let &Awaited { tag, tells_values, .. } = asked.transactions.front().ok_or(Fault::Unasked)?;
                asked.answer.bytes += piece.len() as u64;
                if tells_values && matches!(event, Event::Piece(_)) {
                    asked.columns.add(piece);
                }
                sink.body(tag, piece);
                Ok(())
            }
            (Event::Value(column), None) => {
                let &Awaited { tag, tells_values, .. } = asked.transactions.front().ok_or(Fault::Unasked)?;
                if tells_values {
                    asked.columns.tell(column, tag, sink);
                }
                Ok(())
            }
            (Event::Ends(kind, kept), None) => {
                let mut way = Way { session, outgoing, spare: &mut shared.spare };
                asked.ends((kind, kept), &mut way, sink)
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
        self.asked.is_answering()
    }
}

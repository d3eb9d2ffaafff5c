//! One connection, as the driver sees it.

use super::codes;
use super::fault::Fault;
use super::login::Login;
use super::message::field;
use super::reader::{Event, Reader};
use super::session::Session;
use super::sql::Transaction;
use crate::Limits;
use crate::blank::Filler;
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
    spare: Vec<Vec<u8>>,
}

/// A transaction that is written where it lies.
#[derive(Clone, Copy, Debug)]
struct Lying {
    number: u32,
    bytes: usize,
    written: usize,
}

/// A connection.
#[derive(Debug)]
pub struct Postgres {
    reader: Reader,
    /// Until it is ready.
    pub(super) login: Option<Box<Login>>,
    asked: Asked,
    bytes_max: u64,
    /// Before `out`: while nothing waits to be written, a transaction that is always the same is not copied.
    lying: Option<Lying>,
    out: Vec<u8>,
    written: usize,
    /// Its prepared statements got lost, as behind a pooler: each is prepared again, without a name, with every request.
    is_unprepared: bool,
}

/// What is to be answered.
#[derive(Debug, Default)]
struct Asked {
    transactions: VecDeque<Tag>,
    /// Of the oldest one.
    answer: Answer,
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
            // These answer nothing and come at any time.
            (b'N' | b'S' | b'A', _) => return Ok(()),
            (b'1' | b'2' | b'C' | b'D' | b'E' | b'I' | b'Z', Some(&tag)) => {
                if !std::mem::replace(&mut self.answer.has_begun, true) {
                    sink.first(tag);
                }
            }
            // The server says why it closes the connection.
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
    fn ends(&mut self, kind: u8, kept: &[u8], sink: &mut impl Sink) -> Result<bool, Violation> {
        let answer = &mut self.answer;
        match kind {
            b'A' => sink.unsolicited(false),
            b'D' => answer.has_rows = true,
            b'C' => answer.has_rows |= is_of_rows(kept)?,
            b'E' => {
                let code = codes::of_state(field(kept, b'C').ok_or(Fault::BadMessage)?);
                answer.failed.get_or_insert(code);
                // Behind this nothing comes but the end of the connection.
                if matches!(field(kept, b'V').or(field(kept, b'S')), Some(b"FATAL" | b"PANIC")) {
                    sink.retired();
                    if !self.transactions.is_empty() {
                        self.done(false, sink);
                    }
                }
                return Ok(codes::name(code) == "invalid_statement_name");
            }
            // A transaction that is still open would change what the next request means.
            b'Z' => match kept {
                [b'I'] => self.done(true, sink),
                [b'T' | b'E'] => self.done(false, sink),
                _ => return Err(Fault::BadMessage.into()),
            },
            _ => {}
        }
        Ok(false)
    }

    fn done(&mut self, reusable: bool, sink: &mut impl Sink) {
        let Answer { has_rows, failed, bytes, .. } = std::mem::take(&mut self.answer);
        let code = failed.unwrap_or(if has_rows { codes::DONE } else { codes::EMPTY });
        let tag = self.transactions.pop_front().expect("an answer is asked for");
        sink.done(tag, Reply { code, body_bytes: bytes, reusable });
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

    const SUCCESSES: u16 = codes::SUCCESSES;

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
            lying: None,
            out: Vec::new(),
            written: 0,
            is_unprepared: false,
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        if let Some(login) = &self.login {
            login.begin(&mut self.out);
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
        self.asked.transactions.push_back(tag);
        match transaction.ready().filter(|_| !self.is_unprepared) {
            Some(ready) if self.lying.is_none() && self.out.is_empty() => {
                self.lying = Some(Lying { number, bytes: ready.len(), written: 0 });
            }
            ready => {
                if self.out.capacity() == 0 {
                    self.out = shared.spare.pop().unwrap_or_default();
                }
                match ready {
                    Some(ready) => self.out.extend_from_slice(ready),
                    None => transaction.write(!self.is_unprepared, filler, &mut self.out),
                }
            }
        }
    }

    /// Its place is taken until the answer has come: answers have no names.
    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, transactions: &'a [Transaction]) -> [&'a [u8]; 2] {
        let lying = match self.lying {
            Some(Lying { number, written, .. }) => {
                let ready = transactions[number as usize].ready().unwrap_or_default();
                &ready[written..]
            }
            None => &[],
        };
        match (lying, &self.out[self.written..]) {
            ([], out) => [out, &[]],
            both => both.into(),
        }
    }

    #[inline]
    fn wrote(&mut self, mut n: usize) {
        if let Some(Lying { bytes, written, .. }) = &mut self.lying {
            let of_it = n.min(*bytes - *written);
            *written += of_it;
            n -= of_it;
            if written == bytes {
                self.lying = None;
            }
        }
        self.written += n;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    #[inline]
    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        // An idle connection holds no memory for what it writes.
        if self.login.is_none() && self.out.is_empty() && self.out.capacity() > 0 {
            shared.spare.push(std::mem::take(&mut self.out));
        }
        let Postgres { reader, login, asked, bytes_max, out, is_unprepared, .. } = self;
        reader.take(bytes, &mut |event| match (event, &mut *login) {
            (Event::Begins(kind, length), Some(_)) => match kind {
                // So begins an answer of HTTP.
                b'H' => Err(Fault::HttpAnswer.into()),
                _ if length > LOGIN_MESSAGE_MAX => Err(Fault::BadLength.into()),
                b'R' | b'E' | b'S' | b'K' | b'Z' | b'N' | b'A' | b'v' | b'1' => Ok(()),
                _ => Err(Fault::UnknownMessage.into()),
            },
            (Event::Ends(kind, kept), Some(at_login)) => {
                if at_login.hear(kind, kept, out)? {
                    *login = None;
                    sink.ready();
                }
                Ok(())
            }
            (Event::Piece(_), Some(_)) => Ok(()),
            (Event::Begins(kind, length), None) => asked.begins(kind, length, *bytes_max, sink),
            (Event::Piece(piece), None) => {
                let tag = *asked.transactions.front().ok_or(Fault::Unasked)?;
                asked.answer.bytes += piece.len() as u64;
                sink.body(tag, piece);
                Ok(())
            }
            (Event::Ends(kind, kept), None) => {
                *is_unprepared |= asked.ends(kind, kept, sink)?;
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
        self.asked.answer.has_begun
    }
}

//! One connection, as the driver sees it.

use super::codes;
use super::fault::Fault;
use super::frame::{Header, OF_NOBODY, opcode, put, put_prepare};
use super::login::Login;
use super::prepared::Prepared;
use super::reader::{Answer, Event, Reader};
use super::session::Session;
use super::statement::{Statement, Unfit, put_execution};
use super::streams::{Streams, Waits};
use crate::Limits;
use crate::blank::Filler;
use crate::outgoing::{Outgoing, Spare};
use crate::protocol::{Carrier, Codes, Places, Protocol, Reply, Sink, Tag, Value, Violation};
use std::sync::Arc;

/// What is the same for all connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How each begins.
    pub session: Arc<Session>,
    /// How large an answer may be.
    pub limits: Limits,
    /// Requests that may be under way on a connection; not zero, and at most [`super::STREAMS_MAX`].
    pub streams: u32,
}

/// Memory that the connections of a thread use in turn.
#[derive(Debug, Default)]
pub struct Shared {
    spare: Spare,
    /// A value before it is read as one of its type.
    text: Vec<u8>,
    /// A partition key.
    key: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
pub struct Cql {
    reader: Reader,
    /// Until it is ready.
    pub(super) login: Option<Box<Login>>,
    session: Arc<Session>,
    /// The statements, as this server knows them.
    prepared: Box<[Prepared]>,
    streams: Streams,
    /// Requests that were not sent, because a value does not fit.
    unfit: Vec<(Tag, Unfit)>,
    bytes_max: u64,
    outgoing: Outgoing,
}

impl Cql {
    /// A frame begins.
    fn begins(&mut self, header: Header, sink: &mut impl Sink) -> Result<(), Violation> {
        let Header { stream, opcode, length, .. } = header;
        if stream == OF_NOBODY && opcode == opcode::EVENT {
            return Ok(());
        }
        if let Some(login) = &self.login {
            return if login.awaits(stream) { Ok(()) } else { Err(Fault::UnknownStream.into()) };
        }
        let awaited = self.streams.get_mut(stream).ok_or(Fault::UnknownStream)?;
        if !matches!(opcode, opcode::RESULT | opcode::ERROR) {
            return Err(Fault::UnknownMessage.into());
        }
        if !std::mem::replace(&mut awaited.has_begun, true) {
            sink.first(awaited.tag);
        }
        match opcode == opcode::RESULT && u64::from(length) > self.bytes_max {
            true => Err(Violation::TooLarge),
            false => Ok(()),
        }
    }

    /// An answer to a request is whole.
    fn done(&mut self, number: i16, code: u16, sink: &mut impl Sink) {
        let Some(stream) = self.streams.get_mut(number) else { return };
        let (tag, body_bytes) = (stream.tag, stream.bytes);
        self.streams.give_back(number);
        sink.done(tag, Reply { code, body_bytes, reusable: true });
    }
}

/// What is to be done once a frame is whole.
enum Next {
    Done(u16),
    PrepareAgain,
    SendAgain,
}

impl Protocol for Cql {
    type Request = Statement;
    type Settings = Settings;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = Fault::CODES;

    const CODES: Codes = Codes::Named { protocol: "cql", names: codes::NAMES };

    const SUCCESSES: u16 = codes::SUCCESSES;

    /// Numbers of streams are used again.
    fn is_unasked(violation: Violation) -> bool {
        violation == Fault::UnknownStream.into()
    }

    const TAKES_TURNS: bool = false;

    /// A request that was sent can't be called back: its stream rests until its answer has come.
    fn places(settings: &Settings) -> Places {
        Places { max: settings.streams, cancels: false }
    }

    fn shared(_: usize) -> Shared {
        Shared::default()
    }

    fn new(settings: &Settings) -> Cql {
        let Settings { session, limits, streams: _ } = settings;
        Cql {
            reader: Reader::new(),
            login: Some(Box::new(Login::new(session.clone()))),
            session: session.clone(),
            prepared: Box::default(),
            streams: Streams::default(),
            unfit: Vec::new(),
            bytes_max: limits.body_bytes_max,
            outgoing: Outgoing::default(),
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        self.session.put_startup(self.outgoing.greeting());
        Ok(false)
    }

    #[inline]
    fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        _: u32,
        statement: &Statement,
        filler: &mut impl Filler,
    ) {
        let (number, stream) = self.streams.take(tag);
        match stream.write(statement, &self.prepared, filler, &mut shared.text) {
            Ok(()) => put(number, opcode::EXECUTE, self.outgoing.out(&mut shared.spare), |out| {
                let nothing = Prepared::default();
                let prepared = self.prepared.get(stream.statement as usize).unwrap_or(&nothing);
                put_execution(prepared, &stream.rest, out);
            }),
            Err(unfit) => {
                self.unfit.push((tag, unfit));
                self.streams.give_back(number);
            }
        }
    }

    const ROUTES: bool = true;

    fn token(&self, shared: &mut Shared, statement: &Statement, filler: &mut impl Filler) -> Option<i64> {
        let chosen = statement.chosen(filler, &mut shared.text);
        let prepared = self.prepared.get(chosen.number as usize)?;
        chosen.token(prepared, filler, (&mut shared.text, &mut shared.key))
    }

    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, _: &'a [Statement]) -> [&'a [u8]; 2] {
        self.outgoing.output(|_| None)
    }

    #[inline]
    fn wrote(&mut self, n: usize) {
        self.outgoing.wrote(n);
    }

    fn feed(&mut self, shared: &mut Shared, mut bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        if self.login.is_none() {
            self.outgoing.rest(&mut shared.spare);
        }
        while let Some(event) = self.reader.next(&mut bytes)? {
            let (number, answer) = match event {
                Event::Begins(header) => {
                    self.begins(header, sink)?;
                    let stream = self.streams.get_mut(header.stream);
                    self.reader.tell_values(stream.is_some_and(|stream| stream.tells_values));
                    continue;
                }
                Event::Untyped(number) => {
                    let stream = self.streams.get_mut(number);
                    let known = stream.and_then(|stream| self.prepared.get(stream.statement as usize));
                    self.reader.set_columns(known.map_or(&[], |known| &known.columns));
                    continue;
                }
                Event::Piece(number, piece) => {
                    let stream = self.streams.get_mut(number).ok_or(Fault::UnknownMessage)?;
                    stream.bytes += piece.len() as u64;
                    sink.body(stream.tag, piece);
                    continue;
                }
                Event::Value(number, (column, name), text) => {
                    let stream = self.streams.get_mut(number).ok_or(Fault::UnknownMessage)?;
                    let place = Some(column as u64);
                    sink.value(stream.tag, Value { place, name: Some(name), text });
                    continue;
                }
                Event::Ends(_, Answer::Event) => {
                    sink.unsolicited(false);
                    continue;
                }
                Event::Ends(number, answer) => (number, answer),
            };
            if let Some(login) = &mut self.login {
                if let Some(prepared) = login.hear(number, answer, self.outgoing.greeting())? {
                    (self.prepared, self.login) = (prepared, None);
                    sink.ready();
                }
                continue;
            }
            let stream = self.streams.get_mut(number).ok_or(Fault::UnknownStream)?;
            let place = stream.statement as usize;
            let next = match (stream.waits, answer) {
                (Waits::Answer, Answer::Error(code)) => match codes::of_error(code) {
                    codes::UNPREPARED if !stream.is_second => Next::PrepareAgain,
                    code => Next::Done(code),
                },
                (_, Answer::Error(code)) => Next::Done(codes::of_error(code)),
                (Waits::Answer, Answer::Void) => Next::Done(codes::VOID),
                (Waits::Answer, Answer::Rows { is_refused: true, .. }) => Next::Done(codes::NOT_APPLIED),
                (Waits::Answer, Answer::Rows { are_some, .. }) => {
                    Next::Done(if are_some { codes::ROWS } else { codes::NO_ROWS })
                }
                (Waits::Preparing, Answer::Prepared(fields)) => {
                    let again = Prepared::read(fields)?;
                    // Values are written as the types before asked for.
                    let is_same = again.parameters == self.prepared[place].parameters;
                    self.prepared[place] = again;
                    if is_same { Next::SendAgain } else { Next::Done(codes::UNPREPARED) }
                }
                _ => return Err(Fault::UnknownMessage.into()),
            };
            match next {
                Next::Done(code) => {
                    let code = stream.found(code);
                    let tag = stream.tag;
                    match stream.follow(code) {
                        None => self.done(number, code, sink),
                        Some(place) => {
                            put(number, opcode::EXECUTE, self.outgoing.out(&mut shared.spare), |out| {
                                put_execution(&self.prepared[place], &stream.rest, out);
                            });
                            self.streams.further += 1;
                            sink.followed(tag);
                        }
                    }
                }
                Next::PrepareAgain => {
                    (stream.waits, stream.is_second) = (Waits::Preparing, true);
                    sink.prepared_again(stream.tag);
                    let (cql, _) = &self.session.statements[place];
                    put_prepare(number, cql, self.outgoing.out(&mut shared.spare));
                    self.streams.preparing += 1;
                }
                Next::SendAgain => {
                    stream.waits = Waits::Answer;
                    put(number, opcode::EXECUTE, self.outgoing.out(&mut shared.spare), |out| {
                        put_execution(&self.prepared[place], &stream.rest, out);
                    });
                    self.streams.preparing -= 1;
                }
            }
        }
        Ok(())
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(Violation::ClosedEarly)
    }

    fn is_settled(&self) -> bool {
        !self.unfit.is_empty()
    }

    /// Tells of values that do not fit.
    fn settle(&mut self, _: &mut Shared, sink: &mut impl Sink) {
        for (tag, Unfit { value, of }) in self.unfit.drain(..) {
            // The value itself may be a secret.
            let text = format!("value {value} is not a valid {}", of.name());
            sink.first(tag);
            sink.body(tag, text.as_bytes());
            let body_bytes = text.len() as u64;
            sink.done(tag, Reply { code: codes::VALUE_UNFIT, body_bytes, reusable: true });
        }
    }

    /// Each value is looked at, to find its end.
    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}

    fn is_answering(&self) -> bool {
        let Streams { preparing, further, .. } = self.streams;
        preparing > 0 || further > 0 || self.reader.inside().is_some_and(|stream| stream != OF_NOBODY)
    }
}

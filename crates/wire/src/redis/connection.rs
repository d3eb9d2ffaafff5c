//! One connection, as the driver sees it.

use super::codes;
use super::command::{Command, Then};
use super::control::{Control, Transaction};
use super::fault::Fault;
use super::greeting::Greeting;
use super::reader::{Event, Reader};
use super::series::AllSeries;
use super::values::Values;
use crate::Limits;
use crate::blank::Filler;
use crate::outgoing::{Outgoing, Spare};
use crate::protocol::{Carrier, Codes, Places, Protocol, Reply, Sink, Tag, Value, Violation};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is the same for all connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How each begins.
    pub greeting: Arc<Greeting>,
    /// RESP3 is spoken, for which the greeting asks.
    pub is_resp3: bool,
    /// How large a reply may be.
    pub limits: Limits,
    /// Commands that may be under way on a connection; not zero.
    pub depth: u32,
}

/// Memory that the connections of a thread use in turn.
#[derive(Debug, Default)]
pub struct Shared {
    /// A word before its length is known.
    word: Vec<u8>,
    spare: Spare,
}

/// A connection.
#[derive(Debug)]
pub struct Redis {
    reader: Reader,
    pub(super) asked: Asked,
    outgoing: Outgoing,
}

/// What is to be answered.
#[derive(Debug)]
pub(super) struct Asked {
    /// Until it is answered, with the number of answers that have come.
    pub(super) greeting: Option<(Arc<Greeting>, usize)>,
    commands: VecDeque<Awaited>,
    series: AllSeries,
    transaction: Transaction,
    values: Values,
}

/// A reply that is to come.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    tag: Tag,
    /// Of what is made of several commands, where they are.
    series: Option<u8>,
    /// It is to the first command of its request.
    is_first: bool,
    must_find: bool,
    control: Option<Control>,
    tells_values: bool,
}

impl Asked {
    /// What `event` means. What follows from it is to be written.
    #[inline]
    fn hear(
        &mut self,
        event: Event<'_>,
        (outgoing, spare): (&mut Outgoing, &mut Spare),
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        match (event, self.commands.front()) {
            (Event::Push, _) => sink.unsolicited(false),
            (event, _) if self.greeting.is_some() => return self.hear_greeted(event, sink),
            (_, None) => return Err(Fault::Unasked.into()),
            // Only where what answers is no part of several.
            (Event::Whole(text), Some(&awaited)) => {
                let Awaited { tag, must_find, .. } = awaited;
                self.commands.pop_front();
                sink.first(tag);
                if !text.is_empty() {
                    sink.body(tag, text);
                }
                if awaited.tells_values && self.is_done_now(awaited) {
                    sink.value(tag, Value { place: None, name: None, text });
                }
                let code = if must_find && text.is_empty() { codes::NOT_FOUND } else { codes::OK };
                self.note_open(awaited, (code, false), sink);
                sink.done(tag, Reply { code, body_bytes: text.len() as u64, reusable: true });
            }
            (Event::Begins, Some(&Awaited { tag, is_first, tells_values, .. })) => {
                if is_first {
                    sink.first(tag);
                }
                if tells_values {
                    self.values.begin();
                }
            }
            (Event::Piece(piece), Some(&Awaited { tag, series, tells_values, .. })) => {
                if let Some(place) = series {
                    self.series.hear(place, piece)?;
                }
                if tells_values {
                    self.values.add(piece);
                }
                sink.body(tag, piece);
            }
            (Event::Parting, Some(&Awaited { tag, series, tells_values, .. })) => {
                if let Some(place) = series {
                    self.series.hear(place, b"\n")?;
                }
                if tells_values {
                    self.values.part();
                }
                sink.body(tag, b"\n");
            }
            (Event::Value(place), Some(&awaited)) => {
                if awaited.tells_values && self.is_done_now(awaited) {
                    self.values.tell(place, awaited.tag, sink);
                }
            }
            (Event::Ends { code, bytes, is_list }, Some(&awaited)) => {
                let Awaited { tag, series, must_find, .. } = awaited;
                self.commands.pop_front();
                let is_nothing = must_find && (code == codes::NIL || (code == codes::OK && bytes == 0));
                let code = if is_nothing { codes::NOT_FOUND } else { code };
                self.note_open(awaited, (code, is_list), sink);
                let body_bytes = match series {
                    None => bytes,
                    Some(place) => {
                        let goes_on = code < codes::SUCCESSES;
                        if self.series.follow(place, (bytes, goes_on), outgoing.out(spare)) {
                            self.commands.push_back(Awaited { is_first: false, must_find: false, ..awaited });
                            sink.followed(tag);
                            return Ok(());
                        }
                        self.series.end(place)
                    }
                };
                sink.done(tag, Reply { code, body_bytes, reusable: true });
            }
        }
        Ok(())
    }

    /// Its reply is what it brings, and not that it is queued.
    fn is_done_now(&self, awaited: Awaited) -> bool {
        awaited.control.is_some() || !self.transaction.is_queueing()
    }

    /// A reply is whole. Whoever asked is told if something is open behind it.
    #[inline]
    fn note_open(&mut self, awaited: Awaited, (code, is_list): (u16, bool), sink: &mut impl Sink) {
        if let Some(control) = awaited.control {
            self.transaction.answered(control, code, is_list);
        }
        if self.transaction.is_open() {
            sink.left_open(awaited.tag);
        }
    }

    /// A reply that is there as a whole.
    #[inline]
    fn hear_whole(
        &mut self,
        text: &[u8],
        (outgoing, spare): (&mut Outgoing, &mut Spare),
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        match self.commands.front() {
            Some(Awaited { series: Some(_), .. }) => self.hear_parts(text, (outgoing, spare), sink),
            _ => self.hear(Event::Whole(text), (outgoing, spare), sink),
        }
    }

    #[inline(never)] // rare
    fn hear_parts(
        &mut self,
        text: &[u8],
        (outgoing, spare): (&mut Outgoing, &mut Spare),
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        self.hear(Event::Begins, (&mut *outgoing, &mut *spare), sink)?;
        if !text.is_empty() {
            self.hear(Event::Piece(text), (&mut *outgoing, &mut *spare), sink)?;
        }
        let ends = Event::Ends { code: codes::OK, bytes: text.len() as u64, is_list: false };
        self.hear(ends, (outgoing, spare), sink)
    }

    /// Of what answers the greeting, only codes count.
    fn hear_greeted(&mut self, event: Event<'_>, sink: &mut impl Sink) -> Result<(), Violation> {
        let code = match event {
            Event::Ends { code, .. } => code,
            Event::Whole(_) => codes::OK,
            _ => return Ok(()),
        };
        let Some((greeting, answered)) = &mut self.greeting else { return Ok(()) };
        greeting.asked[*answered].check(code)?;
        *answered += 1;
        if *answered == greeting.asked.len() {
            self.greeting = None;
            sink.ready();
        }
        Ok(())
    }
}

impl Protocol for Redis {
    type Request = Command;
    type Settings = Settings;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = Fault::CODES;

    const CODES: Codes = Codes::Named { protocol: "redis", names: codes::NAMES };

    const FULL: Option<u16> = Some(Fault::MaxClients.number());

    const SUCCESSES: u16 = codes::SUCCESSES;

    fn is_unasked(violation: Violation) -> bool {
        violation == Fault::Unasked.into()
    }

    const TAKES_TURNS: bool = false;

    /// A command that was sent can't be called back.
    fn places(settings: &Settings) -> Places {
        Places { max: settings.depth, cancels: false }
    }

    fn shared(_: usize) -> Shared {
        Shared::default()
    }

    fn new(settings: &Settings) -> Redis {
        let Settings { greeting, is_resp3, limits, depth: _ } = settings;
        Redis {
            reader: Reader::new(*is_resp3, limits.body_bytes_max),
            asked: Asked {
                greeting: Some((greeting.clone(), 0)),
                commands: VecDeque::new(),
                series: AllSeries::default(),
                transaction: Transaction::default(),
                values: Values::default(),
            },
            outgoing: Outgoing::default(),
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        if let Some((greeting, _)) = &self.asked.greeting {
            self.outgoing.greeting().extend_from_slice(&greeting.bytes);
        }
        Ok(false)
    }

    #[inline]
    fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        number: u32,
        command: &Command,
        filler: &mut impl Filler,
    ) {
        let Shared { word, spare } = shared;
        let ready = command.ready();
        self.outgoing.put(spare, number, ready, |out| command.write(filler, word, out));
        let series = match &command.then {
            Then::Nothing => None,
            Then::Command(next) => Some(self.asked.series.begin_pair(|out| next.write(filler, word, out))),
            Then::Each => Some(self.asked.series.begin_each()),
        };
        let &Command { must_find, control, tells_values, .. } = command;
        let awaited = Awaited { tag, series, is_first: true, must_find, control, tells_values };
        self.asked.commands.push_back(awaited);
    }

    /// Its place is taken until the reply has come: replies have no names.
    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, commands: &'a [Command]) -> [&'a [u8]; 2] {
        self.outgoing.output(|number| commands[number as usize].ready())
    }

    #[inline]
    fn wrote(&mut self, n: usize) {
        self.outgoing.wrote(n);
    }

    #[inline]
    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        let Redis { reader, asked, outgoing } = self;
        outgoing.rest(&mut shared.spare);
        reader.take(bytes, &mut |event| {
            let to_write = (&mut *outgoing, &mut shared.spare);
            match event {
                Event::Whole(text) => asked.hear_whole(text, to_write, sink),
                event => asked.hear(event, to_write, sink),
            }
        })
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(Violation::ClosedEarly)
    }

    fn body_left(&self) -> u64 {
        match self.asked.commands.front() {
            // What it asks for next stands in it.
            Some(Awaited { series: Some(_), .. } | Awaited { tells_values: true, .. }) => 0,
            _ => self.reader.text_left(),
        }
    }

    fn skip(&mut self, n: u64) {
        self.reader.skip(n);
    }

    fn is_answering(&self) -> bool {
        (self.reader.is_answering() && !self.asked.commands.is_empty()) || self.asked.series.have_begun()
    }
}

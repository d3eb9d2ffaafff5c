//! One connection, as the driver sees it.

use super::codes;
use super::command::Command;
use super::fault::Fault;
use super::greeting::Greeting;
use super::reader::{Event, Reader};
use crate::Limits;
use crate::blank::Filler;
use crate::protocol::{Carrier, Codes, Places, Protocol, Reply, Sink, Tag, Violation};
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
    spare: Vec<Vec<u8>>,
}

/// A command that is written where it lies.
#[derive(Clone, Copy, Debug)]
struct Lying {
    number: u32,
    bytes: usize,
    written: usize,
}

/// A connection.
#[derive(Debug)]
pub struct Redis {
    reader: Reader,
    pub(super) asked: Asked,
    /// Before `out`: while nothing waits to be written, a command that is always the same is not copied.
    lying: Option<Lying>,
    out: Vec<u8>,
    written: usize,
}

/// What is to be answered.
#[derive(Debug)]
pub(super) struct Asked {
    /// Until it is answered, with the number of answers that have come.
    pub(super) greeting: Option<(Arc<Greeting>, usize)>,
    commands: VecDeque<Tag>,
}

impl Asked {
    /// What `event` means.
    #[inline]
    fn hear(&mut self, event: Event<'_>, sink: &mut impl Sink) -> Result<(), Violation> {
        match (event, self.commands.front()) {
            (Event::Push, _) => sink.unsolicited(false),
            (event, _) if self.greeting.is_some() => return self.hear_greeted(event, sink),
            (_, None) => return Err(Fault::Unasked.into()),
            (Event::Begins, Some(&tag)) => sink.first(tag),
            (Event::Piece(piece), Some(&tag)) => sink.body(tag, piece),
            (Event::Ends { code, bytes }, Some(&tag)) => {
                self.commands.pop_front();
                sink.done(tag, Reply { code, body_bytes: bytes, reusable: true });
            }
        }
        Ok(())
    }

    /// Of what answers the greeting, only codes count.
    fn hear_greeted(&mut self, event: Event<'_>, sink: &mut impl Sink) -> Result<(), Violation> {
        let (Some((greeting, answered)), Event::Ends { code, .. }) = (&mut self.greeting, event) else {
            return Ok(());
        };
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

    const SUCCESSES: u16 = codes::SUCCESSES;

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
            asked: Asked { greeting: Some((greeting.clone(), 0)), commands: VecDeque::new() },
            lying: None,
            out: Vec::new(),
            written: 0,
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        if let Some((greeting, _)) = &self.asked.greeting {
            self.out.extend_from_slice(&greeting.bytes);
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
        self.asked.commands.push_back(tag);
        match command.ready() {
            Some(ready) if self.lying.is_none() && self.out.is_empty() => {
                self.lying = Some(Lying { number, bytes: ready.len(), written: 0 });
            }
            ready => {
                if self.out.capacity() == 0 {
                    self.out = shared.spare.pop().unwrap_or_default();
                }
                match ready {
                    Some(ready) => self.out.extend_from_slice(ready),
                    None => command.write(filler, &mut shared.word, &mut self.out),
                }
            }
        }
    }

    /// Its place is taken until the reply has come: replies have no names.
    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, commands: &'a [Command]) -> [&'a [u8]; 2] {
        let lying = match self.lying {
            Some(Lying { number, written, .. }) => {
                let ready = commands[number as usize].ready().unwrap_or_default();
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
        if self.out.is_empty() && self.out.capacity() > 0 {
            shared.spare.push(std::mem::take(&mut self.out));
        }
        let Redis { reader, asked, .. } = self;
        reader.take(bytes, &mut |event| asked.hear(event, sink))
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(Violation::ClosedEarly)
    }

    fn body_left(&self) -> u64 {
        self.reader.text_left()
    }

    fn skip(&mut self, n: u64) {
        self.reader.skip(n);
    }

    fn is_answering(&self) -> bool {
        self.reader.is_answering() && !self.asked.commands.is_empty()
    }
}

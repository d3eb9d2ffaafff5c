//! A protocol for tests: a line for each request, a line for each answer, in any order, many at once. The server says
//! `hello` first. A request is `NUMBER WORD`; an answer `NUMBER ok`, `NUMBER refused` (not looked at) or `NUMBER gone`; a
//! request is given up by `NUMBER cancel`, and `room N` says how many the server takes at once. To `ping NUMBER` the client
//! says `NUMBER pong`.

use std::collections::HashMap;
use std::net::SocketAddr;
use unblink_core::plan::Plan;
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::target::{Address, Target};
use unblink_wire::blank::Filler;
use unblink_wire::protocol::{Carrier, Places, Protocol, Reply, Sink, Tag, Violation};
use unblink_wire::words::Words;
use unblink_workload::answer::{Expect, Needle};

/// How many requests a connection takes, and whether they can be cancelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) places: u32,
    pub(crate) cancels: bool,
}

/// Asks for `words` at `address`; an answer must say `ok`.
pub(crate) fn job(
    plan: Plan,
    address: SocketAddr,
    words: Vec<&'static str>,
    settings: Settings,
) -> Job<Lines> {
    Job {
        plan,
        targets: vec![Target::plain(vec![Address::Tcp(address)])],
        operations: words,
        values: None,
        script: None,
        expects: Expect { contains: Needle::new(b"ok"), ..Expect::default() }.into(),
        settings,
        connection_age: None,
        pacing: Pacing::default(),
    }
}

pub(crate) struct Lines {
    cancels: bool,
    is_ready: bool,
    output: Vec<u8>,
    input: Vec<u8>,
    /// By the number that the server is told.
    under_way: HashMap<u64, Tag>,
    next: u64,
}

impl Lines {
    fn line(&mut self, line: &str, sink: &mut impl Sink) -> Result<(), Violation> {
        if !self.is_ready {
            self.is_ready = line == "hello";
            sink.ready();
            return if self.is_ready { Ok(()) } else { Err(Violation::Malformed(0)) };
        }
        if let Some(number) = line.strip_prefix("ping ") {
            self.output.extend(format!("{number} pong\n").into_bytes());
            return Ok(());
        }
        if let Some(room) = line.strip_prefix("room ") {
            sink.room(room.parse().map_err(|_| Violation::Malformed(1))?);
            return Ok(());
        }
        let (number, word) = line.split_once(' ').ok_or(Violation::Malformed(1))?;
        let number: u64 = number.parse().map_err(|_| Violation::Malformed(1))?;
        // Of one that was cancelled, an answer may be under way.
        let Some(tag) = self.under_way.remove(&number) else { return Ok(()) };
        match word {
            "refused" => sink.lost(tag, Violation::ClosedEarly, true),
            "gone" => sink.lost(tag, Violation::ClosedEarly, false),
            _ => {
                sink.first(tag);
                sink.body(tag, word.as_bytes());
                sink.done(tag, Reply { code: 200, body_bytes: word.len() as u64, reusable: true });
            }
        }
        Ok(())
    }
}

impl Protocol for Lines {
    type Request = &'static str;
    type Settings = Settings;
    type Shared = ();

    const VIOLATIONS: &'static [&'static str] = &["no_hello", "no_answer"];

    const TAKES_TURNS: bool = false;

    fn places(settings: &Settings) -> Places {
        Places { max: settings.places, cancels: settings.cancels }
    }

    fn shared(_: usize) {}

    fn new(settings: &Settings) -> Lines {
        Lines {
            cancels: settings.cancels,
            is_ready: false,
            output: Vec::new(),
            input: Vec::new(),
            under_way: HashMap::new(),
            next: 0,
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        Ok(false)
    }

    fn submit(&mut self, (): &mut (), tag: Tag, _: u32, request: &&'static str, _: &mut impl Filler) {
        self.under_way.insert(self.next, tag);
        self.output.extend(format!("{} {request}\n", self.next).into_bytes());
        self.next += 1;
    }

    fn cancel(&mut self, tag: Tag, _: u64) -> bool {
        let number = self.under_way.iter().find(|(_, other)| **other == tag).map(|(number, _)| *number);
        if let Some(number) = number.filter(|_| self.cancels) {
            self.under_way.remove(&number);
            self.output.extend(format!("{number} cancel\n").into_bytes());
        }
        self.cancels
    }

    fn output<'a>(&'a self, _: &'a [&'static str]) -> [&'a [u8]; 2] {
        [&self.output, &[]]
    }

    fn wrote(&mut self, n: usize) {
        self.output.drain(..n);
    }

    fn feed(&mut self, _: &mut (), bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        self.input.extend(bytes);
        while let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            self.line(&String::from_utf8_lossy(&line[..end]), sink)?;
        }
        Ok(())
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(Violation::ClosedEarly)
    }

    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}

    fn is_answering(&self) -> bool {
        false
    }
}

impl Words for Lines {
    const NAME: &'static str = "lines";

    const SCHEMES: [&'static str; 2] = ["lines", "lines+tls"];
}

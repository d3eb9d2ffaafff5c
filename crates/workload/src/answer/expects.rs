//! The conditions on the answers to a request, and those of all requests of a run.

use super::capture::Captured;
use super::condition::{Condition, NamedCode, Pattern, Test};
use super::decode::{Coding, Undecoded};
use super::events::EventFormat;
use super::head::values;
use super::json::Path;
use super::needle::Needle;
use super::reader::Reader;
use super::redirect::Redirects;
use std::ops::RangeInclusive;
use unblink_core::failure::FailureKind;

/// Conditions on an answer, all of which must hold, and what is taken from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Allowed statuses. Empty: 200–399.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Allowed codes, where codes have names. Empty: that of success.
    pub codes: Vec<NamedCode>,
    /// Allowed sizes of the body in bytes, as it is sent.
    pub size: Option<RangeInclusive<u64>>,
    /// Bytes that the body must contain.
    pub contains: Option<Needle>,
    /// Headers, and what they must be like.
    pub headers: Vec<(String, Test)>,
    /// What the body must match.
    pub patterns: Vec<Pattern>,
    /// Values in the body, and what they must be like.
    pub json: Vec<(Path, Test)>,
    /// The body comes event by event.
    pub events: Option<EventFormat>,
    /// What makes a text of a body that is none.
    pub reader: Option<Reader>,
    /// What later requests of the same journey take from it.
    pub captures: Vec<Captured>,
    /// What the last answer of a step is like that asks again and again. One that is not yet like this fails nothing.
    pub until: Option<Box<Expect>>,
    /// An answer that sends its request on is followed, and not held against what an answer must be like.
    pub redirects: Option<Redirects>,
}

impl Expect {
    /// All of `conditions`. Of several on the size or on a text that is contained, the last one counts.
    pub fn new(conditions: &[Condition]) -> Expect {
        let mut expect = Expect::default();
        for condition in conditions.iter().cloned() {
            match condition {
                Condition::Statuses(ranges) => expect.statuses.extend(ranges),
                Condition::Codes(codes) => expect.codes.extend(codes),
                Condition::Size(range) => expect.size = Some(range),
                Condition::Contains(needle) => expect.contains = Some(needle),
                Condition::Header(name, test) => expect.headers.push((name, test)),
                Condition::Regex(pattern) => expect.patterns.push(pattern),
                Condition::Json(path, test) => expect.json.push((path, test)),
                Condition::Events(format) => expect.events = Some(format),
            }
        }
        expect
    }

    /// Each of them alone, in the order in which they are looked at.
    pub fn conditions(&self) -> Vec<Condition> {
        let statuses = (!self.statuses.is_empty()).then(|| Condition::Statuses(self.statuses.clone()));
        let codes = (!self.codes.is_empty()).then(|| Condition::Codes(self.codes.clone()));
        let headers = self.headers.iter().map(|(name, test)| Condition::Header(name.clone(), test.clone()));
        let size = self.size.clone().map(Condition::Size);
        let contains = self.contains.clone().map(Condition::Contains);
        let patterns = self.patterns.iter().cloned().map(Condition::Regex);
        let json = self.json.iter().map(|(path, test)| Condition::Json(path.clone(), test.clone()));
        let events = self.events.map(Condition::Events);
        let of_head = statuses.into_iter().chain(codes).chain(headers).chain(size);
        of_head.chain(contains).chain(patterns).chain(json).chain(events).collect()
    }

    /// True when `status`, or the code that stands in its place, is one of those asked for; `None` when nothing was asked.
    #[inline]
    pub fn allows_status(&self, status: u16) -> Option<bool> {
        match (self.statuses.is_empty(), self.codes.is_empty()) {
            (true, true) => None,
            (_, false) => Some(self.codes.iter().any(|code| code.place == status)),
            (false, true) => Some(self.statuses.iter().any(|r| r.contains(&status))),
        }
    }

    /// True when `bytes` of body, as they are sent, are as asked for.
    #[inline]
    pub fn allows_size(&self, bytes: u64) -> bool {
        self.size.as_ref().is_none_or(|r| r.contains(&bytes))
    }

    /// The head must be looked at: for its headers, or for how the body is sent.
    pub fn reads_head(&self) -> bool {
        !self.headers.is_empty()
            || self.reads_body()
            || !self.captures.is_empty()
            || self.redirects.is_some()
            || self.until.as_ref().is_some_and(|until| until.reads_head())
    }

    /// The body must be looked at.
    #[inline]
    pub fn reads_body(&self) -> bool {
        self.contains.is_some() || self.events.is_some() || self.collects_body()
    }

    /// The body must be looked at as a whole, even if it is sent plain.
    #[inline]
    pub fn collects_body(&self) -> bool {
        !self.patterns.is_empty()
            || !self.json.is_empty()
            || (self.reader.is_some() && self.contains.is_some())
            || self.captures.iter().any(|captured| captured.capture.reads_body())
            // It is looked at beside the other conditions, once.
            || self.until.as_ref().is_some_and(|until| until.reads_body())
    }

    /// Something is taken from the answer, or it is waited for that it is like this.
    #[inline]
    pub fn takes(&self) -> bool {
        !self.captures.is_empty() || self.until.is_some()
    }

    /// Where an answer with this status sends its request on, if that is followed.
    #[inline]
    pub fn follows(&self, status: u16) -> Option<&Redirects> {
        self.redirects.as_ref().filter(|_| Redirects::is_one(status))
    }

    /// An answer with this status and this head comes event by event, so that its events count. Those of an error do not: it
    /// would be the fastest of all.
    pub fn begins_events(&self, status: u16, head: &[u8]) -> Option<EventFormat> {
        if self.events == Some(EventFormat::Messages) {
            // Their status comes behind them, and an error has none.
            return self.events.filter(|_| self.allows_head(head));
        }
        let is_allowed =
            self.allows_status(status).unwrap_or_else(|| FailureKind::of_status(status).is_none());
        self.events.filter(|format| is_allowed && self.allows_head(head) && is_of(*format, head))
    }

    /// The headers are as asked for. Of several lines with one name, each must be.
    pub fn allows_head(&self, head: &[u8]) -> bool {
        self.headers.iter().all(|(name, test)| {
            let mut is_there = false;
            let all_hold = values(head, name).all(|value| {
                is_there = true;
                test.holds_for_text(value)
            });
            is_there && all_hold
        })
    }

    /// The text of a whole body that was sent as `body`. `decoded` and `text` are written over where it is another.
    ///
    /// # Errors
    /// Why it can't be looked at.
    pub fn text_of<'a>(
        &self,
        coding: Coding,
        body: &'a [u8],
        decoded: &'a mut Vec<u8>,
        text: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Undecoded> {
        let body = coding.decode(body, decoded)?;
        match &self.reader {
            None => Ok(body),
            Some(reader) => reader.read(body, text),
        }
    }

    /// A whole, decoded body is as asked for. `scratch` is written over.
    pub fn allows_body(&self, body: &[u8], scratch: &mut Vec<u8>) -> bool {
        self.contains.as_ref().is_none_or(|needle| needle.is_in(body))
            && self.patterns.iter().all(|pattern| pattern.is_in(body))
            && self.json.iter().all(|(path, test)| {
                let found = path.first(body).unwrap_or_default();
                found.is_some_and(|raw| test.holds_for_json(raw, scratch))
            })
    }
}

/// The head is that of a body which can be taken apart into such events.
pub(super) fn is_of(format: EventFormat, head: &[u8]) -> bool {
    let is_stream = |value: &[u8]| {
        let media_type = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        media_type.eq_ignore_ascii_case(b"text/event-stream")
    };
    let is_so_called = match format {
        EventFormat::Sse => values(head, "content-type").any(is_stream),
        EventFormat::Lines | EventFormat::Messages => true,
    };
    is_so_called && Coding::of(head) == Coding::Plain
}

/// What the answers to each operation must be like.
#[derive(Clone, Debug, PartialEq)]
pub struct Expects {
    /// Those that differ.
    distinct: Vec<Expect>,
    /// By operation, its place among them; empty when there is only one.
    of: Vec<u32>,
    /// Somebody looks at all of each answer.
    hears_all: bool,
}

/// The same for all operations.
impl From<Expect> for Expects {
    fn from(expect: Expect) -> Expects {
        Expects { distinct: vec![expect], of: Vec::new(), hears_all: false }
    }
}

impl Expects {
    /// `distinct` ones, at least one, and for each operation which of them is meant.
    pub fn new(distinct: Vec<Expect>, of: Vec<u32>) -> Expects {
        assert!(of.iter().all(|&place| (place as usize) < distinct.len()) && !distinct.is_empty());
        let of = if distinct.len() > 1 { of } else { Vec::new() };
        Expects { of, distinct, hears_all: false }
    }

    /// The same where somebody looks at all of each answer, whatever it must be like.
    pub fn hearing_all(self) -> Expects {
        Expects { hears_all: true, ..self }
    }

    /// Somebody looks at all of each answer.
    pub fn hear_all(&self) -> bool {
        self.hears_all
    }

    /// That of one operation.
    #[inline]
    pub fn of(&self, operation: u32) -> &Expect {
        let place = self.of.get(operation as usize).copied().unwrap_or(0);
        &self.distinct[place as usize]
    }

    /// Nothing is asked of any answer or taken from it, and nobody looks at it.
    pub fn are_nothing(&self) -> bool {
        !self.hears_all && self.distinct.iter().all(|expect| *expect == Expect::default())
    }

    /// A head must be looked at.
    pub fn read_heads(&self) -> bool {
        self.hears_all || self.distinct.iter().any(Expect::reads_head)
    }

    /// A body must be looked at.
    pub fn read_bodies(&self) -> bool {
        self.hears_all || self.distinct.iter().any(Expect::reads_body)
    }

    /// For each operation whether its answers come event by event; one value where it is the same for all.
    pub fn streams(&self) -> Vec<bool> {
        let is_stream = |place: &u32| self.distinct[*place as usize].events.is_some();
        match self.of.is_empty() {
            true => vec![is_stream(&0)],
            false => self.of.iter().map(is_stream).collect(),
        }
    }

    /// How many values by name are taken from answers.
    pub fn captured_count(&self) -> usize {
        let all = self.distinct.iter().flat_map(|expect| {
            let captured = expect.captures.iter().map(|captured| captured.number);
            captured.chain(expect.redirects.iter().map(|redirects| redirects.kept))
        });
        all.map(|number| number as usize + 1).max().unwrap_or(0)
    }
}

//! What a connection's protocol says, as it says it.

use super::super::heard::{EventsHeard, bit, flight_of};
use super::super::kinds::kind_of_violation;
use super::{Hearing, News};
use unblink_core::dispatch::Loss;
use unblink_core::record::{Answer, Then};
use unblink_core::time::Instant;
use unblink_wire::protocol::{Reply, Sink, Tag, Value, Violation};
use unblink_workload::answer::head::values as head_values;
use unblink_workload::answer::{Captured, Coding, EventReader, Found};

/// Takes what was read at `now`.
pub(in crate::conn) struct Ear<'a> {
    pub(in crate::conn) hearing: &'a mut Hearing,
    pub(in crate::conn) now: Instant,
    /// The peer's side is closed: nothing more can be asked.
    pub(in crate::conn) is_last: bool,
    pub(in crate::conn) is_ready: bool,
    /// The answer whose head comes next has a status that may come with `Retry-After`.
    pub(in crate::conn) may_ask_to_wait: bool,
    /// The answer that is whole next leaves something open.
    pub(in crate::conn) leaves_open: bool,
}

impl Ear<'_> {
    #[inline(always)]
    pub(in crate::conn) fn new(hearing: &mut Hearing, now: Instant, is_last: bool) -> Ear<'_> {
        Ear { hearing, now, is_last, is_ready: false, may_ask_to_wait: false, leaves_open: false }
    }

    #[inline(never)]
    fn look_at_head(&mut self, tag: Tag, head: &[u8]) {
        if std::mem::take(&mut self.may_ask_to_wait) && head_values(head, "retry-after").next().is_some() {
            self.hearing.beside.asked_to_wait += 1;
        }
        let Hearing { flights, expects, reads: (true, _), kept, echoes, whole, scratch, .. } =
            &mut *self.hearing
        else {
            return;
        };
        let slot = flight_of(tag).slot as usize;
        if let Some(echoes) = echoes {
            echoes.head(slot, head);
        }
        if let Some(whole) = whole {
            whole.head(slot, head);
        }
        let heard = &mut flights[slot];
        let expect = expects.of(heard.operation);
        if let Some(redirects) = expect.follows(heard.code) {
            heard.sent_on = Some(heard.send_on(redirects, tag, head, (kept, scratch)));
            // What else is to be taken is in the last answer.
            for cookies in expect.captures.iter().filter(|captured| captured.capture.adds()) {
                let _ = kept.take((heard.place, tag.0), cookies, head, &[]);
            }
            return;
        }
        heard.head_is_right = expect.allows_head(head);
        heard.head_is_awaited = expect.until.as_ref().is_none_or(|until| until.allows_head(head));
        if expect.reads_body() {
            heard.coding = Coding::of(head);
            let format = expect.begins_events(heard.code, head);
            heard.events =
                format.map(|format| EventsHeard { format, reader: EventReader::default(), is_any: false });
        }
        let of_head = |captured: &&Captured| !captured.capture.reads_body() && !captured.capture.is_told();
        for captured in expect.captures.iter().filter(of_head) {
            let missed = kept.take((heard.place, tag.0), captured, head, &[]).err();
            heard.missed = heard.missed.or(missed);
        }
    }

    #[inline(never)]
    fn look_at_body(&mut self, tag: Tag, piece: &[u8]) {
        let flight = flight_of(tag);
        let slot = flight.slot as usize;
        self.hearing.hear(flight, Some(piece));
        let Hearing { flights, expects, collecting, echoes, whole, .. } = &mut *self.hearing;
        if let Some(echoes) = echoes {
            echoes.body(slot, piece);
        }
        if let Some(whole) = whole {
            whole.body(slot, piece);
        }
        let heard = &mut flights[slot];
        let expect = expects.of(heard.operation);
        if !expect.reads_body() || heard.is_too_large {
            return;
        }
        if heard.is_collected(expect) {
            heard.is_too_large = !collecting.add(&mut heard.body, piece);
        } else if let Some(needle) = &expect.contains {
            heard.matched = needle.advance(heard.matched, piece);
        }
    }
}

impl Sink for Ear<'_> {
    fn ready(&mut self) {
        self.is_ready = true;
    }

    fn room(&mut self, places: u32) {
        // Before a place that has become free is used again; of several the last one holds.
        self.hearing.news.retain(|news| !matches!(news, News::Room(_)));
        self.hearing.news.insert(0, News::Room(places));
    }

    fn retired(&mut self) {
        self.hearing.news.insert(0, News::Retired);
    }

    #[inline]
    fn first(&mut self, tag: Tag) {
        self.hearing.flights[flight_of(tag).slot as usize].first_byte = Some(self.now);
    }

    #[inline]
    fn code(&mut self, tag: Tag, code: u16) {
        // One comparison for what nearly every answer says.
        self.may_ask_to_wait = code >= 429 && matches!(code, 429 | 503);
        if !self.hearing.is_plain {
            self.hearing.flights[flight_of(tag).slot as usize].code = code;
        }
    }

    #[inline(always)]
    fn head(&mut self, tag: Tag, head: &[u8]) {
        if self.may_ask_to_wait || self.hearing.reads.0 {
            self.look_at_head(tag, head);
        }
    }

    #[inline(always)]
    fn body(&mut self, tag: Tag, piece: &[u8]) {
        if self.hearing.reads.1 {
            self.look_at_body(tag, piece);
        }
    }

    #[inline]
    fn message(&mut self, tag: Tag) {
        if self.hearing.reads.1 {
            self.hearing.tell_events(flight_of(tag), Found { events: 1, keep_alives: 0 });
        }
    }

    #[inline(always)]
    fn done(&mut self, tag: Tag, reply: Reply) {
        let flight = flight_of(tag);
        let (failure, then) = match self.hearing.is_plain {
            true => (self.hearing.codes.failure(&reply), Then::Done),
            false => self.hearing.judge_all(flight, &reply),
        };
        let answer = Answer {
            failure,
            code: self.hearing.codes.code(&reply),
            body_bytes: reply.body_bytes,
            first_byte: self.hearing.flights[flight.slot as usize].first_byte.unwrap_or(self.now),
            then,
            reusable: reply.reusable && !self.is_last,
            leaves_open: std::mem::take(&mut self.leaves_open),
        };
        self.hearing.news.push(News::Answered(flight, answer));
    }

    /// The first that is so called is taken. What is taken from an answer that then counts as failed is used by nobody: its journey
    /// ends.
    fn value(&mut self, tag: Tag, Value { place, name, text }: Value<'_>) {
        let Hearing { flights, expects, kept, .. } = &mut *self.hearing;
        let heard = &mut flights[flight_of(tag).slot as usize];
        for (at, captured) in (0..).zip(&expects.of(heard.operation).captures) {
            if heard.told & bit(at) == 0 && captured.capture.is_of(place, name) {
                heard.told |= bit(at);
                let missed = kept.put((heard.place, tag.0), captured.number, text).err();
                heard.missed = heard.missed.or(missed);
            }
        }
    }

    fn left_open(&mut self, _: Tag) {
        self.leaves_open = true;
    }

    fn unsolicited(&mut self, in_order: bool) {
        self.hearing.beside.unsolicited += 1;
        self.hearing.beside.unsolicited_in_order += u64::from(in_order);
    }

    fn pinged(&mut self) {
        self.hearing.beside.pinged += 1;
    }

    fn followed(&mut self, _: Tag) {
        self.hearing.beside.followed += 1;
    }

    fn prepared_again(&mut self, _: Tag) {
        self.hearing.beside.prepared_again += 1;
    }

    /// A step that awaits a message says what it must be like as one that asks until its answer is like that.
    fn wants(&mut self, number: u32, message: &[u8]) -> bool {
        let Hearing { expects, scratch, .. } = &mut *self.hearing;
        expects.of(number).until.as_ref().is_none_or(|until| {
            until.allows_size(message.len() as u64) && until.allows_body(message, scratch)
        })
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        let loss = Loss { kind: kind_of_violation(violation), unprocessed };
        self.hearing.news.push(News::Lost(flight_of(tag), loss));
    }
}

//! One connection, as the driver sees it.

use super::fault::Fault;
use super::frame::{self, MAX_31_BITS, PREFACE, WINDOW, code, kind, setting};
use super::head::Heads;
use super::hpack::decoder::Scratch;
use super::outgoing::Outgoing;
use super::request::{Body, Request};
use super::resets::Resets;
use super::stream::{Stream, Streams};
use crate::Limits;
use crate::blank::Filler;
use crate::protocol::{Carrier, Places, Protocol, Sink, Tag, Violation};

/// Bytes of a body, and of all bodies, that the server may send before it is told that they were taken: what a browser allows
/// (Chrome, 2026), so that a large answer takes no longer than there.
pub(super) const STREAM_WINDOW: u32 = 6 << 20;
pub(super) const CONNECTION_WINDOW: u32 = 15 << 20;

/// Requests at once for which memory is reserved. What is not used is only address space.
pub(crate) const STREAMS_EXPECTED: u32 = 128;
/// Bytes for which a thread reserves memory, for each of what its connections share.
const SHARED_BYTES: usize = 1 << 16;

/// What is the same for all connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How large an answer may be.
    pub limits: Limits,
    /// Requests that a connection takes at once, if the server allows as many; not zero.
    pub streams: u32,
}

/// What the connections of a thread share: memory that is used again.
#[derive(Debug)]
pub struct Shared {
    pub(super) scratch: Scratch,
    /// The lines of a head.
    pub(super) text: Vec<u8>,
    /// A header field's value before its length is known.
    value: Vec<u8>,
    /// A body before its length is known.
    body: Vec<u8>,
}

/// A block of header fields that goes on in another frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfinished {
    pub(super) stream: u32,
    /// The answer ends with it.
    pub(super) ends: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Http2 {
    pub(super) limits: Limits,
    /// Requests at once, as asked for.
    pub(super) streams_max: u32,
    /// As allowed by the server.
    pub(super) room: u32,
    /// The server's settings have come.
    pub(super) is_ready: bool,
    pub(super) streams: Streams,
    pub(super) next_id: u32,
    pub(super) outgoing: Outgoing,
    /// What the server takes of a new request's body.
    pub(super) send_window: u32,
    /// What the server may send of all bodies.
    pub(super) receive_window: u32,
    /// The beginning of a frame.
    partial: Vec<u8>,
    pub(super) unfinished: Option<Unfinished>,
    pub(super) block: Vec<u8>,
    pub(super) heads: Heads,
    pub(super) resets: Resets,
    /// Frames since the last that brought an answer on.
    pub(super) idle_frames: u32,
    pub(super) is_retired: bool,
    /// The server has said that it closes the connection for an error of ours.
    pub(super) is_blamed: bool,
}

impl Http2 {
    /// Takes what is whole, and keeps the rest.
    fn take(&mut self, shared: &mut Shared, mut bytes: &[u8], sink: &mut impl Sink) -> Result<(), Fault> {
        if !self.partial.is_empty() {
            let mut partial = std::mem::take(&mut self.partial);
            let taken = self.complete(&mut partial, shared, &mut bytes, sink);
            self.partial = partial;
            if !taken? {
                return Ok(());
            }
        }
        self.check_begin(bytes)?;
        while let Some((header, payload, rest)) = frame::Header::split(bytes)? {
            self.frame(header, payload, shared, sink)?;
            bytes = rest;
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds to the frame that has begun what it lacks. True if it is whole, and was taken.
    fn complete(
        &mut self,
        partial: &mut Vec<u8>,
        shared: &mut Shared,
        bytes: &mut &[u8],
        sink: &mut impl Sink,
    ) -> Result<bool, Fault> {
        loop {
            let lacking = match partial.first_chunk::<3>() {
                Some(&[a, b, c]) if partial.len() >= frame::HEADER_BYTES => {
                    frame::HEADER_BYTES + u32::from_be_bytes([0, a, b, c]) as usize - partial.len()
                }
                _ => frame::HEADER_BYTES - partial.len(),
            };
            let (more, rest) = bytes.split_at(lacking.min(bytes.len()));
            partial.extend_from_slice(more);
            *bytes = rest;
            self.check_begin(partial)?;
            if let Some((header, payload, _)) = frame::Header::split(partial)? {
                self.frame(header, payload, shared, sink)?;
                partial.clear();
                return Ok(true);
            }
            if bytes.is_empty() {
                return Ok(false);
            }
        }
    }

    /// A server that does not speak HTTP/2 is found out by its first bytes.
    fn check_begin(&self, bytes: &[u8]) -> Result<(), Fault> {
        if self.is_ready {
            return Ok(());
        }
        match bytes {
            [b'H', b'T', b'T', b'P', b'/', ..] => Err(Fault::AnsweredInHttp1),
            [_, _, _, kind, _, ..] if *kind != kind::SETTINGS => Err(Fault::NotHttp2),
            _ => Ok(()),
        }
    }

    /// Sends of bodies what the windows and the socket take.
    pub(super) fn send_bodies(&mut self) {
        while let Some(id) = self.outgoing.next() {
            let Some(stream) = self.streams.get_mut(id) else { continue };
            stream.is_queued = false;
            let Some(body) = &mut stream.body else { continue };
            let n = self.outgoing.put_body(id, body.left(), &mut stream.send_window);
            body.take(n);
            if n > 0 {
                self.idle_frames = 0;
            }
            if body.left().is_empty() {
                stream.body = None;
            } else if n > 0 {
                // The others first. One whose own window is closed waits until it opens.
                stream.is_queued = true;
                self.outgoing.queue(id);
            }
        }
    }

    /// Ends a request from this side.
    pub(super) fn reset(&mut self, id: u32, code: u32) {
        frame::put_number(self.outgoing.frames(), kind::RST_STREAM, id, code);
        self.resets.remember(id);
    }
}

impl Protocol for Http2 {
    type Request = Request;
    type Settings = Settings;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = Fault::CODES;

    const TAKES_TURNS: bool = false;

    fn places(settings: &Settings) -> Places {
        Places { max: settings.streams, cancels: true }
    }

    fn shared(_: usize) -> Shared {
        let buffer = || Vec::with_capacity(SHARED_BYTES);
        Shared { scratch: Scratch::with_room(SHARED_BYTES), text: buffer(), value: buffer(), body: buffer() }
    }

    fn new(settings: &Settings) -> Http2 {
        Http2 {
            limits: settings.limits,
            streams_max: settings.streams,
            room: settings.streams,
            is_ready: false,
            streams: Streams::with_room(settings.streams.min(STREAMS_EXPECTED) as usize),
            next_id: 1,
            outgoing: Outgoing::new(settings.streams.min(STREAMS_EXPECTED) as usize),
            send_window: WINDOW,
            receive_window: CONNECTION_WINDOW,
            partial: Vec::with_capacity(frame::HEADER_BYTES + frame::PAYLOAD_MAX),
            unfinished: None,
            block: Vec::new(),
            heads: Heads::new(),
            resets: Resets::new(),
            idle_frames: 0,
            is_retired: false,
            is_blamed: false,
        }
    }

    /// Requests wait for the server's settings: before them, nobody knows how many it takes.
    fn begin(&mut self, carrier: Carrier<'_>) -> Result<bool, Violation> {
        if matches!(carrier, Carrier::Tls(agreed) if agreed != Some(super::ALPN)) {
            return Err(Fault::NotNegotiated.into());
        }
        let head_bytes_max = u32::try_from(self.limits.head_bytes_max).unwrap_or(u32::MAX);
        let settings = [
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (setting::MAX_HEADER_LIST_SIZE, head_bytes_max),
        ];
        let out = self.outgoing.frames();
        out.extend_from_slice(PREFACE);
        frame::put_header(out, 6 * settings.len(), kind::SETTINGS, 0, 0);
        for (name, value) in settings {
            out.extend_from_slice(&name.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        frame::put_number(out, kind::WINDOW_UPDATE, 0, CONNECTION_WINDOW - WINDOW);
        Ok(false)
    }

    fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        number: u32,
        request: &Request,
        filler: &mut impl Filler,
    ) {
        let id = self.next_id;
        self.next_id += 2;
        shared.body.clear();
        request.fill_body(filler, &mut shared.body);
        let body = request.fixed_body().map_or(&shared.body[..], |body| body);
        let value = &mut shared.value;
        self.outgoing.put_head(id, body.is_empty(), |encoder, out| {
            request.write_block((number, body.len()), filler, value, encoder, out);
        });
        let send_window = i64::from(self.send_window);
        let mut stream = Stream::new(tag, number, request.kind(), send_window, STREAM_WINDOW);
        let mut sent = 0;
        while sent < body.len() {
            match self.outgoing.put_body(id, &body[sent..], &mut stream.send_window) {
                0 => break,
                n => sent += n,
            }
        }
        if sent < body.len() {
            stream.body = Some(match request.fixed_body() {
                Some(body) => Body::Fixed(body.clone(), sent),
                None => Body::Filled(shared.body[sent..].to_vec(), 0),
            });
            stream.is_queued = true;
            self.outgoing.queue(id);
        }
        self.streams.insert(id, stream);
    }

    fn cancel(&mut self, tag: Tag, now_ns: u64) -> bool {
        let found = self.streams.iter().find(|(_, stream)| stream.tag == tag).map(|(id, _)| id as u32);
        // Nothing is known of one that has just ended: its place is free.
        let Some(id) = found else { return true };
        let is_allowed = self.resets.allow(now_ns);
        if is_allowed {
            self.streams.remove(id);
            self.reset(id, code::CANCEL);
        }
        is_allowed
    }

    fn output<'a>(&'a self, _: &'a [Request]) -> [&'a [u8]; 2] {
        [self.outgoing.pending(), &[]]
    }

    fn wrote(&mut self, n: usize) {
        self.outgoing.wrote(n);
        self.send_bodies();
    }

    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        self.take(shared, bytes, sink)?;
        self.send_bodies();
        // As many may be submitted before this is looked at again.
        let last_id = u64::from(self.next_id) + 2 * u64::from(self.streams_max);
        if last_id > u64::from(MAX_31_BITS) {
            self.retire(sink);
        }
        Ok(())
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(if self.is_blamed { Fault::GoawayError.into() } else { Violation::ClosedEarly })
    }

    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}

    fn is_answering(&self) -> bool {
        self.streams.iter().any(|(_, stream)| stream.has_begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::NothingToFill;
    use crate::http2::fuzzing::requests;
    use crate::protocol::Reply;

    /// How often it was told that the connection takes nothing more.
    struct Told(u32);

    impl Sink for Told {
        fn ready(&mut self) {}
        fn room(&mut self, _: u32) {}
        fn retired(&mut self) {
            self.0 += 1;
        }
        fn first(&mut self, _: Tag) {}
        fn head(&mut self, _: Tag, _: &[u8]) {}
        fn body(&mut self, _: Tag, _: &[u8]) {}
        fn done(&mut self, _: Tag, _: Reply) {}
        fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
    }

    #[test]
    fn a_connection_takes_no_more_before_its_numbers_run_out() {
        let settings = Settings { limits: Limits::default(), streams: 100 };
        let (mut http, mut shared, mut told) = (Http2::new(&settings), Http2::shared(1), Told(0));
        // Of 100 streams the last one would have the highest number that there is.
        http.next_id = MAX_31_BITS - 2 * 100;
        let mut feed = |http: &mut Http2| {
            http.feed(&mut shared, &[0, 0, 0, kind::SETTINGS, 0, 0, 0, 0, 0], &mut told).expect("settings");
            told.0
        };
        assert_eq!(feed(&mut http), 0);
        let mut others = Http2::shared(1);
        for tag in 0..100 {
            http.submit(&mut others, Tag(tag), 0, &requests()[0], &mut NothingToFill);
        }
        assert!(http.next_id <= MAX_31_BITS, "all that could be sent unlooked have a number");
        assert_eq!((feed(&mut http), feed(&mut http)), (1, 1), "told once");
    }
}

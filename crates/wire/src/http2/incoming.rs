//! Frames that come, and what those of the connection itself lead to (RFC 9113 §6).

use super::connection::{Http2, Shared};
use super::fault::Fault;
use super::frame::{self, Header, MAX_31_BITS, PAYLOAD_MAX, code, flag, kind, setting};
use crate::protocol::Sink;

/// Frames in a row that bring no answer on: more are an attack, or a server that has lost its way.
const IDLE_FRAMES_MAX: u32 = 10_000;

impl Http2 {
    pub(super) fn frame(
        &mut self,
        header: Header,
        payload: &[u8],
        shared: &mut Shared,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        match self.unfinished {
            Some(of) if header.kind != kind::CONTINUATION || header.stream != of.stream => {
                return Err(Fault::ContinuationExpected);
            }
            None if header.kind == kind::CONTINUATION => return Err(Fault::ContinuationUnexpected),
            _ => {}
        }
        if !self.is_ready && header.has(flag::ACK) {
            return Err(Fault::NotHttp2);
        }
        match header.kind {
            kind::DATA => self.data(header, payload, sink),
            kind::HEADERS => self.headers(header, payload, shared, sink),
            kind::CONTINUATION => self.continuation(header, payload, shared, sink),
            kind::RST_STREAM => self.stream_reset(header, payload, sink),
            kind::WINDOW_UPDATE => self.window_update(header, payload, sink),
            kind::SETTINGS => self.settings(header, payload, sink),
            kind::PING => self.ping(header, payload),
            kind::GOAWAY => self.goaway(header, payload, sink),
            kind::PUSH_PROMISE => Err(Fault::PushPromise),
            kind::PRIORITY if header.stream == 0 => Err(Fault::StreamZero),
            kind::PRIORITY if payload.len() != 5 => Err(Fault::FrameSize),
            // Of unknown types nothing is known.
            _ => self.count_idle(),
        }
    }

    /// A frame has brought no answer on.
    pub(super) fn count_idle(&mut self) -> Result<(), Fault> {
        self.idle_frames += 1;
        if self.idle_frames > IDLE_FRAMES_MAX || self.outgoing.is_unread() {
            Err(Fault::Flood)
        } else {
            Ok(())
        }
    }

    /// A frame is for a request that is not under way: has it been given up, or is it none?
    pub(super) fn check_was_reset(&self, stream: u32) -> Result<(), Fault> {
        match stream {
            // Even ones are the server's, which was told not to push.
            id if id % 2 == 0 || id >= self.next_id => Err(Fault::IdleStream),
            id if self.resets.was_reset(id) => Ok(()),
            _ => Err(Fault::ClosedStream),
        }
    }

    /// No more requests on this connection.
    pub(super) fn retire(&mut self, sink: &mut impl Sink) {
        if !std::mem::replace(&mut self.is_retired, true) {
            sink.retired();
        }
    }

    fn settings(&mut self, header: Header, payload: &[u8], sink: &mut impl Sink) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::NotStreamZero);
        }
        if header.has(flag::ACK) {
            return if payload.is_empty() { self.count_idle() } else { Err(Fault::FrameSize) };
        }
        let (settings, []) = payload.as_chunks::<6>() else { return Err(Fault::FrameSize) };
        let mut room = self.room;
        for &[a, b, value @ ..] in settings {
            let value = u32::from_be_bytes(value);
            match u16::from_be_bytes([a, b]) {
                setting::HEADER_TABLE_SIZE => self.outgoing.encoder.set_limit(value),
                setting::ENABLE_PUSH if value != 0 => return Err(Fault::InvalidSetting),
                setting::MAX_FRAME_SIZE if !(PAYLOAD_MAX as u32..1 << 24).contains(&value) => {
                    return Err(Fault::InvalidSetting);
                }
                setting::INITIAL_WINDOW_SIZE if value > MAX_31_BITS => return Err(Fault::InvalidSetting),
                setting::INITIAL_WINDOW_SIZE => self.set_send_window(value)?,
                setting::MAX_CONCURRENT_STREAMS => room = value.min(self.streams_max),
                _ => {}
            }
        }
        frame::put_header(self.outgoing.frames(), 0, kind::SETTINGS, flag::ACK, 0);
        if room != self.room {
            self.room = room;
            sink.room(room);
        }
        if !std::mem::replace(&mut self.is_ready, true) {
            sink.ready();
        }
        self.count_idle()
    }

    /// The window of requests that have been sent changes, too, and may come to lie below zero (§6.9.2).
    fn set_send_window(&mut self, window: u32) -> Result<(), Fault> {
        let change = i64::from(window) - i64::from(self.send_window);
        self.send_window = window;
        for (id, stream) in self.streams.iter_mut() {
            stream.send_window += change;
            if stream.send_window > i64::from(MAX_31_BITS) {
                return Err(Fault::WindowOverflow);
            }
            if stream.body.is_some() && stream.send_window > 0 && !stream.is_queued {
                stream.is_queued = true;
                self.outgoing.queue(id as u32);
            }
        }
        Ok(())
    }

    fn window_update(&mut self, header: Header, payload: &[u8], sink: &mut impl Sink) -> Result<(), Fault> {
        let increment = frame::number(payload)? & MAX_31_BITS;
        self.count_idle()?;
        if header.stream == 0 {
            return match increment {
                0 => Err(Fault::ZeroIncrement),
                by if self.outgoing.widen(by) => Ok(()),
                _ => Err(Fault::WindowOverflow),
            };
        }
        let Some(stream) = self.streams.get_mut(header.stream) else {
            return match self.check_was_reset(header.stream) {
                // Sent before the server knew of the end.
                Err(Fault::ClosedStream) => Ok(()),
                known => known,
            };
        };
        stream.send_window += i64::from(increment);
        let is_over = stream.send_window > i64::from(MAX_31_BITS);
        if stream.body.is_some() && stream.send_window > 0 && !stream.is_queued {
            stream.is_queued = true;
            self.outgoing.queue(header.stream);
        }
        if increment == 0 || is_over {
            let fault = if is_over { Fault::WindowOverflow } else { Fault::ZeroIncrement };
            self.fail(header.stream, fault.into(), sink);
        }
        Ok(())
    }

    fn ping(&mut self, header: Header, payload: &[u8]) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::NotStreamZero);
        }
        if payload.len() != 8 {
            return Err(Fault::FrameSize);
        }
        if !header.has(flag::ACK) {
            let out = self.outgoing.frames();
            frame::put_header(out, payload.len(), kind::PING, flag::ACK, 0);
            out.extend_from_slice(payload);
        }
        self.count_idle()
    }

    /// Requests above the last one that the server names were not looked at; the others go on.
    fn goaway(&mut self, header: Header, payload: &[u8], sink: &mut impl Sink) -> Result<(), Fault> {
        if header.stream != 0 {
            return Err(Fault::NotStreamZero);
        }
        let (&[last, code], _) = payload.as_chunks::<4>().0.split_first_chunk().ok_or(Fault::FrameSize)?;
        let last = u32::from_be_bytes(last) & MAX_31_BITS;
        self.is_blamed |= u32::from_be_bytes(code) != code::NO_ERROR;
        self.retire(sink);
        let resets = &mut self.resets;
        self.streams.extract(
            |id| id > u64::from(last),
            |id, stream| {
                resets.remember(id as u32);
                sink.lost(stream.tag, Fault::Goaway.into(), true);
            },
        );
        self.count_idle()
    }
}

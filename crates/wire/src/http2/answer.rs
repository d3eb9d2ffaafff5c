//! Frames that belong to an answer, and how a request ends.

use super::connection::{CONNECTION_WINDOW, Http2, STREAM_WINDOW, Shared, Unfinished};
use super::fault::Fault;
use super::frame::{self, Header, code, flag, kind};
use crate::protocol::{Reply, Sink, Violation};

/// Bytes before the block of a HEADERS frame that has a priority; nobody uses it any more (RFC 9113 §5.3.2).
const PRIORITY_BYTES: usize = 5;

impl Http2 {
    pub(super) fn headers(
        &mut self,
        header: Header,
        payload: &[u8],
        shared: &mut Shared,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        if header.stream == 0 {
            return Err(Fault::StreamZero);
        }
        let mut block = header.unpadded(payload)?;
        if header.has(flag::PRIORITY) {
            block = block.get(PRIORITY_BYTES..).ok_or(Fault::FrameSize)?;
        }
        let (stream, ends) = (header.stream, header.has(flag::END_STREAM));
        if header.has(flag::END_HEADERS) {
            return self.block(stream, ends, block, shared, sink);
        }
        self.unfinished = Some(Unfinished { stream, ends });
        self.block.clear();
        self.add_to_block(block)
    }

    pub(super) fn continuation(
        &mut self,
        header: Header,
        payload: &[u8],
        shared: &mut Shared,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        self.count_idle()?;
        self.add_to_block(payload)?;
        if !header.has(flag::END_HEADERS) {
            return Ok(());
        }
        let Some(Unfinished { stream, ends }) = self.unfinished.take() else { return Ok(()) };
        let block = std::mem::take(&mut self.block);
        let read = self.block(stream, ends, &block, shared, sink);
        self.block = block;
        read
    }

    fn add_to_block(&mut self, piece: &[u8]) -> Result<(), Fault> {
        // Coded, fields are hardly ever longer than in plain.
        if self.block.len() + piece.len() > self.limits.head_bytes_max {
            return Err(Fault::HeadTooLarge);
        }
        self.block.extend_from_slice(piece);
        Ok(())
    }

    /// A whole block of header fields: a head, one that goes before it (1xx), or trailers.
    fn block(
        &mut self,
        id: u32,
        ends: bool,
        block: &[u8],
        shared: &mut Shared,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        let Shared { scratch, text, .. } = shared;
        let Some(stream) = self.streams.get_mut(id) else {
            self.check_was_reset(id)?;
            self.count_idle()?;
            // It may change the table.
            return self.heads.pass_over(block, &self.limits, (scratch, text)).map(|_| ());
        };
        self.idle_frames = 0;
        let tag = stream.tag;
        if !std::mem::replace(&mut stream.has_begun, true) {
            sink.first(tag);
        }
        if stream.status != 0 {
            match self.heads.pass_over(block, &self.limits, (scratch, text))? {
                None if ends => {
                    sink.trailers(tag, text);
                    self.finish(id, sink);
                }
                fault => self.fail(id, fault.unwrap_or(Fault::InvalidTrailers).into(), sink),
            }
            return Ok(());
        }
        let said = self.heads.read(stream.number, block, &self.limits, (scratch, text), |head, text| {
            if head.status >= 200 {
                sink.code(tag, head.status);
                sink.head(tag, text);
            }
        })?;
        match said {
            Err(fault) => self.fail(id, fault.into(), sink),
            Ok(head) if head.status == 101 => self.fail(id, Fault::UnexpectedUpgrade.into(), sink),
            Ok(head) if head.status < 200 => {
                if ends {
                    self.fail(id, Violation::ClosedEarly, sink);
                } else if !stream.count_interim() {
                    self.fail(id, Fault::TooManyInterimAnswers.into(), sink);
                }
            }
            Ok(head) => {
                (stream.status, stream.content_length) = (head.status, head.content_length);
                if ends {
                    self.finish(id, sink);
                }
            }
        }
        Ok(())
    }

    pub(super) fn data(&mut self, header: Header, payload: &[u8], sink: &mut impl Sink) -> Result<(), Fault> {
        let (id, length) = (header.stream, header.length as u32);
        if id == 0 {
            return Err(Fault::StreamZero);
        }
        let piece = header.unpadded(payload)?;
        // What is dropped counts, too (§6.9). A window is told again before a frame could exceed it.
        self.receive_window -= length;
        if self.receive_window < CONNECTION_WINDOW / 2 {
            let taken = CONNECTION_WINDOW - self.receive_window;
            frame::put_number(self.outgoing.frames(), kind::WINDOW_UPDATE, 0, taken);
            self.receive_window = CONNECTION_WINDOW;
        }
        let Some(stream) = self.streams.get_mut(id) else {
            self.check_was_reset(id)?;
            return self.count_idle();
        };
        stream.receive_window -= length;
        let ends = header.has(flag::END_STREAM);
        if stream.status == 0 {
            self.fail(id, Fault::DataBeforeHead.into(), sink);
            return Ok(());
        }
        stream.body_bytes += piece.len() as u64;
        if stream.body_bytes > self.limits.body_bytes_max {
            self.fail(id, Violation::TooLarge, sink);
            return Ok(());
        }
        if !piece.is_empty() {
            sink.body(stream.tag, piece);
        }
        if ends {
            self.finish(id, sink);
        } else if stream.receive_window < STREAM_WINDOW / 2 {
            let taken = STREAM_WINDOW - stream.receive_window;
            stream.receive_window = STREAM_WINDOW;
            frame::put_number(self.outgoing.frames(), kind::WINDOW_UPDATE, id, taken);
        }
        if piece.is_empty() && !ends {
            return self.count_idle();
        }
        self.idle_frames = 0;
        Ok(())
    }

    pub(super) fn stream_reset(
        &mut self,
        header: Header,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        if header.stream == 0 {
            return Err(Fault::StreamZero);
        }
        let code = frame::number(payload)?;
        self.count_idle()?;
        match self.streams.remove(header.stream) {
            Some(stream) => {
                let is_refused = code == code::REFUSED_STREAM;
                let fault = if is_refused { Fault::RefusedStream } else { Fault::StreamReset };
                sink.lost(stream.tag, fault.into(), is_refused);
                Ok(())
            }
            None => match self.check_was_reset(header.stream) {
                // A server that has answered early says that it wants no more of the body (§8.1).
                Err(Fault::ClosedStream) => Ok(()),
                known => known,
            },
        }
    }

    /// The answer is whole.
    fn finish(&mut self, id: u32, sink: &mut impl Sink) {
        let Some(stream) = self.streams.remove(id) else { return };
        if stream.body.is_some() {
            // The rest of the request is of no use to anybody.
            self.reset(id, code::CANCEL);
        }
        match stream.is_whole() {
            true => {
                let body_bytes = stream.body_bytes;
                sink.done(stream.tag, Reply { code: stream.status, body_bytes, reusable: true });
            }
            false => sink.lost(stream.tag, Fault::WrongBodyLength.into(), false),
        }
    }

    /// The request has failed, and the connection goes on.
    pub(super) fn fail(&mut self, id: u32, violation: Violation, sink: &mut impl Sink) {
        let Some(stream) = self.streams.remove(id) else { return };
        let is_malformed = matches!(violation, Violation::Malformed(_));
        self.reset(id, if is_malformed { code::PROTOCOL_ERROR } else { code::CANCEL });
        sink.lost(stream.tag, violation, false);
    }
}

//! The requests that are under way on a connection.

use super::request::Body;
use crate::RequestKind;
use crate::keyed::Keyed;
use crate::protocol::Tag;

/// 1xx answers before a final one.
const INTERIM_ANSWERS_MAX: u8 = 16;

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) tag: Tag,
    /// Which request it is.
    pub(super) number: u32,
    pub(super) kind: RequestKind,
    /// What is left to send of its body.
    pub(super) body: Option<Body>,
    /// It is in the queue of those that may send.
    pub(super) is_queued: bool,
    /// Bytes that the server takes. Below zero once it has taken back what it granted.
    pub(super) send_window: i64,
    /// Bytes that the server may send.
    pub(super) receive_window: u32,
    /// A byte of the answer has come.
    pub(super) has_begun: bool,
    /// The final status; 0 before its head has come.
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    pub(super) body_bytes: u64,
    interim: u8,
}

impl Stream {
    pub(super) fn new(
        tag: Tag,
        number: u32,
        kind: RequestKind,
        send_window: i64,
        receive_window: u32,
    ) -> Stream {
        Stream {
            tag,
            number,
            kind,
            body: None,
            is_queued: false,
            send_window,
            receive_window,
            has_begun: false,
            status: 0,
            content_length: None,
            body_bytes: 0,
            interim: 0,
        }
    }

    /// Another 1xx answer has come. False if there are too many.
    pub(super) fn count_interim(&mut self) -> bool {
        self.interim += 1;
        self.interim <= INTERIM_ANSWERS_MAX
    }

    /// The body that has come is the one that was announced (RFC 9113 §8.1.1).
    pub(super) fn is_whole(&self) -> bool {
        if self.kind == RequestKind::Head || matches!(self.status, 204 | 304) {
            return self.body_bytes == 0;
        }
        self.content_length.is_none_or(|length| length == self.body_bytes)
    }
}

/// By identifier.
pub(super) type Streams = Keyed<Stream>;

//! A call of reflection: questions and answers in turn, while the client still asks.

use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use prost::Message;

use super::reflection::{Asked, tell};
use super::{Code, LARGEST_MESSAGE_BYTES, PREFIX_BYTES, finish, framed, head, next_message};

const METHODS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// See the module.
pub(crate) struct Talk {
    body: RecvStream,
    stream: SendStream<Bytes>,
    unread: BytesMut,
}

impl Talk {
    pub(crate) fn is_at(path: &str) -> bool {
        METHODS.contains(&path)
    }

    /// `None`: the client is gone.
    pub(crate) fn begin(body: RecvStream, mut respond: SendResponse<Bytes>) -> Option<Talk> {
        let stream = respond.send_response(head(), false).ok()?;
        Some(Talk { body, stream, unread: BytesMut::new() })
    }

    /// Answers what has come. Whether something came, and whether that was all.
    pub(crate) fn go_on(&mut self, cx: &mut Context<'_>) -> (bool, bool) {
        let mut any = false;
        loop {
            match self.body.poll_data(cx) {
                Poll::Pending => return (any, false),
                Poll::Ready(Some(Ok(piece))) => {
                    any = true;
                    // Fails only where the stream is gone, which the next poll tells.
                    let _ = self.body.flow_control().release_capacity(piece.len());
                    self.unread.extend_from_slice(&piece);
                    if let Err(code) = self.answer() {
                        finish(&mut self.stream, code);
                        return (true, true);
                    }
                }
                Poll::Ready(Some(Err(_))) => return (true, true),
                Poll::Ready(None) => {
                    let code = if self.unread.is_empty() { Code::Ok } else { Code::InvalidArgument };
                    finish(&mut self.stream, code);
                    return (true, true);
                }
            }
        }
    }

    fn answer(&mut self) -> Result<(), Code> {
        while let Some(message) = next_message(&mut self.unread).map_err(|refusal| refusal.code)? {
            let asked = Asked::decode(message).map_err(|_| Code::InvalidArgument)?;
            if self.stream.send_data(framed(&tell(asked)), false).is_err() {
                self.stream.send_reset(Reason::CANCEL);
                return Err(Code::Internal);
            }
        }
        if self.unread.len() > LARGEST_MESSAGE_BYTES + PREFIX_BYTES {
            return Err(Code::ResourceExhausted);
        }
        Ok(())
    }
}

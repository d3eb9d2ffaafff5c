//! The server's side of a WebSocket, without a socket: each message is a request, and comes back as its answer.
//!
//! The protocol is the `tungstenite` crate's. It reads and writes memory, and is asked whenever something has come.

use std::collections::{HashMap, VecDeque};

use tungstenite::handshake::server::NoCallback;
use tungstenite::handshake::{HandshakeError, MidHandshake, server::ServerHandshake};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use crate::answer::Answer;
use crate::events::Part;
use crate::framer::Request;
use crate::model::RequestId;
use crate::multiplexed::Multiplexed;
use crate::pipe::Pipe;

/// Of each socket's buffer, in bytes. The crate's own 128 KiB are 2 GB for 15,000 sockets that are only held.
const READ_BUFFER: usize = 4 << 10;

/// See the module.
pub(crate) struct Messages {
    pipe: Pipe,
    state: State,
    /// Messages that nobody has taken.
    arrived: VecDeque<Message>,
    /// The one that was taken last.
    current: Option<Message>,
    /// Messages in the model, by their numbers there.
    under_way: HashMap<u64, (RequestId, Message)>,
}

enum State {
    Handshake(Box<MidHandshake<ServerHandshake<Pipe, NoCallback>>>),
    Open(Box<WebSocket<Pipe>>),
    Over,
}

impl Messages {
    pub(crate) fn new() -> Self {
        let pipe = Pipe::default();
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let state = State::after(tungstenite::accept_with_config(pipe.clone(), Some(config)));
        Self { pipe, state, arrived: VecDeque::new(), current: None, under_way: HashMap::new() }
    }

    fn read(&mut self) {
        if let State::Handshake(_) = self.state
            && let State::Handshake(handshake) = std::mem::replace(&mut self.state, State::Over)
        {
            self.state = State::after(handshake.handshake());
        }
        let State::Open(socket) = &mut self.state else { return };
        loop {
            match socket.read() {
                Ok(message @ (Message::Text(_) | Message::Binary(_))) => self.arrived.push_back(message),
                // Pings and closes are answered by the crate; the answers leave with the flush below.
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    // What it has to say of the end still leaves.
                    let _ = socket.flush();
                    self.state = State::Over;
                    return;
                }
            }
        }
        // Memory takes everything: it fails only where the socket is closed, which the next read tells.
        let _ = socket.flush();
    }
}

type Accepted = Result<WebSocket<Pipe>, HandshakeError<ServerHandshake<Pipe, NoCallback>>>;

impl State {
    fn after(accepted: Accepted) -> State {
        match accepted {
            Ok(socket) => State::Open(Box::new(socket)),
            Err(HandshakeError::Interrupted(handshake)) => State::Handshake(Box::new(handshake)),
            Err(HandshakeError::Failure(_)) => State::Over,
        }
    }
}

impl Multiplexed for Messages {
    fn feed(&mut self, bytes: &[u8]) {
        self.pipe.give(bytes);
        self.read();
    }

    fn next(&mut self) -> Option<Request> {
        self.current = Some(self.arrived.pop_front()?);
        Some(Request::SCENARIO)
    }

    fn keep(&mut self, number: u64, id: RequestId, _: Request) {
        if let Some(message) = self.current.take() {
            self.under_way.insert(number, (id, message));
        }
    }

    fn take(&mut self, number: u64) -> Option<Request> {
        let (_, message) = self.under_way.remove(&number)?;
        self.current = Some(message);
        Some(Request::SCENARIO)
    }

    /// A message can't be called back.
    fn is_given_up(&mut self, _: u64) -> bool {
        false
    }

    fn answer(&mut self, _: &Answer, _: Request) {
        if let (Some(message), State::Open(socket)) = (self.current.take(), &mut self.state) {
            // Fails only after the close, when nobody waits for it.
            let _ = socket.send(message);
        }
    }

    /// The configuration allows no events here.
    fn part(&mut self, _: Part) {}

    fn reset(&mut self) -> bool {
        true
    }

    fn output(&mut self) -> Vec<u8> {
        self.pipe.written()
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn in_flight(&self) -> Vec<RequestId> {
        self.under_way.values().map(|(id, _)| *id).collect()
    }
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages").field("under_way", &self.under_way.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tungstenite::client::client;

    /// A client of the same crate at the other end, in memory.
    fn connected() -> (WebSocket<Pipe>, Pipe, Messages) {
        let (pipe, mut messages) = (Pipe::default(), Messages::new());
        let Err(HandshakeError::Interrupted(asked)) = client("ws://lab/", pipe.clone()) else {
            panic!("nothing has answered yet")
        };
        // In two pieces, as a network may bring it.
        let bytes = pipe.written();
        messages.feed(&bytes[..20]);
        assert!(messages.output().is_empty());
        messages.feed(&bytes[20..]);
        pipe.give(&messages.output());
        let Ok((socket, _)) = asked.handshake() else { panic!("the server has switched") };
        (socket, pipe, messages)
    }

    #[test]
    fn messages_come_back_in_any_order() {
        let (mut socket, pipe, mut messages) = connected();
        for text in ["a", "b"] {
            socket.send(Message::text(text)).expect("sent");
        }
        messages.feed(&pipe.written());
        for number in [7, 8] {
            let request = messages.next().expect("it has come");
            messages.keep(number, number as u32, request);
        }
        assert!(messages.next().is_none());
        assert_eq!(messages.in_flight().len(), 2);
        for number in [8, 7] {
            let request = messages.take(number).expect("it is there");
            messages.answer(&Answer::text("200 OK", ""), request);
        }
        pipe.give(&messages.output());
        let texts =
            [(); 2].map(|()| socket.read().expect("a message").into_text().expect("text").to_string());
        assert_eq!(texts, ["b", "a"]);
        assert!(messages.take(7).is_none() && messages.in_flight().is_empty() && !messages.is_over());
    }

    #[test]
    fn pings_and_closes_are_answered_and_are_no_requests() {
        let (mut socket, pipe, mut messages) = connected();
        socket.send(Message::Ping("p".into())).expect("sent");
        messages.feed(&pipe.written());
        pipe.give(&messages.output());
        assert_eq!(socket.read().expect("a pong"), Message::Pong("p".into()));
        socket.close(None).expect("sent");
        messages.feed(&pipe.written());
        pipe.give(&messages.output());
        assert!(messages.next().is_none() && messages.is_over());
        assert!(matches!(socket.read(), Ok(Message::Close(_))));
    }

    #[test]
    fn nonsense_ends_the_connection() {
        let mut messages = Messages::new();
        messages.feed(b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n");
        assert!(messages.is_over() && messages.next().is_none());
    }
}

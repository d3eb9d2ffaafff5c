//! Steps of journeys: requests of HTTP/1.1, and a WebSocket that one step opens and those behind it use.
//!
//! Every connection begins as one of HTTP/1.1. The step that opens a WebSocket is a request like any other, whose answer is the switch;
//! from then on the connection is a [`Socket`] that takes one step at a time.

mod socket;
mod words;

use super::fault::Fault;
use super::handshake::Handshake;
use super::message::Message;
use super::shared::Shared;
use crate::blank::{Blank, Filler};
use crate::http1::{self, Http1};
use crate::protocol::{Carrier, Places, Protocol, Sink, Tag, Violation};
use crate::{Limits, ProtocolError};
use socket::Socket;
use std::sync::Arc;

/// What a step asks.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request of HTTP/1.1, which is answered as one.
    Http(http1::Request),
    /// Opens a WebSocket, and is answered by the switch.
    Connect(Opening),
    /// Sends a message. One that `awaits` is answered by the next message that it wants; another ends once it is written.
    Send {
        /// What is sent.
        message: Message,
        /// An answer is waited for.
        awaits: bool,
    },
    /// Is answered by the first message that it wants, of those that nobody has taken.
    Await,
    /// Closes, and is answered by the close of the server.
    Close,
}

/// A step, and what comes after it on the same WebSocket.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The step.
    pub step: Step,
    /// The numbers of those from here on that may take a message which has come before they begin. One that none of them wants is not kept.
    pub later: Arc<[u32]>,
}

/// How a WebSocket is opened: a handshake whose path, query and headers may have places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    handshake: Arc<Handshake>,
    blank: Option<Arc<Blank>>,
}

impl Opening {
    /// With the places that it has, if it `is_filled`; otherwise it is sent as it is.
    pub fn new(handshake: Handshake, is_filled: bool) -> Opening {
        let blank = is_filled.then(|| Blank::new(handshake.head())).filter(Blank::has_gaps).map(Arc::new);
        Opening { handshake: Arc::new(handshake), blank }
    }

    /// Its bytes before the key, without what stands in its places.
    pub fn text(&self) -> &[u8] {
        self.handshake.head()
    }
}

/// What is the same for all connections.
#[derive(Clone, Copy, Debug)]
pub struct StepSettings {
    /// How large answers, messages and heads may be.
    pub limits: Limits,
    /// Messages are sent as bytes, not as text.
    pub is_binary: bool,
}

/// What the connections of a thread share.
#[derive(Debug)]
pub struct SharedOfSteps {
    http: http1::Shared,
    ws: Shared,
}

/// A connection.
#[derive(Debug)]
pub struct Steps {
    settings: StepSettings,
    carries: Carries,
}

#[derive(Debug)]
enum Carries {
    Http(Http1),
    Socket(Box<Socket>),
}

const OF_HTTP: usize = ProtocolError::CODES.len();

const VIOLATIONS: [&str; OF_HTTP + Fault::CODES.len()] = {
    let mut all = [""; OF_HTTP + Fault::CODES.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < OF_HTTP { ProtocolError::CODES[i] } else { Fault::CODES[i - OF_HTTP] };
        i += 1;
    }
    // Both may be told that something is not HTTP: it counts as the one of HTTP/1.1.
    all[OF_HTTP + Fault::NotHttp.number() as usize] = "upgrade_not_http";
    all
};

/// A violation of WebSocket, behind those of HTTP/1.1.
fn shifted(violation: Violation) -> Violation {
    match violation {
        Violation::Malformed(number) => Violation::Malformed(OF_HTTP as u16 + number),
        other => other,
    }
}

/// The violation of WebSocket that this one is, if it is one.
fn unshifted(violation: Violation) -> Option<Violation> {
    match violation {
        Violation::Malformed(number) => number.checked_sub(OF_HTTP as u16).map(Violation::Malformed),
        _ => None,
    }
}

impl Protocol for Steps {
    type Request = Ask;
    type Settings = StepSettings;
    type Shared = SharedOfSteps;

    const VIOLATIONS: &'static [&'static str] = &VIOLATIONS;

    /// A ping may come at any time.
    const TAKES_TURNS: bool = false;

    fn is_farewell(violation: Violation) -> bool {
        unshifted(violation).is_some_and(Fault::is_close)
    }

    fn is_unasked(violation: Violation) -> bool {
        Http1::is_unasked(violation)
    }

    fn places(_: &StepSettings) -> Places {
        Places { max: 1, cancels: false }
    }

    fn shared(requests: usize) -> SharedOfSteps {
        SharedOfSteps { http: Http1::shared(requests), ws: Shared::default() }
    }

    fn new(settings: &StepSettings) -> Steps {
        Steps { settings: *settings, carries: Carries::Http(Http1::new(&settings.limits)) }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        Ok(true)
    }

    fn submit(
        &mut self,
        shared: &mut SharedOfSteps,
        tag: Tag,
        number: u32,
        Ask { step, later }: &Ask,
        filler: &mut impl Filler,
    ) {
        if let Step::Connect(opening) = step {
            let mut socket = Socket::new(&self.settings);
            socket.connect(tag, number, (opening, later), filler);
            self.carries = Carries::Socket(Box::new(socket));
            return;
        }
        match (&mut self.carries, step) {
            (Carries::Http(http), Step::Http(request)) => {
                http.submit(&mut shared.http, tag, number, request, filler);
            }
            (Carries::Socket(socket), step) => {
                socket.submit(&mut shared.ws, (tag, number), (step, later), filler);
            }
            // A plan has each on a connection of its kind.
            (Carries::Http(_), _) => unreachable!("messages go over WebSockets"),
        }
    }

    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    fn output<'a>(&'a self, requests: &'a [Ask]) -> [&'a [u8]; 2] {
        match &self.carries {
            Carries::Http(http) => http.left(|number| match &requests[number].step {
                Step::Http(request) => request,
                _ => unreachable!("it was taken on as one of HTTP"),
            }),
            Carries::Socket(socket) => [socket.output(), &[]],
        }
    }

    fn wrote(&mut self, n: usize) {
        match &mut self.carries {
            Carries::Http(http) => http.wrote(n),
            Carries::Socket(socket) => socket.wrote(n),
        }
    }

    fn feed(
        &mut self,
        shared: &mut SharedOfSteps,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        match &mut self.carries {
            Carries::Http(http) => http.feed(&mut shared.http, bytes, sink),
            Carries::Socket(socket) => socket.feed(&mut shared.ws, bytes, sink).map_err(shifted),
        }
    }

    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation> {
        match &mut self.carries {
            Carries::Http(http) => http.eof(clean, sink),
            Carries::Socket(socket) => {
                Err(socket.end().map_or(Violation::ClosedEarly, |f| shifted(f.into())))
            }
        }
    }

    fn is_settled(&self) -> bool {
        matches!(&self.carries, Carries::Socket(socket) if socket.is_settled())
    }

    fn settle(&mut self, shared: &mut SharedOfSteps, sink: &mut impl Sink) {
        if let Carries::Socket(socket) = &mut self.carries {
            socket.settle(&mut shared.ws, sink);
        }
    }

    fn body_left(&self) -> u64 {
        match &self.carries {
            Carries::Http(http) => http.body_left(),
            Carries::Socket(_) => 0,
        }
    }

    fn skip(&mut self, n: u64) {
        if let Carries::Http(http) = &mut self.carries {
            http.skip(n);
        }
    }

    fn is_answering(&self) -> bool {
        match &self.carries {
            Carries::Http(http) => http.is_answering(),
            Carries::Socket(socket) => socket.is_answering(),
        }
    }
}

#[cfg(test)]
mod tests;

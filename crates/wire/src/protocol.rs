//! What a protocol is to whoever drives it: requests and bytes in, bytes and answers out. It has no clock and no socket.
//!
//! A value of it belongs to one connection. The driver calls [`Protocol::begin`] once the connection is open, then
//! [`Protocol::submit`] for each request and [`Protocol::feed`] for each piece that was read. After either it writes what
//! [`Protocol::output`] has, as far as the socket takes it, and says how much that was by [`Protocol::wrote`]. Nothing is
//! allocated for a request once as many were under way before.

use crate::blank::Filler;

/// Names a request on its connection. The number is the caller's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tag(pub u64);

/// A whole answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// What it says of itself: of HTTP, the status; where codes have names, a number into these ([`Protocol::CODES`]).
    pub code: u16,
    /// Bytes of its body. Codings such as gzip are not undone.
    pub body_bytes: u64,
    /// The connection may carry another request.
    pub reusable: bool,
}

/// One value of an answer, whole: all of it, or one of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value<'a> {
    /// Its place among those that the answer holds, from 0; nothing if the answer is this value.
    pub place: Option<u64>,
    /// How the answer calls it: by its column, or by the value before it.
    pub name: Option<&'a [u8]>,
    /// As it stands in the body. Of one that is longer than [`VALUE_BYTES_MAX`], at least a byte more than that.
    pub text: &'a [u8],
}

/// Bytes of a value that is told by itself, at the most.
pub const VALUE_BYTES_MAX: usize = 8 << 10;

/// What the codes of answers are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codes {
    /// The statuses of HTTP.
    Statuses,
    /// Names, by number. The first are those of success ([`Protocol::SUCCESSES`]). Each other means a failure of its own,
    /// which is called by the protocol and the name in lower case: `grpc_unavailable`.
    Named {
        /// What such failures begin with.
        protocol: &'static str,
        /// The names.
        names: &'static [&'static str],
    },
}

/// What is wrong with a connection, which can't be used any longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// It ended before the answer did.
    ClosedEarly,
    /// The answer is larger than the limits allow.
    TooLarge,
    /// Its bytes are not what the protocol allows: a number into [`Protocol::VIOLATIONS`].
    Malformed(u16),
}

/// Takes what comes of the bytes that were read.
pub trait Sink {
    /// Requests may be submitted now. Said once, if [`Protocol::begin`] left it open.
    fn ready(&mut self);
    /// The connection takes so many requests at once from now on.
    fn room(&mut self, places: u32);
    /// The connection takes no more requests. Those that are under way end as they may.
    fn retired(&mut self);
    /// The first byte of an answer has come.
    fn first(&mut self, tag: Tag);
    /// What an answer says of itself (see [`Reply::code`]), where that is known before its body. Said before its head.
    fn code(&mut self, _tag: Tag, _code: u16) {}
    /// The head of an answer, whole, before its body: lines of `Name: value` behind a first line that is the protocol's own,
    /// or behind none. Said once of an answer, by protocols whose answers have one.
    fn head(&mut self, tag: Tag, head: &[u8]);
    /// A piece of the body of an answer; never empty.
    fn body(&mut self, tag: Tag, piece: &[u8]);
    /// The pieces of the body up to here are a message of an answer that has several. Said of each, the last one included.
    fn message(&mut self, _tag: Tag) {}
    /// The trailers of an answer: lines of `name: value`. Said once of an answer that has some, before it is whole.
    fn trailers(&mut self, _tag: Tag, _lines: &[u8]) {}
    /// A value of an answer by itself, after its pieces. Said only of requests that ask for it; not of what is nothing (null), of
    /// an error or of what holds others; and of rows only for the first.
    fn value(&mut self, _tag: Tag, _value: Value<'_>) {}
    /// The answer that is whole next leaves something open on its connection, such as a transaction: whoever is not to go on
    /// with it must not use the connection. If nobody is, the answer says that it may not be used again.
    fn left_open(&mut self, _tag: Tag) {}
    /// An answer is whole.
    fn done(&mut self, tag: Tag, reply: Reply);
    /// There will be no answer, and the connection goes on. Of one that is `unprocessed` the target says that it has not
    /// looked at it, so that it may be sent again.
    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool);
    /// Something has come whole that answers nothing. The connection goes on. `in_order`: had anything been awaited, this would
    /// have been taken for the answer.
    fn unsolicited(&mut self, _in_order: bool) {}
    /// The peer has asked whether the connection lives, and is told.
    fn pinged(&mut self) {}
    /// A request that is made of several asks the next of them, now that the one before it is answered.
    fn followed(&mut self, _tag: Tag) {}
    /// The target did not know a statement of a request, which is prepared again and sent again.
    fn prepared_again(&mut self, _tag: Tag) {}
    /// A whole message that nobody has asked for by its place is what the request with this number waits for.
    fn wants(&mut self, _number: u32, _message: &[u8]) -> bool {
        true
    }
}

/// Requests that a connection takes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// At the most; not zero.
    pub max: u32,
    /// One of several can be cancelled.
    pub cancels: bool,
}

/// What a connection's bytes go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier<'a> {
    /// Nothing beside the socket.
    Plain,
    /// TLS, with the protocol that both sides agreed on in it, if they did (ALPN, RFC 7301).
    Tls(Option<&'a [u8]>),
}

/// The client's side of one connection.
pub trait Protocol: Sized {
    /// A request, rendered ahead of its time.
    type Request: Clone + Send + Sync + 'static;
    /// What is the same for all connections.
    type Settings: Clone + Send + Sync + 'static;
    /// What the connections of one thread share.
    type Shared;

    /// What can be wrong with an answer's bytes, in words with underscores.
    const VIOLATIONS: &'static [&'static str];

    /// What the codes of answers are called.
    const CODES: Codes = Codes::Statuses;

    /// The code by which a target reports that the deadline sent with the request has passed. Only where requests have one
    /// ([`Filler::left_ns`]).
    const DEADLINE: Option<u16> = None;

    /// The violation by which a target may break an answer off at that deadline instead: a number into [`Protocol::VIOLATIONS`].
    const BROKEN_OFF: Option<u16> = None;

    /// The violation by which the target says that it takes no more connections, where it can say so: a number into
    /// [`Protocol::VIOLATIONS`].
    const FULL: Option<u16> = None;

    /// By this violation the target only says that it closes the connection, as the protocol lets it.
    fn is_farewell(_: Violation) -> bool {
        false
    }

    /// By this violation something came that no request had asked for. Had one been under way, it might have been taken for the
    /// answer to that. Not where answers have names that are never used again.
    fn is_unasked(_: Violation) -> bool {
        false
    }

    /// Where codes have names, so many of the first ones mean no failure.
    const SUCCESSES: u16 = 1;

    /// Client and server take turns: one request, then its answer. Nothing else is ever written, so that what
    /// [`Protocol::output`] gives is all there is, and nothing after [`Protocol::feed`].
    const TAKES_TURNS: bool;

    /// How many requests a connection takes.
    fn places(settings: &Self::Settings) -> Places;

    /// For a thread that sends requests of so many kinds.
    fn shared(requests: usize) -> Self::Shared;

    /// A connection that is not open yet.
    fn new(settings: &Self::Settings) -> Self;

    /// The connection is open. True if requests may be submitted at once; otherwise [`Sink::ready`] tells when.
    ///
    /// # Errors
    /// The target does not agree on this protocol.
    fn begin(&mut self, carrier: Carrier<'_>) -> Result<bool, Violation>;

    /// Takes a request on, which is `requests[number]` of the slice that [`Protocol::output`] is given. There is room for
    /// it. What differs from one arrival to the next comes from `filler`.
    fn submit(
        &mut self,
        shared: &mut Self::Shared,
        tag: Tag,
        number: u32,
        request: &Self::Request,
        filler: &mut impl Filler,
    );

    /// Requests may ask for what only some nodes of the target have ([`Protocol::token`]).
    const ROUTES: bool = false;

    /// Where on a ring of tokens lies what the request asks for, as far as the connection can tell ([`crate::ring`]). It asks for the
    /// arrival's values, and [`Protocol::submit`] does so again.
    fn token(&self, _: &mut Self::Shared, _: &Self::Request, _filler: &mut impl Filler) -> Option<i64> {
        None
    }

    /// Nobody waits for the answer any more, at `now_ns` of whatever clock the driver has. True if its place is free now;
    /// otherwise it is when the answer has come.
    fn cancel(&mut self, tag: Tag, now_ns: u64) -> bool;

    /// What is to be written, in two pieces: the second, a body as a rule, follows the first. Both are empty when there is
    /// nothing.
    fn output<'a>(&'a self, requests: &'a [Self::Request]) -> [&'a [u8]; 2];

    /// Nothing is to be written, as can be told at a glance. One that can't tell says false.
    #[inline]
    fn is_written(&self) -> bool {
        false
    }

    /// So many bytes of the output were written.
    fn wrote(&mut self, n: usize);

    /// Takes the next bytes, all of them.
    ///
    /// # Errors
    /// What is wrong with them. The connection can't be used any longer.
    fn feed(
        &mut self,
        shared: &mut Self::Shared,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Violation>;

    /// The peer has closed its side; `clean` unless something below says that bytes were cut off.
    ///
    /// # Errors
    /// What that means, unless it is how the last answer ends.
    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation>;

    /// Something can be said of what is under way although nothing more has been read: [`Protocol::settle`] says it. Looked at after
    /// a request was taken on and written.
    fn is_settled(&self) -> bool {
        false
    }

    /// Says it.
    fn settle(&mut self, _shared: &mut Self::Shared, _sink: &mut impl Sink) {}

    /// So many bytes that come next belong to a body, and may be dropped unread where nobody looks at them.
    fn body_left(&self) -> u64;

    /// So many of these came and were dropped; fewer than all.
    fn skip(&mut self, n: u64);

    /// A byte of an answer to what is under way has come, so that it must not be sent again.
    fn is_answering(&self) -> bool;
}

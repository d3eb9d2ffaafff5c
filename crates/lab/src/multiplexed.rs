//! What a protocol with many requests on one connection is to the server, without a socket.
//!
//! Feed it what the socket gave, take its requests, answer them in any order, and send its output.

use crate::answer::Answer;
use crate::events::Part;
use crate::framer::Request;
use crate::model::RequestId;

/// See the module.
pub(crate) trait Multiplexed: std::fmt::Debug + Send {
    /// Bytes that the client has sent.
    fn feed(&mut self, bytes: &[u8]);

    /// The next whole request: [`keep`](Self::keep) or [`answer`](Self::answer) it before the next.
    fn next(&mut self) -> Option<Request>;

    /// The current request is in the model, by this number.
    fn keep(&mut self, number: u64, id: RequestId, request: Request);

    /// Takes a request out of the model: it is the current one.
    fn take(&mut self, number: u64) -> Option<Request>;

    /// Whether the client no longer waits for a request in the model.
    fn is_given_up(&mut self, number: u64) -> bool;

    /// Answers the current request.
    fn answer(&mut self, answer: &Answer, request: Request);

    /// A part of the answer to a request in the model, which leaves it with the last one.
    fn part(&mut self, part: Part);

    /// Resets the current request. True: the close of the connection, which must follow, does it.
    fn reset(&mut self) -> bool;

    /// What is to be sent; empty if there is nothing.
    fn output(&mut self) -> Vec<u8>;

    /// The connection has failed, or the client has ended it. There may be output left.
    fn is_over(&self) -> bool;

    /// The requests in the model.
    fn in_flight(&self) -> Vec<RequestId>;
}

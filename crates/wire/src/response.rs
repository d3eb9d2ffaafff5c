//! What came of a request over HTTP/1.1.

/// A complete answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Response {
    /// The final status, 200 to 999. (1xx answers are skipped.)
    pub status: u16,
    /// The answer's version is HTTP/1.0.
    pub http10: bool,
    /// Bytes before the body: the head, and any empty lines and 1xx heads before it.
    pub head_bytes: u64,
    /// Bytes of the body without chunk framing and trailers. Content and transfer codings such as gzip
    /// are not undone.
    pub body_bytes: u64,
    /// The connection may carry another request.
    pub reusable: bool,
}

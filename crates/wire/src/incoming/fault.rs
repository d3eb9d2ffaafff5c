//! What can be wrong with a request.

/// Why a request can't be read, or leaves in doubt where it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    /// More than the limit, without an end.
    #[error("the head is larger than its limit")]
    HeadTooLarge,
    /// More lines than the limit.
    #[error("the head has more header lines than its limit")]
    TooManyHeaders,
    /// A line that ends in LF or CR alone, or has a control character.
    #[error("a line of the head has a bare CR, a bare LF or a control character")]
    Line,
    /// Not a method, a target and a version.
    #[error("the request line is malformed")]
    RequestLine,
    /// Neither HTTP/1.0 nor HTTP/1.1.
    #[error("the version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    /// A path is expected.
    #[error("the target is not a path")]
    Target,
    /// Also a line that goes on in the next one, and white space before the colon.
    #[error("a header line has an invalid name or lacks its colon")]
    HeaderName,
    /// None or several.
    #[error("there is not exactly one Host")]
    Host,
    /// Several, or no number.
    #[error("Content-Length is not one number")]
    Length,
    /// Two framings.
    #[error("both Content-Length and Transfer-Encoding are given")]
    TwoFramings,
    /// Anything but chunked, or in HTTP/1.0.
    #[error("Transfer-Encoding is not chunked alone, or stands in HTTP/1.0")]
    Coding,
    /// A body whose chunks break the grammar.
    #[error("the chunks of the body are malformed")]
    Chunked,
}

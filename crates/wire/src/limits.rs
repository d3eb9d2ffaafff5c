//! How large an answer may be.

/// Limits on one answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a head, leading empty lines and the empty line at its end included. Holds for each 1xx
    /// head and for the trailers on their own too.
    pub head_bytes_max: usize,
    /// Header lines of a head, and trailer lines after a chunked body. Heads of more than 128 lines
    /// make the parser allocate for the time of one call.
    pub headers_max: usize,
    /// Bytes of a body without its framing.
    pub body_bytes_max: u64,
}

impl Default for Limits {
    /// 64 KiB and 128 lines of head, and bodies of any size.
    fn default() -> Limits {
        Limits { head_bytes_max: 64 * 1024, headers_max: 128, body_bytes_max: u64::MAX }
    }
}

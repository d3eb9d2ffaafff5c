//! Every way in which a server can break HTTP/2 or refuse a request, each with a stable code.

use crate::protocol::Violation;
use crate::violations::violations;

violations! {
    /// What is wrong with what a server sent.
    Fault;
    NotHttp2, "not_http_2", "the answer does not begin with an HTTP/2 SETTINGS frame";
    AnsweredInHttp1, "answered_in_http_1", "the target answers in HTTP/1.1";
    NotNegotiated, "not_negotiated", "the target speaks TLS but does not choose HTTP/2 in it";
    FrameTooLarge, "frame_too_large", "a frame is larger than the 16 KiB that were allowed";
    FrameSize, "frame_size", "a frame does not have the length of its type";
    Padding, "padding", "a frame's padding is longer than the frame";
    StreamZero, "stream_zero", "a frame that belongs to a request names the connection";
    NotStreamZero, "not_stream_zero", "a frame that belongs to the connection names a request";
    IdleStream, "idle_stream", "a frame is for a request that was never sent";
    ClosedStream, "closed_stream", "a frame is for a request whose answer was whole";
    ContinuationExpected, "continuation_expected", "a block of header fields is broken off by another frame";
    ContinuationUnexpected, "continuation_unexpected", "a CONTINUATION frame follows no HEADERS frame";
    PushPromise, "push_promise", "the server pushes, which it was told not to do";
    InvalidSetting, "invalid_setting", "a setting has a value that is not allowed";
    WindowOverflow, "window_overflow", "a flow-control window grows beyond 2^31-1";
    ZeroIncrement, "zero_increment", "a WINDOW_UPDATE has an increment of 0";
    Flood, "flood", "too many frames in a row bring no answer on";
    HpackIndex, "hpack_index", "a header field refers to a place that the table does not have";
    HpackInteger, "hpack_integer", "a number in a block of header fields is too large";
    HpackTruncated, "hpack_truncated", "a block of header fields ends in the middle of a field";
    HpackHuffman, "hpack_huffman", "a Huffman code is padded wrongly, or is the end-of-string code";
    HpackTableSize, "hpack_table_size", "the table of header fields changes its size in the wrong place or beyond its limit";
    HeadTooLarge, "head_too_large", "the header fields are larger than their limit";
    TooManyHeaders, "too_many_headers", "the answer has more header fields than its limit";
    TooManyInterimAnswers, "too_many_interim_answers", "too many 1xx answers precede the final one";
    UnexpectedUpgrade, "unexpected_upgrade", "the server switches protocols (101), which HTTP/2 does not have";
    InvalidStatus, "invalid_status", "the answer's :status is missing, repeated or not three digits";
    InvalidPseudoHeader, "invalid_pseudo_header", "a pseudo-header field is unknown or not at the beginning";
    InvalidHeaderName, "invalid_header_name", "a header field's name is not a lower-case token";
    InvalidHeaderValue, "invalid_header_value", "a header field's value has a control character or a space at its end";
    ConnectionHeader, "connection_header", "a header field is one of HTTP/1.1's own, such as Connection";
    InvalidContentLength, "invalid_content_length", "content-length is not one decimal number";
    WrongBodyLength, "wrong_body_length", "the body is not as long as content-length or the status says";
    DataBeforeHead, "data_before_head", "a body begins before its answer's header fields";
    InvalidTrailers, "invalid_trailers", "trailers do not end the answer";
    RefusedStream, "refused_stream", "the server refuses the request without having looked at it (REFUSED_STREAM)";
    StreamReset, "stream_reset", "the server breaks off the answer (RST_STREAM)";
    Goaway, "goaway", "the server closes the connection (GOAWAY) without having looked at the request";
    GoawayError, "goaway_error", "the server closes the connection and calls it our error (GOAWAY)";
}

impl From<Fault> for Violation {
    fn from(fault: Fault) -> Violation {
        Violation::Malformed(fault.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violations::assert_plain;

    #[test]
    fn codes_are_distinct_snake_case_and_sentences_are_plain() {
        assert_plain(Fault::CODES, Fault::ALL);
    }
}

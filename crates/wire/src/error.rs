//! Every way in which an answer can break the protocol, each with a stable code.

use crate::violations::violations;

violations! {
    /// What is wrong with an answer. One variant for each violation.
    ProtocolError;
    NotHttp, "not_http", "the answer does not begin with HTTP/";
    UnsupportedVersion, "unsupported_version", "the answer's version is neither HTTP/1.0 nor HTTP/1.1";
    TooManyEmptyLines, "too_many_empty_lines", "too many empty lines stand before the status line";
    InvalidStatusLine, "invalid_status_line", "the status line is malformed";
    InvalidStatusCode, "invalid_status_code", "the status code is below 100";
    InvalidHeaderName, "invalid_header_name", "a header line has an invalid name or lacks its colon";
    InvalidHeaderValue, "invalid_header_value", "a header value contains a control character";
    InvalidLineEnd, "invalid_line_end", "a CR in the head is not followed by LF";
    HeadTooLarge, "head_too_large", "the head is larger than its limit";
    TooManyHeaders, "too_many_headers", "the head has more header lines than its limit";
    TooManyInterimAnswers, "too_many_interim_answers", "too many 1xx answers precede the final one";
    UnexpectedUpgrade, "unexpected_upgrade", "the server switched protocols (101) without being asked";
    InvalidContentLength, "invalid_content_length", "Content-Length is not a decimal number";
    ContentLengthOverflow, "content_length_overflow", "Content-Length does not fit 64 bits";
    ConflictingContentLength, "conflicting_content_length", "several Content-Length values differ";
    ContentLengthWithTransferEncoding, "content_length_with_transfer_encoding",
        "both Content-Length and Transfer-Encoding are given";
    TransferEncodingInHttp10, "transfer_encoding_in_http_1_0", "an HTTP/1.0 answer uses Transfer-Encoding";
    InvalidTransferEncoding, "invalid_transfer_encoding", "Transfer-Encoding is malformed";
    ChunkedTwice, "chunked_twice", "Transfer-Encoding applies chunked more than once";
    InvalidChunkSize, "invalid_chunk_size", "a chunk's size is missing or not hexadecimal";
    ChunkSizeOverflow, "chunk_size_overflow", "a chunk's size has more than 16 hexadecimal digits";
    InvalidChunkExtension, "invalid_chunk_extension", "a chunk extension contains a control character";
    ChunkExtensionTooLarge, "chunk_extension_too_large", "a chunk's extensions are larger than their limit";
    InvalidChunkLineEnd, "invalid_chunk_line_end", "a chunk's size line does not end in CR LF";
    InvalidChunkEnd, "invalid_chunk_end", "a chunk's data is not followed by CR LF";
    InvalidTrailer, "invalid_trailer", "a trailer line is malformed";
    TrailersTooLarge, "trailers_too_large", "the trailers are larger than the limit on a head";
    TooManyTrailers, "too_many_trailers", "there are more trailers than the limit on header lines";
    BodyTooLarge, "body_too_large", "the body is larger than its limit";
    ClosedBeforeAnswer, "closed_before_answer", "the connection was closed before any byte of the answer";
    ClosedInHead, "closed_in_head", "the connection was closed inside the answer's head";
    ClosedInBody, "closed_in_body", "the connection was closed inside the answer's body";
    UnsolicitedData, "unsolicited_data", "bytes arrived that answer no request";
}

impl ProtocolError {
    /// The connection ended before the answer did; nothing that was received is malformed.
    pub const fn is_closed_early(self) -> bool {
        matches!(self, Self::ClosedBeforeAnswer | Self::ClosedInHead | Self::ClosedInBody)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violations::assert_plain;

    #[test]
    fn codes_are_distinct_snake_case_and_sentences_are_plain() {
        let codes: Vec<_> = ProtocolError::ALL.iter().map(|error| error.code()).collect();
        assert_plain(&codes, ProtocolError::ALL);
    }
}

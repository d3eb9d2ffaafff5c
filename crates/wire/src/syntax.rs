//! Character classes of RFC 9110 §5.6, shared by both directions.

/// A `tchar` (RFC 9110 §5.6.2): what names and methods are made of.
#[inline]
pub(crate) fn is_token_byte(byte: u8) -> bool {
    matches!(byte,
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z'
        | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~')
}

/// A byte of a field value (RFC 9110 §5.5): HTAB, SP, VCHAR and obs-text.
#[inline]
pub(crate) fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// True for a non-empty run of token bytes.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(is_token_byte)
}

/// Cuts white space off both ends. CR and LF count as white space because an obs-fold, which must read
/// as spaces (RFC 9112 §5.2), is left as it stands by the head parser.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = bytes {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_bytes_are_those_of_the_rfc() {
        let delimiters = b"\"(),/:;<=>?@[\\]{}";
        for byte in 0..=255u8 {
            let expected = byte.is_ascii_graphic() && !delimiters.contains(&byte);
            assert_eq!(is_token_byte(byte), expected, "byte {byte:#04x}");
        }
        assert!(!is_token(b""));
    }

    #[test]
    fn trim_takes_folds_for_spaces() {
        assert_eq!(trim(b" \t\r\n 5 \r\n "), b"5");
        assert_eq!(trim(b" \t"), b"");
        assert_eq!(trim(b"5 5"), b"5 5");
    }
}

//! Texts that are there as a whole.

/// Digits of the length of a text that may be there as a whole: more than a read brings.
const WHOLE_DIGITS_MAX: usize = 8;

/// Bytes of a line that is looked for as a whole.
const WHOLE_LINE_MAX: usize = 64;

/// `5\r\nhello\r\n`, and what follows. Nothing if a byte of it is not there or not so.
#[inline]
pub(super) fn bulk_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut length, mut rest) = (0, bytes);
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        // What has more digits is not there as a whole.
        if bytes.len() - rest.len() == WHOLE_DIGITS_MAX {
            return None;
        }
        (length, rest) = (10 * length + usize::from(digit - b'0'), tail);
    }
    let has_digits = rest.len() < bytes.len();
    let (text, rest) = rest.strip_prefix(b"\r\n")?.split_at_checked(length)?;
    let after = rest.strip_prefix(b"\r\n")?;
    has_digits.then_some((text, after))
}

/// `OK\r\n`, if it is a short one, and what follows.
#[inline]
pub(super) fn simple_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().take(WHOLE_LINE_MAX).position(|&byte| matches!(byte, b'\r' | b'\n'))?;
    let (text, rest) = bytes.split_at(end);
    Some((text, rest.strip_prefix(b"\r\n")?))
}

//! How a value is written at its place.

use crate::template::Context;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Rewrites what stands in `out` from `from` on as the context needs it; most values need nothing.
pub(crate) fn encode(context: Context, from: usize, out: &mut Vec<u8>, scratch: &mut Vec<u8>) {
    let is_plain = match context {
        Context::Body => return,
        Context::Target => |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte),
        Context::Header => |byte: &u8| !byte.is_ascii_control() || *byte == b'\t',
        Context::Json => |byte: &u8| *byte >= 0x20 && !b"\"\\".contains(byte),
    };
    let Some(first) = out[from..].iter().position(|byte| !is_plain(byte)).map(|first| from + first) else {
        return;
    };
    scratch.clear();
    scratch.extend_from_slice(&out[first..]);
    out.truncate(first);
    for &byte in &*scratch {
        match context {
            _ if is_plain(&byte) => out.push(byte),
            Context::Json => escape(byte, out),
            _ => out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => out.extend_from_slice(&[
            b'\\',
            b'u',
            b'0',
            b'0',
            HEX[usize::from(byte >> 4)],
            HEX[usize::from(byte & 15)],
        ]),
    }
}

/// Appends a number in decimal.
#[inline]
pub(crate) fn decimal(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut at, mut left) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(context: Context, value: &str) -> String {
        let mut out = b"<".to_vec();
        out.extend_from_slice(value.as_bytes());
        encode(context, 1, &mut out, &mut Vec::new());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_context_has_its_own_escapes() {
        let value = "a/b c?\"é\\\n\u{1}~";
        assert_eq!(encoded(Context::Body, value), format!("<{value}"));
        assert_eq!(encoded(Context::Target, value), "<a%2Fb%20c%3F%22%C3%A9%5C%0A%01~");
        assert_eq!(encoded(Context::Header, value), "<a/b c?\"é\\%0A%01~");
        assert_eq!(encoded(Context::Json, value), "<a/b c?\\\"é\\\\\\n\\u0001~");
        assert_eq!(encoded(Context::Target, ""), "<");
    }

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}

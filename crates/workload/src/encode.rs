//! How a value is written at its place.

/// Where a template stands, which decides how a value is written there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// In a path or query: all but the unreserved characters of RFC 3986 §2.3 is percent-encoded.
    Target,
    /// In the value of a header: control characters are percent-encoded.
    Header,
    /// In a body: as it is.
    Body,
    /// In a text of a JSON body (RFC 8259 §7): quotes, backslashes and control characters are escaped.
    Json,
}

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
}

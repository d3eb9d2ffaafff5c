//! What identifies a request, written into it.

use crate::draws::Draws;

/// RFC 9562 §5.4.
pub(crate) fn uuid(draws: &mut Draws, out: &mut Vec<u8>) {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&draws.next_u64().to_be_bytes());
    bytes[8..].copy_from_slice(&draws.next_u64().to_be_bytes());
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    for (i, byte) in bytes.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        hex(&[byte], out);
    }
}

/// The header of W3C Trace Context, version 00, with the flag that asks for the trace to be kept. A span of 0 would be none.
pub(crate) fn traceparent(trace: u128, span: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"00-");
    hex(&trace.to_be_bytes(), out);
    out.push(b'-');
    hex(&span.max(1).to_be_bytes(), out);
    out.extend_from_slice(b"-01");
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the recommendation (§3.2.5).
    #[test]
    fn a_trace_is_written_as_the_recommendation_writes_it() {
        let mut out = Vec::new();
        traceparent(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7, &mut out);
        assert_eq!(out, b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        out.clear();
        traceparent(1, 0, &mut out);
        assert_eq!(out, b"00-00000000000000000000000000000001-0000000000000001-01");
    }
}

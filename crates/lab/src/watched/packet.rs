//! A TCP segment in an IPv4 packet (RFC 791, RFC 9293).

/// What one packet says, as far as it matters to an onlooker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    pub(super) from_port: u16,
    pub(super) to_port: u16,
    /// Of the first byte of `payload`, or of the SYN before it.
    pub(super) sequence: u32,
    pub(super) is_syn: bool,
    /// Of the side that accepts, where it is a SYN.
    pub(super) is_ack: bool,
    pub(super) is_reset: bool,
    pub(super) payload: &'a [u8],
}

impl Segment<'_> {
    /// From a packet that begins with its IP header; `None`: it is none of TCP over IPv4, or cut.
    pub(super) fn parse(packet: &[u8]) -> Option<Segment<'_>> {
        let &[version, _, high, low, ..] = packet else { return None };
        let ip_bytes = usize::from(version & 15) * 4;
        // The kernel may leave it at 0 where a packet is larger than can be told.
        let all = match usize::from(u16::from_be_bytes([high, low])) {
            0 => packet.len(),
            bytes => bytes,
        };
        if version >> 4 != 4 || ip_bytes < 20 || packet.get(9) != Some(&6) {
            return None;
        }
        let tcp = packet.get(ip_bytes..all)?;
        let half = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
        let tcp_bytes = usize::from(*tcp.get(12)? >> 4) * 4;
        let flags = *tcp.get(13)?;
        Some(Segment {
            from_port: half(0)?,
            to_port: half(2)?,
            sequence: u32::from(half(4)?) << 16 | u32::from(half(6)?),
            is_syn: flags & 0x02 != 0,
            is_ack: flags & 0x10 != 0,
            is_reset: flags & 0x04 != 0,
            payload: tcp.get(tcp_bytes.max(20)..)?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A packet that says this.
    pub(in crate::watched) fn packet(segment: &Segment<'_>) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend((40 + segment.payload.len() as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        bytes.extend(segment.from_port.to_be_bytes());
        bytes.extend(segment.to_port.to_be_bytes());
        bytes.extend(segment.sequence.to_be_bytes());
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let flags = bit(segment.is_syn, 2) | bit(segment.is_ack, 16) | bit(segment.is_reset, 4);
        bytes.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        bytes.extend(segment.payload);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let segment = Segment {
            from_port: 50_000,
            to_port: 6379,
            sequence: 0xfedc_ba98,
            is_syn: false,
            is_ack: true,
            is_reset: false,
            payload: b"GET",
        };
        let mut bytes = packet(&segment);
        assert_eq!(Segment::parse(&bytes), Some(segment));
        for cut in 0..bytes.len() {
            assert_eq!(Segment::parse(&bytes[..cut]), None, "{cut}");
        }
        // What follows the packet is none of it.
        bytes.extend([0; 6]);
        assert_eq!(Segment::parse(&bytes), Some(segment));
        bytes[9] = 17;
        assert_eq!(Segment::parse(&bytes), None);
    }
}

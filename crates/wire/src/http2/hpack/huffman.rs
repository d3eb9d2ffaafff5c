//! The Huffman code of RFC 7541, appendix B.
//!
//! It is canonical: codes of one length follow each other in the order of their symbols, and the first of the next length
//! follows the last of this one. So the lengths are all there is to know.

/// Bits of each symbol's code; the last is the end of a string.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

const SHORTEST: usize = 5;
const LONGEST: usize = 30;
const END: u16 = 256;

/// What follows from the lengths.
struct Codes {
    /// By symbol.
    code: [u32; 257],
    /// Symbols in the order of their codes.
    symbols: [u16; 257],
    /// By length: the first code, and where its symbol stands.
    first: [(u32, u16); LONGEST + 2],
    /// By length: where, among 32 bits with the code at their top, the next length begins.
    end: [u64; LONGEST + 1],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut all =
        Codes { code: [0; 257], symbols: [0; 257], first: [(0, 0); LONGEST + 2], end: [0; LONGEST + 1] };
    let (mut length, mut code, mut place) = (1, 0u32, 0);
    while length <= LONGEST {
        code <<= 1;
        all.first[length] = (code, place as u16);
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                all.code[symbol] = code;
                all.symbols[place] = symbol as u16;
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        all.end[length] = (code as u64) << (32 - length);
        length += 1;
    }
    all
}

/// Appends what `coded` stands for. False if it is padded with more than 7 bits or other bits than ones, or if the end of
/// a string is in it (§5.2).
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> bool {
    // The next bits are at the top.
    let (mut bits, mut count) = (0u64, 0usize);
    let mut coded = coded.iter();
    loop {
        while count <= 56 {
            let Some(&byte) = coded.next() else { break };
            bits |= u64::from(byte) << (56 - count);
            count += 8;
        }
        let window = bits >> 32;
        let Some(length) = (SHORTEST..=LONGEST).find(|&length| window < CODES.end[length]) else {
            // Nothing but ones.
            return is_padding(bits, count);
        };
        if length > count {
            return is_padding(bits, count);
        }
        let (first, place) = CODES.first[length];
        let offset = (window >> (32 - length)) as u32 - first;
        let symbol = CODES.symbols[place as usize + offset as usize];
        if symbol == END {
            return false;
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

/// The last `count` bits are the beginning of the end of a string, and less than a byte.
fn is_padding(bits: u64, count: usize) -> bool {
    count < 8 && bits == !(u64::MAX.checked_shr(count as u32).unwrap_or(0))
}

/// Bytes that `plain` takes when it is coded.
pub(super) fn coded_length(plain: &[u8]) -> usize {
    plain.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum::<usize>().div_ceil(8)
}

/// Appends the code of `plain`.
pub(super) fn encode(plain: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0);
    for &byte in plain {
        let symbol = usize::from(byte);
        bits = bits << LENGTHS[symbol] | u64::from(CODES.code[symbol]);
        count += usize::from(LENGTHS[symbol]);
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(coded, &mut out).then_some(out)
    }

    #[test]
    fn the_examples_of_appendix_c() {
        for (plain, coded) in [
            (
                "www.example.com",
                &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff][..],
            ),
            ("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]),
            ("302", &[0x64, 0x02]),
            ("private", &[0xae, 0xc3, 0x77, 0x1a, 0x4b]),
        ] {
            assert_eq!(decoded(coded).as_deref(), Some(plain.as_bytes()));
            let mut out = Vec::new();
            encode(plain.as_bytes(), &mut out);
            assert_eq!((&out[..], out.len()), (coded, coded_length(plain.as_bytes())));
        }
    }

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let mut coded = Vec::new();
        encode(&all, &mut coded);
        assert_eq!(decoded(&coded), Some(all));
    }

    #[test]
    fn padding_is_short_and_of_ones() {
        assert_eq!(decoded(b""), Some(Vec::new()));
        // "0" is 00000.
        assert_eq!(decoded(&[0b0000_0111]), Some(b"0".to_vec()));
        assert_eq!(decoded(&[0b0000_0110]), None);
        assert_eq!(decoded(&[0b0000_0111, 0xff]), None);
        assert_eq!(decoded(&[0xff]), None);
        assert_eq!(decoded(&[0xff; 4]), None, "the end of a string");
        assert_eq!(decoded(&[0xff; 9]), None);
    }
}

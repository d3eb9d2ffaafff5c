//! Numbers and strings as RFC 7541 §5 writes them.

use super::huffman;
use crate::http2::fault::Fault;

/// Above any length or index that a block could mean.
const NUMBER_MAX: u64 = 1 << 24;

/// Takes the number whose first `prefix` bits are at the end of the first byte (§5.1).
#[inline]
pub(super) fn take_number(bytes: &mut &[u8], prefix: u32) -> Result<usize, Fault> {
    let mask = 0xff_u8 >> (8 - prefix);
    let mut number = u64::from(take_byte(bytes)? & mask);
    if number < u64::from(mask) {
        return Ok(number as usize);
    }
    // Five more bytes hold 35 bits; what is longer is too large, or zeros that nobody needs.
    for shift in (0..35).step_by(7) {
        let byte = take_byte(bytes)?;
        number += u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return if number <= NUMBER_MAX { Ok(number as usize) } else { Err(Fault::HpackInteger) };
        }
    }
    Err(Fault::HpackInteger)
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8, Fault> {
    let (&first, rest) = bytes.split_first().ok_or(Fault::HpackTruncated)?;
    *bytes = rest;
    Ok(first)
}

/// Takes a string and appends it to `out`.
pub(super) fn take_string(bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let is_coded = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let length = take_number(bytes, 7)?;
    let (string, rest) = bytes.split_at_checked(length).ok_or(Fault::HpackTruncated)?;
    *bytes = rest;
    match is_coded {
        false => out.extend_from_slice(string),
        true if huffman::decode(string, out) => {}
        true => return Err(Fault::HpackHuffman),
    }
    Ok(())
}

/// Appends a number behind the bits of `first` that are not its prefix.
pub(super) fn put_number(out: &mut Vec<u8>, first: u8, prefix: u32, number: usize) {
    let mask = (1usize << prefix) - 1;
    if number < mask {
        return out.push(first | number as u8);
    }
    out.push(first | mask as u8);
    let mut rest = number - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a string, coded if that is shorter.
pub(super) fn put_string(out: &mut Vec<u8>, string: &[u8]) {
    let coded = huffman::coded_length(string);
    if coded < string.len() {
        put_number(out, 0x80, 7, coded);
        huffman::encode(string, out);
    } else {
        put_plain(out, string);
    }
}

/// Appends a string as it is.
pub(super) fn put_plain(out: &mut Vec<u8>, string: &[u8]) {
    put_number(out, 0, 7, string.len());
    out.extend_from_slice(string);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_appendix_c() {
        for (number, prefix, bytes) in [
            (10, 5, &[0b01010][..]),
            (1337, 5, &[0b11111, 0b1001_1010, 0b0000_1010]),
            (42, 8, &[0b0010_1010]),
        ] {
            let mut out = Vec::new();
            put_number(&mut out, 0, prefix, number);
            assert_eq!(out, bytes);
            assert_eq!(take_number(&mut &out[..], prefix), Ok(number));
        }
    }

    #[test]
    fn numbers_have_an_end_and_a_limit() {
        assert_eq!(take_number(&mut &[0x7f][..], 7), Err(Fault::HpackTruncated));
        assert_eq!(take_number(&mut &[0x7f, 0xff, 0xff, 0xff, 0x7f][..], 7), Err(Fault::HpackInteger));
        assert_eq!(
            take_number(&mut &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0][..], 7),
            Err(Fault::HpackInteger)
        );
        assert_eq!(take_number(&mut &[0x7f, 0x80, 0x80, 0][..], 7), Ok(127));
    }
}

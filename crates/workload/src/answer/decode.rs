//! Bodies that are sent in another form (RFC 9110 §8.4): gzip, deflate, br and zstd.

use super::head::values;
use std::io::{self, Read};

/// A body is looked at up to this many bytes, as it is sent and as it is decoded. What is larger fails as one that can't be
/// checked: a few kilobytes may be made to unfold to gigabytes.
pub const BODY_MAX: usize = 16 << 20;

/// RFC 9659: of zstd in HTTP, no decoder needs to hold more.
const ZSTD_WINDOW_MAX: u64 = 8 << 20;

/// How a body is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Coding {
    /// As it is.
    #[default]
    Plain,
    /// RFC 1952.
    Gzip,
    /// RFC 1950, or, as some servers send, RFC 1951 alone.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
    /// Another one, or several, one upon the other.
    Unknown,
}

impl Coding {
    /// What a head says of its body.
    pub fn of(head: &[u8]) -> Coding {
        let listed = |name| values(head, name).flat_map(|value| value.split(|&byte| byte == b','));
        let of_content = listed("content-encoding").map(|coding| Coding::called(coding.trim_ascii()));
        // What the framing does is undone; what else it does to the body is not.
        let of_transfer = listed("transfer-encoding").map(|coding| match coding.trim_ascii() {
            coding if coding.eq_ignore_ascii_case(b"chunked") => Coding::Plain,
            b"" => Coding::Plain,
            coding if coding.eq_ignore_ascii_case(b"identity") => Coding::Plain,
            _ => Coding::Unknown,
        });
        of_content.chain(of_transfer).fold(Coding::Plain, |coding, next| match (coding, next) {
            (coding, Coding::Plain) => coding,
            (Coding::Plain, next) => next,
            _ => Coding::Unknown,
        })
    }

    fn called(name: &[u8]) -> Coding {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name {
            b"" => Coding::Plain,
            _ if is(b"identity") => Coding::Plain,
            _ if is(b"gzip") || is(b"x-gzip") => Coding::Gzip,
            _ if is(b"deflate") => Coding::Deflate,
            _ if is(b"br") => Coding::Brotli,
            _ if is(b"zstd") => Coding::Zstd,
            _ => Coding::Unknown,
        }
    }

    /// `body` as it was before it was encoded, in `out`, which is cleared; `body` itself where nothing was done to it, or
    /// where there is none.
    ///
    /// # Errors
    /// Why it can't be decoded.
    pub fn decode<'a>(self, body: &'a [u8], out: &'a mut Vec<u8>) -> Result<&'a [u8], Undecoded> {
        out.clear();
        // An answer without a body, such as one to HEAD, may say how it would be sent.
        if body.is_empty() {
            return Ok(body);
        }
        match self {
            Coding::Plain => return Ok(body),
            Coding::Gzip => read(flate2::bufread::MultiGzDecoder::new(body), out)?,
            Coding::Deflate if is_zlib(body) => {
                let mut decoder = flate2::bufread::ZlibDecoder::new(body);
                read(&mut decoder, out)?;
                all_taken(decoder.into_inner())?;
            }
            Coding::Deflate => {
                let mut decoder = flate2::bufread::DeflateDecoder::new(body);
                read(&mut decoder, out)?;
                all_taken(decoder.into_inner())?;
            }
            Coding::Brotli => read(brotli_decompressor::Decompressor::new(body, 4096), out)?,
            Coding::Zstd => zstd(body, out)?,
            Coding::Unknown => return Err(Undecoded::Unknown),
        }
        Ok(out)
    }
}

/// Why a body can't be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Undecoded {
    /// Its coding is not known here.
    #[error("its coding is none of gzip, deflate, br and zstd")]
    Unknown,
    /// It is not what its coding allows, or ends too early.
    #[error("it is not what its Content-Encoding says")]
    Broken,
    /// It is no message of its type.
    #[error("it is not a message of its type")]
    NoMessage,
    /// It is above [`BODY_MAX`].
    #[error("it has more than 16 MiB, and no more is looked at")]
    TooLarge,
}

/// Appends all that `decoder` gives.
fn read(decoder: impl Read, out: &mut Vec<u8>) -> Result<(), Undecoded> {
    let room = (BODY_MAX - out.len()) as u64;
    let taken: io::Result<usize> = decoder.take(room + 1).read_to_end(out);
    match taken {
        Ok(n) if n as u64 > room => Err(Undecoded::TooLarge),
        Ok(_) => Ok(()),
        Err(_) => Err(Undecoded::Broken),
    }
}

fn all_taken(rest: &[u8]) -> Result<(), Undecoded> {
    if rest.is_empty() { Ok(()) } else { Err(Undecoded::Broken) }
}

/// The header of RFC 1950 §2.2.
fn is_zlib(body: &[u8]) -> bool {
    let [method, flags, ..] = body else { return false };
    method & 0x0f == 8 && method >> 4 <= 7 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31)
}

/// Frames, one after the other, each with its checksum if it has one.
fn zstd(mut body: &[u8], out: &mut Vec<u8>) -> Result<(), Undecoded> {
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    while !body.is_empty() {
        let opened = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(&mut body, ZSTD_WINDOW_MAX);
        let mut decoder = match opened {
            Ok(decoder) => decoder,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                body = body.get(length as usize..).ok_or(Undecoded::Broken)?;
                continue;
            }
            Err(_) => return Err(Undecoded::Broken),
        };
        read(&mut decoder, out)?;
        let frame = decoder.into_frame_decoder();
        let is_whole = frame.is_finished();
        if !is_whole
            || frame.get_checksum_from_data().is_some_and(|sum| frame.get_calculated_checksum() != Some(sum))
        {
            return Err(Undecoded::Broken);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const PLAIN: &[u8] = b"hello, hello, hello, hello, world";
    /// The same by other programs: gzip, zlib and deflate by zlib, brotli by its own library, zstd with its checksum.
    const CODED: [(Coding, &str); 5] = [
        (Coding::Gzip, "1f8b0800000000000003cb48cdc9c9d751c8c04695e717e5a4000079b123bd21000000"),
        (Coding::Deflate, "789ccb48cdc9c9d751c8c04695e717e5a40000c51e0ba9"),
        (Coding::Deflate, "cb48cdc9c9d751c8c04695e717e5a40000"),
        (Coding::Brotli, "1b2000f88d946ede44095286966c2c6f35c83c95c00b7f1c02"),
        (Coding::Zstd, "28b52ffd24219500006068656c6c6f2c20776f726c640100fa8a110bd894f6"),
    ];
    /// 64 MiB of zeros.
    const BOMB: &str = "cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeffffc13f0110870500baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe0980382c00d0bdffcbffff3ffc1300715800a07bff07";

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn decoded(coding: Coding, body: &[u8]) -> Result<Vec<u8>, Undecoded> {
        // What was in the buffer before is no part of it.
        let mut out = b"before".to_vec();
        coding.decode(body, &mut out).map(<[u8]>::to_vec)
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_others_encoded_is_decoded() {
        for (coding, hex) in CODED {
            assert_eq!(decoded(coding, &bytes(hex)).as_deref(), Ok(PLAIN), "{coding:?}");
        }
        let [one, two] = [&b"one"[..], b"two"].map(gzip);
        assert_eq!(decoded(Coding::Gzip, &[one, two].concat()).as_deref(), Ok(&b"onetwo"[..]));
        let frame = bytes(CODED[4].1);
        assert_eq!(decoded(Coding::Zstd, &[&frame[..], &frame].concat()).unwrap(), [PLAIN, PLAIN].concat());
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9], &frame[..]].concat();
        assert_eq!(decoded(Coding::Zstd, &skipped).as_deref(), Ok(PLAIN));
        assert_eq!(decoded(Coding::Plain, PLAIN).as_deref(), Ok(PLAIN));
        assert_eq!(decoded(Coding::Brotli, b"").as_deref(), Ok(&b""[..]));
        assert_eq!(decoded(Coding::Unknown, PLAIN), Err(Undecoded::Unknown));
    }

    #[test]
    fn what_is_cut_off_or_changed_is_broken() {
        for (coding, hex) in CODED {
            let whole = bytes(hex);
            for length in 1..whole.len() {
                let cut = decoded(coding, &whole[..length]);
                assert_eq!(cut, Err(Undecoded::Broken), "{coding:?} of {length} bytes");
            }
            // What stands behind the end of a brotli stream is not read.
            if coding == Coding::Brotli {
                continue;
            }
            let longer = decoded(coding, &[&whole[..], b"xyz"].concat());
            assert_eq!(longer, Err(Undecoded::Broken), "{coding:?} with more behind it");
        }
        // Those with a checksum notice a changed byte.
        for (coding, hex) in [CODED[0], CODED[1], CODED[4]] {
            let mut changed = bytes(hex);
            let last = changed.len() - 1;
            changed[last - 1] ^= 0x10;
            assert_eq!(decoded(coding, &changed), Err(Undecoded::Broken), "{coding:?}");
        }
    }

    #[test]
    fn no_more_is_decoded_than_the_limit() {
        let fits = gzip(&vec![0; BODY_MAX]);
        assert_eq!(decoded(Coding::Gzip, &fits).map(|body| body.len()), Ok(BODY_MAX));
        let bomb = gzip(&vec![0; BODY_MAX + 1]);
        assert_eq!(decoded(Coding::Gzip, &bomb), Err(Undecoded::TooLarge));
        assert_eq!(decoded(Coding::Gzip, &[fits.clone(), fits].concat()), Err(Undecoded::TooLarge));
        assert_eq!(decoded(Coding::Brotli, &bytes(BOMB)), Err(Undecoded::TooLarge));
    }

    #[test]
    fn codings_by_their_names() {
        for (head, coding) in [
            ("A: b\r\n", Coding::Plain),
            ("Content-Encoding: identity\r\n", Coding::Plain),
            ("Content-Encoding:\r\n", Coding::Plain),
            ("content-encoding: GZIP\r\n", Coding::Gzip),
            ("Content-Encoding: x-gzip\r\n", Coding::Gzip),
            ("Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n", Coding::Deflate),
            ("Content-Encoding: br\r\n", Coding::Brotli),
            ("Content-Encoding: identity, zstd\r\n", Coding::Zstd),
            ("Content-Encoding: gzip, br\r\n", Coding::Unknown),
            ("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", Coding::Unknown),
            ("Content-Encoding: compress\r\n", Coding::Unknown),
            ("Transfer-Encoding: gzip, chunked\r\n", Coding::Unknown),
        ] {
            assert_eq!(Coding::of(head.as_bytes()), coding, "{head:?}");
        }
    }
}

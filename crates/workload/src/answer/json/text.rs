//! Texts with escapes (RFC 8259 §7), in JSON and in the quotes of a path or a condition.

/// Calls `f` with the pieces of an escaped text in their order, as long as it returns true. `raw` is valid.
fn pieces(mut raw: &[u8], mut f: impl FnMut(&[u8]) -> bool) -> bool {
    while !raw.is_empty() {
        let plain = raw.iter().position(|&byte| byte == b'\\').unwrap_or(raw.len());
        let (before, escape) = raw.split_at(plain);
        if !before.is_empty() && !f(before) {
            return false;
        }
        let Some((character, length)) = escaped(escape) else { return escape.is_empty() };
        if !f(character.encode_utf8(&mut [0; 4]).as_bytes()) {
            return false;
        }
        raw = &escape[length..];
    }
    true
}

/// The character of the escape at the beginning of `raw`, and its length. `None` if it is none: a half of a pair of
/// surrogates is no character.
pub(super) fn escaped(raw: &[u8]) -> Option<(char, usize)> {
    let simple = |character| Some((character, 2));
    match (raw.first()?, raw.get(1)?) {
        (b'\\', b'b') => simple('\u{8}'),
        (b'\\', b'f') => simple('\u{c}'),
        (b'\\', b'n') => simple('\n'),
        (b'\\', b'r') => simple('\r'),
        (b'\\', b't') => simple('\t'),
        (b'\\', &same @ (b'"' | b'\\' | b'/')) => simple(char::from(same)),
        (b'\\', b'u') => {
            let high = unit(raw)?;
            match high {
                0xd800..=0xdbff => {
                    let low = unit(raw.get(6..)?).filter(|low| (0xdc00..=0xdfff).contains(low))?;
                    Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?, 12))
                }
                unit => Some((char::from_u32(unit)?, 6)),
            }
        }
        _ => None,
    }
}

/// `\uXXXX`.
fn unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// An escaped text, `raw`, is `plain`.
pub(in crate::answer) fn equals(raw: &[u8], plain: &[u8]) -> bool {
    let mut rest = plain;
    let is_begun = pieces(raw, |piece| match rest.strip_prefix(piece) {
        Some(behind) => {
            rest = behind;
            true
        }
        None => false,
    });
    is_begun && rest.is_empty()
}

/// Writes an escaped text to `out` without its escapes.
pub(in crate::answer) fn unescape_into(raw: &[u8], out: &mut Vec<u8>) {
    pieces(raw, |piece| {
        out.extend_from_slice(piece);
        true
    });
}

/// A text in single or double quotes at the beginning of `text`, and what stands behind it. In it, the quote itself may be
/// escaped, and so may whatever JSON escapes.
pub(in crate::answer) fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|quote| "'\"".contains(*quote))?;
    let mut rest = &text[1..];
    let mut plain = String::new();
    loop {
        let character = rest.chars().next()?;
        if character == quote {
            return Some((plain, &rest[1..]));
        }
        let length = match character {
            '\\' if rest[1..].starts_with('\'') => {
                plain.push('\'');
                2
            }
            '\\' => {
                let (character, length) = escaped(rest.as_bytes())?;
                plain.push(character);
                length
            }
            character => {
                plain.push(character);
                character.len_utf8()
            }
        };
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let raw = br#"a\u00fc\ud83d\ude00\n\"\\\/z"#;
        let plain = "aü😀\n\"\\/z";
        let mut out = Vec::new();
        unescape_into(raw, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), plain);
        assert!(equals(raw, plain.as_bytes()));
        assert!(!equals(raw, &plain.as_bytes()[..5]) && !equals(br"a", b"ab") && !equals(br"ab", b"a"));
        for bad in [r"\", r"\x", r"\u12", r"\ud800", r"\ud800\u0041", r"\udc00", r"\u00g0"] {
            assert_eq!(escaped(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn quotes() {
        assert_eq!(quoted("'a b' == 1"), Some(("a b".into(), " == 1")));
        assert_eq!(quoted(r#""it's \"ü\"""#), Some((r#"it's "ü""#.into(), "")));
        assert_eq!(quoted(r"'it\'s \u0041']"), Some(("it's A".into(), "]")));
        for bad in ["", "a", "'a", "'a\"", r"'\", r"'\x'"] {
            assert_eq!(quoted(bad), None, "{bad}");
        }
    }
}

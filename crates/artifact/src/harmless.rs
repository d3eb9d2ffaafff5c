//! Text by others — a server, a folder, whoever wrote a plan — made harmless for whoever looks at it: nothing in it may
//! move a cursor, change colours, hide itself or turn the reading direction. Every printer and every file goes by the
//! same list.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// Control characters (C0, DEL, C1), what turns the reading direction, and what takes no room.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// With U+FFFD for each harmful character, so that widths hold.
pub fn replaced(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// With each harmful character as Rust writes it, `\u{1b}`. Line feeds and tabs stay.
pub fn escaped(text: &str) -> String {
    escaped_but(text, |_| None)
}

/// The same for text that this program has painted: its colours stay, too.
pub fn escaped_but_colours(text: &str) -> String {
    escaped_but(text, |rest| {
        let parameters = rest.strip_prefix("\u{1b}[")?;
        let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        parameters[end..].starts_with('m').then_some(end + 3)
    })
}

/// `kept` says how many bytes at the beginning of the rest stay as they are.
fn escaped_but(text: &str, kept: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_harmful(c) && c != '\n' && c != '\t') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match kept(rest) {
            Some(length) => {
                out.push_str(&rest[..length]);
                length
            }
            None => {
                let c = rest.chars().next().unwrap_or_default();
                match c {
                    '\r' => out.push_str("\\r"),
                    c => out.extend(c.escape_unicode()),
                }
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out + rest
}

/// As JSON in one line, harmful characters escaped as JSON has it: to a program it is the same text.
pub fn json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(
        &mut bytes,
        Escaping(serde_json::ser::CompactFormatter),
    ))?;
    Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
}

/// The same, indented.
pub fn json_pretty<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut bytes = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Escaping(PrettyFormatter::new())))?;
    Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
}

/// Escapes in strings what JSON would let pass.
struct Escaping<F>(F);

/// Passes calls on to the formatter within.
macro_rules! pass_on {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $arg: $type)*) -> io::Result<()> {
            self.0.$name(writer $(, $arg)*)
        })*
    };
}

impl<F: Formatter> Formatter for Escaping<F> {
    pass_on! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_harmful) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let c = from.chars().next().unwrap_or_default();
            // None of them lies beyond the basic plane.
            write!(writer, "\\u{:04x}", u32::from(c))?;
            rest = &from[c.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape, C1's CSI, a turn of direction, an isolate, nothing wide.
    const HOSTILE: &str = "a\u{1b}[2J\u{9b}m\u{202e}b\u{2066}\u{200b}\r\u{7f}ü";

    #[test]
    fn nothing_harmful_is_left() {
        for text in [replaced(HOSTILE), escaped(HOSTILE), escaped_but_colours(HOSTILE)] {
            assert!(!text.contains(is_harmful), "{text:?}");
            assert!(text.starts_with('a') && text.ends_with('ü'), "{text:?}");
        }
        assert_eq!(replaced(HOSTILE).chars().count(), HOSTILE.chars().count());
        assert_eq!(escaped("x\u{1b}[1m\ty\r\n"), "x\\u{1b}[1m\ty\\r\n");
    }

    #[test]
    fn only_colours_are_left() {
        let painted = "\u{1b}[1;38;5;160mFAIL\u{1b}[0m";
        assert_eq!(escaped_but_colours(painted), painted);
        for other in ["\u{1b}[2J", "\u{1b}[1;1H", "\u{1b}]0;x\u{7}", "\u{1b}[", "\u{1b}"] {
            assert!(!escaped_but_colours(other).contains('\u{1b}'), "{other:?}");
        }
    }

    #[test]
    fn json_is_the_same_to_a_program() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1, {}, []], "plain": "ü\n\"" });
        for text in [json(&value).unwrap(), json_pretty(&value).unwrap()] {
            assert!(!text.contains(|c| is_harmful(c) && c != '\n'), "{text:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
        let plain = serde_json::json!({"a": [1, {"b": "c"}], "d": null});
        assert_eq!(json(&plain).unwrap(), serde_json::to_string(&plain).unwrap());
        assert_eq!(json_pretty(&plain).unwrap(), serde_json::to_string_pretty(&plain).unwrap());
    }
}

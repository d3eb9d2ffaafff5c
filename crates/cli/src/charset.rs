//! What a terminal can show: where the locale is not UTF-8, ASCII stands for every other character.

use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::OnceLock;

/// By POSIX the first of these that is set and not empty names the locale of characters.
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// So many columns a line may grow by: an ellipsis and a relation of two signs.
pub(crate) const SLACK: u16 = 3;

/// Is ASCII all that may be printed?
pub(crate) fn is_ascii_only() -> bool {
    static ASCII: OnceLock<bool> = OnceLock::new();
    *ASCII.get_or_init(|| is_ascii_in(|name| std::env::var_os(name)))
}

/// Where nothing is said, as in most containers, UTF-8 is taken: today's terminals read it.
fn is_ascii_in(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let Some(locale) = VARIABLES.into_iter().filter_map(variable).find(|value| !value.is_empty()) else {
        return false;
    };
    let locale = locale.to_string_lossy().to_ascii_lowercase();
    // language_TERRITORY.codeset@modifier
    let codeset = locale.split('@').next().and_then(|name| name.split_once('.')).map_or("", |(_, set)| set);
    !matches!(codeset, "utf-8" | "utf8")
}

/// `text` as it can be printed here.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if is_ascii_only() { ascii(text) } else { Cow::Borrowed(text) }
}

/// `text` in ASCII. Signs that stand in tables and pictures keep their width.
fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match sign(c) {
            _ if c.is_ascii() => out.push(c),
            Some(sign) => out.push_str(sign),
            // A name of the user's: it stays exact.
            None => out.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(out)
}

fn sign(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{a0}' | '\u{2009}' | '\u{202f}' => " ",
        'µ' | 'μ' => "u",
        '·' | '–' | '—' | '−' | '─' => "-",
        '…' => "...",
        '→' | '▸' => ">",
        '◂' | '←' => "<",
        '≥' => ">=",
        '≤' => "<=",
        '≈' => "~",
        '≠' => "!=",
        '±' => "+-",
        '×' | '✗' => "x",
        '÷' => "/",
        '✓' => "+",
        '²' => "^2",
        '∞' => "inf",
        '•' => "o",
        '∙' => ".",
        '│' | '┤' => "|",
        '└' => "+",
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        '\u{fffd}' => "?",
        // Heights, and lengths: a part of a cell is a part of a cell.
        '▁' => "_",
        '▂' => ".",
        '▃' => ":",
        '▄' => "-",
        '▅' => "=",
        '▆' => "+",
        '▇' => "*",
        '█' => "#",
        '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' => ":",
        '░' => "/",
        'γ' => "gamma",
        'κ' => "kappa",
        'λ' => "lambda",
        'ρ' => "rho",
        'σ' => "sigma",
        _ => return None,
    })
}

/// JSON in ASCII: what is not is escaped, as every reader of JSON undoes.
pub(crate) fn printable_json(text: &str) -> Cow<'_, str> {
    if is_ascii_only() { ascii_json(text) } else { Cow::Borrowed(text) }
}

fn ascii_json(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            // Beyond the first plane JSON has two escapes, as UTF-16.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out += &format!("\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_report::fixture;
    use unblink_report::terminal::{self, Style};

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        let of = |set: &[(&str, &str)]| {
            is_ascii_in(|name| {
                set.iter().find(|(one, _)| *one == name).map(|(_, value)| OsString::from(value))
            })
        };
        for (set, is_ascii) in [
            (&[][..], false),
            (&[("LC_ALL", "C")], true),
            (&[("LC_ALL", "POSIX"), ("LANG", "de_DE.UTF-8")], true),
            (&[("LC_ALL", ""), ("LANG", "de_DE.utf8@euro")], false),
            (&[("LC_CTYPE", "C.UTF-8"), ("LANG", "C")], false),
            (&[("LANG", "en_US")], true),
            (&[("LANG", "de_DE.ISO-8859-1")], true),
            (&[("LANG", "de_DE@euro")], true),
        ] {
            assert_eq!(of(set), is_ascii, "{set:?}");
        }
    }

    #[test]
    fn signs_have_their_likes_and_names_stay_exact() {
        assert_eq!(ascii("1\u{202f}000/s · 10\u{a0}µs → ≥ 5 … ▁▄█"), "1 000/s - 10 us > >= 5 ... _-#");
        assert_eq!(ascii("GET /caf\u{e9}"), "GET /caf\\u{e9}");
        assert_eq!(ascii_json("{\"a\":\"\u{e9}\u{1f600}\"}"), "{\"a\":\"\\u00e9\\ud83d\\ude00\"}");
        assert!(matches!(ascii("plain\u{1b}[1m\n"), Cow::Borrowed(_)));
    }

    /// Nothing that a report prints of itself is left without a sign, and no line grows beyond the screen.
    #[test]
    fn reports_are_legible_in_ascii() {
        for (name, doc) in fixture::all() {
            let width = 80;
            let text = terminal::render(&doc, &Style { width: width - SLACK, color: false });
            let shown = ascii(&text);
            assert!(shown.is_ascii(), "{name}");
            // The one with hostile names has them escaped, which takes room.
            if name != "hostile" {
                assert!(!shown.contains("\\u"), "{name}: {shown}");
                let longest = shown.lines().map(str::len).max().unwrap_or(0);
                assert!(longest <= usize::from(width), "{name}: {longest}: {shown}");
            }
        }
    }
}

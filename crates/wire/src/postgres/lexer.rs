//! SQL, taken apart as far as it takes to find statements, literals and places (PostgreSQL 17, chapter 4.1).

use crate::blank::Blank;

/// A stretch of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// Anything that stands for itself: words, operators, blanks.
    Plain(&'a str),
    /// `'…'`, with its quotes. It `is_escaped` if it has a prefix, by which other rules hold inside.
    Literal {
        text: &'a str,
        is_escaped: bool,
    },
    /// `$tag$…$tag$`.
    Dollars(&'a str),
    /// `"…"`.
    Name(&'a str),
    Comment(&'a str),
    /// `{{N}}`. It `touches` a word before or behind it.
    Place {
        text: &'a str,
        touches: bool,
    },
    /// `$1`
    Parameter,
    Semicolon,
}

impl<'a> Token<'a> {
    pub(super) fn text(self) -> &'a str {
        match self {
            Token::Plain(text) | Token::Dollars(text) | Token::Name(text) | Token::Comment(text) => text,
            Token::Literal { text, .. } | Token::Place { text, .. } => text,
            Token::Parameter => "$1",
            Token::Semicolon => ";",
        }
    }

    /// It has a place inside.
    pub(super) fn has_place(self) -> bool {
        Blank::new(self.text().as_bytes()).has_gaps()
    }
}

/// What is never closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unclosed(pub(super) &'static str);

/// All of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Unclosed> {
    let (mut tokens, mut at, mut plain_from) = (Vec::new(), 0, 0);
    while at < text.len() {
        let Some((token, length)) = special(text, at)? else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if plain_from < at {
            tokens.push(Token::Plain(&text[plain_from..at]));
        }
        tokens.push(token);
        at += length;
        plain_from = at;
    }
    if plain_from < text.len() {
        tokens.push(Token::Plain(&text[plain_from..]));
    }
    Ok(tokens)
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// What begins at `at` and does not stand for itself, with its length.
fn special(text: &str, at: usize) -> Result<Option<(Token<'_>, usize)>, Unclosed> {
    let rest = &text[at..];
    let before = text[..at].chars().next_back();
    let in_word = before.is_some_and(is_of_word);
    let found = match rest.as_bytes() {
        [b'\'', ..] => {
            // E'…', U&'…', B'…', X'…', N'…'
            let escapes = matches!(before, Some('e' | 'E'));
            let is_escaped = in_word || before == Some('&');
            let length = quoted(rest, b'\'', escapes).ok_or(Unclosed("'"))?;
            Some((Token::Literal { text: &rest[..length], is_escaped }, length))
        }
        [b'"', ..] => {
            let length = quoted(rest, b'"', false).ok_or(Unclosed("\""))?;
            Some((Token::Name(&rest[..length]), length))
        }
        [b'-', b'-', ..] => {
            let length = rest.find('\n').unwrap_or(rest.len());
            Some((Token::Comment(&rest[..length]), length))
        }
        [b'/', b'*', ..] => {
            let length = comment(rest).ok_or(Unclosed("/*"))?;
            Some((Token::Comment(&rest[..length]), length))
        }
        [b'$', b'0'..=b'9', ..] if !in_word => {
            let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
            Some((Token::Parameter, 1 + digits))
        }
        [b'$', ..] if !in_word => match dollar_tag(rest) {
            Some(tag) => {
                let end = rest[tag.len()..].find(tag).ok_or(Unclosed("$…$"))?;
                let length = end + 2 * tag.len();
                Some((Token::Dollars(&rest[..length]), length))
            }
            None => None,
        },
        [b';', ..] => Some((Token::Semicolon, 1)),
        [b'{', b'{', ..] => {
            let length = rest.find("}}").map_or(0, |end| end + 2);
            let is_place = Blank::new(&rest.as_bytes()[..length]).only_place().is_some();
            let touches = in_word || rest[length..].chars().next().is_some_and(is_of_word);
            is_place.then(|| (Token::Place { text: &rest[..length], touches }, length))
        }
        _ => None,
    };
    Ok(found)
}

/// The length of what begins with a quote; the quote inside is written twice.
fn quoted(text: &str, quote: u8, escapes: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' if escapes => at += 2,
            &byte if byte == quote => match bytes.get(at + 1) {
                Some(&next) if next == quote => at += 2,
                _ => return Some(at + 1),
            },
            _ => at += 1,
        }
    }
}

/// The length of a comment, which may have others inside.
fn comment(text: &str) -> Option<usize> {
    let (bytes, mut at, mut depth) = (text.as_bytes(), 0, 0);
    loop {
        match bytes.get(at..at + 2)? {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" if depth == 1 => return Some(at + 2),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
}

/// `$` or `$tag$`, with which a literal begins.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = 1 + text[1..].find('$')?;
    text[1..end].chars().all(|c| c.is_alphanumeric() || c == '_').then(|| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let tokens = tokens(text).unwrap();
        assert_eq!(tokens.iter().map(|token| token.text()).collect::<String>(), text, "nothing is lost");
        let one = |token: &Token<'_>| match token {
            Token::Plain(text) => format!("[{text}]"),
            Token::Literal { is_escaped, .. } => if *is_escaped { "L" } else { "l" }.into(),
            Token::Dollars(_) => "d".into(),
            Token::Name(_) => "n".into(),
            Token::Comment(_) => "c".into(),
            Token::Place { touches, .. } => if *touches { "P" } else { "p" }.into(),
            Token::Parameter => "$".into(),
            Token::Semicolon => ";".into(),
        };
        tokens.iter().map(one).collect()
    }

    #[test]
    fn a_text_is_taken_apart() {
        for (text, expected) in [
            ("SELECT 1", "[SELECT 1]"),
            ("a='it''s'", "[a=]l"),
            (r"a=E'it\'s ' b", "[a=E]L[ b]"),
            (r"a='it\' b", r"[a=]l[ b]"),
            ("U&'x' B'1'", "[U&]L[ B]L"),
            ("\"a;b\" ; c", "n[ ];[ c]"),
            ("a -- b;'\nc", "[a ]c[\nc]"),
            ("a/*/*;*/'*/b", "[a]c[b]"),
            ("$$a;b$$ $x$ $$ $x$", "d[ ]d"),
            ("a$b$c", "[a$b$c]"),
            ("id={{3}} x{{1}} {{1}}y", "[id=]p[ x]P[ ]P[y]"),
            ("'{{3}}' {{x}} {{", "l[ {{x}} {{]"),
            ("a=$1", "[a=]$"),
            ("ä'ö'", "[ä]L"),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
        for (text, open) in
            [("'a", "'"), ("\"a", "\""), ("/* /* */", "/*"), ("$x$ $y$", "$…$"), (r"E'\'", "'")]
        {
            assert_eq!(tokens(text), Err(Unclosed(open)), "{text}");
        }
    }
}

//! CQL, taken apart as far as it takes to find statements, literals and places (Cassandra's documentation, "The Cassandra Query
//! Language: Definitions").

use crate::blank::Blank;

/// A stretch of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// Anything that stands for itself: words, operators, blanks.
    Plain(&'a str),
    /// `'…'`, with its quotes.
    Literal(&'a str),
    /// `$$…$$`
    Dollars(&'a str),
    /// `"…"`
    Name(&'a str),
    Comment(&'a str),
    /// `{{N}}`. It `touches` a word before or behind it.
    Place {
        text: &'a str,
        touches: bool,
    },
    /// `?`
    Marker,
    Semicolon,
}

impl<'a> Token<'a> {
    pub(super) fn text(self) -> &'a str {
        match self {
            Token::Plain(text) | Token::Dollars(text) | Token::Name(text) | Token::Comment(text) => text,
            Token::Literal(text) | Token::Place { text, .. } => text,
            Token::Marker => "?",
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
        let Some(token) = special(text, at)? else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if plain_from < at {
            tokens.push(Token::Plain(&text[plain_from..at]));
        }
        at += token.text().len();
        tokens.push(token);
        plain_from = at;
    }
    if plain_from < text.len() {
        tokens.push(Token::Plain(&text[plain_from..]));
    }
    Ok(tokens)
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// What begins at `at` and does not stand for itself.
fn special(text: &str, at: usize) -> Result<Option<Token<'_>>, Unclosed> {
    let rest = &text[at..];
    // Up to the end of what closes it.
    let closed = |open: &'static str, close: &str| {
        let inside = rest[open.len()..].find(close).ok_or(Unclosed(open))?;
        Ok(&rest[..open.len() + inside + close.len()])
    };
    let line = || &rest[..rest.find('\n').unwrap_or(rest.len())];
    Ok(Some(match rest.as_bytes() {
        [b'\'', ..] => Token::Literal(quoted(rest, "'")?),
        [b'"', ..] => Token::Name(quoted(rest, "\"")?),
        [b'$', b'$', ..] => Token::Dollars(closed("$$", "$$")?),
        [b'/', b'*', ..] => Token::Comment(closed("/*", "*/")?),
        [b'-', b'-', ..] | [b'/', b'/', ..] => Token::Comment(line()),
        [b'?', ..] => Token::Marker,
        [b';', ..] => Token::Semicolon,
        [b'{', b'{', ..] => {
            let text_of = &rest[..rest.find("}}").map_or(0, |end| end + 2)];
            if Blank::new(text_of.as_bytes()).only_place().is_none() {
                return Ok(None);
            }
            let touches = text[..at].chars().next_back().is_some_and(is_of_word)
                || rest[text_of.len()..].chars().next().is_some_and(is_of_word);
            Token::Place { text: text_of, touches }
        }
        _ => return Ok(None),
    }))
}

/// What begins with a quote; the quote inside is written twice.
fn quoted<'a>(text: &'a str, quote: &'static str) -> Result<&'a str, Unclosed> {
    let mut at = 1;
    loop {
        at += text[at..].find(quote).ok_or(Unclosed(quote))? + 1;
        if !text[at..].starts_with(quote) {
            return Ok(&text[..at]);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let tokens = tokens(text).unwrap();
        assert_eq!(tokens.iter().map(|token| token.text()).collect::<String>(), text, "nothing is lost");
        let one = |token: &Token<'_>| match token {
            Token::Plain(text) => format!("[{text}]"),
            Token::Literal(_) => "l".into(),
            Token::Dollars(_) => "d".into(),
            Token::Name(_) => "n".into(),
            Token::Comment(_) => "c".into(),
            Token::Place { touches, .. } => if *touches { "P" } else { "p" }.into(),
            Token::Marker => "?".into(),
            Token::Semicolon => ";".into(),
        };
        tokens.iter().map(one).collect()
    }

    #[test]
    fn a_text_is_taken_apart() {
        for (text, expected) in [
            ("SELECT 1", "[SELECT 1]"),
            ("a='it''s';", "[a=]l;"),
            (r"a='\' b", r"[a=]l[ b]"),
            ("\"a;\"\"b\" ; c", "n[ ];[ c]"),
            ("a -- b;'\nc", "[a ]c[\nc]"),
            ("a // b;'\nc", "[a ]c[\nc]"),
            ("a/*/*;*/b", "[a]c[b]"),
            ("$$a;b'$$ $", "d[ $]"),
            ("id={{3}} x{{1}} {{1}}y", "[id=]p[ x]P[ ]P[y]"),
            ("{'a': {{3}}} {{'b'}}", "[{]l[: ]p[} {{]l[}}]"),
            ("'{{3}}' a=?", "l[ a=]?"),
            ("ä'ö'", "[ä]l"),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
        for (text, open) in [("'a", "'"), ("'a''", "'"), ("\"a", "\""), ("/* /", "/*"), ("$$ $", "$$")] {
            assert_eq!(tokens(text), Err(Unclosed(open)), "{text}");
        }
    }
}

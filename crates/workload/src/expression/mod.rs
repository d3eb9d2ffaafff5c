//! What stands behind the `=` of a value: `zipf(1M, s=0.99)`, `csv(users.csv, once)`, `["a", "b"]`.
//!
//! ```text
//! expression = list | name [ "(" [ argument { "," argument } ] ")" ]
//! argument   = [ name "=" ] value
//! value      = list | "quoted" | 'quoted' | word
//! list       = "[" [ value { "," value } ] "]"
//! ```
//! A word goes up to the next space, comma, `=`, bracket or quote: a number, a file, `once`.

pub(crate) mod arguments;
pub(crate) mod number;

use std::ops::Range;

use crate::error::SourceError;

/// A list in a list is refused, so no input nests deeper than this.
const NOT_IN_WORDS: &str = ",=()[]\"'";

/// An expression, taken apart. Nothing is known of its meaning yet.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expression {
    Call(Call),
    List(Vec<Text>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) name: Text,
    pub(crate) arguments: Vec<Argument>,
    /// Of the whole call.
    pub(crate) range: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Argument {
    pub(crate) name: Option<Text>,
    pub(crate) value: Value,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Text(Text),
    List(Vec<Text>, Range<usize>),
}

impl Value {
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            Value::Text(text) => text.range.clone(),
            Value::List(_, range) => range.clone(),
        }
    }
}

/// A word, or what stood in quotes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// With the quotes.
    pub(crate) range: Range<usize>,
}

/// Takes an expression apart.
pub(crate) fn parse(text: &str) -> Result<Expression, SourceError> {
    let mut reader = Reader { text, at: 0 };
    let parsed = reader.expression()?;
    reader.skip_spaces();
    match reader.peek() {
        None => Ok(parsed),
        Some(_) => {
            let rest = reader.at..text.len();
            Err(SourceError::at(rest.clone(), format!("`{}` is left over after the end", &text[rest])))
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// A boundary of characters.
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Whether `wanted` comes next, after spaces; it is passed if so.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let takes = self.peek() == Some(wanted);
        self.at += if takes { wanted.len_utf8() } else { 0 };
        takes
    }

    fn expression(&mut self) -> Result<Expression, SourceError> {
        let start = self.at;
        if self.takes('[') {
            return Ok(Expression::List(self.list(start)?));
        }
        let name = self.word()?;
        let Some(name) = name else {
            let message = "a function is missing, such as `zipf(1M)` or `csv(users.csv)`";
            return Err(SourceError::at(start..self.text.len(), message));
        };
        let mut arguments = Vec::new();
        let open = self.at;
        if self.takes('(') {
            while !self.takes(')') {
                arguments.push(self.argument(open)?);
                if !self.takes(',') {
                    self.closes(')', open)?;
                    break;
                }
            }
        }
        let range = name.range.start..self.at;
        Ok(Expression::Call(Call { name, arguments, range }))
    }

    fn argument(&mut self, open: usize) -> Result<Argument, SourceError> {
        let value = self.value(open)?;
        if !self.takes('=') {
            return Ok(Argument { name: None, value });
        }
        match value {
            Value::Text(name) => Ok(Argument { name: Some(name), value: self.value(open)? }),
            Value::List(_, range) => Err(SourceError::at(range, "a list can't be an argument's name")),
        }
    }

    fn value(&mut self, open: usize) -> Result<Value, SourceError> {
        self.skip_spaces();
        let start = self.at;
        if self.takes('[') {
            return Ok(Value::List(self.list(start)?, start..self.at));
        }
        self.text(open).map(Value::Text)
    }

    /// The values up to the `]` of the list whose `[` is at `open` and has been passed.
    fn list(&mut self, open: usize) -> Result<Vec<Text>, SourceError> {
        let mut values = Vec::new();
        while !self.takes(']') {
            self.skip_spaces();
            if self.peek() == Some('[') {
                let message = "a list in a list can't be drawn from; write its values one after another";
                return Err(SourceError::at(self.at..self.at + 1, message));
            }
            values.push(self.text(open)?);
            if !self.takes(',') {
                self.closes(']', open)?;
                break;
            }
        }
        Ok(values)
    }

    fn text(&mut self, open: usize) -> Result<Text, SourceError> {
        self.skip_spaces();
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            None => Err(self.unclosed(open)),
            Some(next) => match self.word()? {
                Some(word) => Ok(word),
                None => {
                    let message = format!("a value is missing before `{next}`");
                    Err(SourceError::at(self.at..self.at + next.len_utf8(), message))
                }
            },
        }
    }

    fn word(&mut self) -> Result<Option<Text>, SourceError> {
        self.skip_spaces();
        let start = self.at;
        let rest = &self.text[start..];
        let end = rest.find(|c: char| c.is_whitespace() || NOT_IN_WORDS.contains(c)).unwrap_or(rest.len());
        self.at += end;
        Ok((end > 0).then(|| Text { text: rest[..end].to_string(), range: start..start + end }))
    }

    /// In single quotes everything stands for itself; in double quotes `\"`, `\\`, `\n` and `\t` have their meaning.
    fn quoted(&mut self, quote: char) -> Result<Text, SourceError> {
        let start = self.at;
        let mut text = String::new();
        let mut rest = self.text[start + 1..].char_indices();
        while let Some((at, next)) = rest.next() {
            if next == quote {
                self.at = start + 1 + at + 1;
                return Ok(Text { text, range: start..self.at });
            }
            if next != '\\' || quote == '\'' {
                text.push(next);
                continue;
            }
            match rest.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, same @ ('"' | '\\'))) => text.push(same),
                Some((to, other)) => {
                    let range = start + 1 + at..start + 1 + to + other.len_utf8();
                    let message = format!("`\\{other}` means nothing; write `\\\\` for a backslash");
                    return Err(SourceError::at(range, message));
                }
                None => break,
            }
        }
        Err(SourceError::at(start..self.text.len(), format!("the quote is not closed; add {quote}")))
    }

    /// Demands the bracket that ends what began at `open`.
    fn closes(&mut self, bracket: char, open: usize) -> Result<(), SourceError> {
        if self.takes(bracket) {
            return Ok(());
        }
        match self.peek() {
            None => Err(self.unclosed(open)),
            Some(next) => {
                let message = format!("a comma or `{bracket}` is missing before `{next}`");
                Err(SourceError::at(self.at..self.at + next.len_utf8(), message))
            }
        }
    }

    fn unclosed(&self, open: usize) -> SourceError {
        let open = open + self.text[open..].find(['(', '[']).unwrap_or(0);
        let (bracket, end) = if self.text[open..].starts_with('[') { ('[', ']') } else { ('(', ')') };
        SourceError::at(open..self.text.len(), format!("`{bracket}` is not closed; add `{end}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expression written out again, with every value in quotes.
    fn shown(text: &str) -> String {
        let value = |value: &Value| match value {
            Value::Text(text) => format!("{:?}", text.text),
            Value::List(list, _) => format!("{:?}", list.iter().map(|t| &t.text).collect::<Vec<_>>()),
        };
        match parse(text) {
            Ok(Expression::List(list)) => value(&Value::List(list, 0..0)),
            Ok(Expression::Call(call)) => {
                let arguments = call.arguments.iter().map(|argument| match &argument.name {
                    Some(name) => format!("{}={}", name.text, value(&argument.value)),
                    None => value(&argument.value),
                });
                format!("{}({})", call.name.text, arguments.collect::<Vec<_>>().join(", "))
            }
            Err(error) => format!("{:?} {}", &text[error.range.clone()], error.message),
        }
    }

    #[test]
    fn calls_and_lists_are_taken_apart() {
        assert_eq!(shown("zipf(1M, s=0.99)"), r#"zipf("1M", s="0.99")"#);
        assert_eq!(shown(" sequential "), "sequential()");
        assert_eq!(shown("uniform( 1 ,100, )"), r#"uniform("1", "100")"#);
        assert_eq!(shown("csv(data/users-1.csv, once)"), r#"csv("data/users-1.csv", "once")"#);
        assert_eq!(shown(r#"csv("a, \"b\".csv")"#), r#"csv("a, \"b\".csv")"#);
        assert_eq!(shown(r#"list(['a b', c], random)"#), r#"list(["a b", "c"], "random")"#);
        assert_eq!(shown(r#"["ä", 'b"', ""]"#), r#"["ä", "b\"", ""]"#);
        assert_eq!(shown("[]"), "[]");
    }

    #[test]
    fn each_mistake_is_shown_at_its_place() {
        assert_eq!(shown(""), r#""" a function is missing, such as `zipf(1M)` or `csv(users.csv)`"#);
        assert_eq!(shown("zipf(1M"), r#""(1M" `(` is not closed; add `)`"#);
        assert_eq!(shown("zipf (1M,"), r#""(1M," `(` is not closed; add `)`"#);
        assert_eq!(shown("[a, b"), r#""[a, b" `[` is not closed; add `]`"#);
        assert_eq!(shown("list([a"), r#""[a" `[` is not closed; add `]`"#);
        assert_eq!(shown("zipf(1M 2)"), r#""2" a comma or `)` is missing before `2`"#);
        assert_eq!(shown("zipf(1M) x"), r#""x" `x` is left over after the end"#);
        assert_eq!(shown("zipf(,1)"), r#""," a value is missing before `,`"#);
        assert_eq!(shown("zipf(s=)"), r#"")" a value is missing before `)`"#);
        assert_eq!(shown("zipf([a]=1)"), r#""[a]" a list can't be an argument's name"#);
        assert_eq!(
            shown("[[a]]"),
            r#""[" a list in a list can't be drawn from; write its values one after another"#
        );
        assert_eq!(shown("csv('a"), r#""'a" the quote is not closed; add '"#);
        assert_eq!(shown(r#"csv("a\d")"#), r#""\\d" `\d` means nothing; write `\\` for a backslash"#);
    }
}

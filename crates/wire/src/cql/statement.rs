//! What is sent for one arrival: a statement with places for values, prepared ahead of its time.

use super::frame::put_short_bytes;
use super::lexer::{Token, tokens};
use super::prepared::Prepared;
use super::types::Type;
use super::value;
use crate::blank::{Blank, Filler};
use std::fmt;
use std::sync::Arc;

/// A statement has no more values: their number is one of 16 bits.
const VALUES_MAX: usize = 65_535;

/// Why a text can't be sent.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum BadCql {
    /// It has no statement.
    #[error("there is no statement in it")]
    Empty,
    /// A quote or a comment does not end.
    #[error("{0} is never closed")]
    Unclosed(&'static str),
    /// It has more than one.
    #[error("there are several statements in it: write one, or several as BEGIN BATCH …; …; APPLY BATCH")]
    Several,
    /// A place that is no value by itself.
    #[error("a value stands {0}, where it can't be bound: write it alone, or inside '…'")]
    Place(&'static str),
    /// A value of the user's own.
    #[error("? has no value: write {{{{id}}}} in its place")]
    Marker,
    /// More than a statement can have.
    #[error("a statement has more than 65,535 values")]
    TooMany,
    /// What a statement may not be.
    #[error("{word}: {why}")]
    Refused {
        /// Its first word, in capitals.
        word: String,
        /// Why.
        why: &'static str,
    },
}

/// How many replicas must have answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Consistency(u16);

/// By their numbers.
const CONSISTENCIES: [&str; 11] = [
    "any",
    "one",
    "two",
    "three",
    "quorum",
    "all",
    "local_quorum",
    "each_quorum",
    "serial",
    "local_serial",
    "local_one",
];

impl Consistency {
    /// One replica of the data centre that is asked.
    pub const LOCAL_ONE: Consistency = Consistency(10);

    /// More than half of the replicas.
    pub const QUORUM: Consistency = Consistency(4);

    /// By its name, in small letters or capitals.
    pub fn read(name: &str) -> Option<Consistency> {
        let place = CONSISTENCIES.iter().position(|known| known.eq_ignore_ascii_case(name));
        place.map(|place| Consistency(place as u16))
    }

    /// It is one of those that conditions (`IF …`) are checked with.
    pub fn is_serial(self) -> bool {
        matches!(self.0, 8 | 9)
    }

    /// All names.
    pub const NAMES: &'static [&'static str] = &CONSISTENCIES;
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CONSISTENCIES.get(usize::from(self.0)).unwrap_or(&"?"))
    }
}

/// How a statement is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// For reading and writing.
    pub consistency: Consistency,
    /// For the condition of a statement, where it is not the server's own choice.
    pub serial_consistency: Option<Consistency>,
    /// Rows at the most of one answer; all that there are, if none is given.
    pub page_size: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options { consistency: Consistency::LOCAL_ONE, serial_consistency: None, page_size: None }
    }
}

/// What is sent for one arrival.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// With `?` for each value.
    pub(super) cql: Arc<str>,
    /// Which of its session's it is.
    pub(super) number: u32,
    pub(super) values: Arc<[Blank]>,
    pub(super) options: Options,
    pub(super) is_reading: bool,
    /// It is one of these instead, by the number that stands in a place.
    pub(super) choice: Option<(u32, Box<[Statement]>)>,
    /// Another one, once it is done.
    pub(super) next: Option<Box<Statement>>,
    /// No row at all is a failure.
    pub(super) must_find: bool,
    /// The values of its first row are told by themselves.
    pub(super) tells_values: bool,
}

/// A value that does not fit its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unfit {
    /// From 1 on.
    pub(super) value: u16,
    pub(super) of: Type,
}

/// How a frame says that something stands in it (§4.1.4).
mod flag {
    pub(super) const VALUES: u8 = 0x01;
    pub(super) const SKIP_METADATA: u8 = 0x02;
    pub(super) const PAGE_SIZE: u8 = 0x04;
    pub(super) const SERIAL_CONSISTENCY: u8 = 0x10;
}

impl Statement {
    /// If it `is_filled`, the text may have places ([`crate::blank`]) for values: alone, or in a literal.
    ///
    /// # Errors
    /// It can't be sent.
    pub fn new(text: &str, is_filled: bool, options: Options) -> Result<Statement, BadCql> {
        let all = tokens(text).map_err(|open| BadCql::Unclosed(open.0))?;
        let is_blank = |token: &Token<'_>| match token {
            Token::Comment(_) | Token::Semicolon => true,
            Token::Plain(text) => text.trim().is_empty(),
            _ => false,
        };
        let end = all.iter().rposition(|token| !is_blank(token)).ok_or(BadCql::Empty)? + 1;
        let all = &all[..end];
        let word = first_word(all);
        if let Some(why) = refused(&word) {
            return Err(BadCql::Refused { word, why });
        }
        if word != "BEGIN" && all.contains(&Token::Semicolon) {
            return Err(BadCql::Several);
        }
        let (mut cql, mut values) = (String::new(), Vec::new());
        let mut bind = |cql: &mut String, text: &str| {
            values.push(Blank::new(text.as_bytes()));
            cql.push('?');
        };
        for &token in all {
            match token {
                Token::Marker => return Err(BadCql::Marker),
                Token::Comment(_) => {
                    if is_filled && token.has_place() {
                        return Err(BadCql::Place("in a comment"));
                    }
                    cql.push(' ');
                }
                Token::Place { touches: true, .. } if is_filled => {
                    return Err(BadCql::Place("beside a word"));
                }
                Token::Place { text, .. } if is_filled => bind(&mut cql, text),
                Token::Literal(text) if is_filled && token.has_place() => {
                    bind(&mut cql, &text[1..text.len() - 1].replace("''", "'"));
                }
                Token::Name(_) if is_filled && token.has_place() => {
                    return Err(BadCql::Place("in a quoted name"));
                }
                Token::Dollars(_) if is_filled && token.has_place() => return Err(BadCql::Place("in $$…$$")),
                token => cql.push_str(token.text()),
            }
        }
        if values.len() > VALUES_MAX {
            return Err(BadCql::TooMany);
        }
        Ok(Statement {
            cql: cql.trim().into(),
            number: 0,
            values: values.into(),
            options,
            is_reading: matches!(&*word, "SELECT" | "LIST"),
            choice: None,
            next: None,
            must_find: false,
            tells_values: false,
        })
    }

    /// It changes nothing, as far as its first word tells, so that it may be sent twice.
    pub fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// What its values are made of.
    pub(super) fn blanks(&self) -> &[Blank] {
        &self.values
    }

    /// How many values it has.
    pub(super) fn values(&self) -> usize {
        self.values.len()
    }

    /// Appends what follows the statement's number in a frame that executes it, filled in. `text` is written over.
    pub(super) fn write(
        &self,
        prepared: &Prepared,
        filler: &mut impl Filler,
        text: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unfit> {
        let Options { consistency, serial_consistency, page_size } = self.options;
        out.extend_from_slice(&consistency.0.to_be_bytes());
        let mut flags = 0;
        flags |= if self.values.is_empty() { 0 } else { flag::VALUES };
        // Where they are not known beforehand, as with conditions, or are asked for by name, they are to be said.
        flags |= if prepared.columns.is_empty() || self.tells_values { 0 } else { flag::SKIP_METADATA };
        flags |= if page_size.is_some() { flag::PAGE_SIZE } else { 0 };
        flags |= if serial_consistency.is_some() { flag::SERIAL_CONSISTENCY } else { 0 };
        out.push(flags);
        if !self.values.is_empty() {
            out.extend_from_slice(&(self.values.len() as u16).to_be_bytes());
        }
        for (number, blank) in (1..).zip(&*self.values) {
            text.clear();
            blank.write(|place, out| filler.fill(place, out), text);
            // Before anything is prepared, nobody asks for types.
            let of = prepared.parameters.get(usize::from(number - 1u16)).copied().unwrap_or(Type::Text);
            if !value::put(of, text, out) {
                return Err(Unfit { value: number, of });
            }
        }
        if let Some(rows) = page_size {
            out.extend_from_slice(&rows.to_be_bytes());
        }
        if let Some(serial) = serial_consistency {
            out.extend_from_slice(&serial.0.to_be_bytes());
        }
        Ok(())
    }
}

/// Appends the body of a frame that executes a statement, of which `rest` was written before.
pub(super) fn put_execution(prepared: &Prepared, rest: &[u8], out: &mut Vec<u8>) {
    put_short_bytes(&prepared.id, out);
    out.extend_from_slice(rest);
}

/// In capitals.
fn first_word(tokens: &[Token<'_>]) -> String {
    for token in tokens {
        match token {
            Token::Comment(_) | Token::Semicolon => {}
            Token::Plain(text) => {
                let text = text.trim_start();
                if !text.is_empty() {
                    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
                    return text[..end].to_uppercase();
                }
            }
            _ => break,
        }
    }
    String::new()
}

fn refused(word: &str) -> Option<&'static str> {
    Some(match word {
        "USE" => "the keyspace stands in the URL, such as cql://HOST/shop",
        "CONSISTENCY" | "SERIAL" => "write --consistency quorum, or --serial-consistency local_serial",
        "PAGING" => "write --page-size 1000",
        "COPY" | "SOURCE" | "CAPTURE" | "EXPAND" | "LOGIN" | "SHOW" | "TRACING" | "EXIT" | "QUIT"
        | "HELP" => "this is a command of cqlsh, not of CQL",
        _ => return None,
    })
}

/// A text as it may be shown: literals may be secrets, places are not, blanks are one.
pub fn shown(text: &str) -> String {
    let Ok(tokens) = tokens(text) else {
        return text.split_whitespace().next().unwrap_or_default().to_string();
    };
    let one = |token: &Token<'_>| match token {
        Token::Literal(text) if !token.has_place() && text.len() > 2 => "'***'".to_string(),
        Token::Dollars(_) => "$$***$$".into(),
        Token::Comment(_) => " ".into(),
        token => token.text().to_string(),
    };
    let whole: String = tokens.iter().map(one).collect();
    let whole = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    whole.trim_end_matches([';', ' ']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers;

    impl Filler for Numbers {
        fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
            out.extend(format!("v{place}").bytes());
        }
    }

    fn statement(text: &str) -> Result<Statement, BadCql> {
        Statement::new(text, true, Options::default())
    }

    #[test]
    fn places_become_values() {
        for (text, cql, values) in [
            ("SELECT * FROM item WHERE id = {{3}};", "SELECT * FROM item WHERE id = ?", &["v3"][..]),
            ("INSERT INTO t (a, b) VALUES ({{1}},{{2}})", "INSERT INTO t (a, b) VALUES (?,?)", &["v1", "v2"]),
            ("SELECT 'b' -- c\n, 'a''{{1}}-{{2}}'", "SELECT 'b'  \n, ?", &["a'v1-v2"]),
            (
                "BEGIN BATCH UPDATE t SET m[{{1}}] = {'a': {{2}}}; APPLY BATCH;",
                "BEGIN BATCH UPDATE t SET m[?] = {'a': ?}; APPLY BATCH",
                &["v1", "v2"],
            ),
            ("TRUNCATE t", "TRUNCATE t", &[]),
        ] {
            let statement = statement(text).unwrap();
            let filled = |blank: &Blank| {
                let mut out = Vec::new();
                blank.write(|place, out| Numbers.fill(place, out), &mut out);
                String::from_utf8(out).unwrap()
            };
            assert_eq!(&*statement.cql, cql);
            assert_eq!(statement.values.iter().map(filled).collect::<Vec<_>>(), values, "{text}");
        }
        let as_it_stands = Statement::new("SELECT {{1}}", false, Options::default()).unwrap();
        assert_eq!((&*as_it_stands.cql, as_it_stands.values()), ("SELECT {{1}}", 0));
    }

    #[test]
    fn what_can_not_be_sent_is_refused() {
        for (text, part) in [
            ("", "no statement"),
            (" ; -- nothing", "no statement"),
            ("SELECT 'a", "never closed"),
            ("SELECT 1; SELECT 2", "BEGIN BATCH"),
            ("SELECT * FROM t{{1}}", "beside a word"),
            ("SELECT * FROM \"t{{1}}\"", "in a quoted name"),
            ("SELECT 1 /* {{1}} */ FROM t", "in a comment"),
            ("SELECT $$ {{1}} $$", "in $$…$$"),
            ("SELECT ?", "write {{id}}"),
            ("use shop", "cql://HOST/shop"),
            ("/* x */ Consistency QUORUM", "--consistency quorum"),
            ("tracing on", "cqlsh"),
        ] {
            let error = statement(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(statement("-- x\n Select 1").unwrap().is_reading());
        assert!(!statement("UPDATE t SET a = 1").unwrap().is_reading());
    }

    #[test]
    fn an_execution_says_how_it_is_done() {
        let all = Options {
            consistency: Consistency::read("QUORUM").unwrap(),
            serial_consistency: Consistency::read("local_serial"),
            page_size: Some(7),
        };
        let columns = [Type::Int];
        let write = |text: &str, options, columns: &[Type]| {
            let prepared = Prepared {
                id: (*b"id").into(),
                parameters: [Type::Text].into(),
                columns: columns.into(),
                ..Prepared::default()
            };
            let (mut rest, mut out) = (Vec::new(), Vec::new());
            let statement = Statement::new(text, true, options).unwrap();
            statement.write(&prepared, &mut Numbers, &mut Vec::new(), &mut rest).unwrap();
            put_execution(&prepared, &rest, &mut out);
            out
        };
        assert_eq!(
            write("SELECT {{1}}", all, &columns),
            b"\0\x02id\0\x04\x17\0\x01\0\0\0\x02v1\0\0\0\x07\0\x09"
        );
        assert_eq!(write("SELECT 1", Options::default(), &[]), b"\0\x02id\0\x0a\0");
        let unfit = Prepared { parameters: [Type::Text, Type::Int].into(), ..Prepared::default() };
        let written = statement("SELECT {{1}}, {{2}}").unwrap().write(
            &unfit,
            &mut Numbers,
            &mut Vec::new(),
            &mut Vec::new(),
        );
        assert_eq!(written, Err(Unfit { value: 2, of: Type::Int }));
    }

    #[test]
    fn a_consistency_has_a_name() {
        for name in Consistency::NAMES {
            assert_eq!(Consistency::read(name).unwrap().to_string(), *name);
        }
        assert_eq!(Consistency::QUORUM.to_string(), "quorum");
        assert!(Consistency::read("serial").unwrap().is_serial() && !Consistency::LOCAL_ONE.is_serial());
        assert_eq!(
            (Consistency::LOCAL_ONE.to_string().as_str(), Consistency::read("x")),
            ("local_one", None)
        );
    }

    #[test]
    fn what_is_shown_has_no_secret() {
        let text = "SELECT  'x', 's3cret', '{{1}}', $$s3cret$$ -- s3cret\n FROM t WHERE id={{2}};";
        assert_eq!(shown(text), "SELECT '***', '***', '{{1}}', $$***$$ FROM t WHERE id={{2}}");
        assert_eq!(shown("SELECT 's3cret"), "SELECT");
    }
}

//! What is sent for one arrival: statements with places for values, prepared ahead of their time.

use super::lexer::{Token, tokens};
use super::message::{message, parse, sync, text, value};
use super::refused::{first_words, refused};
use crate::blank::{Blank, Filler, number_in};
use std::sync::Arc;

/// A statement has no more parameters: their number is one of 16 bits.
const PARAMETERS_MAX: usize = 32_767;

/// Why a text can't be sent.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum BadSql {
    /// It has no statement.
    #[error("there is no statement in it")]
    Empty,
    /// A quote or a comment does not end.
    #[error("{0} is never closed")]
    Unclosed(&'static str),
    /// A place that is no value by itself.
    #[error("a value stands {0}, where it can't be bound: write it alone, or inside '…'")]
    Place(&'static str),
    /// A parameter of the user's own.
    #[error("parameters such as $1 have no value: write {{{{id}}}} in their place")]
    Parameter,
    /// More than a statement can have.
    #[error("a statement has more than 32,767 values")]
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

/// One statement.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Statement {
    /// By which it is prepared.
    name: Box<str>,
    /// With `$1` and so on.
    sql: Box<str>,
    parameters: Box<[Blank]>,
}

/// What is sent for one arrival: one statement, or several that are done together or not at all; and what follows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    statements: Arc<[Statement]>,
    /// All of it, if it is always the same.
    ready: Option<Arc<[u8]>>,
    is_reading: bool,
    /// It is one of these instead, by the number that stands in a place.
    choice: Option<(u32, Arc<[Transaction]>)>,
    /// Another one, once it is done.
    pub(super) next: Option<Arc<Transaction>>,
    /// No row at all is a failure.
    pub(super) must_find: bool,
    /// It is a step of a journey that holds its connection, and so may leave a transaction open.
    pub(super) may_stay_open: bool,
    /// The values of the first rows are told by themselves.
    pub(super) tells_values: bool,
}

impl Transaction {
    /// Of statements, which semicolons part. If it `is_filled`, it may have places ([`crate::blank`]) for values: alone, or in a
    /// plain literal.
    ///
    /// # Errors
    /// It can't be sent.
    pub fn new(text: &str, is_filled: bool) -> Result<Transaction, BadSql> {
        Transaction::of(text, is_filled, false)
    }

    /// The same as a step of a journey that holds its connection: it may begin a transaction and leave it open for the next step,
    /// or end one.
    ///
    /// # Errors
    /// It can't be sent.
    pub fn step(text: &str, is_filled: bool) -> Result<Transaction, BadSql> {
        Transaction::of(text, is_filled, true)
    }

    fn of(text: &str, is_filled: bool, may_stay_open: bool) -> Result<Transaction, BadSql> {
        let tokens = tokens(text).map_err(|open| BadSql::Unclosed(open.0))?;
        let (mut statements, mut is_reading) = (Vec::new(), true);
        for tokens in tokens.split(|token| *token == Token::Semicolon) {
            let Some(words) = first_words(tokens) else { continue };
            let why = refused(&words, may_stay_open);
            let [word, _] = words;
            if let Some(why) = why {
                return Err(BadSql::Refused { word, why });
            }
            is_reading &= matches!(&*word, "SELECT" | "SHOW" | "TABLE" | "VALUES");
            statements.push(Statement::new(tokens, is_filled)?);
        }
        if statements.is_empty() {
            return Err(BadSql::Empty);
        }
        let mut transaction = Transaction {
            statements: statements.into(),
            ready: None,
            is_reading,
            choice: None,
            next: None,
            must_find: false,
            may_stay_open,
            tells_values: false,
        };
        transaction.make_ready();
        Ok(transaction)
    }

    fn make_ready(&mut self) {
        let is_fixed = self.statements.iter().all(|statement| statement.parameters.is_empty());
        if is_fixed && self.choice.is_none() {
            let mut ready = Vec::new();
            self.write(true, &mut crate::blank::NothingToFill, &mut ready);
            self.ready = Some(ready.into());
        }
    }

    /// The same, and the values of each statement's first row are told by themselves
    /// ([`Sink::value`](crate::protocol::Sink::value)): the server is asked for the names of its columns, too.
    pub fn telling(self) -> Transaction {
        let mut transaction = Transaction { tells_values: true, ..self };
        transaction.make_ready();
        transaction
    }

    /// One of `all`, by the number from 0 that the filler writes into `place`: what can't be bound, such as the name of a column,
    /// can differ so.
    ///
    /// # Panics
    /// There is none.
    pub fn one_of(place: u32, all: Vec<Transaction>) -> Transaction {
        let first = all.first().expect("there is one").clone();
        let is_reading = all.iter().all(Transaction::is_reading);
        Transaction { ready: None, is_reading, choice: Some((place, all.into())), ..first }
    }

    /// The same, and `next` once it is done: a transaction of its own.
    pub fn then(self, next: Transaction) -> Transaction {
        let is_reading = self.is_reading && next.is_reading;
        Transaction { next: Some(next.into()), is_reading, ..self }
    }

    /// The same, which fails if no statement returns or changes a row.
    pub fn finding(self) -> Transaction {
        Transaction { must_find: true, ..self }
    }

    /// All statements that it may come to, by name.
    pub(super) fn statements(&self) -> Vec<(&str, &str)> {
        let own = self.statements.iter().map(|statement| (&*statement.name, &*statement.sql));
        let chosen = self.choice.iter().flat_map(|(_, all)| all.iter()).flat_map(Transaction::statements);
        own.chain(chosen).chain(self.next.iter().flat_map(|next| next.statements())).collect()
    }

    /// It changes nothing, as far as its first words tell, so that it may be sent twice.
    pub fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// All of it, if it is always the same.
    #[inline]
    pub(super) fn ready(&self) -> Option<&[u8]> {
        self.ready.as_deref()
    }

    /// Appends it, filled in. Statements that are not prepared are so now, without a name.
    #[inline]
    pub(super) fn write(&self, is_prepared: bool, filler: &mut impl Filler, out: &mut Vec<u8>) {
        let statements = match &self.choice {
            None => &self.statements,
            Some((place, all)) => &all[number_in(*place, filler, out) % all.len()].statements,
        };
        for statement in &**statements {
            let name = if is_prepared { &*statement.name } else { "" };
            if !is_prepared {
                parse("", &statement.sql, out);
            }
            message(b'B', out, |out| {
                out.push(0);
                text(name, out);
                // All values are sent as text.
                out.extend_from_slice(&[0; 2]);
                out.extend_from_slice(&(statement.parameters.len() as u16).to_be_bytes());
                for blank in &statement.parameters {
                    value(out, |out| blank.write(|place, out| filler.fill(place, out), out));
                }
                out.extend_from_slice(&[0; 2]);
            });
            if self.tells_values {
                // What columns it has.
                out.extend_from_slice(b"D\0\0\0\x06P\0");
            }
            // All rows of the portal without a name.
            out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
        }
        sync(out);
    }
}

impl Statement {
    fn new(tokens: &[Token<'_>], is_filled: bool) -> Result<Statement, BadSql> {
        let (mut sql, mut parameters) = (String::new(), Vec::new());
        let mut bind = |sql: &mut String, text: &str| {
            parameters.push(Blank::new(text.as_bytes()));
            sql.push_str(&format!("${}", parameters.len()));
        };
        for &token in tokens {
            match token {
                Token::Parameter => return Err(BadSql::Parameter),
                Token::Place { touches: true, .. } if is_filled => {
                    return Err(BadSql::Place("beside a word"));
                }
                Token::Place { text, .. } if is_filled => bind(&mut sql, text),
                Token::Literal { text, is_escaped: false } if is_filled && token.has_place() => {
                    bind(&mut sql, &text[1..text.len() - 1].replace("''", "'"));
                }
                token if is_filled && token.has_place() => {
                    return Err(BadSql::Place(match token {
                        Token::Name(_) => "in a quoted name",
                        Token::Comment(_) => "in a comment",
                        Token::Dollars(_) => "in $…$",
                        _ => "in a literal with a prefix",
                    }));
                }
                token => sql.push_str(token.text()),
            }
        }
        if parameters.len() > PARAMETERS_MAX {
            return Err(BadSql::TooMany);
        }
        let sql = sql.trim();
        let name = format!("ub_{:016x}", fnv(sql.as_bytes()));
        Ok(Statement { name: name.into(), sql: sql.into(), parameters: parameters.into() })
    }
}

/// FNV-1a: the same statement has the same name, so that it is prepared once.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A text as it may be shown: literals may be secrets, places are not, blanks are one.
pub fn shown(text: &str) -> String {
    let Ok(tokens) = tokens(text) else {
        return text.split_whitespace().next().unwrap_or_default().to_string();
    };
    let one = |token: &Token<'_>| match token {
        Token::Literal { text, .. } if !token.has_place() && text.len() > 2 => "'***'".to_string(),
        Token::Literal { text, .. } => text.to_string(),
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
    use postgres_protocol::message::frontend;

    struct Numbers;

    impl Filler for Numbers {
        fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
            out.extend(format!("v{place}").bytes());
        }
    }

    fn texts(text: &str) -> Vec<(String, Vec<String>)> {
        let transaction = Transaction::new(text, true).unwrap();
        let values = |statement: &Statement| {
            let one = |blank: &Blank| {
                let mut out = Vec::new();
                blank.write(|place, out| Numbers.fill(place, out), &mut out);
                String::from_utf8(out).unwrap()
            };
            statement.parameters.iter().map(one).collect()
        };
        transaction.statements.iter().map(|one| (one.sql.to_string(), values(one))).collect()
    }

    #[test]
    fn places_become_parameters() {
        for (text, sql, values) in [
            ("SELECT * FROM item WHERE id = {{3}}", "SELECT * FROM item WHERE id = $1", &["v3"][..]),
            ("SELECT {{1}},{{1}} LIMIT {{2}};", "SELECT $1,$2 LIMIT $3", &["v1", "v1", "v2"]),
            ("SELECT 'a''{{1}}-{{2}}', 'b'", "SELECT $1, 'b'", &["a'v1-v2"]),
            ("SELECT 1", "SELECT 1", &[]),
        ] {
            let values = values.iter().map(ToString::to_string).collect();
            assert_eq!(texts(text), [(sql.to_string(), values)], "{text}");
        }
        assert_eq!(texts("UPDATE a SET b={{1}}; INSERT INTO c VALUES ({{2}});").len(), 2);
    }

    #[test]
    fn what_can_not_be_bound_is_refused() {
        for (text, part) in [
            ("", "no statement"),
            (" ; -- nothing", "no statement"),
            ("SELECT 'a", "never closed"),
            ("SELECT * FROM t{{1}}", "beside a word"),
            ("SELECT * FROM \"t{{1}}\"", "in a quoted name"),
            ("SELECT 1 /* {{1}} */", "in a comment"),
            ("SELECT $$ {{1}} $$", "in $…$"),
            ("SELECT E'{{1}}'", "with a prefix"),
            ("SELECT $1", "write {{id}}"),
            ("begin", "one transaction anyway"),
            ("/* x */ Commit;", "one transaction anyway"),
            ("COPY t FROM STDIN", "INSERT or SELECT"),
            ("SELECT 1; ROLLBACK", "one transaction anyway"),
        ] {
            let error = Transaction::new(text, true).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let reads = |text: &str| Transaction::new(text, true).unwrap().is_reading();
        assert!(reads("SELECT 1; (select 2); VALUES (1)"));
        for text in [
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "start transaction",
            "SAVEPOINT a",
            "ROLLBACK TO a",
            "COMMIT",
        ] {
            assert!(
                Transaction::new(text, true).unwrap_err().to_string().contains("hold-connection = true"),
                "{text}"
            );
            assert!(Transaction::step(text, true).is_ok_and(|one| !one.is_reading()), "{text}");
        }
        assert!(Transaction::step("PREPARE TRANSACTION 'a'", true).is_err());
        assert!(!reads("SELECT 1; DELETE FROM t") && !reads("WITH x AS (DELETE FROM t) SELECT 1"));
    }

    /// Against another implementation's messages.
    #[test]
    fn messages_are_those_of_another_implementation() {
        let transaction = Transaction::new("SELECT {{1}}, 'x{{2}}'; SELECT 2", true).unwrap();
        for is_prepared in [true, false] {
            let mut out = Vec::new();
            transaction.write(is_prepared, &mut Numbers, &mut out);
            let mut expected = bytes::BytesMut::new();
            for (statement, values) in transaction.statements.iter().zip([&["v1", "xv2"][..], &[]]) {
                let name = if is_prepared { &*statement.name } else { "" };
                if !is_prepared {
                    frontend::parse("", &statement.sql, [], &mut expected).unwrap();
                }
                let write = |value: &&str, out: &mut bytes::BytesMut| {
                    out.extend_from_slice(value.as_bytes());
                    Ok(postgres_protocol::IsNull::No)
                };
                let bound = frontend::bind("", name, [], values.iter(), write, [], &mut expected);
                assert!(bound.is_ok());
                frontend::execute("", 0, &mut expected).unwrap();
            }
            frontend::sync(&mut expected);
            assert_eq!(out, expected);
        }
        assert!(transaction.ready().is_none());
        assert!(
            Transaction::new("SELECT {{1}}", false).unwrap().ready().is_some(),
            "no place, but as it stands"
        );
    }

    #[test]
    fn what_is_shown_has_no_secret() {
        let text = "SELECT  'x', 's3cret', '{{1}}', $$s3cret$$ -- s3cret\n FROM t WHERE id={{2}};";
        assert_eq!(shown(text), "SELECT '***', '***', '{{1}}', $$***$$ FROM t WHERE id={{2}}");
        assert_eq!(shown("SELECT 's3cret"), "SELECT");
    }
}

//! What every connection of a run does before its first request.

use super::STREAMS_MAX;
use super::frame::{opcode, put, put_bytes, put_string};
use super::statement::Statement;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The role.
    pub name: String,
    /// Its password.
    pub password: String,
}

/// Without what is secret in it.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What is the same for all connections: who asks, where, and the statements.
#[derive(Debug)]
pub struct Session {
    user: Option<User>,
    keyspace: Option<String>,
    /// Each once, with the number of its values.
    pub(super) statements: Box<[(Arc<str>, usize)]>,
}

impl Session {
    /// Of connections to `keyspace` as the server has it, which ask for these statements.
    ///
    /// # Panics
    /// These are more than [`STREAMS_MAX`]: all of them are prepared at once.
    pub fn new(user: Option<User>, keyspace: Option<String>, asked: &mut [Statement]) -> Session {
        let (mut known, mut statements) = (BTreeMap::new(), Vec::new());
        let mut number = |statement: &mut Statement| {
            statement.number = *known.entry(statement.cql.clone()).or_insert_with(|| {
                statements.push((statement.cql.clone(), statement.values()));
                statements.len() as u32 - 1
            });
        };
        asked.iter_mut().for_each(|statement| statement.each_mut(&mut number));
        assert!(statements.len() <= STREAMS_MAX as usize, "more statements than streams");
        Session { user, keyspace, statements: statements.into() }
    }

    /// The keyspace that is chosen, as the server has it.
    pub(super) fn keyspace(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }

    /// The first frame.
    pub(super) fn put_startup(&self, out: &mut Vec<u8>) {
        let options = [
            ("CQL_VERSION", "3.0.0"),
            ("DRIVER_NAME", "unblink"),
            ("DRIVER_VERSION", env!("CARGO_PKG_VERSION")),
        ];
        put(0, opcode::STARTUP, out, |out| {
            out.extend_from_slice(&(options.len() as u16).to_be_bytes());
            for (name, value) in options {
                put_string(name, out);
                put_string(value, out);
            }
        });
    }

    /// What proves who asks (SASL PLAIN, RFC 4616). False if nobody does.
    pub(super) fn put_password(&self, out: &mut Vec<u8>) -> bool {
        let Some(User { name, password }) = &self.user else { return false };
        put(0, opcode::AUTH_RESPONSE, out, |out| {
            put_bytes(out, |out| {
                for text in [name, password] {
                    out.push(0);
                    out.extend_from_slice(text.as_bytes());
                }
            });
        });
        true
    }

    /// Chooses the keyspace. False if there is none.
    pub(super) fn put_keyspace(&self, out: &mut Vec<u8>) -> bool {
        let Some(keyspace) = &self.keyspace else { return false };
        put(0, opcode::QUERY, out, |out| {
            let query = format!("USE \"{}\"", keyspace.replace('"', "\"\""));
            put_bytes(out, |out| out.extend_from_slice(query.as_bytes()));
            // Of no consequence here: one replica, and nothing else is said.
            out.extend_from_slice(&[0, 1, 0]);
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cql::statement::Options;

    fn session(keyspace: Option<&str>, texts: &[&str]) -> (Session, Vec<u32>) {
        let statement = |text: &&str| Statement::new(text, true, Options::default()).unwrap();
        let mut statements: Vec<Statement> = texts.iter().map(statement).collect();
        let user = User { name: "me".into(), password: "s3cret".into() };
        let session = Session::new(Some(user), keyspace.map(str::to_string), &mut statements);
        (session, statements.iter().map(|statement| statement.number).collect())
    }

    #[test]
    fn a_statement_is_prepared_once() {
        let (session, numbers) = session(None, &["SELECT {{1}}", "SELECT 2", "SELECT {{7}};"]);
        assert_eq!((session.statements.len(), numbers), (2, vec![0, 1, 0]));
        assert_eq!((&*session.statements[0].0, session.statements[0].1), ("SELECT ?", 1));
        assert!(!format!("{session:?}").contains("s3cret"));
    }

    #[test]
    fn a_connection_says_who_asks_and_where() {
        let (session, _) = session(Some("a\"b"), &[]);
        let mut out = Vec::new();
        assert!(session.put_password(&mut out) && session.put_keyspace(&mut out));
        let password = b"\x04\0\0\0\x0f\0\0\0\x0e\0\0\0\x0a\0me\0s3cret";
        let keyspace = b"\x04\0\0\0\x07\0\0\0\x11\0\0\0\x0aUSE \"a\"\"b\"\0\x01\0";
        assert_eq!(out, [&password[..], keyspace].concat());
        out.clear();
        session.put_startup(&mut out);
        assert!(
            out.starts_with(b"\x04\0\0\0\x01") && out[9..].starts_with(b"\0\x03\0\x0bCQL_VERSION\0\x053.0.0")
        );
    }
}

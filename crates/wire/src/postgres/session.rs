//! What every connection of a run does before its first request.

use super::message::{message, parse, split, sync, text, untyped};
use super::scram::Keys;
use super::sql::Transaction;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Version 3.0.
const PROTOCOL: u32 = 3 << 16;

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The role.
    pub name: String,
    /// Nothing where the server trusts the address.
    pub password: Option<String>,
}

/// Without what is secret in it.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What is the same for all connections: who asks, where, and the statements.
pub struct Session {
    pub(super) user: User,
    /// The first message.
    pub(super) startup: Box<[u8]>,
    /// Prepares all statements.
    pub(super) prepare: Box<[u8]>,
    /// How many these are.
    pub(super) statements: usize,
    /// Their texts, by name.
    texts: BTreeMap<Box<[u8]>, Box<str>>,
    pub(super) keys: Keys,
    nonces: Nonces,
    /// A connection has met a pooler that gives each transaction another server: statements are there or not by chance.
    is_pooled: AtomicBool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Session {
    /// Of connections to `database`, with further parameters as the server knows them, for these transactions. `seed` is to be
    /// random: what proves who asks depends on it.
    pub fn new(
        user: User,
        database: &str,
        parameters: &[(String, String)],
        transactions: &[Transaction],
        seed: [u8; 32],
    ) -> Session {
        let mut startup = Vec::new();
        untyped(&mut startup, |out| {
            out.extend_from_slice(&PROTOCOL.to_be_bytes());
            let own = [("user", user.name.as_str()), ("database", database), ("client_encoding", "UTF8")];
            let given = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            for (name, value) in own.into_iter().chain(given) {
                text(name, out);
                text(value, out);
            }
            out.push(0);
        });
        let all: BTreeMap<&str, &str> = transactions.iter().flat_map(Transaction::statements).collect();
        let mut prepare = Vec::new();
        all.iter().for_each(|(name, sql)| parse(name, sql, &mut prepare));
        sync(&mut prepare);
        let nonces = Nonces { seed, next: AtomicU64::new(0) };
        Session {
            user,
            startup: startup.into(),
            prepare: prepare.into(),
            statements: all.len(),
            texts: all.into_iter().map(|(name, sql)| (name.as_bytes().into(), sql.into())).collect(),
            keys: Keys::default(),
            nonces,
            is_pooled: AtomicBool::new(false),
        }
    }

    /// Prepared statements can be relied on, as far as any connection knows.
    #[inline]
    pub(super) fn is_prepared(&self) -> bool {
        !self.is_pooled.load(Ordering::Relaxed)
    }

    /// They can't, on no connection.
    pub(super) fn unprepare(&self) {
        self.is_pooled.store(true, Ordering::Relaxed);
    }

    /// Appends the messages `sent`, in which each statement that was asked for by its name is prepared without one instead.
    pub(super) fn put_unnamed(&self, mut sent: &[u8], out: &mut Vec<u8>) {
        while let Some((kind, body, rest)) = split(sent) {
            // Behind the name of the portal, which is empty.
            let mut fields = body.splitn(3, |&byte| byte == 0).skip(1);
            let sql = fields.next().filter(|_| kind == b'B').and_then(|name| self.texts.get(name));
            match (sql, fields.next()) {
                (Some(sql), Some(values)) => {
                    parse("", sql, out);
                    message(kind, out, |out| {
                        out.extend_from_slice(&[0; 2]);
                        out.extend_from_slice(values);
                    });
                }
                _ => out.extend_from_slice(&sent[..sent.len() - rest.len()]),
            }
            sent = rest;
        }
    }

    /// One that no other connection has.
    pub(super) fn nonce(&self) -> String {
        self.nonces.next()
    }
}

/// Numbers that nobody can foresee, and none of which comes twice.
struct Nonces {
    seed: [u8; 32],
    next: AtomicU64,
}

impl Nonces {
    fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let hash = digest(&SHA256, &[&self.seed[..], &number.to_be_bytes()].concat());
        STANDARD.encode(&hash.as_ref()[..18])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_says_who_asks_and_where() {
        let user = User { name: "bench".into(), password: Some("s3cret".into()) };
        let parameters = [("application_name".to_string(), "unblink".to_string())];
        let session = Session::new(user, "shop", &parameters, &[], [7; 32]);
        let expected =
            b"\0\0\0\x50\0\x03\0\0user\0bench\0database\0shop\0client_encoding\0UTF8\0application_name\0unblink\0\0";
        assert_eq!(&*session.startup, expected);
        assert_eq!((&*session.prepare, session.statements), (&b"S\0\0\0\x04"[..], 0));
        assert!(!format!("{session:?}").contains("s3cret"));
        assert_ne!(session.nonce(), session.nonce());
    }

    #[test]
    fn a_statement_is_prepared_once() {
        let transactions: Vec<Transaction> =
            ["SELECT 1", "SELECT 2; SELECT 1"].map(|sql| Transaction::new(sql, false).unwrap()).into();
        let user = User { name: "u".into(), password: None };
        assert_eq!(Session::new(user, "d", &[], &transactions, [0; 32]).statements, 2);
    }
}

//! Where requests and answers end in what a client and a database say to each other.

use super::Unreadable;
use super::pg::Pg;
use super::resp::Resp;
use crate::database::Database;

/// The two sides of a connection.
#[derive(Debug)]
pub(super) enum Dialect {
    Redis { client: Box<Resp>, server: Box<Resp> },
    Postgres { client: Box<Pg>, server: Box<Pg> },
}

impl Dialect {
    pub(super) fn new(database: Database) -> Dialect {
        match database {
            Database::Redis => Dialect::Redis { client: Box::default(), server: Box::default() },
            Database::Postgres => {
                Dialect::Postgres { client: Box::new(Pg::client()), server: Box::new(Pg::server()) }
            }
        }
    }

    /// Bytes of the client. For each request that ends in them and will be answered: is it one that counts?
    pub(super) fn client(&mut self, bytes: &[u8], mut each: impl FnMut(bool)) -> Result<(), Unreadable> {
        match self {
            Dialect::Redis { client, .. } => client.take(bytes, |value| each(value.is_command("GET"))),
            Dialect::Postgres { client, .. } => client.asked(bytes, each),
        }
    }

    /// Bytes of the server. For each answer that ends in them: is it a failure?
    pub(super) fn server(&mut self, bytes: &[u8], mut each: impl FnMut(bool)) -> Result<(), Unreadable> {
        match self {
            Dialect::Redis { server, .. } => server.take(bytes, |value| {
                // What the server pushes answers nothing.
                if !value.is_push() {
                    each(value.is_error());
                }
            }),
            Dialect::Postgres { server, .. } => server.answered(bytes, each),
        }
    }
}

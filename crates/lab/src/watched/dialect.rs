//! Where requests and answers end in what a client and a database say to each other.

use super::Unreadable;
use super::cql::{Cql, Frame};
use super::pg::Pg;
use super::resp::Resp;
use crate::database::Database;

/// The two sides of a connection.
#[derive(Debug)]
pub(super) enum Dialect {
    Redis { client: Box<Resp>, server: Box<Resp> },
    Postgres { client: Box<Pg>, server: Box<Pg> },
    Cassandra { client: Cql, server: Cql },
}

/// A request that ends, or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Which of the requests under way: an answer is that of the oldest request of its stream. Where answers come in the order of
    /// requests, all are of one stream.
    pub(super) stream: i16,
    /// Of a request: it counts. Of an answer: it is a failure.
    pub(super) is_so: bool,
}

impl End {
    fn in_order(is_so: bool) -> End {
        End { stream: 0, is_so }
    }
}

impl Dialect {
    pub(super) fn new(database: Database) -> Dialect {
        match database {
            Database::Redis => Dialect::Redis { client: Box::default(), server: Box::default() },
            Database::Postgres => {
                Dialect::Postgres { client: Box::new(Pg::client()), server: Box::new(Pg::server()) }
            }
            Database::Cassandra => Dialect::Cassandra { client: Cql::client(), server: Cql::server() },
        }
    }

    /// Bytes of the client: each request that ends in them and will be answered.
    pub(super) fn client(&mut self, bytes: &[u8], mut each: impl FnMut(End)) -> Result<(), Unreadable> {
        match self {
            Dialect::Redis { client, .. } => {
                client.take(bytes, |value| each(End::in_order(value.is_command("GET"))))
            }
            Dialect::Postgres { client, .. } => client.asked(bytes, |counts| each(End::in_order(counts))),
            Dialect::Cassandra { client, .. } => client.take(bytes, |frame| {
                each(End { stream: frame.stream, is_so: frame.opcode == Frame::EXECUTE })
            }),
        }
    }

    /// Bytes of the server: each answer that ends in them.
    pub(super) fn server(&mut self, bytes: &[u8], mut each: impl FnMut(End)) -> Result<(), Unreadable> {
        match self {
            Dialect::Redis { server, .. } => server.take(bytes, |value| {
                // What the server pushes answers nothing.
                if !value.is_push() {
                    each(End::in_order(value.is_error()));
                }
            }),
            Dialect::Postgres { server, .. } => server.answered(bytes, |failed| each(End::in_order(failed))),
            Dialect::Cassandra { server, .. } => server.take(bytes, |frame| {
                // Events are of no stream.
                if frame.stream >= 0 {
                    each(End { stream: frame.stream, is_so: frame.opcode == Frame::ERROR });
                }
            }),
        }
    }
}

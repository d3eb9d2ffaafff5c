//! Who asks PostgreSQL or Cassandra, and where.

use unblink_wire::cql;
use unblink_wire::postgres::{Session, Transaction, User};

/// What connections say of who asks, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub user: User,
    pub database: String,
    /// Further ones, as the server knows them.
    pub parameters: Vec<(String, String)>,
}

impl Account {
    /// What its connections do before the first request.
    pub(crate) fn session(&self, transactions: &[Transaction]) -> Session {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).expect("the system has random numbers");
        Session::new(self.user.clone(), &self.database, &self.parameters, transactions, seed)
    }
}

/// The same of CQL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CqlAccount {
    pub user: Option<cql::User>,
    pub keyspace: Option<String>,
}

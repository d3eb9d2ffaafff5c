//! How many connections a run to a database has that was not told.
//!
//! Clients of databases hold a pool, and databases have a limit of connections: a pool that grows with each arrival of a stall meets that
//! limit, and nobody's service does so. So the pool is fixed. Of a closed load, which never needs more than it has users, it is not.

use crate::args::agents::Agents;
use crate::args::run::RunArgs;
use crate::journey;
use crate::request::url::Speaks;
use crate::value::Connections;
use unblink_artifact::document::Database;
use unblink_core::origins::Origins;

/// As many as redis-benchmark opens.
const REDIS: u32 = 50;
/// Well below the 100 that PostgreSQL takes (`max_connections`), with a process for each.
const POSTGRES: u32 = 20;
/// Drivers hold one or two to each node, with many requests on each.
const CASSANDRA: u32 = 8;

/// The database that is asked so, if it is one, and how many connections a run to it has.
pub(crate) fn default_pool(speaks: Speaks) -> Option<(Database, u32)> {
    match speaks {
        Speaks::Redis => Some((Database::Redis, REDIS)),
        Speaks::Postgres => Some((Database::PostgreSql, POSTGRES)),
        Speaks::Cql => Some((Database::Cassandra, CASSANDRA)),
        Speaks::Http | Speaks::WebSocket | Speaks::Grpc => None,
    }
}

impl RunArgs {
    /// The database that all requests go to, if they go to one, and how many connections a run to it has by default.
    fn database(&self) -> Option<(Database, u32)> {
        let mut all = self.requests.iter().chain(journey::requests(&self.journeys));
        // A run speaks one protocol.
        let first = all.next().filter(|_| !self.target.as_text)?;
        default_pool(first.url.origin.speaks)
    }

    /// Its origins: the attempts to connect to databases come at a bounded pace.
    pub(super) fn paced(&self, origins: Origins) -> Origins {
        let paced = 0..if self.database().is_some() { origins.count() } else { 0 };
        paced.fold(origins, Origins::with_pace)
    }

    /// The same where the number is ours: nobody has said one.
    pub(crate) fn pool_by_default(&self) -> Option<(Database, u32)> {
        let is_said = self.load.connections.is_some() || self.load.closed.is_some();
        self.database().filter(|_| !is_said)
    }

    /// Connections that were asked for, or that the run has by default.
    pub(crate) fn connections(&self) -> Connections {
        let by_default =
            || self.pool_by_default().map_or(Connections::Auto(None), |(_, n)| Connections::Fixed(n));
        self.load.connections.unwrap_or_else(by_default)
    }

    /// So many parts of the load, over all machines, need a connection each, with so many threads here.
    pub(super) fn parts(&self, threads: u32) -> u32 {
        let agents = match self.agents.agents {
            Some(Agents::Local(count) | Agents::Anywhere(count)) => count,
            None => 0,
        };
        threads.max(agents).max(self.share.share.map_or(0, |share| share.of))
    }
}

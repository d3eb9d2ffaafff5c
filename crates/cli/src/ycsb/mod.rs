//! YCSB's core workloads (Cooper and others, *Benchmarking Cloud Serving Systems with YCSB*, SoCC 2010) as requests to Redis,
//! PostgreSQL and Cassandra, in the layouts of YCSB's own bindings: hashes and an index of Redis, and the tables of its JDBC and its
//! Cassandra binding.

pub(crate) mod cql;
mod given;
mod kind;
mod properties;
pub(crate) mod requests;
pub(crate) mod workload;

pub(crate) use given::{Given, bare, expand};

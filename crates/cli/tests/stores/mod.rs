//! Stores that others wrote, each on a free port of the loopback. They end with the test that started them.
#![allow(dead_code, unused_imports)] // each test binary uses its part

mod postgres;
mod redis;

pub(crate) use postgres::{PASSWORD, Postgres};
pub(crate) use redis::{Redis, free_port, tls as redis_tls};

/// A short load.
pub(crate) const FORTY: [&str; 4] = ["-R", "200", "-n", "40"];

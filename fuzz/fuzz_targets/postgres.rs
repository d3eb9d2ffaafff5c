//! Any bytes as what a PostgreSQL server sends, cut anywhere; see `unblink_wire::postgres::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-postgres` and `cargo +nightly fuzz run postgres fuzz/target/new-postgres fuzz/corpus/postgres`
//!
//! Commit an input that broke something to `fuzz/corpus/postgres`; a test of `unblink-wire` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::postgres::fuzzing::check(data));

//! Any bytes as what a server of CQL sends, cut anywhere; see `unblink_wire::cql::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-cql` and `cargo +nightly fuzz run cql fuzz/target/new-cql fuzz/corpus/cql`
//!
//! Commit an input that broke something to `fuzz/corpus/cql`; a test of `unblink-wire` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::cql::fuzzing::check(data));

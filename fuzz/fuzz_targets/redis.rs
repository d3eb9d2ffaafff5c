//! Any bytes as what a Redis server sends, cut anywhere; see `unblink_wire::redis::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-redis` and `cargo +nightly fuzz run redis fuzz/target/new-redis fuzz/corpus/redis`
//!
//! Commit an input that broke something to `fuzz/corpus/redis`; a test of `unblink-wire` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::redis::fuzzing::check(data));

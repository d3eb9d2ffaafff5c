//! Any bytes as what a WebSocket server sends, cut anywhere; see `unblink_wire::ws::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-ws` and `cargo +nightly fuzz run ws fuzz/target/new-ws fuzz/corpus/ws`
//!
//! Commit an input that broke something to `fuzz/corpus/ws`; a test of `unblink-wire` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::ws::fuzzing::check(data));

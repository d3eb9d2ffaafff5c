//! Any bytes as what an HTTP/2 server sends, cut anywhere; see `unblink_wire::http2::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-http2` and
//! `cargo +nightly fuzz run http2 fuzz/target/new-http2 fuzz/corpus/http2`
//!
//! Commit an input that broke something to `fuzz/corpus/http2`; a test of `unblink-wire` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::http2::fuzzing::check(data));

//! Any bytes as the answers of a server, cut anywhere. The first two bytes choose request, limits and
//! cuts; see `unblink_wire::fuzzing::check`.
//!
//! The first folder collects what is new, the second holds the seeds, which stay as they are:
//! `mkdir -p fuzz/target/new` and
//! `cargo +nightly fuzz run response fuzz/target/new fuzz/corpus/response -- -dict=fuzz/response.dict`
//!
//! Commit an input that broke something to `fuzz/corpus/response`; a test of `unblink-wire` replays it
//! on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::fuzzing::check(data));

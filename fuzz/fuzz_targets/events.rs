//! Any bytes as a body that comes event by event, cut anywhere; see `unblink_workload::answer::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-events` and `cargo +nightly fuzz run events fuzz/target/new-events fuzz/corpus/events`
//!
//! Commit an input that broke something to `fuzz/corpus/events`; a test of `unblink-workload` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_workload::answer::fuzzing::check(data));

//! Any bytes as what a gRPC server sends, cut anywhere; see `unblink_wire::grpc::fuzzing::check`.
//!
//! `mkdir -p fuzz/target/new-grpc` and
//! `cargo +nightly fuzz run grpc fuzz/target/new-grpc fuzz/corpus/grpc`
//!
//! Commit an input that broke something to `fuzz/corpus/grpc`; a test of `unblink-wire` replays it on stable.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::grpc::fuzzing::check(data));

//! Any bytes as the answers of a server, cut anywhere. The first two bytes choose request, limits and
//! cuts; see `unblink_wire::fuzzing::check`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unblink_wire::fuzzing::check(data));

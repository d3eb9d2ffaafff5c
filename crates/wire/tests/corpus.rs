//! Replays the fuzzer's corpus on stable, so that what it once found stays checked everywhere.

use std::path::Path;

use unblink_wire::fuzzing::check;
use unblink_wire::{Limits, Parser, ProtocolError};

#[test]
fn the_corpus_breaks_no_invariant() {
    let seeds = corpus();
    assert!(seeds.len() >= 30, "only {} seeds", seeds.len());
    for (name, bytes) in &seeds {
        let checked = std::panic::catch_unwind(|| check(bytes));
        assert!(checked.is_ok(), "{name} breaks an invariant");
    }
}

#[test]
fn a_seed_named_for_an_error_has_it() {
    for (name, data) in corpus() {
        let Some(code) = name.strip_prefix("err-").map(|name| name.replace('-', "_")) else { continue };
        let Some(error) = ProtocolError::ALL
            .iter()
            .filter(|error| code.starts_with(error.code()))
            .max_by_key(|error| error.code().len())
        else {
            panic!("{name} names no error");
        };
        if *error == ProtocolError::UnsolicitedData {
            continue; // Raised by feeding on after the answer, which `check` does for every seed.
        }
        let limits = if data[0] < b'3' { Limits::default() } else { unblink_wire::fuzzing::SMALL_LIMITS };
        let kind = unblink_wire::RequestKind::Normal;
        let outcome = unblink_wire::fuzzing::drive(&mut Parser::new(limits), kind, &data[2..], || usize::MAX);
        assert_eq!(outcome.result, Err(*error), "{name}");
    }
}

#[test]
fn every_error_has_a_seed() {
    let names: Vec<String> = corpus().into_iter().map(|(name, _)| name).collect();
    for error in ProtocolError::ALL {
        let seed = format!("err-{}", error.code().replace('_', "-"));
        assert!(names.contains(&seed), "{seed} is missing");
    }
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/response");
    let entries = std::fs::read_dir(&folder).expect("fuzz/corpus/response exists");
    let mut seeds: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("a readable entry");
            let bytes = std::fs::read(entry.path()).expect("a readable seed");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    seeds.sort();
    seeds
}

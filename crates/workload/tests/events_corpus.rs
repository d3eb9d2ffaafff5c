//! Replays the corpus of the fuzz target `events` on stable, so that what it once found stays checked everywhere.

use std::path::Path;
use unblink_workload::answer::fuzzing::check;

#[test]
fn the_corpus_breaks_no_invariant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/events");
    let entries: Vec<_> = std::fs::read_dir(&folder).expect("fuzz/corpus/events exists").collect();
    assert!(entries.len() >= 15, "only {} seeds", entries.len());
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        let bytes = std::fs::read(&path).expect("a readable seed");
        let checked = std::panic::catch_unwind(|| check(&bytes));
        assert!(checked.is_ok(), "{} breaks an invariant", path.display());
    }
}

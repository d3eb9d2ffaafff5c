//! Every fuzz target has a corpus, and a test replays it on stable: what a fuzzer once found stays found.

use crate::complaint::Complaint;
use crate::repo::Repo;

const TARGETS: &str = "fuzz/fuzz_targets/";

/// Complains about targets without a corpus, and about corpora that no test reads.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let targets = repo.rust.iter().filter_map(|source| {
        let name = source.path.strip_prefix(TARGETS)?.strip_suffix(".rs")?;
        Some((source.path.as_str(), name))
    });
    targets
        .filter_map(|(path, name)| complaint(repo, name).map(|what| Complaint::new(path, 1, what)))
        .collect()
}

fn complaint(repo: &Repo, name: &str) -> Option<String> {
    let folder = format!("fuzz/corpus/{name}/");
    if !repo.paths.iter().any(|path| path.starts_with(&folder)) {
        return Some(format!("this fuzz target has no corpus: put seeds into {folder}"));
    }
    let read = format!("fuzz/corpus/{name}\"");
    let tests = repo.rust.iter().filter(|source| source.path.starts_with("crates/") && source.is_test);
    let is_replayed = tests.flat_map(|source| &source.lines).any(|line| line.contains(&read));
    (!is_replayed).then(|| format!("no test replays fuzz/corpus/{name}: add one to the crate that it tests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> usize {
        check(&Repo::of(files)).len()
    }

    #[test]
    fn a_target_has_seeds_that_are_replayed() {
        let (target, seed) = (("fuzz/fuzz_targets/ws.rs", "fn a() {}"), ("fuzz/corpus/ws/a.toml", ""));
        let test = ("crates/wire/tests/ws.rs", "const A: &str = \"../../fuzz/corpus/ws\";");
        assert_eq!(complaints(&[target, seed, test]), 0);
        assert_eq!(complaints(&[target, test]), 1, "no seed");
        assert_eq!(complaints(&[target, seed]), 1, "no test");
        let other = ("crates/wire/tests/ws.rs", "const A: &str = \"../../fuzz/corpus/ws2\";");
        assert_eq!(complaints(&[target, seed, other]), 1, "a test of another");
        let shipped = ("crates/wire/src/ws.rs", "const A: &str = \"../../fuzz/corpus/ws\";");
        assert_eq!(complaints(&[target, seed, shipped]), 1, "no test at all");
    }
}

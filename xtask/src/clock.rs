//! Clocks are read in clock modules; everywhere else `now` is an argument.

use crate::complaint::Complaint;
use crate::paths;
use crate::repo::Repo;
use crate::source::{Source, reads};

/// The modules that read clocks to measure with.
const MEASURING: &[&str] = &["bench/src/clock.rs", "crates/engine/src/clock.rs", "crates/lab/src/timing.rs"];

/// The module that reads wall time, to say when a run began. Never to measure: wall time can be set.
const WALL: &str = "crates/cli/src/clock.rs";

/// Complains about a clock that is read, or a clock type that is imported, outside the clock modules.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for source in &repo.rust {
        if MEASURING.contains(&source.path.as_str()) {
            continue;
        }
        let mut found = monotonic(source);
        if source.path != WALL {
            found.extend(wall(source));
        }
        found.sort_by_key(|(line, _)| *line);
        for (line, what) in found {
            let modules = MEASURING.join(", ");
            let message = format!(
                "`{what}` outside a clock module; take `now` as an argument (clocks: {modules}; wall time: {WALL})"
            );
            complaints.push(Complaint::new(&source.path, line, message));
        }
    }
    complaints
}

fn monotonic(source: &Source) -> Vec<(usize, String)> {
    let mut found = std_time(source, "std::time::Instant");
    let shipped = source.shipped();
    let system_calls = shipped.iter().filter(|token| token.text.starts_with("clock_gettime"));
    found.extend(system_calls.map(|token| (token.line, token.text.clone())));
    found
}

fn wall(source: &Source) -> Vec<(usize, String)> {
    let mut found = std_time(source, "std::time::SystemTime");
    // The module itself gives both clocks: `monotonic` has named it already.
    found.retain(|(_, what)| what.contains("SystemTime"));
    let shipped = source.shipped();
    for at in 0..shipped.len() {
        for name in ["Timestamp", "Zoned"] {
            if reads(&shipped, at, &[name, "::", "now"]) {
                found.push((shipped[at].line, format!("{name}::now")));
            }
        }
    }
    found
}

fn std_time(source: &Source, banned: &str) -> Vec<(usize, String)> {
    let named = paths::rooted(&source.shipped(), "std");
    let reached = named.into_iter().filter(|path| paths::reaches(path, banned));
    reached.map(|path| (path.line, path.segments.join("::"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        check(&Repo::of(&[(path, code)])).iter().map(|complaint| complaint.line).collect()
    }

    const READS: &str = "use std::time::{Duration, Instant};\nlet a = std::time::SystemTime::now();\n\
                         use std::time;\nuse std::time::*;\nclock_gettime(ClockId::Monotonic);\njiff::Timestamp::now();";

    #[test]
    fn every_way_to_a_clock_is_seen() {
        assert_eq!(lines("crates/core/src/clock.rs", READS).len(), 6);
        assert_eq!(lines("crates/analysis/src/a.rs", READS), [1, 2, 3, 4, 5, 6]);
        assert_eq!(lines("crates/engine/src/worker.rs", READS).len(), 6);
        assert_eq!(lines("xtask/src/a.rs", READS).len(), 6);
    }

    #[test]
    fn clock_modules_and_tests_may_read() {
        let tests = ["crates/cli/tests/run.rs", "crates/core/benches/a.rs", "crates/core/examples/a.rs"];
        for path in MEASURING.iter().chain(&tests) {
            assert_eq!(lines(path, READS), [0; 0], "{path}");
        }
        assert_eq!(
            lines("crates/lab/src/a.rs", "#[cfg(test)] mod tests { use std::time::Instant; }"),
            [0; 0]
        );
    }

    #[test]
    fn the_command_reads_wall_time_in_one_file_and_never_measures() {
        assert_eq!(lines("crates/cli/src/clock.rs", READS), [1, 3, 4, 5]);
        assert_eq!(lines("crates/cli/src/run.rs", READS).len(), 6);
    }

    #[test]
    fn our_own_instant_is_no_clock() {
        let code = "use crate::time::Instant; use std::time::Duration; use unblink_core::time::Instant as I;";
        assert_eq!(lines("crates/core/src/a.rs", code), [0; 0]);
    }
}

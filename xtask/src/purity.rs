//! Crates that take time and bytes as arguments never reach for the operating system.

use crate::complaint::Complaint;
use crate::paths;
use crate::repo::Repo;
use crate::source::Source;

const OUTSIDE: &[&str] =
    &["std::env", "std::fs", "std::io", "std::net", "std::os", "std::process", "std::thread"];

/// A crate, the paths it must not name, and why.
const PURE: &[(&str, &[&str], &str)] = &[
    ("core", OUTSIDE, "`core` runs in simulated worlds; give it a value or an event instead"),
    ("wire", OUTSIDE, "`wire` turns bytes into events; IO belongs in `engine`"),
    (
        "workload",
        &["std::env", "std::fs", "std::net", "std::os", "std::process", "std::thread"],
        "`workload` reads what it is given; files are opened in `cli`",
    ),
    (
        "report",
        &["std::env", "std::fs", "std::net", "std::process", "std::thread"],
        "`report` is a function of the document; reading and writing belongs in `artifact` or `cli`",
    ),
];

/// Complains about IO, threads, async and serde in crates that must stay without.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for source in &repo.rust {
        if let Some((name, banned, why)) = PURE.iter().find(|(name, ..)| source.crate_name() == Some(name)) {
            complaints.extend(reaching_out(source, banned, why));
            if *name != "report" {
                complaints.extend(async_code(source, name));
            }
            if *name == "core" {
                complaints.extend(serialization(source));
            }
        }
    }
    complaints
}

fn reaching_out(source: &Source, banned: &[&str], why: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in paths::rooted(&source.shipped(), "std") {
        if let Some(banned) = banned.iter().find(|banned| paths::reaches(&path, banned)) {
            complaints.push(Complaint::new(
                &source.path,
                path.line,
                format!("`{banned}` is not allowed: {why}"),
            ));
        }
    }
    complaints
}

fn async_code(source: &Source, name: &str) -> Vec<Complaint> {
    let shipped = source.shipped();
    let found = shipped.iter().filter(|token| token.text == "async" || token.text == "await");
    let message =
        |word: &str| format!("`{word}` is not allowed: `{name}` is a state machine that others drive");
    found.map(|token| Complaint::new(&source.path, token.line, message(&token.text))).collect()
}

fn serialization(source: &Source) -> Vec<Complaint> {
    let shipped = source.shipped();
    let found = shipped.iter().filter(|t| ["serde", "Serialize", "Deserialize"].contains(&t.text.as_str()));
    let message = "`serde` is not allowed in `core`: the document's types live in `artifact`";
    found.map(|token| Complaint::new(&source.path, token.line, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        check(&Repo::of(&[(path, code)])).iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn core_names_no_part_of_the_system() {
        let code = "use std::{fmt,\nnet::IpAddr};\nfn f() { std::thread::yield_now() }\nasync fn g() {}\n\
                    #[derive(serde::Serialize)]\nstruct A;\nuse std::io;\nuse std::fs::*;";
        assert_eq!(lines("crates/core/src/a.rs", code), [2, 3, 7, 8, 4, 5, 5]);
    }

    #[test]
    fn the_same_is_fine_in_engine_in_tests_and_in_strings() {
        let code = "use std::net::IpAddr;";
        assert_eq!(lines("crates/engine/src/a.rs", code), [0; 0]);
        assert_eq!(lines("crates/core/tests/a.rs", code), [0; 0]);
        assert_eq!(lines("crates/core/src/a.rs", "#[cfg(test)] mod t { use std::io; }"), [0; 0]);
        assert_eq!(lines("crates/core/src/a.rs", "// std::fs\nconst A: &str = \"std::fs\";"), [0; 0]);
        assert_eq!(lines("crates/core/src/a.rs", "use std::{fmt, collections::VecDeque};"), [0; 0]);
    }

    #[test]
    fn report_may_write_into_a_writer_but_open_no_file() {
        assert_eq!(lines("crates/report/src/a.rs", "use std::io::Write;\nuse std::fs::File;"), [2]);
        assert_eq!(lines("crates/wire/src/a.rs", "use std::io::Read;"), [1]);
    }
}

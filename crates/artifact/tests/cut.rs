//! Folders that were cut: what they lack is lost, and said.

mod machines;
mod support;

use machines::*;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{RunStatus, ValidityStatus};
use unblink_artifact::folder::{HLOG_FILE, LINES_FILE, RUN_FILE, merge, merge_telling};
use unblink_core::time::Nanos;

/// The first `lines` lines of a file, and `bytes` of the next one.
fn cut(path: &Path, lines: usize, bytes: usize) {
    let all = std::fs::read(path).expect("it is there");
    let ends = all.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let at = lines.checked_sub(1).map_or(0, |last| ends.into_iter().nth(last).expect("so many lines"));
    std::fs::write(path, &all[..at + bytes]).expect("written");
}

/// A copy of a folder whose run ended lacks the end of a file, or of both at the same interval: as if the machine had died there.
#[test]
fn what_a_copy_lacks_is_lost_and_said() {
    let dir = tempfile::tempdir().expect("a folder");
    let parts = shares(dir.path(), 2);
    let killed = record(&dir.path().join("killed"), &share(1, 2), &simulated(&share(1, 2)), Some(4));
    let [lines, hlog] = [LINES_FILE, HLOG_FILE].map(|name| {
        let text = std::fs::read_to_string(killed.join(name)).expect("text");
        text.lines().count()
    });
    let of_killed = merge(&[parts[0].clone(), killed], &dir.path().join("of killed")).expect("mergeable");
    assert!(of_killed.arrivals.lost > 0 && of_killed.arrivals.lost < of_killed.arrivals.scheduled / 2);
    let copy = |name: &str, cuts: &[(&str, usize, usize)]| {
        let copy = dir.path().join(name);
        std::fs::create_dir(&copy).expect("a folder");
        for file in [RUN_FILE, LINES_FILE, HLOG_FILE] {
            std::fs::copy(parts[1].join(file), copy.join(file)).expect("copied");
        }
        cuts.iter().for_each(|(file, lines, bytes)| cut(&copy.join(file), *lines, *bytes));
        copy
    };
    let told = |from: &[PathBuf], to: &str| {
        let mut told = Vec::new();
        let document = merge_telling(from, &dir.path().join(to), |broken| told.push(broken));
        (document, told)
    };
    // The header is one line more than there are intervals.
    let cuts = [
        vec![(HLOG_FILE, hlog, 40)],
        vec![(LINES_FILE, lines, 40)],
        vec![(LINES_FILE, lines, 0)],
        vec![(LINES_FILE, lines, 0), (HLOG_FILE, hlog, 0)],
    ];
    for (number, cuts) in cuts.iter().enumerate() {
        let copied = copy(&format!("copy {number}"), cuts);
        let (document, told) = told(&[parts[0].clone(), copied.clone()], &format!("of copy {number}"));
        let document = document.expect("mergeable");
        assert_eq!(document.arrivals, of_killed.arrivals, "{cuts:?}");
        assert_eq!(document.agents[1].result.as_ref().map(|result| result.status), Some(RunStatus::Running));
        assert!(codes(&document).contains(&"agents_lost") && !codes(&document).contains(&"accounting"));
        assert_eq!(document.validity.status, ValidityStatus::Invalid);
        let [broken] = &told[..] else { panic!("{cuts:?} {told:?}") };
        assert_eq!((&broken.dir, broken.after), (&copied, Some(Nanos::from_secs(4))), "{cuts:?}");
        assert!(broken.to_string().contains("(share 2 of 2) breaks off after 4.000 s"), "{broken}");
    }
    // Not even whose it is can be read.
    let headless = copy("headless", &[(LINES_FILE, 0, 100)]);
    let (document, said) = told(&[headless.clone(), parts[0].clone()], "of headless");
    let document = document.expect("mergeable");
    let without = merge(&parts[..1], &dir.path().join("without")).expect("mergeable");
    assert_eq!(document, without, "as if the folder were not there");
    assert!(said.len() == 1 && said[0].dir == headless, "{said:?}");
    let alone = told(&[headless], "of nothing").0.expect_err("nothing to merge").to_string();
    assert!(alone.contains("breaks off in its first line"), "{alone}");
    // Of whole ones nothing is said.
    assert_eq!(told(&parts, "whole").1, []);
    // Whose arrivals a merged record lacks, nobody can tell.
    cut(&dir.path().join("whole").join(LINES_FILE), lines, 0);
    let merged = told(&[dir.path().join("whole")], "of merged").0.expect_err("it is cut").to_string();
    assert!(
        merged.contains("breaks off after 4.000 s") && merged.contains("merge those folders again"),
        "{merged}"
    );
    assert!(!dir.path().join("of merged").exists(), "nothing of it is left");
}

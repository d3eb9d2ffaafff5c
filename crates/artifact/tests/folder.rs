//! The run folder: what goes in comes out, and a kill at any byte loses one interval at most.

mod support;

use proptest::prelude::*;
use std::fs;
use std::path::Path;
use support::{Random, any_interval, assert_same, ending, header, run, tally};
use unblink_artifact::folder::{
    FolderError, FolderWriter, HLOG_FILE, LINES_FILE, RUN_FILE, WriterState, check_folder, read_folder,
};
use unblink_core::record::{Interval, Series};
use unblink_core::time::Nanos;

fn write(dir: &Path, intervals: &[Interval]) -> FolderWriter {
    let mut writer = FolderWriter::create(dir, &header(10, 0)).expect("a new folder");
    for interval in intervals {
        writer.interval(interval).expect("written");
    }
    assert_eq!(writer.state(), &WriterState::Writing);
    writer
}

/// How many intervals can be read, and whether the end is torn.
fn count(dir: &Path) -> Result<(u64, bool), FolderError> {
    let read = read_folder(dir)?.for_each_interval(|_| ())?;
    Ok((read.intervals, read.torn))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn round_trip(seed: u64, intervals in 0u64..6) {
        let mut random = Random(seed);
        // Minutes lie between, so that heat grids of several widths occur.
        let intervals: Vec<Interval> =
            (0..intervals).map(|i| any_interval(&mut random, Nanos::from_secs(i * 47))).collect();
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), &intervals);
        let run = read_folder(dir.path()).expect("readable");
        assert_eq!(run.header, header(10, 0));
        assert!(run.final_document.is_none());
        let mut expected = intervals.iter();
        let read = run.for_each_interval(|interval| assert_same(interval, expected.next().expect("one more")));
        let read = read.expect("readable");
        prop_assert_eq!((read.intervals, read.torn), (intervals.len() as u64, false));
    }
}

#[test]
fn a_kill_at_any_byte_loses_one_interval_at_most() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut random = Random(7);
    // Short ones: every byte of the last is tried.
    let mut short = |second: u64| {
        let mut interval = any_interval(&mut random, Nanos::from_secs(second));
        Series::ALL[1..].iter().for_each(|series| interval.bank.track_mut(*series).clear());
        interval.bank.operations.clear();
        interval
    };
    let (first, last) = (short(0), short(1));
    let mut writer = write(dir.path(), &[first]);
    let read = |name: &str| fs::read(dir.path().join(name)).expect("readable");
    let (hlog_before, lines_before) = (read(HLOG_FILE), read(LINES_FILE));
    writer.interval(&last).expect("written");
    let (hlog, lines) = (read(HLOG_FILE), read(LINES_FILE));
    assert!(hlog.starts_with(&hlog_before) && lines.starts_with(&lines_before));
    assert_eq!(count(dir.path()).expect("readable"), (2, false));

    // The log is written first: while it grows, the lines end before.
    let put = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).expect("written");
    put(LINES_FILE, &lines_before);
    for cut in hlog_before.len()..=hlog.len() {
        put(HLOG_FILE, &hlog[..cut]);
        assert_eq!(count(dir.path()).expect("readable"), (1, false), "log cut at {cut}");
    }
    for cut in lines_before.len()..lines.len() {
        put(LINES_FILE, &lines[..cut]);
        let torn = cut > lines_before.len();
        assert_eq!(count(dir.path()).expect("readable"), (1, torn), "lines cut at {cut}");
    }
    // After a power cut the line may have reached the disk without its log.
    put(LINES_FILE, &lines);
    for cut in hlog_before.len()..hlog.len() {
        put(HLOG_FILE, &hlog[..cut]);
        assert_eq!(count(dir.path()).expect("readable"), (1, true), "log cut at {cut}, line there");
    }
    // Killed before the first interval, or while the header was written.
    put(LINES_FILE, b"{\"schema\":");
    assert_eq!(count(dir.path()).expect("readable"), (0, true));
    fs::remove_file(dir.path().join(LINES_FILE)).expect("removed");
    assert_eq!(count(dir.path()).expect("readable"), (0, true));
}

/// What comes over a bus comes file by file.
#[test]
fn a_document_without_what_it_speaks_of_is_no_record() {
    let dir = tempfile::tempdir().expect("a folder");
    let intervals = run(1, 10, 0);
    let writer = write(dir.path(), &intervals);
    check_folder(dir.path()).expect("it goes on");
    writer.finish(&tally(&header(10, 0), &intervals).document(&ending(10, 0))).expect("written");
    check_folder(dir.path()).expect("it is whole");
    for name in [HLOG_FILE, LINES_FILE] {
        fs::remove_file(dir.path().join(name)).expect("removed");
        let error = check_folder(dir.path()).expect_err(name).to_string();
        assert!(error.contains(name), "{error}");
    }
    fs::write(dir.path().join(LINES_FILE), "").expect("written");
    let error = check_folder(dir.path()).expect_err("no header").to_string();
    assert!(error.contains("breaks off in its first line"), "{error}");
}

#[test]
fn damage_in_the_middle_names_file_and_line() {
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), &run(1, 2, 0));
    let lines = fs::read_to_string(dir.path().join(LINES_FILE)).expect("text");
    let hlog = fs::read_to_string(dir.path().join(HLOG_FILE)).expect("text");
    let reason = |name: &str, text: &str| {
        fs::write(dir.path().join(name), text).expect("written");
        let error = count(dir.path()).expect_err("damaged");
        fs::write(dir.path().join(LINES_FILE), &lines).expect("written");
        fs::write(dir.path().join(HLOG_FILE), &hlog).expect("written");
        error.to_string()
    };
    let third = lines.lines().nth(2).expect("a third line");

    let text = reason(LINES_FILE, &lines.replace(third, &third[..40]));
    assert!(text.contains("intervals.jsonl, line 3: "), "{text}");
    let text = reason(LINES_FILE, &lines.replace("\"status_5xx\":1", "\"status_6xx\":1"));
    assert!(text.contains("line 2: \"status_6xx\" is not a kind of failure"), "{text}");
    let text = reason(LINES_FILE, &lines.replacen("\"hlog_bytes\":", "\"hlog_bytes\":1", 1));
    assert!(text.contains("values where"), "{text}");

    let payload = hlog.lines().nth(5).expect("a histogram");
    let damaged = format!("{}A{}", &payload[..payload.len() - 30], &payload[payload.len() - 29..]);
    let text = reason(HLOG_FILE, &hlog.replace(payload, &damaged));
    assert!(text.contains("intervals.hlog, line 6: "), "{text}");
    let text = reason(HLOG_FILE, &hlog.replace("Tag=service_time,", "Tag=something_new,"));
    assert!(text.contains("intervals.jsonl, line 2") || text.contains("intervals.hlog"), "{text}");
}

#[test]
fn unusable_folders_say_why_and_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    let create = |path: &Path| match FolderWriter::create(path, &header(10, 0)) {
        Ok(_) => panic!("{} must not do", path.display()),
        Err(error) => error,
    };
    fs::write(dir.path().join("notes.txt"), "mine").expect("written");
    let error = create(dir.path());
    assert!(matches!(error, FolderError::NotEmpty { .. }));
    assert!(error.to_string().contains("name a folder that does not exist yet"), "{error}");
    let error = create(&dir.path().join("notes.txt"));
    assert!(matches!(error, FolderError::Create { .. }), "{error}");
    let mut unclear = header(10, 0);
    unclear.started_at = "yesterday".into();
    let error = FolderWriter::create(&dir.path().join("new"), &unclear).map(|_| ()).expect_err("no time");
    assert!(error.to_string().contains("\"yesterday\""), "{error}");

    let error = read_folder(&dir.path().join("nowhere")).expect_err("not there");
    assert!(matches!(error, FolderError::Read { .. }));
    fs::write(dir.path().join(RUN_FILE), r#"{"schema": "unblink.run/9", "status": "complete"}"#)
        .expect("written");
    let error = read_folder(dir.path()).expect_err("another version");
    assert!(error.to_string().contains("unblink.run/9"), "{error}");
}

#[test]
fn the_folder_appears_with_its_parents_and_says_running() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("a/b");
    write(&path, &[]);
    let text = fs::read_to_string(path.join(RUN_FILE)).expect("text");
    assert!(
        text.starts_with("{\n  \"schema\": \"unblink.run/2\",\n  \"status\": \"running\",\n  \"header\": {")
    );
    assert_eq!(count(&path).expect("readable"), (0, false));
    assert!(!path.join("run.json.tmp").exists());
}

//! What other tools read: the JSON Schema and the HdrHistogram log.

mod support;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use support::{RATE, ending, header, run, tally};
use unblink_artifact::document::RunDocument;
use unblink_artifact::folder::{FolderWriter, HLOG_FILE};
use unblink_artifact::schema::{self, json_schema};
use unblink_core::record::Series;

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    for (name, value) in schema::files() {
        let path = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/schema/{}"), name);
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == schema::schema_text(&value),
            "{name}: the types have changed; write it anew with: cargo run -p unblink-artifact --example schema"
        );
    }
}

#[test]
fn documents_keep_to_the_schema() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a schema");
    let check = |document: &RunDocument| {
        let json = serde_json::to_value(document).expect("JSON");
        let errors: Vec<String> =
            validator.iter_errors(&json).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let back: RunDocument = serde_json::from_str(&json.to_string()).expect("a document");
        assert_eq!(&back, document);
    };
    check(&tally(&header(20, 3), &run(3, 20, 3)).document(&ending(20, 3)));
    check(&tally(&header(20, 0), &[]).document(&ending(20, 0)));

    // Before there is a document, and for good when the run was killed.
    let dir = tempfile::tempdir().expect("a folder");
    FolderWriter::create(dir.path(), &header(20, 3)).expect("a new folder");
    let text = std::fs::read_to_string(dir.path().join("run.json")).expect("run.json");
    let mut running: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(validator.is_valid(&running), "{running}");
    running["header"]["plan"]["threads"] = "many".into();
    assert!(!validator.is_valid(&running), "the schema tells right from wrong");

    let mut json =
        serde_json::to_value(tally(&header(2, 0), &run(3, 2, 0)).document(&ending(2, 0))).expect("JSON");
    json["arrivals"]["scheduled"] = "many".into();
    assert!(!validator.is_valid(&json), "the schema tells right from wrong");
}

#[test]
fn the_log_is_read_by_hdrhistogram() {
    let (header, intervals) = (header(5, 0), run(3, 5, 0));
    let dir = tempfile::tempdir().expect("a folder");
    let mut writer = FolderWriter::create(dir.path(), &header).expect("a new folder");
    for interval in &intervals {
        writer.interval(interval).expect("written");
    }
    let log = std::fs::read(dir.path().join(HLOG_FILE)).expect("readable");
    let text = String::from_utf8(log.clone()).expect("text");
    assert!(text.contains("#[Histogram log format version 1.3]\n"));
    assert!(text.contains("#[StartTime: 1795166100.250 (seconds since epoch), 2026-11-20T09:15:00.25Z]\n"));

    let mut seconds = 0;
    let mut total = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
    for entry in IntervalLogIterator::new(&log) {
        match entry.expect("a line") {
            LogEntry::StartTime(at) | LogEntry::BaseTime(at) => assert_eq!(at.as_millis(), 1_795_166_100_250),
            LogEntry::Interval(line) if line.tag().is_some_and(|t| t.as_str() == Series::Response.name()) => {
                let interval = &intervals[seconds];
                assert_eq!(line.start_timestamp().as_secs(), seconds as u64);
                assert_eq!(line.duration().as_secs(), 1);
                let exact_ms = interval.bank.track(Series::Response).max_ns as f64 / 1e6;
                assert!((line.max() - exact_ms).abs() < 0.001);
                let payload = base64::engine::general_purpose::STANDARD.decode(line.encoded_histogram());
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut payload.expect("base64").as_slice()).expect("V2");
                assert_eq!(histogram, interval.bank.track(Series::Response).histogram);
                total.add(&histogram).expect("the same bounds");
                seconds += 1;
            }
            LogEntry::Interval(_) => {}
        }
    }
    // Response time has a line for every interval, also when nothing was answered.
    assert_eq!(seconds, intervals.len());
    assert_eq!(total.len(), tally(&header, &intervals).totals().counters.measured.ok);
    assert!(total.len() < 5 * RATE);
}

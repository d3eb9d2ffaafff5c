//! What a document says of each operation, with room for their histograms and without.

mod support;

use support::{RATE, ending, header, run};
use unblink_artifact::document::{Quantile, RunDocument, VerdictStatus};
use unblink_artifact::folder::{FolderWriter, LINES_FILE, report_part};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Tally;
use unblink_core::record::{Interval, Operations, Series};

const SECONDS: u64 = 20;

fn document(intervals: &[Interval]) -> RunDocument {
    let mut tally = Tally::new(header(SECONDS, 0));
    intervals.iter().for_each(|interval| tally.add(interval));
    tally.document(&ending(SECONDS, 0))
}

/// The same intervals from a worker with so few pages.
fn short_of_pages(mut intervals: Vec<Interval>, pages: usize) -> Vec<Interval> {
    for interval in &mut intervals {
        let mut short = Operations::<u64>::short_of_pages(2, pages);
        short.add(&interval.bank.operations);
        interval.bank.operations = short;
    }
    intervals
}

#[test]
fn each_operation_has_its_account_its_answers_and_both_times() {
    let document = document(&run(3, SECONDS, 0));
    let n = SECONDS * RATE;
    assert_eq!(document.spilled, None);
    let mut codes = 0;
    for operation in &document.operations {
        let of = &operation.arrivals;
        let ended = of.ok + of.failed + of.timed_out.unwrap_or(0);
        assert_eq!((of.scheduled, ended, of.unfinished, of.unsent), (Some(n / 2), n / 2, Some(0), Some(0)));
        let service = operation.service_time.as_ref().expect("recorded");
        for times in [&operation.response_time, service] {
            assert_eq!((times.count, Some(times.censored)), (n / 2 - of.failed, of.timed_out));
            let has_interval = |q: &Quantile| q.low.is_some() && q.high.is_some();
            assert!(times.quantiles.iter().any(has_interval), "{times:#?}");
        }
        assert!(service.quantiles[0].value < operation.response_time.quantiles[0].value);
        codes += operation.codes.values().sum::<u64>();
    }
    assert_eq!(codes, document.codes.values().sum::<u64>());
}

/// Exactly, also of two folders' intervals; and no size is made up where none was recorded.
#[test]
fn each_operation_has_the_mean_size_of_its_answers() {
    let intervals = run(3, SECONDS, 0);
    let document = document(&intervals);
    for operation in &document.operations {
        let failed = operation.codes.get("500").copied().unwrap_or_default();
        let ok = operation.codes["200"];
        let bytes = ok * 300 + failed * 20;
        assert_eq!(operation.body_bytes, Some(bytes));
        assert_eq!(operation.body_bytes_mean(), Some(bytes as f64 / (ok + failed) as f64));
    }
    let of_earlier = RunHeader { has_sizes: false, ..header(SECONDS, 0) };
    let dir = tempfile::tempdir().expect("a folder");
    let mut writer = FolderWriter::create(dir.path(), &of_earlier).expect("a new folder");
    for interval in &intervals {
        let mut interval = interval.clone();
        interval.bank.counters.body_bytes = 0;
        (0..2)
            .for_each(|place| interval.bank.operations.get_mut(place).expect("there are two").body_bytes = 0);
        writer.interval(&interval).expect("written");
    }
    drop(writer);
    let lines = std::fs::read_to_string(dir.path().join(LINES_FILE)).expect("lines");
    assert!(!lines.contains("body_bytes"), "an earlier version wrote the same");
    let read = report_part(dir.path(), None, None).expect("readable");
    assert!(
        read.operations.iter().all(|operation| operation.body_bytes.is_none() && !operation.codes.is_empty())
    );
}

/// Every value is counted, the figures of the whole do not change, and no percentile is that of the values that happened
/// to find room.
#[test]
fn without_room_everything_is_counted() {
    let whole = run(3, SECONDS, 0);
    let exact = document(&whole);
    for pages in [0, 1, 5] {
        let short = short_of_pages(whole.clone(), pages);
        let found = document(&short);
        assert_eq!((&found.response_time, &found.arrivals), (&exact.response_time, &exact.arrivals));
        let code = "operations_spilled";
        assert!(found.validity.findings.iter().any(|f| f.code == code), "{pages} pages");
        assert!(exact.validity.findings.iter().all(|f| f.code != code));
        let spilled = found.spilled.as_ref().expect("there was too little room");
        let counted: u64 = found.operations.iter().map(|operation| operation.spilled).sum();
        let both = spilled.response_time.count + spilled.service_time.count;
        assert_eq!((both, counted > 0), (counted, true));
        for (short, whole) in found.operations.iter().zip(&exact.operations) {
            assert_eq!((&short.arrivals, &short.codes), (&whole.arrivals, &whole.codes));
            assert_eq!(short.response_time.count, whole.response_time.count);
            let (short, whole) = (&short.response_time, &whole.response_time);
            assert_eq!((short.max, short.mean, short.censored), (whole.max, whole.mean, whole.censored));
            assert_eq!(short.quantiles, [], "{pages} pages");
        }
        let dir = tempfile::tempdir().expect("a folder");
        let mut writer = FolderWriter::create(dir.path(), &header(SECONDS, 0)).expect("a new folder");
        short.iter().for_each(|interval| writer.interval(interval).expect("written"));
        writer.finish(&found).expect("written");
        assert_eq!(report_part(dir.path(), None, None).expect("readable"), found, "{pages} pages");
    }
}

/// An objective on one operation is not judged by the values that happened to find room.
#[test]
fn an_objective_on_what_is_not_known_stays_open() {
    let mut header = header(SECONDS, 0);
    header.objectives.slos = ["GET /two: p50 < 1s", "GET /two: p50 < 1ms"].map(String::from).to_vec();
    let verdicts = |intervals: &[Interval]| {
        let tally = support::tally(&header, intervals);
        let verdict = tally.document(&ending(SECONDS, 0)).verdict.expect("something was asked");
        verdict.slos.iter().map(|slo| slo.status).collect::<Vec<_>>()
    };
    let whole = run(3, SECONDS, 0);
    assert_eq!(verdicts(&whole), [VerdictStatus::Pass, VerdictStatus::Fail]);
    assert_eq!(verdicts(&short_of_pages(whole, 3)), [VerdictStatus::Inconclusive; 2]);
}

#[test]
fn operations_have_histograms_of_their_own() {
    let interval = &run(3, SECONDS, 0)[1];
    let counts = Series::BY_OPERATION.map(|series| {
        interval.bank.operations.iter().map(|operation| operation.sums(series).count).sum::<u64>()
    });
    let of = |series| interval.bank.track(series).count();
    assert_eq!(counts, Series::BY_OPERATION.map(of));
}

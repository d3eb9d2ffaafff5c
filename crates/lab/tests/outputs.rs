//! What real tools printed, read by the definitions that come with the program. The outputs were recorded from
//! runs of 3 s (wrk2: 12 s) against the stall of 200 ms at 1 s, those of Java from runs of 10 s, its cold start included;
//! versions stand in the files' names. wrk and k6 met a stall of 50 ms at 1.5 s. Long ones are cut to their first rows. Those over other protocols than HTTP/1.1 come
//! from runs of 2 to 5 s (h2load: 1 s of `trickle`) on a busy machine.

use std::path::Path;

use unblink_artifact::lab::LabReported;
use unblink_lab::{Definition, Output, value_at};

const MS: u64 = 1_000_000;
/// Folders of definitions beside those of HTTP/1.1.
const PROTOCOLS: [&str; 4] = ["http2", "grpc", "events", "websocket"];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Of the definitions that are there, whatever they speak.
fn output(tool: &str) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    let file = |of: &str| Some(folder.join(of).join(format!("{tool}.toml"))).filter(|path| path.is_file());
    if let Some(path) = PROTOCOLS.into_iter().find_map(file) {
        return Definition::load(&path).expect("a definition").output;
    }
    let all = Definition::built_in().expect("definitions");
    all.into_iter().find(|definition| definition.name == tool).expect("a definition").output
}

/// (tool, output, percentiles in ns as they stand in it, samples, errors).
type Case = (&'static str, &'static str, &'static [(f64, u64)], Option<u64>, Option<u64>);

const CASES: &[Case] = &[
    (
        "wrk",
        "wrk-4.1.0.txt",
        &[(0.5, 10_971_000), (0.99, 32_269_000), (1.0, 58_572_000)],
        Some(2679),
        Some(0),
    ),
    (
        "wrk2",
        "wrk2-4.0.0.txt",
        &[(0.5, 23_820_000), (0.99, 75_970_000), (0.9999, 78_080_000)],
        Some(2399),
        None,
    ),
    ("ab", "ab-2.3.csv", &[(0.0, 10_121_000), (0.02, 10_228_000)], None, None),
    ("hey", "hey-0.1.4.csv", &[], Some(119), Some(0)),
    ("h2load", "h2load-1.52.0.tsv", &[], Some(120), Some(0)),
    (
        "bombardier",
        "bombardier-1.2.6.json",
        &[(0.5, 10_327_000), (0.99, 31_439_000), (1.0, 197_981_000)],
        None,
        Some(0),
    ),
    ("vegeta", "vegeta-12.12.0.csv", &[], Some(60), Some(0)),
    ("fortio", "fortio-1.68.2.json", &[(0.9, 17_000_000), (0.99, 180_000_000)], Some(600), None),
    (
        "autocannon",
        "autocannon-9.0.0.json",
        &[(0.5, 11 * MS), (0.99, 63 * MS), (1.0, 192 * MS)],
        Some(1900),
        Some(0),
    ),
    (
        "locust",
        "locust-2.47.0.json",
        &[(0.5, 16 * MS), (0.99, 67 * MS), (0.999, 210 * MS)],
        Some(1709),
        Some(0),
    ),
    ("k6-constant-vus", "k6-2.1.0.json", &[], Some(1891), Some(0)),
    ("artillery", "artillery-2.0.21.json", &[(0.5, 13_900_000), (0.99, 162_400_000)], Some(600), Some(0)),
    (
        "oha",
        "oha-1.16.0.json",
        &[(0.5, 10_326_103), (0.99, 15_349_848), (0.999, 203_502_771), (1.0, 203_543_763)],
        None,
        Some(0),
    ),
    ("unblink-open", "unblink-0.1.0.json", &[], Some(600), Some(0)),
    (
        "jmeter-threads",
        "jmeter-5.6.3.csv",
        &[(0.5, 21 * MS), (0.99, 129 * MS), (1.0, 131 * MS)],
        Some(120),
        Some(0),
    ),
    (
        "gatling-open",
        "gatling-3.15.0.txt",
        &[(0.5, 69 * MS), (0.9, 1_514 * MS), (0.99, 1_785 * MS), (1.0, 2_053 * MS)],
        Some(10_000),
        Some(0),
    ),
    (
        "hyperfoil",
        "hyperfoil-0.25.2.txt",
        &[(0.5, 13_107_199), (0.99, 266_338_303), (1.0, 299_892_735)],
        Some(10_003),
        Some(0),
    ),
    // What h2load says itself of this run: 160 requests, the shortest 51.72 ms, the longest 93.78 ms.
    ("h2load-http2", "h2load-http2-1.52.0.tsv", &[(0.5, 55_995_000), (1.0, 93_776_000)], Some(160), Some(0)),
    (
        "k6-http2",
        "k6-http2-2.1.0.json",
        &[(0.5, 16_228_581), (0.99, 638_931_912), (1.0, 750_585_492)],
        Some(4_676),
        Some(0),
    ),
    (
        "oha-http2",
        "oha-http2-1.16.0.json",
        &[(0.5, 16_025_678), (0.99, 34_445_862), (0.999, 44_236_970), (1.0, 44_242_341)],
        None,
        Some(0),
    ),
    (
        "oha-http2-corrected",
        "oha-http2-corrected-1.16.0.json",
        &[(0.5, 16_195_970), (0.99, 51_766_298), (0.999, 55_832_056), (1.0, 55_832_976)],
        None,
        Some(0),
    ),
    ("ghz", "ghz-0.120.0.csv", &[(0.5, 15_150_000), (1.0, 20_470_000)], Some(120), Some(0)),
    ("ghz-async", "ghz-async-0.120.0.csv", &[(0.5, 16_140_000), (1.0, 25_430_000)], Some(120), Some(0)),
    (
        "k6-grpc",
        "k6-grpc-2.1.0.json",
        &[(0.5, 391_530_102), (0.99, 629_904_760), (1.0, 729_910_148)],
        Some(540),
        Some(0),
    ),
    // To the first byte, and not to the last one.
    (
        "k6-events",
        "k6-events-2.1.0.json",
        &[(0.5, 16_037_770), (0.99, 84_237_558), (1.0, 125_590_676)],
        Some(5_003),
        Some(0),
    ),
    (
        "k6-websocket",
        "k6-websocket-2.1.0.json",
        &[(0.5, 18 * MS), (0.99, 88_500_000), (1.0, 148 * MS)],
        Some(1_966),
        None,
    ),
];

/// (tool, output of a run in which requests failed, samples, errors), as it says of itself: `http_req_failed` and the check of k6,
/// `timeout` of oha, rows of another status.
const FAILURES: &[(&str, &str, Option<u64>, u64)] = &[
    ("h2load-http2", "h2load-http2-errors-1.52.0.tsv", Some(40), 20),
    ("k6-http2", "k6-http2-errors-2.1.0.json", Some(4_915), 2_637),
    ("oha-http2", "oha-http2-errors-1.16.0.json", None, 100),
    ("oha-http2-corrected", "oha-http2-errors-1.16.0.json", None, 100),
    ("ghz", "ghz-errors-0.120.0.csv", Some(29), 11),
    ("ghz-async", "ghz-errors-0.120.0.csv", Some(29), 11),
    ("k6-grpc", "k6-grpc-errors-2.1.0.json", Some(537), 356),
    ("k6-events", "k6-events-errors-2.1.0.json", Some(5_000), 2_970),
];

/// Means as they stand in the outputs; of rows by hand's own sum.
#[test]
fn means_are_those_that_tools_say() {
    for (tool, file, mean_ns) in [
        ("wrk", "wrk-4.1.0.txt", 11_453_585),
        ("wrk2", "wrk2-4.0.0.txt", 27_191_000),
        ("k6-constant-vus", "k6-2.1.0.json", 15_440_766),
        ("hyperfoil", "hyperfoil-0.25.2.txt", 46_326_273),
        ("oha", "oha-1.16.0.json", 11_315_112),
        ("bombardier", "bombardier-1.2.6.json", 12_541_816),
        ("autocannon", "autocannon-9.0.0.json", 15_480_000),
        ("artillery", "artillery-2.0.21.json", 31_800_000),
        ("gatling-open", "gatling-3.15.0.txt", 485_000_000),
    ] {
        let reported = output(tool).read(&text(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(reported.mean_ns, Some(mean_ns), "{file}");
    }
    let rows = text("vegeta-12.12.0.csv");
    let ns = rows.lines().map(|line| line.split(',').nth(2).expect("a column").parse::<u64>().expect("ns"));
    let (sum, count) = ns.fold((0, 0), |(sum, count), ns| (sum + ns, count + 1));
    assert_eq!(output("vegeta").read(&rows).expect("figures").mean_ns, Some(sum / count));
}

/// Recorded in runs of a few seconds against a stall of 0.3 s; the server answers in microseconds.
#[test]
fn tools_of_databases_are_read_as_they_say_themselves() {
    let read = |tool: &str, file: &str| output(tool).read(&text(file)).expect("figures");
    let at = |reported: &LabReported, shares: &[f64]| -> Vec<Option<u64>> {
        shares.iter().map(|&q| value_at(&reported.points, q)).collect()
    };
    // Its summary has p50, p95 and p99. Of p99.9 it says only that it lies between 11.9 and 15 ms.
    let redis = read("redis-benchmark", "redis-benchmark-7.0.15.txt");
    assert_eq!((redis.samples, redis.errors, redis.mean_ns), (Some(20_000), None, Some(311_000)));
    let expected = [Some(23_000), Some(1_895_000), Some(6_359_000), None, Some(322_815_000)];
    assert_eq!(at(&redis, &[0.5, 0.95, 0.99, 0.999, 1.0]), expected);
    // A line for each transaction, from when it was due.
    let pgbench = read("pgbench-rate", "pgbench-rate-15.18.log");
    assert_eq!((pgbench.samples, pgbench.errors), (Some(120), Some(0)));
    assert_eq!(at(&pgbench, &[0.5, 0.99, 1.0]), [Some(2_444_000), Some(17_778_000), Some(20_300_000)]);
    let without = text("redis-benchmark-7.0.15.txt").replace("6.359   ", "");
    let error = output("redis-benchmark").read(&without).expect_err("no p99").to_string();
    assert!(error.starts_with("no line is like"), "{error}");
}

#[test]
fn each_tool_is_read_as_it_says_itself() {
    for (tool, file, percentiles, samples, errors) in CASES {
        let reported = output(tool).read(&text(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        for &(q, expected_ns) in *percentiles {
            assert_eq!(value_at(&reported.points, q), Some(expected_ns), "{file}: {q}");
        }
        assert_eq!((reported.samples, reported.errors), (*samples, *errors), "{file}");
        // Nothing answers faster than the server's 10 ms.
        let first = reported.points.first().expect("a percentile");
        assert!((9 * MS..1_000 * MS).contains(&first.value_ns), "{file}: {first:?}");
    }
}

#[test]
fn failures_are_counted_as_each_tool_counts_them() {
    for &(tool, file, samples, errors) in FAILURES {
        let reported = output(tool).read(&text(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!((reported.samples, reported.errors), (samples, Some(errors)), "{tool}: {file}");
    }
    // Calls that failed at once stand in no percentile of ghz's own.
    let of_ghz = output("ghz").read(&text("ghz-errors-0.120.0.csv")).expect("figures");
    let ends = [0.0, 1.0].map(|q| value_at(&of_ghz.points, q));
    assert_eq!((of_ghz.points[0].value_ns, ends[1]), (11_430_000, Some(20_460_000)), "{ends:?}");
}

/// Every definition that comes with the lab's other protocols has an output here, but for our own, which is that of HTTP/1.1.
#[test]
fn each_tool_of_other_protocols_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    for of in PROTOCOLS {
        for entry in folder.join(of).read_dir().expect("a folder") {
            let name = entry.expect("an entry").path();
            let name = name.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
            let is_read = CASES.iter().any(|(tool, ..)| *tool == name);
            assert!(is_read || name.starts_with("unblink-"), "no output of {name} is read");
        }
    }
}

/// Raw samples, sorted by hand's own rule: nearest rank.
#[test]
fn percentiles_of_raw_samples_are_nearest_ranks() {
    let reported = output("h2load").read(&text("h2load-1.52.0.tsv")).expect("figures");
    let mut us: Vec<u64> = text("h2load-1.52.0.tsv")
        .lines()
        .map(|line| line.split('\t').nth(2).expect("a column").parse().expect("µs"))
        .collect();
    us.sort_unstable();
    assert_eq!(value_at(&reported.points, 0.5), Some(us[59] * 1_000));
    assert_eq!(value_at(&reported.points, 0.99), Some(us[118] * 1_000));
    assert_eq!(value_at(&reported.points, 1.0), Some(us[119] * 1_000));
}

/// An output that is cut, renamed or in another unit is an error that quotes it, or nothing has changed.
#[test]
fn a_changed_output_is_no_figure() {
    for (tool, file, changed, quoted) in [
        ("wrk", "wrk-4.1.0.txt", ("percentile ", "p"), "Running 3s test"),
        ("wrk2", "wrk2-4.0.0.txt", ("75.97ms", "75.97 fortnights"), "75.97 fortnights"),
        ("ab", "ab-2.3.csv", (",", ";"), "Percentage served;Time in ms"),
        ("hey", "hey-0.1.4.csv", ("response-time", "latency"), "latency,DNS+dialup"),
        ("h2load", "h2load-1.52.0.tsv", ("\t", " "), "no column"),
        (
            "bombardier",
            "bombardier-1.2.6.json",
            ("\"99\"", "\"p99\""),
            "there is no /result/latency/percentiles/99",
        ),
        ("vegeta", "vegeta-12.12.0.csv", (",200,", ",200,x"), "is not a time"),
        ("fortio", "fortio-1.68.2.json", ("\"Value\"", "\"Val\""), "at /DurationHistogram/Percentiles is"),
        (
            "autocannon",
            "autocannon-9.0.0.json",
            ("\"p99\":", "\"p99\":\"x\",\"q\":"),
            "/latency/p99 is not a number",
        ),
        ("oha", "oha-1.16.0.json", ("p99.9", "p999"), "there is no /latencyPercentiles/p99.9"),
        ("locust", "locust-2.47.0.json", ("response_times", "times"), "nothing at /0/response_times"),
        (
            "k6-constant-vus",
            "k6-2.1.0.json",
            ("p(99)", "p99"),
            "there is no /metrics/http_req_duration/p(99)",
        ),
        ("artillery", "artillery-2.0.21.json", ("\"p99\"", "\"p98\""), "there is no /aggregate"),
        (
            "unblink-open",
            "unblink-0.1.0.json",
            ("\"quantiles\"", "\"percentiles\""),
            "nothing at /response_time/quantiles",
        ),
        ("jmeter-threads", "jmeter-5.6.3.csv", (",elapsed,", ",took,"), "it has no column \"elapsed\""),
        ("gatling-open", "gatling-3.15.0.txt", ("1,785 ", "1.785,0 "), "is not understood, no time"),
        ("ghz", "ghz-0.120.0.csv", ("duration (ms)", "duration"), "it has no column \"duration (ms)\""),
        (
            "oha-http2",
            "oha-http2-1.16.0.json",
            ("p99.9\"", "p999\""),
            "there is no /latencyPercentiles/p99.9",
        ),
        (
            "k6-websocket",
            "k6-websocket-2.1.0.json",
            ("message_duration", "duration"),
            "there is no /metrics/message_duration",
        ),
        ("hyperfoil", "hyperfoil-0.25.2.txt", ("percentile 99.0 ns", "percentile 99.0 cycles"), "no time"),
    ] {
        let original = text(file);
        assert!(original.contains(changed.0), "{file}");
        let error = output(tool).read(&original.replace(changed.0, changed.1)).map(|_| ()).expect_err(file);
        assert!(error.to_string().contains(quoted), "{file}: {error}");
    }
}

/// No cut of a real output, at any byte, makes a panic.
#[test]
fn a_cut_output_does_not_panic() {
    for (tool, file, ..) in CASES {
        let (output, whole) = (output(tool), text(file));
        for cut in (0..whole.len().min(3_000)).filter(|&cut| whole.is_char_boundary(cut)).step_by(7) {
            let _ = output.read(&whole[..cut]);
        }
    }
}

#[test]
fn percentile_text_of_two_programs_and_a_log() {
    let hgrm: Output = toml::from_str("format = \"hgrm\"\nunit = \"ms\"").expect("a format");
    let vegeta = hgrm.read(&text("vegeta-12.12.0.hgrm")).expect("figures");
    assert_eq!(vegeta.points[0].value_ns, 10_096_572);
    let wrk2 = hgrm.read(&text("wrk2-4.0.0.txt")).expect("figures");
    assert_eq!(wrk2.points[0].value_ns, 10_087_000);
    let hlog: Output =
        toml::from_str("format = \"hlog\"\nunit = \"ns\"\ntag = \"response_time\"").expect("a format");
    let log = hlog.read(&text("unblink-0.1.0.hlog")).expect("figures");
    let document = output("unblink-open").read(&text("unblink-0.1.0.json")).expect("figures");
    assert_eq!(log.samples, document.samples);
    for q in [0.5, 0.9, 0.99, 0.999] {
        // The log's histogram has three digits.
        let [of_log, exact] = [&log, &document].map(|all| value_at(&all.points, q).expect("a value"));
        assert!(of_log.abs_diff(exact) <= exact / 1_000, "{q}: {of_log} {exact}");
    }
    let untagged: Output = toml::from_str("format = \"hlog\"\nunit = \"ns\"").expect("a format");
    let error = untagged.read(&text("unblink-0.1.0.hlog")).expect_err("only tags").to_string();
    assert!(error.starts_with("there is no interval without a tag"), "{error}");
    let cut = text("unblink-0.1.0.hlog").replace("HIST", "MIST");
    assert!(hlog.read(&cut).is_err());
}

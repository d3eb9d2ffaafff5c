//! `unblink import` and `unblink trace`, from a log to a picture.

use crate::support;
use crate::support::{Place, Said};
use serde_json::Value;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FORMAT: &str =
    r#"$remote_addr - $remote_user [$msec] "$request" $status $body_bytes_sent $request_time"#;

/// A minute of two requests per second by ten users, with a secret in each line.
fn log() -> String {
    let line = |n: u64| {
        format!(
            "10.0.0.{} - - [{}.{:03}] \"GET /items/{}?token=hunter{n} HTTP/1.1\" {} 100 0.250\n",
            n % 10,
            1_769_860_800 + n / 2,
            n % 2 * 500 + 250,
            n % 7,
            if n.is_multiple_of(40) { 404 } else { 200 }
        )
    };
    (0..120).map(line).collect()
}

fn import(place: &Place, more: &[&str]) -> Said {
    let args = ["import", "access.log", "--format", "nginx", "--log-format", FORMAT, "-o", "hour.trace"];
    place.call(&[&args[..], more].concat())
}

fn shown(place: &Place, trace: &str) -> Value {
    serde_json::from_str(&place.call(&["trace", "show", trace, "--json"]).stdout).expect("JSON")
}

#[test]
fn a_log_becomes_a_trace_that_is_shown_cut_sampled_and_merged() {
    let place = Place::new();
    place.file("access.log", log() + "hunter2 is broken\n");
    let said = import(&place, &[]);
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    assert!(
        said.stdout
            .contains("121 lines from nginx\n  120  requests\n    1  unreadable: not of this format\n"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("access.log:121:") && said.stderr.contains("| xxxxxx0 xx xxxxxx"),
        "{said:?}"
    );
    let trace = std::fs::read(place.path().join("hour.trace")).expect("a trace");
    let text = String::from_utf8(zstd::decode_all(&trace[..]).expect("Zstandard")).expect("UTF-8");
    assert!(!text.contains("hunter") && !text.contains("10.0.0."), "{text}");

    let all = shown(&place, "hour.trace");
    let schema: Value = serde_json::from_str(&place.call(&["schema", "trace-summary"]).stdout).expect("JSON");
    let valid = jsonschema::validator_for(&schema).expect("a schema");
    assert!(valid.is_valid(&all), "{all}");
    assert_eq!((&all["requests"], &all["length_ns"]), (&120.into(), &59_500_000_000_u64.into()));
    assert_eq!(all["start"], "2026-01-31T12:00:00Z");
    assert_eq!(all["routes"][0]["name"], "GET /items/{id}");
    assert_eq!(all["statuses"], serde_json::json!({"200": 117, "404": 3}));
    assert_eq!((&all["users"]["count"], &all["users"]["busiest"]), (&10.into(), &12.into()));
    assert_eq!(all["findings"][0]["code"], "unreadable_lines");
    let picture = place.call(&["trace", "show", "hour.trace"]).stdout;
    for part in ["120 requests over 59.5 s", "GET /items/{id}", "10 users, 12.0 requests each", "Burstiness"]
    {
        assert!(picture.contains(part), "{part}: {picture}");
    }

    let ok = |args: &[&str]| assert_eq!(place.call(args).status.code(), Some(0), "{args:?}");
    let behind = place.call(&["trace", "cut", "hour.trace", "--from", "1h", "-o", "none.trace"]);
    behind.refused(&["hour.trace: no request started in this part", "trace show"]);
    ok(&["trace", "cut", "hour.trace", "--to", "30s", "-o", "a.trace"]);
    ok(&["trace", "cut", "hour.trace", "--from", "30s", "-o", "b.trace"]);
    ok(&["trace", "merge", "b.trace", "a.trace", "-o", "both.trace"]);
    let both = shown(&place, "both.trace");
    assert_eq!((shown(&place, "a.trace")["requests"].clone(), &both["requests"]), (60.into(), &120.into()));
    assert_eq!((&both["length_ns"], &both["routes"]), (&all["length_ns"], &all["routes"]));
    ok(&["trace", "sample", "hour.trace", "100%", "-o", "all.trace"]);
    assert_eq!(shown(&place, "all.trace")["requests"], 120);
    assert_eq!(
        place.call(&["trace", "sample", "hour.trace", "50%", "-o", "hour.trace"]).status.code(),
        Some(2)
    );
    assert_eq!(shown(&place, "hour.trace")["requests"], 120, "what is read is not written over");
}

/// A server goes on writing, in pieces that end anywhere, and some of its clients are hostile.
#[test]
fn a_log_is_imported_while_it_grows_and_whatever_stands_in_it() {
    const FIRST: u64 = 3_000;
    let line = |n: u64, path: &str| {
        let ms = 1_769_860_800_000 + 10 * n;
        let (s, ms) = (ms / 1_000, ms % 1_000);
        format!("10.0.0.1 - - [{s}.{ms:03}] \"GET {path} HTTP/1.1\" 200 100 0.000\n").into_bytes()
    };
    let numbered = |n: u64| line(n, &format!("/n/{n}"));
    let place = Place::new();
    let mut log: Vec<u8> = (0..FIRST).flat_map(numbered).collect();
    // Too long, bytes that are no text, escaped quotes, a time a minute ago, and half of a line before a whole one.
    log.extend(line(FIRST, &format!("/long/{}", "x".repeat(1 << 20))));
    log.extend(
        line(FIRST, "/b").iter().flat_map(|&byte| if byte == b'b' { vec![0xff, 0xfe] } else { vec![byte] }),
    );
    log.extend(line(FIRST, "/say\\x22hi\\x22"));
    log.extend(line(0, "/back"));
    log.extend(&line(FIRST, "/half")[..40]);
    log.extend(b"\n");
    place.file("access.log", &log);
    let stop = AtomicBool::new(false);
    let (said, written) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut file =
                std::fs::File::options().append(true).open(place.path().join("access.log")).expect("a log");
            let (mut n, mut rest) = (FIRST, Vec::new());
            while !stop.load(Ordering::Relaxed) {
                while rest.len() < 10_007 {
                    rest.extend(numbered(n));
                    n += 1;
                }
                let left = rest.split_off(10_007);
                file.write_all(&rest).expect("it is written");
                rest = left;
                std::thread::sleep(Duration::from_millis(1));
            }
            n
        });
        let said = import(&place, &["--keep", "path"]);
        stop.store(true, Ordering::Relaxed);
        (said, writer.join().expect("it ends"))
    });
    assert_eq!(said.code(), Some(0), "{said:?}");
    for part in ["1  unreadable: longer than 1 MiB", "1  unreadable: not of this format"] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    // It was opened in the midst of a line, or between two.
    let cut = said.stdout.matches("unreadable: the log ends in it").count();
    assert!(cut <= 1, "{said:?}");
    let trace = std::fs::read(place.path().join("hour.trace")).expect("a trace");
    let text = String::from_utf8(zstd::decode_all(&trace[..]).expect("Zstandard")).expect("UTF-8");
    let rows: Vec<Value> = text.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let paths: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
    let odd: Vec<&str> = paths.iter().copied().filter(|path| !path.starts_with("/n/")).collect();
    assert_eq!(odd, ["/back", "/%FF%FE", "/say\"hi\""]);
    let numbers: Vec<u64> = paths.iter().filter_map(|path| path.strip_prefix("/n/")?.parse().ok()).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "all from the first on, in order");
    assert!((FIRST..=written).contains(&(numbers.len() as u64)), "{} of {written}", numbers.len());
}

#[test]
fn standard_input_and_a_key_that_is_kept() {
    let place = Place::new();
    place.file("access.log", log());
    place.file("key", "a secret of more than sixteen bytes");
    assert_eq!(import(&place, &["--key-file", "key"]).status.code(), Some(0));
    let first = shown(&place, "hour.trace");
    let mut piped = place.command(&[
        "import",
        "-",
        "--format",
        "nginx",
        "--log-format",
        FORMAT,
        "--key-file",
        "key",
        "-o",
        "piped.trace",
    ]);
    piped.stdin(std::fs::File::open(place.path().join("access.log")).expect("a log"));
    assert_eq!(support::finish(&mut piped).status.code(), Some(0));
    let piped = shown(&place, "piped.trace");
    assert_eq!((&first["keys"], &first["requests"]), (&piped["keys"], &piped["requests"]));
    assert_eq!(import(&place, &[]).status.code(), Some(0));
    assert_ne!(shown(&place, "hour.trace")["keys"], first["keys"], "a key of its own");
}

/// What is to be done about an unknown stamp can be done: fields of these formats can't be named.
#[test]
fn a_log_by_an_unknown_server_may_be_read_by_its_own_format() {
    let place = Place::new();
    place.file(
        "access.log",
        "10.0.0.1 - - [31/Jan/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"\n",
    );
    let import = |args: &[&str]| place.call(&[&["import", "access.log", "-o", "x.trace"], args].concat());
    let unknown = import(&["--format", "combined"]);
    assert!(
        unknown.stderr.contains("Say what wrote it with --format nginx or --format apache"),
        "{unknown:?}"
    );
    for format in ["nginx", "apache"] {
        let known = import(&["--format", format]);
        assert!(known.code() == Some(0) && !known.stderr.contains("It isn't known"), "{known:?}");
    }
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let place = Place::new();
    place.file("access.log", log());
    place.file("short", "abc");
    place.file("empty.log", "");
    for (args, part) in [
        (&["access.log", "--format", "nginx"][..], "--log-format must be the log_format"),
        (&["access.log", "--format", "nginx", "--log-format", "$request"], "has no time"),
        (&["access.log", "--format", "envoy", "--log-format", "x"], "is for --format nginx"),
        (&["access.log", "--format", "json"], "--map start=FIELD"),
        (
            &["access.log", "--format", "json", "--map", "start=a,paht=b"],
            "\"paht\" is not a part of a request",
        ),
        (
            &["access.log", "--format", "combined", "--keep", "header.referer"],
            "need to know what wrote the log",
        ),
        (&["access.log", "--format", "nginx", "--keep", "cookies"], "is nothing that a log has"),
        (&["access.log", "--format", "nginx", "--key-file", "short"], "needs 16 or more"),
        (&["none.log", "--format", "nginx"], "can't read the log"),
        (&["empty.log", "--format", "nginx"], "no request could be read: the log is empty"),
        (&["access.log", "--format", "nginx", "-o", "access.log"], "is a file that is read"),
    ] {
        let to: &[&str] = if args.contains(&"-o") { &[] } else { &["-o", "x.trace"] };
        let said = place.call(&[&["import"], args, to].concat());
        assert_eq!(said.status.code(), Some(2), "{args:?}: {said:?}");
        assert!(said.stderr.contains(part), "{args:?}: {said:?}");
        assert!(!said.stderr.contains("hunter"), "{said:?}");
    }
    assert_eq!(place.list("."), ["access.log", "empty.log", "short"]);
    let said = place.call(&["trace", "show", "access.log"]);
    assert!(
        said.status.code() == Some(2) && said.stderr.contains("this is not a trace of unblink"),
        "{said:?}"
    );
}

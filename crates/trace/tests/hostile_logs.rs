//! Logs that nobody should write, and secrets wherever a log can have them.

mod support;

use proptest::prelude::*;
use support::{apache, import_with, json, keep, map, nginx};
use unblink_trace::Unreadable;
use unblink_trace::anonymous::{Anonymous, Keep, Key};
use unblink_trace::format::Writer;
use unblink_trace::import::{Import, ImportError, Input};
use unblink_trace::source::{self, Map, Source};

const NGINX: &str = r#"$remote_addr - $remote_user [$msec] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time"#;

fn nginx_line(second: u64, request: &str) -> String {
    format!("1.1.1.1 - - [{second}.000] \"{request}\" 200 5 \"-\" \"x\" 0.001\n")
}

fn sources() -> Vec<Source> {
    vec![
        nginx(NGINX),
        apache(r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %D"#),
        Source::Lines(source::combined_or_common(true)),
        Source::Lines(source::combined_or_common(false)),
        Source::Lines(source::envoy(&Map::default(), &[]).unwrap()),
        Source::Lines(source::alb(&Map::default(), &[]).unwrap()),
        json(&["start=ts", "request=req", "status=s", "duration=d:ms", "bytes=b", "user=u"]),
        Source::har(&map(&[])).unwrap(),
        Source::gor(&map(&[])).unwrap(),
    ]
}

#[test]
fn lines_that_are_broken_are_counted_and_the_first_is_shown_without_its_words() {
    let mut log = Vec::new();
    log.extend(nginx_line(1_769_860_800, "GET /a HTTP/1.1").bytes());
    log.extend(b"hunter2 - - [17");
    log.extend([0xff, 0xfe, b'\n']);
    log.extend(nginx_line(1_769_860_801, "\\x16\\x03\\x01").bytes());
    log.extend(nginx_line(1_769_860_801, "").bytes());
    log.extend(b"1.1.1.1 - - [yesterday] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\" 0.001\n");
    log.extend(b"1.1.1.1 - - [1769860801.000] \"GET / HTTP/1.1\" 2x0 5 \"-\" \"x\" 0.001\n\n# comment\n");
    log.extend(nginx_line(1_769_860_802, &format!("GET /{} HTTP/1.1", "a".repeat(1 << 20))).bytes());
    log.extend(nginx_line(1_769_860_802, "GET /say\\x22hi\\x22 HTTP/1.1").bytes());
    // A duration of 0.123 may have been cut to 0.1.
    log.extend(nginx_line(1_769_860_803, "GET /cut HTTP/1.1").trim_end().bytes());
    let out = import_with(nginx(NGINX), &log, keep(&["path"])).unwrap();
    assert_eq!(out.paths(), ["/a", "/say\"hi\""]);
    let counts = &out.imported.counts;
    let want =
        [Unreadable::Format, Unreadable::Time, Unreadable::Value, Unreadable::TooLong, Unreadable::Cut];
    assert_eq!(counts.unreadable, want.map(|why| (why, 1)).into_iter().collect());
    assert_eq!((counts.lines, counts.blank, counts.no_request, counts.requests), (11, 2, 2, 2));
    let first = out.imported.first_unreadable.unwrap();
    assert_eq!((first.input.as_str(), first.line, first.form.as_str()), ("the.log", 2, "xxxxxx0 - - [00xx"));
}

/// A line of each format that has lines: with the start so many ms after noon, and with what was asked as the log escapes it.
type LineOf = fn(u64, &str) -> String;

fn formats_of_lines() -> Vec<(&'static str, Source, LineOf, &'static str)> {
    const APACHE: &str = r#"%h %l %u %{msec}t "%r" %>s %b "%{User-Agent}i" %D x"#;
    let all: [(&'static str, Source, LineOf, &'static str); 7] = [
        (
            "nginx",
            nginx(NGINX),
            |ms, path| {
                let (s, ms) = (1_769_860_800 + ms / 1_000, ms % 1_000);
                format!(r#"1.1.1.1 - - [{s}.{ms:03}] "GET {path} HTTP/1.1" 200 5 "-" "a \"b\" \\" 0.000"#)
            },
            r"\x22",
        ),
        (
            "apache",
            apache(APACHE),
            |ms, path| {
                let ms = 1_769_860_800_000 + ms;
                format!(r#"1.1.1.1 - - {ms} "GET {path} HTTP/1.1" 200 5 "a \"b\" \\" 10 x"#)
            },
            r#"\""#,
        ),
        (
            "combined",
            Source::Lines(source::combined_or_common(true)),
            |ms, path| {
                let s = ms / 1_000;
                format!(
                    r#"1.1.1.1 - - [31/Jan/2026:12:00:{s:02} +0000] "GET {path} HTTP/1.1" 200 5 "-" "a \"b\" \\""#
                )
            },
            r#"\""#,
        ),
        (
            "common",
            Source::Lines(source::combined_or_common(false)),
            |ms, path| {
                let s = ms / 1_000;
                format!(r#"1.1.1.1 - - [31/Jan/2026:12:00:{s:02} +0000] "GET {path} HTTP/1.1" 200 5"#)
            },
            r#"\""#,
        ),
        (
            "envoy",
            Source::Lines(source::envoy(&Map::default(), &[]).unwrap()),
            |ms, path| {
                let (s, ms) = (ms / 1_000, ms % 1_000);
                format!(
                    r#"[2026-01-31T12:00:{s:02}.{ms:03}Z] "GET {path} HTTP/1.1" 200 - 0 5 1 1 "1.1.1.1" "a \"b\" \\" "c" "d" "e""#
                )
            },
            r#"\""#,
        ),
        (
            "alb",
            Source::Lines(source::alb(&Map::default(), &[]).unwrap()),
            |ms, path| {
                let (s, ms) = (ms / 1_000, ms % 1_000);
                format!(
                    r#"http 2026-01-31T12:01:00.000000Z app/lb/1 1.1.1.1:2817 10.0.0.1:80 0.0 0.0 0.0 200 200 0 57 "GET http://x:80{path} HTTP/1.1" "a \"b\" \\" - - arn "Root" "-" "-" 0 2026-01-31T12:00:{s:02}.{ms:03}000Z "x""#
                )
            },
            r#"\""#,
        ),
        (
            "json",
            json(&["start=ts", "request=req"]),
            |ms, path| {
                let ms = 1_769_860_800_000 + ms;
                format!(r#"{{"ts":{ms},"ua":"a \"b\" \\","req":"GET {path} HTTP/1.1"}}"#)
            },
            r#"\""#,
        ),
    ];
    all.into()
}

#[test]
fn hostile_lines_of_every_format_are_read_or_counted_and_what_is_read_is_in_order() {
    for (name, source, line, quote) in formats_of_lines() {
        let mut log = Vec::new();
        let mut add = |line: String| log.extend((line + "\n").bytes());
        add(line(3_000, "/c"));
        // Times go back.
        add(line(1_000, "/a"));
        add(line(2_000, "/b"));
        add(line(4_000, &format!("/{}", "a".repeat(1 << 20))));
        add(line(5_000, &format!("/say{quote}hi{quote}")));
        let [before, behind] = ["/\u{1}", "\u{2}"];
        let text = line(6_000, &format!("{before}{behind}"));
        let (head, tail) = text.split_once(&format!("{before}{behind}")).unwrap();
        log.extend([head.as_bytes(), b"/x\xff\xfey", tail.as_bytes(), b"\n"].concat());
        // The half of a line, and then the end of the log.
        let last = line(7_000, "/last");
        log.extend(&last.as_bytes()[..last.find("/last").unwrap() + 3]);
        let out = import_with(source, &log, keep(&["path"])).unwrap();
        let counts = &out.imported.counts;
        let is_text = name == "json";
        // JSON is UTF-8 or it is none.
        let mut paths = vec!["/a", "/b", "/c", "/say\"hi\"", "/x%FF%FEy"];
        paths.truncate(if is_text { 4 } else { 5 });
        assert_eq!(out.paths(), paths, "{name}");
        let whole_seconds = ["combined", "common"].contains(&name);
        let ms = [1_000.0, 2_000.0, 3_000.0, 5_000.0, 6_000.0]
            .map(|ms| ms + if whole_seconds { 500.0 } else { 0.0 });
        assert_eq!(out.ms(), ms[..paths.len()], "{name}");
        let mut unreadable = vec![(Unreadable::TooLong, 1), (Unreadable::Cut, 1)];
        unreadable.extend(is_text.then_some((Unreadable::Format, 1)));
        assert_eq!(counts.unreadable, unreadable.into_iter().collect(), "{name}");
        assert_eq!((counts.lines, counts.out_of_window), (7, 0), "{name}");
    }
}

/// Whoever writes goes on writing; what came behind the moment at which the log was opened belongs to the next import.
#[test]
fn a_log_that_grows_is_read_as_far_as_it_went_when_it_was_opened() {
    use std::io::Write;
    let lines = |from: u64, to: u64| -> Vec<u8> {
        (from..to)
            .flat_map(|n| nginx_line(1_769_860_800 + n, &format!("GET /a/{n} HTTP/1.1")).into_bytes())
            .collect()
    };
    let gz = |bytes: &[u8]| {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    };
    let zst = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, packed) in [
        ("a.log", &(|bytes: &[u8]| bytes.to_vec()) as &dyn Fn(&[u8]) -> Vec<u8>),
        ("a.log.gz", &gz),
        ("a.log.zst", &zst),
    ] {
        let path = folder.path().join(name);
        // The last line was half written, as buffered logs are.
        let mut first = lines(0, 100);
        let half = nginx_line(1_769_860_900, "GET /a/100 HTTP/1.1");
        first.extend(&half.as_bytes()[..30]);
        std::fs::write(&path, packed(&first)).unwrap();
        let bytes = unblink_trace::format::unpacked(&path).unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&packed(&[&half.as_bytes()[30..], &lines(101, 5_000)].concat())).unwrap();
        let input = Input { name: "a".into(), bytes };
        let anonymous = Anonymous::new(Key::random().unwrap(), Keep::default());
        let mut out = Vec::new();
        let imported = Import::new(nginx(NGINX), "nginx", anonymous, 10)
            .run([input], Writer::to(&mut out).unwrap(), &mut |_| true)
            .unwrap();
        assert_eq!(imported.requests, 100, "{name}");
        assert_eq!(imported.counts.unreadable, [(Unreadable::Cut, 1)].into_iter().collect(), "{name}");
        assert_eq!(imported.counts.lines, 101, "{name}");
    }
}

#[test]
fn a_log_of_another_format_makes_no_trace() {
    let log = nginx_line(1_769_860_800, "GET /a HTTP/1.1");
    let Err(ImportError::Nothing(imported)) =
        import_with(apache("%h %t \"%r\" %D"), log.as_bytes(), keep(&[]))
    else {
        panic!("there is nothing in it")
    };
    assert_eq!(imported.first_unreadable.unwrap().why, Unreadable::Time);
}

#[test]
fn an_import_that_is_told_to_stop_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hour.trace");
    let log = nginx_line(1_769_860_800, "GET /a HTTP/1.1");
    let run = |go_on: bool| {
        let input = Input { name: "a".into(), bytes: Box::new(log.as_bytes()) };
        let anonymous = Anonymous::new(Key::random().unwrap(), Keep::default());
        let writer = Writer::create(&path).unwrap();
        Import::new(nginx(NGINX), "nginx", anonymous, 10).run([input], writer, &mut |_| go_on)
    };
    assert!(matches!(run(false), Err(ImportError::Interrupted)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    run(true).unwrap();
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["hour.trace"]);
}

#[test]
fn a_packed_log_that_is_cut_gives_what_is_whole() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log.gz");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for second in 0..10_000 {
        gz.write_all(nginx_line(1_769_860_800 + second, &format!("GET /{second} HTTP/1.1")).as_bytes())
            .unwrap();
    }
    let packed = gz.finish().unwrap();
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let read = |path: &std::path::Path| {
        let bytes = unblink_trace::format::unpacked(path).unwrap();
        let input = Input { name: "a".into(), bytes };
        let anonymous = Anonymous::new(Key::random().unwrap(), Keep::default());
        let mut out = Vec::new();
        Import::new(nginx(NGINX), "nginx", anonymous, 10)
            .run([input], Writer::to(&mut out).unwrap(), &mut |_| true)
            .unwrap()
    };
    let cut = read(&path);
    assert!((1000..9000).contains(&cut.requests), "{}", cut.requests);
    assert!(cut.counts.findings.contains(&unblink_trace::Finding::InputCut));
    std::fs::write(&path, &packed).unwrap();
    assert_eq!(read(&path).requests, 10_000);
}

/// Words that must not be in a trace, in every place of every format.
#[test]
fn no_secret_of_any_format_reaches_the_trace() {
    let target = "/items/s3cret01/a%20s3cret02/s3cret03@x.org/s3cret04.jpg/v2;s=s3cret05?q=s3cret06&s3cret07&s3cret08=1#s3cret09";
    let request = format!("GET {target} HTTP/1.1");
    let whole = format!("GET https://s3cret10:s3cret11@s3cret12{target} HTTP/1.1");
    let logs = [
        format!(
            "s3cret20 - s3cret21 [1769860800.000] \"{request}\" 200 5 \"http://s3cret22\" \"s3cret23\" 0.001\n"
        ),
        format!(
            "s3cret20 s3cret24 s3cret21 [31/Jan/2026:12:00:00 +0000] \"{request}\" 200 5 \"s3cret22\" \"s3cret23\" 10\n"
        ),
        format!(
            "s3cret20 s3cret24 s3cret21 [31/Jan/2026:12:00:00 +0000] \"{whole}\" 200 5 \"s3cret22\" \"s3cret23\"\n"
        ),
        format!("s3cret20 s3cret24 s3cret21 [31/Jan/2026:12:00:00 +0000] \"{request}\" 200 5\n"),
        format!(
            "[2026-01-31T12:00:00.310Z] \"{request}\" 204 s3cret25 1 0 2 1 \"s3cret20\" \"s3cret23\" \"s3cret26\" \"s3cret27\" \"s3cret28\"\n"
        ),
        format!(
            "https 2026-01-31T12:00:02.000000Z s3cret29 s3cret20:1 s3cret30:80 0.0 0.0 0.0 200 200 0 57 \"{whole}\" \"s3cret23\" s3cret31 T s3cret32 \"s3cret33\" \"s3cret34\" \"s3cret35\" 1 2026-01-31T12:00:00.123456Z \"s3cret36\" \"s3cret37\"\n"
        ),
        format!(
            "{{\"ts\":1769860800,\"req\":\"{request}\",\"s\":200,\"u\":\"s3cret20\",\"s3cret38\":\"s3cret39\",\"x\":{{\"y\":[\"s3cret40\"]}}}}\n"
        ),
        format!(
            "{{\"log\":{{\"entries\":[{{\"startedDateTime\":\"2026-01-31T12:00:00.1Z\",\"serverIPAddress\":\"s3cret41\",\"request\":{{\"method\":\"GET\",\"url\":\"https://s3cret12{target}\",\"headers\":[{{\"name\":\"Cookie\",\"value\":\"s3cret42\"}}],\"cookies\":[\"s3cret43\"],\"postData\":{{\"text\":\"s3cret44\"}}}},\"response\":{{\"status\":200,\"content\":{{\"text\":\"s3cret45\"}}}}}}]}}}}"
        ),
        format!(
            "1 s3cret46 1769860800000000000\n{request}\r\nAuthorization: s3cret47\r\nCookie: s3cret48\r\n\r\ns3cret49\n🐵🙈🙉\n"
        ),
    ];
    let sources = sources();
    assert_eq!(logs.len(), sources.len());
    for (source, log) in sources.into_iter().zip(&logs) {
        // Behind a broken line, which is quoted.
        let broken = if log.starts_with('{') || log.starts_with("1 ") {
            String::new()
        } else {
            "s3cret50 \"s3cret51\n".into()
        };
        let out = import_with(source, (broken + log).as_bytes(), Keep::default()).unwrap();
        assert_eq!(out.requests.len(), 1, "{log}");
        assert!(!out.text.contains("s3cret"), "{log}\n{}", out.text);
        assert!(!format!("{:?}", out.imported).contains("s3cret"), "{:?}", out.imported);
        assert!(out.text.contains("\"path\":\"/items/"), "{}", out.text);
    }
}

#[test]
fn the_same_key_gives_the_same_numbers_in_two_formats() {
    let one = import_with(nginx(NGINX), nginx_line(1_769_860_800, "GET /a/1 HTTP/1.1").as_bytes(), keep(&[]))
        .unwrap();
    let log = b"{\"ts\":1769860800,\"req\":\"GET /b/1 HTTP/1.1\",\"u\":\"1.1.1.1\"}\n";
    let other = import_with(json(&["start=ts", "request=req", "user=u"]), log, keep(&[])).unwrap();
    assert_eq!(one.requests[0].user, other.requests[0].user);
    assert_eq!(one.paths()[0][2..], other.paths()[0][2..]);
}

proptest! {
    /// Bytes of a log's kind in any order: no parser panics, and all that was read is counted.
    #[test]
    fn any_lines_are_counted(
        pieces in prop::collection::vec(prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            prop::sample::select(vec![
                "\"", "\\", "\\x", "\\u12", " ", "\n", "[", "]", "{", "}", ":", ",", "-", "1.1.1.1", "GET / HTTP/1.1",
                "1769860800.000", "31/Jan/2026:12:00:00 +0000", "200", "\"ts\"", "\"req\"", "{\"log\":{\"entries\":[",
                "1 a 5\n", "2 a 7 1\n", "HTTP/1.1 200 OK\n\n", "\n🐵🙈🙉\n", "9999999999999999999999",
            ]).prop_map(|text| text.as_bytes().to_vec()),
        ], 0..60)
    ) {
        let log = pieces.concat();
        for source in sources() {
            let counts = match import_with(source, &log, Keep::default()) {
                Ok(out) => out.imported.counts,
                Err(ImportError::Nothing(imported)) => imported.counts,
                Err(error) => panic!("{error}"),
            };
            prop_assert_eq!(
                counts.lines,
                counts.requests
                    + counts.blank
                    + counts.no_request
                    + counts.answers()
                    + counts.unreadable()
                    + counts.out_of_window
            );
        }
    }

    /// A log that is cut anywhere is the log up to there, or one line less.
    #[test]
    fn a_log_may_be_cut_anywhere(lines in 1..5_usize, cut in 0.0..1.0_f64) {
        let log: String = (0..lines as u64).map(|n| nginx_line(1_769_860_800 + n, "GET /a HTTP/1.1")).collect();
        let part = &log.as_bytes()[..(cut * log.len() as f64) as usize];
        let whole = part.iter().filter(|byte| **byte == b'\n').count();
        match import_with(nginx(NGINX), part, Keep::default()) {
            Ok(out) => prop_assert_eq!(out.requests.len(), whole),
            Err(ImportError::Nothing(_)) => prop_assert_eq!(whole, 0),
            Err(error) => panic!("{error}"),
        }
    }
}

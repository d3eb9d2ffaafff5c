//! Small logs of every format, and the requests that they must become.

mod support;

use support::{MS, NOON, Out, apache, import, import_with, json, keep, map, nginx};
use unblink_trace::source::{self, Edge, JsonLines, Map, Source};
use unblink_trace::{AnswerIs, Finding, Lacking, Unreadable};

#[test]
fn nginx_stamps_the_end_and_the_start_is_before_it() {
    let source =
        nginx(r#"$remote_addr [$msec] "$request" $status $body_bytes_sent $request_length $request_time"#);
    assert_eq!(source.edge(), Edge::End);
    let out = import(
        source,
        "9.9.9.9 [1769860801.500] \"GET /slow?a=1 HTTP/1.1\" 200 10 80 1.500\n\
         9.9.9.8 [1769860801.600] \"POST /fast HTTP/2.0\" 503 0 900 0.001\n\
         9.9.9.9 [1769860802.000] \"GET /last HTTP/1.0\" 200 1 70 0.000\n",
    );
    assert_eq!(out.ms(), [0.0, 1599.0, 2000.0]);
    assert_eq!(out.paths(), ["/slow?a=", "/fast", "/last"]);
    let first = &out.requests[0];
    assert_eq!((&*first.method, first.status, first.took), ("GET", Some(200), Some(1500 * MS as u64)));
    assert_eq!((first.answer_bytes, first.request_bytes), (Some(10), Some(80)));
    assert!(first.user.is_some() && first.user == out.requests[2].user && first.user != out.requests[1].user);
    assert_eq!(out.imported.counts.findings, []);
    assert_eq!(
        out.imported.counts.lacking,
        [(Lacking::Body, 1), (Lacking::QueryValues, 1)].into_iter().collect()
    );
    assert!(out.text.starts_with(r#"{"format":"unblink.trace/1","made_by":"unblink "#), "{}", out.text);
    assert!(out.text.contains(r#""start":"2026-01-31T12:00:00.000000000Z""#), "{}", out.text);
    assert!(
        out.text.contains("\n{\"after\":1599000000,\"method\":\"POST\",\"path\":\"/fast\",\"status\":503,")
    );
}

#[test]
fn whole_seconds_of_nginx_are_spread_before_durations_are_taken_off() {
    let directive = "log_format timed '$remote_addr - $remote_user [$time_local] '\n   '\"$request\" $status $request_time';";
    let line = |zone: &str, path: &str, took: &str| {
        format!("1.1.1.1 - - [31/Jan/2026:{zone}] \"GET {path} HTTP/1.1\" 200 {took}\n")
    };
    let log = line("12:00:01 +0000", "/a", "0.250") + &line("14:00:01 +0200", "/b", "1.000");
    let out = import(nginx(directive), &log);
    // The ends are 1.25 s and 1.75 s.
    assert_eq!((out.paths(), out.ms()), (vec!["/b", "/a"], vec![750.0, 1000.0]));
    assert_eq!(out.imported.counts.findings, [Finding::WholeSeconds]);
}

#[test]
fn a_log_without_durations_says_that_arrivals_are_late() {
    let line = "1.1.1.1 - eve [31/Jan/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"curl\"\n";
    let of = |source: Source| import(source, line).imported.counts.findings;
    let nginx = Source::Lines(source::nginx(None, &Map::default(), &[]).unwrap());
    assert_eq!(of(nginx), [Finding::ArrivalIsEnd, Finding::WholeSeconds]);
    let apache = Source::Lines(source::apache(None, &Map::default(), &[]).unwrap());
    assert_eq!(of(apache), [Finding::WholeSeconds]);
    let either = Source::Lines(source::combined_or_common(true));
    assert_eq!(of(either), [Finding::StampIsUnknown, Finding::WholeSeconds]);
}

#[test]
fn nginx_in_json_and_with_a_path_in_pieces() {
    let format = r#"log_format j escape=json '{"t":"$time_iso8601","h":"$host","u":"$uri$is_args$args","m":"$request_method","ua":"$http_user_agent","d":"$request_time"}';"#;
    let out = import(
        nginx(format),
        "{\"t\":\"2026-01-31T13:00:00+01:00\",\"h\":\"x\",\"u\":\"/a\\u002fb\",\"m\":\"GET\",\"ua\":\"say \\\"hi\\\" \\\\\",\"d\":\"0.500\"}\n",
    );
    assert_eq!((out.paths(), out.ms()), (vec!["/a/b"], vec![0.0]));
    let out = import(
        nginx("$scheme://$host$request_uri $request_method $msec"),
        "https://example.com/a/b?c=d GET 1769860800.007\n",
    );
    assert_eq!((out.paths(), out.ms()), (vec!["/a/b?c="], vec![7.0]));
}

#[test]
fn apache_stamps_the_start() {
    let out = import(
        apache(r#"LogFormat "%h %l %u %t \"%r\" %>s %O %D \"%{User-Agent}i\"" timed"#),
        "1.1.1.1 - eve [31/Jan/2026:12:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 250000 \"say \\\"hi\\\"\"\n",
    );
    assert_eq!((out.ms(), out.requests[0].took), (vec![500.0], Some(250 * MS as u64)));
    assert_eq!(out.imported.counts.lacking.get(&Lacking::Credentials), Some(&1));
    let out = import(
        apache("%a %{usec}t %m %U%q %s %T"),
        "1.1.1.1 1769860800000250 GET /a?b=c 200 1\n1.1.1.1 1769860800000100 GET /b 200 0\n",
    );
    assert_eq!((out.paths(), out.ms()), (vec!["/b", "/a?b="], vec![0.1, 0.25]));
    // The end in ms and a duration in whole seconds: starts are coarse.
    let out = import(apache("%{end:msec}t \"%r\" %T"), "1769860802000 \"GET / HTTP/1.1\" 2\n");
    assert_eq!((out.ms(), &out.imported.counts.findings[0]), (vec![0.0], &Finding::WholeSecondDurations));
}

#[test]
fn envoy_and_the_balancer_of_aws() {
    let envoy = Source::Lines(source::envoy(&Map::default(), &[]).unwrap());
    let out = import(
        envoy,
        "[2026-01-31T12:00:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \"10.0.35.28\" \"nsq2http\" \"cc21d9b0\" \"locations\" \"tcp://10.0.2.1:80\"\n",
    );
    let one = &out.requests[0];
    assert_eq!((out.ms(), &*one.path, one.status), (vec![310.0], "/api/v1/locations", Some(204)));
    assert_eq!((one.took, one.request_bytes), (Some(226 * MS as u64), Some(154)));
    let alb = Source::Lines(source::alb(&Map::default(), &["host".into()]).unwrap());
    let log = "https 2026-01-31T12:00:02.000000Z app/lb/1 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 \
        \"GET https://www.example.com:443/a/b?c=d HTTP/1.1\" \"curl/7.46.0\" ECDHE TLSv1.2 arn:aws:x \"Root=1-58337281\" \
        \"www.example.com\" \"arn:aws:acm:x\" 1 2026-01-31T12:00:00.123456Z \"authenticate,forward\" \"-\" \"-\" \"10.0.0.1:80\"\n\
        http 2026-01-31T12:00:03.000000Z app/lb/1 192.168.131.39:2818 - -1 -1 -1 502 - 0 57 \"GET http://x:80/ HTTP/1.1\" \
        \"-\" - - arn \"Root\" \"-\" \"-\" 0 2026-01-31T12:00:01.000000Z\n";
    let out = import_with(alb, log.as_bytes(), keep(&["header.host"])).unwrap();
    let one = &out.requests[0];
    assert_eq!((out.ms(), out.paths()), (vec![123.456, 1000.0], vec!["/a/b?c=", "/"]));
    assert_eq!((one.took, out.requests[1].took), (Some(171 * MS as u64), None));
    assert_eq!(one.headers, [("host".to_string(), "www.example.com".to_string())]);
    assert_eq!(one.user, out.requests[1].user, "the port is not the user");
    assert_eq!(out.imported.counts.findings, []);
}

#[test]
fn json_lines_by_a_map() {
    let parts =
        ["end=ts", "duration=took:ms", "path=http.url", "method=http.method", "status=code", "user=who"];
    let out = import(
        json(&parts),
        "{\"ts\":1769860800.25,\"took\":250,\"http\":{\"url\":\"/a\",\"method\":\"PUT\",\"x\":[1,{}]},\"code\":\"201\",\"who\":7}\n\
         {\"ts\":\"2026-01-31T12:00:01.5Z\",\"took\":\"500us\",\"http.url\":\"/b\",\"code\":200,\"more\":{\"a\":null}}\n\
         {\"ts\":1769860802000,\"took\":1.5,\"http\":{\"url\":\"/c\"},\"code\":null}\n",
    );
    assert_eq!((out.ms(), out.paths()), (vec![0.0, 1499.5, 1998.5], vec!["/a", "/b", "/c"]));
    assert_eq!(out.requests.iter().map(|r| &*r.method).collect::<Vec<_>>(), ["PUT", "GET", "GET"]);
    assert_eq!(out.requests.iter().map(|r| r.status).collect::<Vec<_>>(), [Some(201), Some(200), None]);
    let no_unit = import_with(
        json(&["end=ts", "duration=took", "path=p"]),
        b"{\"ts\":1769860800,\"took\":2,\"p\":\"/\"}\n",
        keep(&[]),
    );
    assert!(no_unit.is_err(), "2 of what?");
    for (parts, part) in [
        (&["path=p"][..], "which field has the time"),
        (&["start=t"], "what was asked"),
        (&["start=t", "path=p", "duration=d:min"], "\"min\" is not a unit"),
    ] {
        let why = JsonLines::new(&map(parts), &[]).unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    }
    assert!(Map::default().add("tme=x").unwrap_err().contains("expected one of time, start"));
}

#[test]
fn har_entries_one_at_a_time() {
    let har = r#"{"log":{"version":"1.2","pages":[{}],"entries":[
        {"startedDateTime":"2026-01-31T12:00:00.500Z","time":12.5,"request":{"method":"POST","url":"https://h/a?q=1","headers":[{"name":"Cookie","value":"s=1"},{"name":"X-User","value":"eve"}],"bodySize":3},"response":{"status":201,"bodySize":7,"content":{"text":"abc"}}},
        {"startedDateTime":"2026-01-31T12:00:00.400Z","time":0,"request":{"method":"GET","url":"data:image/png;base64,xx"}},
        {"startedDateTime":"2026-01-31T13:00:00.100+01:00","request":{"method":"GET","url":"https://h/"},"response":{"status":0}}]}}"#;
    let source = Source::har(&map(&["user=x-user"])).unwrap();
    let out = import(source, har);
    assert_eq!((out.ms(), out.paths()), (vec![100.0, 500.0], vec!["/", "/a?q="]));
    let post = &out.requests[1];
    assert_eq!((post.took, post.status, post.answer_bytes), (Some(12_500_000), Some(201), Some(7)));
    assert!(post.user.is_some());
    assert_eq!(out.imported.counts.no_request, 1);
    assert_eq!(out.imported.counts.lacking.get(&Lacking::Credentials), Some(&1));
    // Cut in the middle: what was whole is there.
    let cut = import_with(Source::Har(None), &har.as_bytes()[..har.len() - 200], keep(&[])).unwrap();
    assert_eq!(cut.imported.counts.unreadable.get(&Unreadable::Cut), Some(&1));
    assert!(!cut.requests.is_empty());
    let none = import_with(Source::Har(None), b"{\"log\":{}}", keep(&[]));
    assert!(none.is_err());
}

#[test]
fn goreplay_records() {
    let between = "\n🐵🙈🙉\n";
    let gor = format!(
        "1 aa {} 0\nPOST /a/17 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nline\nmore{between}2 aa {} 5\nHTTP/1.1 200 OK\r\n\r\n{between}1 bb {}\nGET /b HTTP/1.1\r\nAuthorization: z\r\n\r\n{between}1 cc {}\nGET /cut HT",
        NOON + 5 * MS,
        NOON + 9 * MS,
        NOON,
        NOON
    );
    let out = import(Source::Gor(None), &gor);
    assert_eq!(out.ms(), [0.0, 5.0]);
    assert_eq!((out.requests[0].path.as_ref(), out.requests[1].request_bytes), ("/b", Some(9)));
    let counts = &out.imported.counts;
    assert_eq!((counts.lines, counts.no_request, counts.unreadable.get(&Unreadable::Cut)), (4, 0, Some(&1)));
    assert_eq!((counts.answers.get(&AnswerIs::Joined), counts.unanswered), (Some(&1), 1));
    assert_eq!(counts.findings, [Finding::UnreadableLines, Finding::NoUsers]);
}

/// A path, and the status, size and duration (µs) that the answer told.
type Told<'a> = (&'a str, Option<u16>, Option<u64>, Option<u64>);

fn answers_of(out: &Out) -> Vec<Told<'_>> {
    let us = |ns: u64| ns / 1_000;
    let told = out.requests.iter().map(|of| (&*of.path, of.status, of.answer_bytes, of.took.map(us)));
    told.collect()
}

/// An answer may stand before its request, or far behind it, or be missing; what belongs to no request is counted by why.
#[test]
fn answers_that_goreplay_recorded_are_joined_with_their_requests() {
    let request = |id: &str, us: i64, what: &str| {
        format!("1 {id} {} 0\n{what} HTTP/1.1\r\nHost: x\r\n\r\n", NOON + us * 1_000)
    };
    // It began so many µs after noon, and took 100 µs to come.
    let answer =
        |id: &str, us: i64, text: &str| format!("2 {id} {} 100000\nHTTP/1.1 {text}", NOON + us * 1_000);
    let records = [
        answer("cc", 900, "200 OK\r\nContent-Length: 7\r\n\r\n1234567"),
        request("aa", 0, "GET /a"),
        request("bb", 200, "HEAD /b"),
        request("cc", 400, "GET /c"),
        request("dd", 500, "GET /d"),
        answer("bb", 300, "404 Not Found\r\nContent-Length: 9\r\n\r\n"),
        answer("aa", 50, "100 Continue\r\n\r\n"),
        answer(
            "aa",
            1_900,
            "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n2\r\n\r\n\r\n0\r\n\r\n",
        ),
        answer("aa", 2_900, "200 OK\r\n\r\n"),
        answer("zz", 2_900, "200 OK\r\n\r\n"),
        format!("3 dd {NOON} 5\nHTTP/1.1 200 OK\r\n\r\n"),
        request("ee", 600, "GET /e"),
        answer("ee", 700, "304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        request("ff", 800, "GET /f"),
        format!("2 ff {}\nHTTP/1.1 500 No\r\n\r\nclosed\n", NOON + 900_000),
        answer("dd", 900, "OK"),
        "2 dd noon 5\nHTTP/1.1 200 OK\r\n\r\n".to_string(),
    ];
    let out = import(Source::Gor(None), &records.map(|record| record + "\n🐵🙈🙉\n").concat());
    let expected = [
        ("/a", Some(200), Some(5), Some(2_000)),
        ("/b", Some(404), Some(0), Some(200)),
        ("/c", Some(200), Some(7), Some(600)),
        ("/d", None, None, None),
        ("/e", Some(304), Some(0), Some(200)),
        ("/f", Some(500), Some(7), None),
    ];
    assert_eq!(answers_of(&out), expected);
    let counts = &out.imported.counts;
    let answers = [
        (AnswerIs::Joined, 5),
        (AnswerIs::Stray, 1),
        (AnswerIs::Again, 1),
        (AnswerIs::Interim, 1),
        (AnswerIs::OfReplay, 1),
    ];
    assert_eq!(counts.answers, answers.into_iter().collect());
    let unreadable = [(Unreadable::Format, 1), (Unreadable::Time, 1)];
    assert_eq!((counts.unanswered, &counts.unreadable), (1, &unreadable.into_iter().collect()));
    assert_eq!(out.imported.first_unreadable.as_ref().map(|first| first.line), Some(16));
}

/// What waits for its answer is bounded: an answer that comes too late finds nobody.
#[test]
fn answers_are_joined_within_a_window() {
    let joined = |between: u64| {
        let mut log = format!("1 aa {NOON}\nGET /a HTTP/1.1\r\n\r\n\n🐵🙈🙉\n");
        for n in 0..between {
            log += &format!("1 {n} {}\nGET /b HTTP/1.1\r\n\r\n\n🐵🙈🙉\n", NOON + 1);
        }
        log += &format!("2 aa {} 5\nHTTP/1.1 200 OK\r\n\r\n\n🐵🙈🙉\n", NOON + MS);
        let out = import(Source::Gor(None), &log);
        assert_eq!(out.imported.counts.lines, between + 2);
        assert_eq!(out.imported.counts.answers(), 1);
        out.imported.counts.answers.contains_key(&AnswerIs::Joined)
    };
    assert_eq!((joined(8_190), joined(8_191), joined(8_192)), (true, true, false));
}

#[test]
fn what_is_wrong_with_a_format_is_shown_where_it_stands() {
    let of = |format: &str| source::nginx(Some(format), &Map::default(), &[]).unwrap_err().to_string();
    assert!(of("$request $status").contains("has no time"));
    assert!(of("[$time_local] $status").contains("does not say what was asked"));
    assert_eq!(
        of("$msec$request_time \"$request\""),
        "msec and request_time have nothing between them, so a line does not say where one ends\n  | $msec$request_time \"$request\"\n  |      ^"
    );
    assert!(of("log_format x '$request").contains("never closed"));
    assert!(of("${msec \"$request\"").contains("brace is never closed"));
    let apache = |format: &str| source::apache(Some(format), &Map::default(), &[]).unwrap_err().to_string();
    assert!(apache("%{%d/%b/%Y}t %r").contains("is not read; there are %t"));
    assert!(apache("%h %").contains("letter of a field is missing"));
    let unknown = source::nginx(None, &map(&["user=cookie_id"]), &[]).unwrap_err().to_string();
    assert!(unknown.contains("no field \"cookie_id\"; there are remote_addr, remote_user"), "{unknown}");
}

#[test]
fn a_user_may_be_another_field() {
    let format = "$remote_addr $remote_user $http_x_user [$msec] \"$request\"";
    let by = |parts: &[&str]| {
        let source = Source::Lines(source::nginx(Some(format), &map(parts), &[]).unwrap());
        let log = "1.1.1.1 eve u1 [1769860800.0] \"GET / HTTP/1.1\"\n1.1.1.1 bob u1 [1769860800.0] \"GET / HTTP/1.1\"\n";
        let out = import_with(source, log.as_bytes(), keep(&["user"])).unwrap();
        out.requests.iter().map(|r| r.user.as_deref().unwrap_or("").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(by(&[]), ["eve", "bob"]);
    assert_eq!(by(&["user=http_x_user"]), ["u1", "u1"]);
    assert_eq!(by(&["user=remote_addr"]), ["1.1.1.1", "1.1.1.1"]);
}

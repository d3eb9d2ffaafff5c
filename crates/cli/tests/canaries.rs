//! Secrets and escape sequences in every input that takes text: nothing that is printed or written holds one.

use crate::support::hostile::{Act, Hostile, answer, ok};
use crate::support::{Place, Said, finish};
use std::path::{Path, PathBuf};

/// A secret.
const SECRET: &str = "c4n4ry";
/// Moves a cursor, sets a title, as C0 and as C1, and turns the reading direction.
const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;E5C\u{7}\u{9b}31m\u{202e}E5C\u{2066}";

/// What must not be found: the secret, and what a terminal would act on.
fn found_in(bytes: &[u8]) -> Option<&'static str> {
    let has = |part: &str| bytes.windows(part.len()).any(|window| window == part.as_bytes());
    let parts = [SECRET, "\u{1b}[2J", "\u{1b}]0;", "\u{9b}31m", "\u{202e}E5C", "E5C\u{2066}"];
    parts.into_iter().find(|part| has(part))
}

#[track_caller]
fn assert_clean(said: &Said) {
    for text in [&said.stdout, &said.stderr] {
        assert_eq!(found_in(text.as_bytes()), None, "{said:?}");
        // No colours were asked for, so that no control character has a meaning.
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    }
}

/// Every file below the folder, but for what the test has put there itself.
#[track_caller]
fn assert_clean_below(folder: &Path, own: &[PathBuf]) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if own.contains(&path) {
            continue;
        }
        match path.is_dir() {
            true => assert_clean_below(&path, own),
            false => assert_eq!(found_in(&std::fs::read(&path).expect("a file")), None, "{path:?}"),
        }
    }
}

fn text(template: &str) -> String {
    template.replace('$', SECRET).replace('§', ESCAPES)
}

/// Everything that a run can be exported as.
const EXPORTS: [&str; 14] = [
    "--csv",
    "s.csv",
    "--csv-percentiles",
    "p.csv",
    "--hgrm",
    "p.hgrm",
    "--junit",
    "j.xml",
    "--summary",
    "summary.md",
    "--svg",
    "svg",
    "--store",
    "history.db",
];

/// All that is said of the run in `folder` afterwards.
fn assert_clean_later(place: &Place, folder: &str) {
    for args in [
        &["report", folder][..],
        &["report", folder, "--json"],
        &["report", folder, "--html", "-"],
        &["report", folder, "--csv-percentiles", "-"],
        &["report", folder, "--junit", "-"],
        &["report", folder, "--summary", "-"],
        &["index", folder, "--store", "history.db"],
        &["history", "--store", "history.db"],
        &["history", "--store", "history.db", "--json"],
        &["show", "latest", "--store", "history.db"],
        &["show", "latest", "--store", "history.db", "--json"],
        &["trend", "--store", "history.db"],
        &["compare", folder, folder],
    ] {
        assert_clean(&place.call(args));
    }
}

#[test]
fn what_a_run_is_given() {
    let server = Hostile::start(|_| Act::Answer(answer("200 OK\r\nSet-Cookie: s=c4n4ry", "c4n4ry")));
    let place = Place::new();
    let at = server.address;
    let body = place.file("body.txt", text("pw=$§"));
    let targets = format!(
        "GET http://u:$@{at}/a;sid=$?pw=$&otp=$&SAMLResponse=$&to%6Ben=$&$#$\nX-Key: $\n\nPOST http://{at}/b\n@body.txt\n"
    );
    let targets = place.file("targets.txt", text(&targets));
    let url = text(&format!("http://u:$@{at}/p;jsessionid=$?page=$&$&a=b&code=$#$"));
    let (header, long, own) =
        (text("Authorization: Bearer $"), text("--header=X-Api: $"), text("-HCookie: a=$"));
    let (data, expected, tag) = (text("password=$"), text("contains=$"), text("label=§"));
    let folder = text("out§");
    // A request may be called by its path as it is sent.
    let named = text("GET /p;jsessionid=$?page=$&$&a=b&code=$: errors < 5%");
    let cases: [&[&str]; 5] = [
        &[&url, "-H", &header, &long, &own, "--body", &data, "--expect", &expected],
        &[&url, "--body-file", "body.txt", "-H", "X-Key;$: a"],
        &["--targets", "targets.txt"],
        &[&url, "--slo", "p99 < 5s", "--slo", &named, "--abort-on", "errors > 90% for 5s"],
        &[&url, "--connect-to", &format!("::{}:{}", at.ip(), at.port())],
    ];
    for (i, case) in cases.into_iter().enumerate() {
        let out = format!("{folder}{i}");
        let load = ["run", "-R", "100", "-n", "10", "-o", &out];
        let said = place.call(&[&load[..], case, &EXPORTS].concat());
        assert_clean(&said);
        if i != 1 {
            said.assert_ran();
            assert_clean_later(&place, &out);
        }
    }
    for name in [
        "GET /p;jsessionid=***?page=***&***&a=***&code=***",
        &text("GET /p;jsessionid=$?page=$&$&a=$&code=$"),
    ] {
        let said = place.call(&["report", &format!("{folder}3"), "--slo", &format!("{name}: p99 < 5s")]);
        said.assert_ran();
        assert_clean(&said);
    }
    assert_clean(&place.call(&["report", &format!("{folder}3"), "--slo", &text("GET /?x=$: p99 < 5s")]));
    // A label is what a reader is to see, so that what acts on a terminal is refused.
    let tagged = place.call(&["run", &url, "-R", "100", "-n", "5", "-o", "tagged", "--tag", &tag]);
    assert!(tagged.code() == Some(2), "{tagged:?}");
    assert_clean(&tagged);
    assert!(server.seen().iter().any(|seen| seen.header("cookie") == Some("a=c4n4ry")), "they are sent");
    assert_clean_below(place.path(), &[body, targets]);
}

#[test]
fn what_a_plan_says() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let toml = format!(
        "target = \"http://u:$@{}/?pw=$\"\n[load]\nrate = 100\nrequests = 10\n[request]\nheader = [\"X-All: $\"]\n\
         [[requests]]\nname = \"a\\u001b[2J\\u202eE5C\"\nurl = \"/a?otp=$&v=${{CANARY}}\"\nheader = [\"X-Key: ${{CANARY}}\"]\nbody = \"$ ${{CANARY}}\"\n\
         [[requests]]\nurl = \"/b;sid=$\"\n",
        server.address
    );
    // Variables are written with a $ of their own.
    let toml = text(&toml.replace("${", "\u{1}{")).replace('\u{1}', "$");
    let yaml =
        "target: \"http://u:c4n4ry@127.0.0.1:9/\"\nload: {rate: 5}\nrequest: {header: [\"X-Key: c4n4ry\"]}\n";
    let mut own = vec![place.file("plan.toml", &toml), place.file("plan.yaml", yaml)];
    let with_canary = |args: &[&str]| finish(place.command(args).env("CANARY", SECRET));
    let said = with_canary(&[&["run", "plan.toml", "-o", "out"][..], &EXPORTS].concat());
    said.assert_ran();
    assert_clean(&said);
    assert!(server.seen().iter().any(|seen| seen.body == b"c4n4ry c4n4ry"), "it is sent");
    assert_clean_later(&place, "out");
    for plan in ["plan.toml", "plan.yaml"] {
        for form in [&[][..], &["--as", "toml"], &["--as", "yaml"], &["--as", "json"]] {
            assert_clean(&with_canary(&[&["plan", "show", plan], form].concat()));
        }
        assert_clean(&with_canary(&["plan", "check", plan]));
    }
    // Errors quote lines; none quotes a secret. What stands in the file's own place may be told from its signs alone.
    for (name, broken) in [
        ("a.toml", "[request]\nheader = [\"Authorization: Bearer $]\n"),
        ("b.toml", "[request]\nheader = \"Authorization: Bearer $\" x\n"),
        ("c.toml", "[request]\nheadr = \"Authorization: Bearer $\"\n"),
        ("d.toml", "[request]\nheader = [\"Authorization Bearer $\"]\nbody = { a = \"$\" }\n"),
        ("e.toml", "target = \"http://u:$/x@h/\"\n[load]\nrate = 0\n"),
        ("f.toml", "target = \"http://u:x/$@h/\"\n[load]\nrate = 5\n"),
        (
            "g.toml",
            "target = \"http://u:$@h/\"\n[load]\nrate = 5\n[[requests]]\nurl = \"nothing/$\"\nbody = \"${$ x}\"\n",
        ),
        ("h.yaml", "request:\n  header:\n    - Authorization: Bearer $\n"),
        ("i.yaml", "request: {body: \"$\", header: Bearer $: x}\n"),
        ("j.yaml", "target: http://u:$@h/\nload:\n  rate: 5\n bad: $\n"),
        ("k.yaml", "request:\n  body: |\n    password=$\n   password=$\n  x: y\n"),
        ("l.toml", "[load]\nrate = 5\n# header = \"X: $\" \n[request]\nheader = [\"X: $\"\n"),
        ("o.toml", "target = \"//u:$@h/\"\n[load]\nrate = 5\n"),
        ("p.toml", "target = \"http://u:12/$@h/\"\n[load]\nrate = 5\n"),
        ("q.toml", "target = \"http://h/\"\n[load]\nrate = 5\n[request]\nexpect = [\"contain=$\"]\n"),
        (
            "r.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\n[objectives]\nslo = [\"GET /?token=$: p99 < 1s\"]\n",
        ),
        (
            "s.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\n[objectives]\nslo = [\"GET /?token=$: p9x < 1s\"]\n",
        ),
        ("m.toml", "token = \"$\"\n[load]\nrate = 5\n"),
        (
            "n.toml",
            "[[requests]]\nname = \"a\"\nmethod = \"G\u{9b}31m\"\nurl = \"http://u:$@h/\"\n[load]\nrate = 5\n",
        ),
    ] {
        own.push(
            place
                .file(name, broken.replace("${$", "\u{1}{c4n4ry").replace('$', SECRET).replace('\u{1}', "$")),
        );
        for args in
            [&["plan", "check", name][..], &["plan", "check", "--json", name], &["run", name, "-R", "1"]]
        {
            let said = place.call(args);
            assert_eq!(said.code(), Some(2), "{said:?}");
            assert_clean(&said);
        }
        assert_clean(&place.call(&["plan", "show", name]));
    }
    assert_clean_below(place.path(), &own);
}

#[test]
fn what_is_refused() {
    let place = Place::new();
    let mut own = Vec::new();
    for case in [
        "http://u:$/x@127.0.0.1:9/",
        "http://u:x/$@127.0.0.1:9/",
        "http://u:x?$@127.0.0.1:9/",
        "http://u:x#$@127.0.0.1:9/",
        "http://u:x@y/$@127.0.0.1:9/",
        "http://u:$/",
        "http://u:12/$@127.0.0.1:9/",
        "http://u:12?$@127.0.0.1:9/",
        "//u:$@127.0.0.1:9/?a=1",
        "/u:$@127.0.0.1",
        "http:///u:$@127.0.0.1/",
        "token=$",
        "u:$@127.0.0.1",
        "http://127.0.0.1:9/ $",
        "http://127.0.0.1:9/§",
        "http://127.0.0.1:9/\u{202e}E5C?pw=$",
        "http://u:$@127.0.0.1:1/?pw=$",
    ] {
        let url = text(case);
        let said = place.call(&["run", &url, "-R", "1", "-n", "1", "-o", "refused"]);
        assert_ne!(said.code(), Some(0), "{said:?}");
        assert_clean(&said);
        assert_clean(&place.call(&["knee", &url, "--slo", "p99 < 1s", "-o", "refused"]));
        assert_clean(&place.call(&["compare", &url, "http://127.0.0.1:9/", "-R", "1", "-d", "1s"]));
    }
    for case in [
        "Authorization $",
        "token $ http://127.0.0.1:9/",
        "GET $",
        "GET http://u:$/x@127.0.0.1:9/",
        "GET http://127.0.0.1:9/ $",
        "GET http://127.0.0.1:9/\nCookie $; a: b",
        "GET http://127.0.0.1:9/\nX-Key: $\u{1}",
        "GET http://127.0.0.1:9/?pw=$\n@§none",
        "G\u{1b}[2JT http://127.0.0.1:9/",
    ] {
        own.push(place.file("t.txt", text(case)));
        let said = place.call(&["run", "--targets", "t.txt", "-R", "1"]);
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert_clean(&said);
    }
    let url = "http://127.0.0.1:9/";
    for args in [
        &["-H", "Bearer $"][..],
        &["-H", "Cookie $; a: b"],
        &["-H", "X-Key: $\u{1}"],
        &["-X", "G§"],
        &["--connect-to", "§"],
        &["--unix-socket", "/nowhere/§"],
        &["--expect", "§=1"],
        &["--expect", "contain=$"],
        &["--expect", "$"],
        &["--slo", "GET /?token=$: p99 < 1s"],
        &["--slo", "GET /?token=$: p9x < 1s"],
        &["--abort-on", "GET /?token=$: p99 > 1s for 5s"],
        &["--slo", "§"],
        &["--abort-on", "§"],
        &["--cacert", "§"],
        &["--body-file", "§"],
        &["--targets", "§"],
        &["--store", "nothing§://h"],
        &["-o", "/proc/§"],
        &["--tag", "§"],
        &["-d", "§"],
        &["--§"],
    ] {
        let args: Vec<String> = args.iter().map(|arg| text(arg)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = place.call(&[&["run", url, "-R", "1", "-n", "1"], &args[..]].concat());
        assert_ne!(said.code(), Some(0), "{said:?}");
        assert_clean(&said);
    }
    for args in [
        &["report", "§"][..],
        &["show", "§"],
        &["index", "§"],
        &["baseline", "show", "--name", "§"],
        &["tag", "latest", "§"],
        &["plan", "check", "§.toml"],
        &["§"],
    ] {
        let args: Vec<String> = args.iter().map(|arg| text(arg)).collect();
        assert_clean(&place.call(&args.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    assert_clean_below(place.path(), &own);
}

/// A server may answer with anything.
#[test]
fn what_a_server_says() {
    for status in ["500 \u{202e}E5C\u{9b}31m", "500 \u{1b}[2J", "200 \u{1b}]0;E5C\u{7}"] {
        let head = format!("{status}\r\nX-\u{1b}[2J: \u{202e}E5C\r\nLocation: http://u:c4n4ry@h/");
        let server = Hostile::start(move |_| Act::Answer(answer(&head, "\u{1b}[2Jc4n4ry")));
        let place = Place::new();
        let url = server.url();
        for (out, more) in [("asked", &[][..]), ("not-asked", &["--no-preflight"])] {
            let load = ["run", &url, "-R", "100", "-n", "5", "-o", out];
            assert_clean(&place.call(&[&load[..], more, &EXPORTS].concat()));
        }
        assert_clean_later(&place, "not-asked");
        assert_clean_below(place.path(), &[]);
    }
}

/// A folder may come from anybody.
#[test]
fn what_a_folder_says() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    place.call(&["run", &server.url(), "-R", "100", "-n", "5", "-o", "out", "--tag", "a=b"]).assert_ran();
    let json_escapes = "\\u001b[2J\\u001b]0;E5C\\u0007\\u009b31m\\u202eE5C\\u2066";
    let run = place.text("out/run.json");
    let url = server.url();
    for (file, from, to) in [
        ("out/labels.json", "\"b\"", json_escapes),
        ("out/labels.json", "\"a\"", json_escapes),
        ("out/run.json", url.as_str(), ESCAPES),
        ("out/run.json", "\"complete\"", json_escapes),
        ("out/run.json", "\"open\"", json_escapes),
        ("out/run.json", "unblink.run/2", json_escapes),
        ("out/intervals.jsonl", url.as_str(), json_escapes),
        ("out/intervals.jsonl", "unblink.intervals/2", json_escapes),
    ] {
        let was = place.text(file);
        let to = match from.starts_with('"') {
            true => format!("\"{to}\""),
            false => to.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007"),
        };
        let hostile = was.replace(from, &to);
        assert_ne!(hostile, was, "{file} has no {from}");
        place.file(file, hostile);
        assert_clean_later(&place, "out");
        assert_clean(&place.call(&["index", ".", "--store", "other.db"]));
        place.file(file, was);
    }
    assert_eq!(place.text("out/run.json"), run);
    assert_clean_below(place.path(), &[]);
}

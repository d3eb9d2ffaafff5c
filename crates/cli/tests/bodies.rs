//! Bodies of several parts, and think times from a file: what plans read from files beside them, on a real server.

use crate::support;
use crate::support::Place;
use crate::support::hostile::{Act, Hostile, ok};
use serde_json::{Value, json};

const PARTS: &str = r#"
[load]
rate = 20
duration = "500ms"
[let]
n = "sequential"
[[requests]]
url = "/{{n}}"
multipart = [
  { name = "note", value = "n={{n}} ${NOTE}" },
  { name = "photo", file = "a.bin", type = "image/x" },
]
"#;

#[test]
fn parts_are_sent_with_their_values_and_files() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    place.file("plan.toml", PARTS);
    // No text, and what would be a place of a template.
    let file = b"\xff{{0}}{{n}}\0";
    place.file("a.bin", file);
    let mut command =
        place.command(&["run", "plan.toml", &server.url(), "--json", "-o", "out", "--no-preflight"]);
    let run = support::finish(command.env("NOTE", "a\"{{n}}")).run();
    run.assert_accounts();
    assert_eq!(run.at("/arrivals/ok"), &json!(10));
    let seen = server.seen();
    assert_eq!(seen.len(), 10);
    for seen in &seen {
        let n = seen.target.trim_start_matches('/');
        let said = seen.header("content-type").expect("it says what it is");
        let boundary = said.strip_prefix("multipart/form-data; boundary=").expect("parts");
        let text = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nn={n} a\"{{{{n}}}}\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"photo\"; filename=\"a.bin\"\r\nContent-Type: image/x\r\n\r\n"
        );
        let expected = [text.as_bytes(), file, format!("\r\n--{boundary}--\r\n").as_bytes()].concat();
        assert_eq!(String::from_utf8_lossy(&seen.body), String::from_utf8_lossy(&expected));
        assert_eq!((seen.method.as_str(), seen.body == expected), ("POST", true));
    }
}

#[test]
fn parts_that_can_not_be_are_refused_at_their_place() {
    let place = Place::new();
    for (parts, why) in [
        ("[]", "nothing would be sent"),
        ("\"text\"", "is a list of parts"),
        ("[{ name = \"a\" }]", "either a value or a file"),
        ("[{ name = \"a\", value = \"{{x}}\" }]", "there is no value \"x\""),
        ("[{ name = \"a\", file = \"missing\" }]", "missing"),
        ("[{ name = \"a\", value = \"b\" }]\njson = { a = 1 }", "exclude each other"),
        ("[{ name = \"a\", value = \"b\" }]\nheader = [\"Content-Type: x/y\"]", "leave that header out"),
    ] {
        place.file(
            "plan.toml",
            format!("target = \"http://127.0.0.1:9/\"\n[[requests]]\nurl = \"/\"\nmultipart = {parts}\n"),
        );
        let said = place.call(&["plan", "check", "plan.toml"]);
        assert_eq!(said.code(), Some(2), "{parts}: {said:?}");
        assert!(said.stderr.contains(why) && said.stderr.contains("plan.toml:"), "{parts}: {said:?}");
        assert!(said.stderr.contains('^'), "{parts}: {said:?}");
    }
}

const THINKS: &str = "[load]\nrate = 50\nduration = \"4s\"\nseed = 3\n[world]\nserver = \"service=10ms\"\n[[journeys]]\nname = \"j\"\n\
                      think = \"histogram(gaps.csv)\"\n[[journeys.steps]]\nurl = \"/\"\n[[journeys.steps]]\nurl = \"/x\"\n";

#[test]
fn people_think_as_a_file_says() {
    let place = Place::new();
    place.file("plan.toml", THINKS);
    place.file("gaps.csv", "100ms,1\n300ms,3\n");
    let said = place.call(&["sim", "plan.toml", "--json"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let run: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let journey = &run["journeys"][0];
    assert_eq!(journey["account"]["completed"], 200);
    assert_eq!(journey["steps"][1]["think"], "histogram(gaps.csv): 2 times, mean 250 ms");
    // Twice 10 ms, and one of the two times; three of four are the longer one.
    assert_eq!(journey["time"]["max"], 320_000_000);
    let mean = journey["time"]["mean"].as_f64().expect("a mean");
    assert!((mean / 270e6 - 1.0).abs() < 0.1, "{mean}");
    for (text, why) in [("100ms\n", "line 1"), ("", "no lines")] {
        place.file("gaps.csv", text);
        let said = place.call(&["plan", "check", "plan.toml"]);
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(said.stderr.contains(why) && said.stderr.contains('^'), "{said:?}");
    }
}

const WORD: &str = "say \"hi\" \\ \n there";

const ORDERS: &str = r#"
[load]
rate = 50
requests = 25
[let]
word = ["say \"hi\" \\ \n there"]
n = "uniform(7, 7)"
order = "jsonl(orders.jsonl)"
[[requests]]
url = "/file"
body-file = "order.json"
[[requests]]
url = "/type"
header = ["Content-Type: application/merge-patch+json"]
body = '{"word": "{{word}}", "n": {{n}}}'
[[requests]]
url = "/look"
body = ' {"word": "{{word}}", "n": {{ n }}, "list": {{raw(order.list)}}}'
[[requests]]
url = "/table"
json = { word = "{{word}}", n = "{{number(n)}}", list = "{{raw(order.list)}}" }
[[requests]]
url = "/text"
header = ["Content-Type: text/plain"]
body-file = "order.json"
"#;

#[test]
fn values_in_bodies_of_json_are_written_as_json_asks() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    place.file("plan.toml", ORDERS);
    place.file("order.json", "{\"word\": \"{{word}}\",\n \"n\": {{n}}}");
    place.file("orders.jsonl", "{\"list\":[1,{\"a\":\"\\\"\"}],\"other\":0}\n");
    place.measure(&["plan.toml", &server.url(), "--no-preflight"]).assert_all("ok");
    let seen = server.seen();
    assert_eq!(seen.len(), 25);
    for seen in &seen {
        let text = String::from_utf8_lossy(&seen.body);
        if seen.target == "/text" {
            assert_eq!(text, format!("{{\"word\": \"{WORD}\",\n \"n\": 7}}"));
            continue;
        }
        let sent: Value = serde_json::from_slice(&seen.body).unwrap_or_else(|why| panic!("{why}: {text}"));
        let mut expected = json!({"word": WORD, "n": 7});
        if let "/look" | "/table" = seen.target.as_str() {
            expected["list"] = json!([1, {"a": "\""}]);
        }
        assert_eq!(sent, expected, "{}", seen.target);
    }
}

#[test]
fn bodies_that_are_said_to_be_json_must_be() {
    let place = Place::new();
    place.file("bad.json", "{\n  \"word\": {{word}}\n}");
    place.file("cut.json", "{\"word\": \"{{word}}\",}");
    let run = |more: &[&str]| {
        let first = ["run", "http://127.0.0.1:9/", "-R", "5", "-n", "1", "--let", "word=['a', 'b']"];
        place.call(&[&first[..], more].concat())
    };
    run(&["--body-file", "bad.json"]).refused(&[
        "bad.json",
        "line 2, column 11",
        "\"{{word}}\"",
        "{{raw(word)}}",
    ]);
    run(&["--request", "POST /a @bad.json"]).refused(&["bad.json", "line 2, column 11"]);
    run(&["--body-file", "cut.json"]).refused(&["cut.json", "line 1, column 21", "not JSON", "text/plain"]);
    run(&["-H", "Content-Type: application/json", "--body", "a={{index}}"]).refused(&[
        "by its Content-Type",
        "line 1, column 1",
        "not JSON",
    ]);
    run(&["--body", "{\"a\": \"{{raw(word)}}\"}", "-H", "Content-Type: application/json"])
        .refused(&["leave the quotes out"]);
    place.file("targets.txt", "POST http://127.0.0.1:9/\n@cut.json\n");
    let targets = ["run", "--targets", "targets.txt", "-R", "5", "-n", "1", "--let", "word=['a', 'b']"];
    place.call(&targets).refused(&["cut.json", "not JSON"]);
    let plan = "target = \"http://127.0.0.1:9\"\n[load]\nrate = 5\n[let]\nword = [\"a\", \"b\"]\n[[requests]]\nurl = \"/\"\njson = \
                '{\"a\": {{word}}}'\n";
    place.file("plan.toml", plan);
    place.call(&["plan", "check", "plan.toml"]).refused(&["plan.toml:8", "{{word}} is not a number"]);
}

//! `unblink try`, through the binary: what it shows is what the run sends, and secrets stay where they are.

use crate::support;
use crate::support::Place;
use crate::support::hostile::{Act, Hostile, Refusing, answer, ok};
use crate::support::tried::{by_arrival, each, tried};
use serde_json::Value;

const SHOP: &str = r#"
[load]
rate = 400
duration = "1s"
seed = 7
ARRIVALS

[let]
item = "zipf(1M)"
user = "csv(users.csv, shuffled)"
size = "lognormal(20, 1, max=60)"

[[requests]]
share = "60%"
url = "/items/{{item}}/{{user.word}}?limit={{int(1,99)}}"
header = ["X-Index: {{index}}", "X-Id: {{uuid}}"]

[[requests]]
share = "20%"
url = "/orders"
header = ["X-Index: {{index}}"]
json = { who = "{{user.word}}", n = "{{number(item)}}", note = "{{bytes(size)}}", at = "{{now}}" }

[[journeys]]
name = "buy"
share = "20%"
[[journeys.steps]]
name = "look"
url = "/look/{{item}}"
header = ["X-Index: {{index}}"]
[[journeys.steps]]
name = "pay"
url = "/pay/{{item}}"
body = "{{uuid}} {{int(1,1000000)}}"
header = ["X-Index: {{index}}"]
repeat = "1..3"
chance = "50%"
[[journeys.steps]]
name = "leave"
url = "/leave/{{bytes(12)}}"
header = ["X-Index: {{index}}"]
"#;

fn sends_what_the_run_sends(arrivals: &str) {
    let (server, place) = (Hostile::start(|_| Act::Answer(ok())), Place::new());
    place.file("users.csv", "id,word\n1,one\n2,two\n3,three\n");
    place.file("shop.toml", SHOP.replace("ARRIVALS", arrivals));
    let (document, said) = tried(&place, &["shop.toml", &server.url()]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let once = server.seen();
    let run = place.measure(&["shop.toml", &server.url(), "-t", "2", "--no-preflight"]);
    run.assert_accounts();
    let (once, all) = (by_arrival(&once), by_arrival(&server.seen()[once.len()..]));
    let asked = each(&document);
    assert_eq!(asked.len(), 5, "two requests and three steps: {document:#}");
    for one in &asked {
        let Some(number) = one["arrival"].as_u64() else { continue };
        assert_eq!(once.get(&number), all.get(&number), "{one:#}");
        let line = one["sent"]["line"].as_str().unwrap();
        assert!(all[&number].starts_with(line.strip_suffix(" HTTP/1.1").unwrap()), "{line}");
        if let Some(body) = one["sent"]["body"]["text"].as_str() {
            assert!(all[&number].ends_with(body), "{body}");
        }
    }
    // Any other arrival, too: the last one that stands alone.
    let number = *all.iter().rev().find(|(_, line)| line.contains("/orders")).unwrap().0;
    let before = server.seen().len();
    let (document, _) = tried(&place, &["shop.toml", &server.url(), "--arrival", &number.to_string()]);
    assert_eq!(each(&document).len(), 1);
    assert_eq!(by_arrival(&server.seen()[before..])[&number], all[&number]);
    let drawn = document["requests"][0]["drawn"].as_array().unwrap();
    let names: Vec<&str> = drawn.iter().map(|value| value["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["item", "user.id", "user.word", "size"]);
    assert!(all[&number].contains(&format!("\"n\":{}", drawn[0]["value"].as_str().unwrap())));
}

#[test]
fn even_arrivals_are_shown_as_the_run_sends_them() {
    sends_what_the_run_sends("");
}

#[test]
fn poisson_arrivals_are_shown_as_the_run_sends_them() {
    sends_what_the_run_sends("arrivals = \"poisson\"");
}

const LOGIN: &str = r#"
[[setup]]
name = "login"
url = "/login"
form = { user = "me", password = "${PASSWORD}" }
capture = { token = "json $.access_token" }

[[requests]]
name = "list"
url = "/list?q=private7"
header = ["Authorization: Bearer {{token}}", "X-Client: ${CLIENT}"]
expect = ["status=200", "json $.items[0].id == 7", "header X-State = new"]

[[requests]]
name = "free"
url = "/free"
"#;

/// A server that gives a token and gives back whatever it was sent.
fn echo() -> Hostile {
    Hostile::start(|seen| {
        let headers: Vec<String> = seen.headers.iter().map(|(_, value)| value.clone()).collect();
        Act::Answer(match seen.target.as_str() {
            "/login" => answer("200 OK", r#"{"access_token":"s3cret-token"}"#),
            _ => {
                let body = format!(r#"{{"items":[{{"id":7}}],"echo":"{}"}}"#, headers.join(" "));
                let length = body.len();
                format!(
                    "HTTP/1.1 200 OK\r\nX-State: old\r\nSet-Cookie: sid=s3cret-cookie\r\nContent-Length: {length}\r\n\r\n{body}"
                )
                .into_bytes()
            }
        })
    })
}

#[test]
fn conditions_and_captures_are_told_and_secrets_are_not() {
    let (server, place) = (echo(), Place::new());
    place.file("login.toml", LOGIN);
    let call = |args: &[&str]| {
        let mut command = place.command(&[&["try", "login.toml", &server.url()], args].concat());
        command.env("PASSWORD", "s3cret-password").env("CLIENT", "s3cret-client");
        support::finish(&mut command)
    };
    let said = call(&["--json"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let [login, list, free] = &each(&document)[..] else { panic!("{document:#}") };
    assert_eq!((&login["outcome"], &free["outcome"]), (&"as_expected".into(), &"as_expected".into()));
    assert_eq!(login["captures"][0]["bytes"], 12);
    assert_eq!(login["sent"]["body"]["text"], "user=me&password=***");
    assert_eq!(list["outcome"], "unexpected");
    let holds: Vec<&Value> = list["expected"].as_array().unwrap().iter().map(|one| &one["holds"]).collect();
    assert_eq!(holds, [&Value::Bool(true), &Value::Bool(false), &Value::Bool(true)], "{list:#}");
    assert_eq!(list["expected"][1]["found"], "it is \"old\"");
    assert_eq!(server.seen()[1].header("authorization"), Some("Bearer s3cret-token"));
    let text = call(&[]);
    for output in [&said.stdout, &said.stderr, &text.stdout, &text.stderr] {
        assert!(!output.contains("s3cret") && !output.contains("private7"), "{output}");
    }
    for part in [
        "[[setup]] login\n  as expected, ",
        "> Authorization: ***",
        "< Set-Cookie: ***",
        "capture token: taken, 12 bytes",
        "DOES NOT HOLD (it is \"old\")",
        "3 requests: 2 as expected, 1 not as expected",
    ] {
        assert!(text.stdout.contains(part), "{part:?} is missing in {}", text.stdout);
    }
    assert!(!place.path().join("unblink-runs").exists(), "nothing is recorded");
}

/// A column's name says that it is secret, wherever its value goes and comes back.
#[test]
fn a_secret_of_a_row_is_shown_nowhere() {
    let (server, place) = (echo(), Place::new());
    place.file("users.csv", "id,password\n7,s3cret-of-a-row\n");
    place.file(
        "p.toml",
        "[let]\nu = \"csv(users.csv, random)\"\n[[requests]]\nurl = \"/{{u.id}}\"\n\
         json = { who = \"{{u.id}}\", what = \"{{u.password}}\" }\n",
    );
    for form in [&["--json"][..], &[]] {
        let said = place.call(&[&["try", "p.toml", &server.url()], form].concat());
        assert!(said.stdout.contains("***") && !said.stdout.contains("s3cret"), "{said:?}");
    }
}

#[test]
fn what_the_generator_makes_is_shown_in_a_query() {
    let (server, place) = (echo(), Place::new());
    place.file("users.csv", "id,word\n7,s3cret-of-a-row\n");
    place.file(
        "p.toml",
        "[let]\nu = \"csv(users.csv, random)\"\nitem = \"zipf(1)\"\n[[requests]]\n\
         url = \"/a?n={{index}}&item={{item}}&q={{u.word}}&token={{index}}&fixed=s3cret&x=s3cret{{index}}\"\n",
    );
    let (document, _) = tried(&place, &["p.toml", &server.url(), "--arrival", "1"]);
    let line = &document["requests"][0]["sent"]["line"];
    assert_eq!(line, "GET /a?n=1&item=0&q=***&token=***&fixed=***&x=*** HTTP/1.1", "{document:#}");
}

#[test]
fn what_can_not_be_sent_says_why() {
    let (refusing, place) = (Refusing::new(), Place::new());
    let (document, said) = tried(&place, &[&refusing.url()]);
    assert_eq!((said.code(), &document["requests"][0]["outcome"]), (Some(1), &"no_answer".into()));
    assert!(document["requests"][0]["sent"]["line"].as_str().unwrap().starts_with("GET / "), "{document}");

    // Without its token, a request is not sent; the others are.
    let server = Hostile::start(|_| Act::Answer(answer("200 OK", "{}")));
    place.file("login.toml", LOGIN);
    let mut command = place.command(&["try", "login.toml", &server.url(), "--json"]);
    let said = support::finish(command.env("PASSWORD", "p").env("CLIENT", "c"));
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let outcomes: Vec<Value> = each(&document).iter().map(|one| one["outcome"].clone()).collect();
    assert_eq!(outcomes, ["unexpected", "not_sent", "as_expected"], "{document:#}");
    assert_eq!((said.code(), server.seen().len()), (Some(1), 2));

    // Rows that are taken once.
    place.file("once.toml", "[let]\nrow = 'list([\"a\"], once)'\n[[requests]]\nurl = \"/{{row}}\"\n");
    let (document, said) = tried(&place, &["once.toml", &server.url(), "-R", "5", "--arrival", "2"]);
    assert_eq!((said.code(), &document["requests"][0]["outcome"]), (Some(3), &"not_sent".into()));

    place
        .call(&["try", "once.toml", &server.url(), "-R", "5", "-n", "9", "--arrival", "9"])
        .refused(&["no arrival"]);
    place.file("bad.toml", "[[requests]]\nurl = \"/{{none}}\"\n");
    place.call(&["try", "bad.toml", &server.url()]).refused(&["bad.toml:2:", "none"]);
}

#[test]
fn a_journey_ends_where_an_answer_is_wrong() {
    let (server, place) = (
        Hostile::start(|seen| {
            Act::Answer(if seen.target == "/b" { answer("500 Oops", "no\u{7}t") } else { ok() })
        }),
        Place::new(),
    );
    let step = |path| format!("[[journeys.steps]]\nurl = \"{path}\"\n");
    place.file("j.toml", format!("[[journeys]]\nname = \"j\"\n{}{}{}", step("/a"), step("/b"), step("/c")));
    let (document, said) = tried(&place, &["j.toml", &server.url()]);
    let outcomes: Vec<Value> = each(&document).iter().map(|one| one["outcome"].clone()).collect();
    assert_eq!(outcomes, ["as_expected", "unexpected", "not_sent"], "{document:#}");
    assert_eq!((said.code(), server.seen().len()), (Some(1), 2));
    assert_eq!(document["journeys"][0]["steps"][1]["answer"]["body"]["hex"], "6e 6f 07 74");
}

#[test]
fn a_long_body_is_heard_whole() {
    let body = format!("{}\"token\": \"abc\"", " ".repeat(3 << 20));
    let server = Hostile::start(move |_| Act::Answer(answer("200 OK", &body)));
    let place = Place::new();
    place.file(
        "long.toml",
        "[[setup]]\nurl = \"/\"\ncapture = { t = 'regex \"token\": \"([a-z]+)\"' }\n[[requests]]\nurl = \"/{{t}}\"\n",
    );
    let (document, said) = tried(&place, &["long.toml", &server.url()]);
    assert_eq!(said.code(), Some(0), "{document:#}");
    assert_eq!(server.seen()[1].target, "/abc");
    let body = &document["setup"][0]["answer"]["body"];
    assert_eq!(
        (&body["is_cut"], body["text"].as_str().map(str::len)),
        (&Value::Bool(false), Some((3 << 20) + 14))
    );
}

/// What a shell makes of a command of curl: its words, one a line.
fn words_of(command: &str) -> Vec<String> {
    let script = format!("curl() {{ printf '%s\\0' \"$@\"; }}\n{command}");
    let said = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let text = String::from_utf8(said.stdout).expect("UTF-8");
    text.split('\0').map(String::from).collect()
}

#[test]
fn an_arrival_of_a_recorded_run_is_shown_again() {
    let (server, place) = (Hostile::start(|_| Act::Answer(ok())), Place::new());
    place.file("users.csv", "id,word\n1,o'ne\n2,two\n");
    place.file("shop.toml", SHOP.replace("ARRIVALS", "arrivals = \"poisson\""));
    place
        .measure(&["shop.toml", &server.url(), "--slo", "POST /orders: p99 < 30s", "--no-preflight"])
        .assert_accounts();
    let all = by_arrival(&server.seen());
    let show =
        |number: u64, form: &str| place.call(&["show", "latest", "--arrival", &number.to_string(), form]);
    for path in ["/items/", "/orders", "/look/", "/pay/", "/leave/"] {
        let (&number, seen) = all.iter().rev().find(|(_, seen)| seen.contains(path)).expect(path);
        let said = show(number, "--json");
        assert_eq!(said.code(), Some(0), "{said:?}");
        let document: Value = serde_json::from_str(&said.stdout).unwrap();
        let one = &document["requests"][0];
        assert_eq!((&one["arrival"], &one["outcome"]), (&number.into(), &"drawn_again".into()));
        let line = one["sent"]["line"].as_str().unwrap();
        assert!(seen.starts_with(line.strip_suffix(" HTTP/1.1").unwrap()), "{line} is not of {seen}");
        assert!(seen.ends_with(one["sent"]["body"]["text"].as_str().unwrap_or_default()), "{one:#}");
        let by_folder = place.call(&["show", "out", "--arrival", &number.to_string(), "--json"]);
        assert_eq!(by_folder.stdout, said.stdout, "a run may be named by its folder");
    }
    let (&number, seen) = all.iter().find(|(_, seen)| seen.contains("o'ne")).expect("a row");
    let said = show(number, "--curl");
    let words = words_of(&said.stdout);
    assert_eq!(words[..3], ["-X", "POST", &format!("{}orders", server.url())], "{said:?}");
    let body = words.iter().position(|word| word == "--data-binary").expect("a body") + 1;
    assert!(seen.ends_with(&format!("\n{}", words[body])), "{words:?}");
    assert!(words.contains(&"Content-Type: application/json".to_string()), "{words:?}");
    assert_eq!(server.seen().len(), all.len(), "nothing is sent");

    place.call(&["show", "latest", "--arrival", "99999999"]).refused(&["no arrival"]);
    place.file("users.csv", "id,word\n1,other\n2,two\n");
    show(number, "--curl").refused(&["users.csv", "was changed"]);
    std::fs::remove_file(place.path().join("shop.toml")).expect("a file");
    show(number, "--curl").refused(&["shop.toml", "folder in which the run was started"]);
}

#[test]
fn what_the_record_does_not_keep_is_not_made_up() {
    let (server, place) = (Hostile::start(|_| Act::Answer(ok())), Place::new());
    let url = server.url();
    let header = "Authorization: Bearer s3cret";
    place
        .measure(&[&url, "-R", "50", "-n", "3", "-H", header, "--expect", "contains=hello"])
        .assert_all("ok");
    let said = place.call(&["show", "latest", "--arrival", "2", "--curl"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stdout.contains("Authorization: ***") && !said.stdout.contains("s3cret"), "{said:?}");
    std::fs::remove_dir_all(place.path().join("out")).expect("a folder");
    let said = place.call(&["run", &url, "-R", "50", "-n", "3", "--body", "x=1", "-o", "other", "--json"]);
    said.run().assert_all("ok");
    place.call(&["show", "latest", "--arrival", "2"]).refused(&["--body", "unblink try"]);
    for (law, is_kept) in [("n=uniform(9)", true), (r#"n=["a","b"]"#, false)] {
        let line = ["--let", law, "--request", "/{{n}}", "-R", "50", "-n", "3"];
        place.measure(&[&[url.as_str()], &line[..]].concat()).assert_all("ok");
        let said = place.call(&["show", "latest", "--arrival", "2", "--json"]);
        std::fs::remove_dir_all(place.path().join("out")).expect("a folder");
        match is_kept {
            true => assert_eq!(said.code(), Some(0), "{said:?}"),
            false => said.refused(&["--let", "unblink try"]),
        }
    }
}

/// A number that a law gives is nobody's secret, whatever it is called; a column of that name may be one.
#[test]
fn a_drawn_number_called_key_is_shown_and_a_column_is_not() {
    let (server, place) = (Hostile::start(|_| Act::Answer(ok())), Place::new());
    place.file("users.csv", "id,key\n1,s3cret-one\n");
    let lets = "[let]\nkey = \"uniform(1M)\"\nuser = \"csv(users.csv)\"\n";
    let url = "[[requests]]\nurl = \"/items/{{key}}/{{user.key}}\"\n";
    place.file("plan.toml", format!("[load]\nrate = 5\nduration = \"1s\"\n{lets}{url}"));
    let (document, said) = tried(&place, &["plan.toml", &server.url()]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let seen = server.seen()[0].target.clone();
    let key = seen.split('/').nth(2).expect("a key").to_string();
    let one = &document["requests"][0];
    let drawn = |name: &str| {
        let all = one["drawn"].as_array().expect("a list");
        all.iter().find(|one| one["name"] == name).map(|one| one["value"].clone()).expect("a value")
    };
    assert_eq!((drawn("key"), drawn("user.key")), (key.as_str().into(), "***".into()), "{one:#}");
    assert_eq!(one["sent"]["line"], format!("GET /items/{key}/*** HTTP/1.1"), "{one:#}");
}

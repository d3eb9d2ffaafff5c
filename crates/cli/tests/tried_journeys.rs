//! Journeys in `unblink try`: each step has what the answers before it brought.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer};
use crate::support::lab::Lab;
use crate::support::tried::{by_arrival, each, tried};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

const TAKES: &str = r#"
[load]
rate = 20
duration = "500ms"
[[journeys]]
name = "buy"
cookies = true
[[journeys.steps]]
name = "login"
url = "/login"
header = ["X-Index: {{index}}"]
capture = { token = "header X-Token" }
[[journeys.steps]]
name = "search"
url = "/search"
header = ["X-Index: {{index}}", "Authorization: Bearer {{token}}"]
capture = { id = "json $.id" }
[[journeys.steps]]
name = "state"
url = "/state/{{id}}"
header = ["X-Index: {{index}}"]
until = "json $.state == 'paid'"
every = "10ms"
within = "5s"
[[journeys.steps]]
name = "leave"
url = "/leave?order={{id}}"
header = ["X-Index: {{index}}"]
json = { token = "{{token}}", id = "{{id}}" }
"#;

/// What `TAKES` asks for. The first order that is looked at is not paid yet.
fn shop() -> Hostile {
    let is_paid = AtomicBool::new(false);
    Hostile::start(move |seen| {
        let with = |lines: &str, body: &str| {
            let length = body.len();
            Act::Answer(format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {length}\r\n\r\n{body}").into())
        };
        match seen.target.as_str() {
            "/login" => with("X-Token: s3cret-token\r\nSet-Cookie: sid=s3cret-cookie; Path=/\r\n", ""),
            "/search" => with("", r#"{"id":"a/7","echo":"s3cret-token"}"#),
            "/state/a%2F7" if is_paid.swap(true, Ordering::SeqCst) => with("", r#"{"state":"paid"}"#),
            "/state/a%2F7" => with("", r#"{"state":"open"}"#),
            _ => with("", ""),
        }
    })
}

/// Any of these notes says it.
fn has_note(one: &Value, part: &str) -> bool {
    one["notes"].as_array().is_some_and(|all| all.iter().any(|note| note.as_str().unwrap().contains(part)))
}

#[test]
fn a_journey_goes_on_with_what_its_answers_brought() {
    let (server, place) = (shop(), Place::new());
    place.file("buy.toml", TAKES);
    let (document, said) = tried(&place, &["buy.toml", &server.url()]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let [login, search, state, leave] = &each(&document)[..] else { panic!("{document:#}") };
    let captures = |one: &Value| {
        let all = one["captures"].as_array().unwrap().iter();
        let told = |capture: &Value| {
            assert_eq!(capture["is_taken"], true, "{one:#}");
            format!("{} {}", capture["name"].as_str().unwrap(), capture["bytes"])
        };
        all.map(told).collect::<Vec<_>>()
    };
    assert_eq!(captures(login), ["token 12", "cookies 17"]);
    assert_eq!(captures(search), ["id 3", "cookies 17"]);
    assert!(has_note(state, "not yet what until waits for (json $.state"), "{state:#}");
    assert!(has_note(leave, "its number is that after one request"), "{leave:#}");
    assert_eq!(state["sent"]["line"], "GET /state/a%2F7 HTTP/1.1");
    let text = place.call(&["try", "buy.toml", &server.url()]);
    assert!(text.stdout.contains("the answer that until waits for"), "{text:?}");
    assert!(text.stdout.contains("capture token: taken, 12 bytes"), "{text:?}");
    for output in [&said.stdout, &text.stdout] {
        assert!(!output.contains("s3cret"), "{output}");
    }

    // The run sends the same.
    let once = by_arrival(&server.seen()[..4]);
    let before = server.seen().len();
    assert_eq!(server.seen()[1].header("authorization"), Some("Bearer s3cret-token"));
    assert_eq!(server.seen()[1].header("cookie"), Some("sid=s3cret-cookie"));
    assert_eq!(server.seen()[3].body, br#"{"token":"s3cret-token","id":"a/7"}"#);
    place.measure(&["buy.toml", &server.url(), "--no-preflight"]).assert_accounts();
    let all = by_arrival(&server.seen()[before..]);
    assert_eq!(once.len(), 4);
    once.iter().for_each(|(number, sent)| assert_eq!(all.get(number), Some(sent)));

    // Of a run that is over, what was taken is not known.
    let number = |path: &str| once.iter().find(|(_, sent)| sent.contains(path)).expect(path).0.to_string();
    let said = place.call(&["show", "latest", "--arrival", &number("/search"), "--json"]);
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let again = &document["requests"][0];
    assert_eq!(again["sent"]["line"], "GET /search HTTP/1.1");
    assert!(has_note(again, "*** stands for it"), "{again:#}");
    let said = place.call(&["show", "latest", "--arrival", &number("/state/"), "--curl"]);
    // As the path writes it.
    assert!(said.stdout.contains("/state/%2A%2A%2A'") && said.stdout.contains("Cookie: ***"), "{said:?}");
    place
        .call(&["show", "latest", "--arrival", &number("/leave")])
        .refused(&["asked until it had its answer"]);
}

#[test]
fn a_value_that_an_answer_lacks_is_told_and_not_made_up() {
    let step = |name: &str, more: &str| format!("[[journeys.steps]]\nname = \"{name}\"\n{more}\n");
    let journey = |steps: &[String]| format!("[[journeys]]\nname = \"j\"\n{}", steps.concat());
    let server = Hostile::start(|_| Act::Answer(answer("200 OK", r#"{"state":"open"}"#)));
    let place = Place::new();
    let taking = "url = \"/a\"\ncapture = { id = \"json $.id\", state = \"json $.state\" }";
    let (taking, using) = (step("take", taking), step("use", "url = \"/b/{{id}}\""));
    place.file("lacks.toml", journey(&[taking, using.clone()]));
    let (document, said) = tried(&place, &["lacks.toml", &server.url()]);
    let [take, after] = &each(&document)[..] else { panic!("{document:#}") };
    assert_eq!((&take["outcome"], &after["outcome"]), (&"unexpected".into(), &"not_sent".into()));
    assert!(take["captures"][0]["why"].as_str().unwrap().contains("does not have id"), "{take:#}");
    assert_eq!(take["captures"][1]["why"], "another value lacks");
    assert_eq!((said.code(), server.seen().len()), (Some(1), 1));

    // A run would ask again, and nothing is wrong with the answer.
    let waiting = "url = \"/a\"\nuntil = \"json $.state == 'paid'\"\nevery = \"1s\"\nwithin = \"9s\"\n\
        capture = { id = \"json $.id\" }";
    place.file("waits.toml", journey(&[step("wait", waiting), using]));
    let (document, said) = tried(&place, &["waits.toml", &server.url()]);
    let [wait, after] = &each(&document)[..] else { panic!("{document:#}") };
    assert_eq!((&wait["outcome"], &after["outcome"]), (&"as_expected".into(), &"not_sent".into()));
    assert_eq!(after["why"], "{{id}} was not taken from an answer before it");
    assert_eq!((said.code(), server.seen().len()), (Some(3), 2));
}

#[test]
fn a_journey_over_the_lab() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--answer-json"]);
    let step = |name: &str, more: &str| format!("[[journeys.steps]]\nname = \"{name}\"\n{more}\n");
    let first = step("first", "url = \"/first\"\ncapture = { id = \"json $.id\", token = \"json $.token\" }");
    let second = step("second", "url = \"/second/{{id}}\"\nheader = [\"Authorization: Bearer {{token}}\"]");
    place.file("lab.toml", format!("[[journeys]]\nname = \"j\"\n{first}{second}"));
    let (document, said) = tried(&place, &["lab.toml", &lab.url]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let [first, second] = &each(&document)[..] else { panic!("{document:#}") };
    let body: Value = serde_json::from_str(first["answer"]["body"]["text"].as_str().unwrap()).expect("JSON");
    assert_eq!(second["sent"]["line"], format!("GET /second/{} HTTP/1.1", body["id"]));
    assert_eq!((&body["token"], &first["captures"][1]["bytes"]), (&"***".into(), &10.into()));
}

//! `--keep-failures`, through the binary: what failed can be read, and no secret is in the folder.

use crate::support::hostile::{Act, Hostile, Seen, answer, ok};
use crate::support::lab::wait_for_intervals;
use crate::support::{Place, finish};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Every request takes a secret of another origin.
const PLAN: &str = r#"
[load]
rate = 200
requests = 200
[connections]
timeout = "300ms"
[output]
keep-failures = 2

[let]
user = "csv(users.csv, shuffled)"

[[setup]]
name = "login"
url = "/login"
capture = { token = "json $.access_token" }

[[requests]]
name = "broken"
url = "/broken/{{user.id}}?limit=3"
header = ["Authorization: Bearer {{token}}", "X-Client: ${CLIENT}"]
json = { who = "{{user.id}}", pin = "{{user.pin}}" }

[[requests]]
name = "wrong"
url = "/wrong"
expect = ["json $.state == 'paid'"]

[[requests]]
name = "slow"
url = "/slow"

[[journeys]]
name = "buy"
cookies = true
[[journeys.steps]]
name = "cart"
url = "/cart"
capture = { cart = "json $.cart" }
[[journeys.steps]]
name = "pay"
url = "/pay/{{cart}}"
body = "{{cart}}"
"#;

/// Gives back whatever it was sent, and more secrets.
fn echo(seen: &Seen) -> Act {
    let headers: Vec<&str> = seen.headers.iter().map(|(_, value)| value.as_str()).collect();
    let body = String::from_utf8_lossy(&seen.body).replace(['"', '{', '}'], " ");
    let told = format!("{} {} {body}", seen.target, headers.join(" "));
    let answer = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nServer: me\r\nSet-Cookie: sid=s3cret-cookie\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    };
    Act::Answer(match seen.target.split('/').nth(1).unwrap_or_default() {
        "login" => answer("200 OK", r#"{"access_token":"s3cret-token"}"#),
        "cart" => answer("200 OK", r#"{"cart":"s3cret-cart"}"#),
        "wrong" => answer("200 OK", r#"{"state":"open","api_key":"s3cret-key"}"#),
        "slow" => {
            return Act::SendThenStall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"token\":\"s3cret-half".into(),
            );
        }
        _ => {
            answer("500 Internal Server Error", &format!("{}{told}{}", "x".repeat(4_085), "y".repeat(9_000)))
        }
    })
}

fn assert_no_secret_below(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        for part in [&b"s3cret"[..], b"czNjcmV0", b"s3cre"] {
            assert!(!bytes.windows(part.len()).any(|window| window == part), "{path:?}: {part:?}");
        }
    }
}

#[test]
fn failures_are_kept_and_secrets_are_not() {
    let (server, place) = (Hostile::start(echo), Place::new());
    place.file("users.csv", "id,pin\n7,s3cret-pin-a\n8,s3cret-pin-b\n");
    place.file("p.toml", PLAN);
    let url = server.url().replace("http://", "http://me:s3cret-password@");
    let mut command =
        place.command(&["run", "p.toml", &url, "-o", "out", "--no-preflight", "--store", "h.db"]);
    let said = finish(command.env("CLIENT", "s3cret-client"));
    assert_no_secret_below(&place.path().join("out"));
    assert!(
        !said.stdout.contains("s3cret") && said.stdout.contains("unblink show RUN --failures"),
        "{said:?}"
    );

    let said = place.call(&["show", "latest", "--failures", "--json", "--store", "h.db"]);
    assert_eq!(place.call(&["show", "out", "--failures", "--json"]).stdout, said.stdout, "by its folder");
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let schema = unblink_artifact::schema::failures_schema();
    assert!(jsonschema::validator_for(&schema).expect("a schema").is_valid(&document), "{document:#}");
    let all = document["failures"].as_array().expect("a list");
    let of = |kind: &str| all.iter().filter(|one| one["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("status_5xx").len(), of("unexpected_body").len(), of("timed_out").len()), (2, 2, 2));
    let wrong = &of("unexpected_body")[0]["request"];
    assert_eq!(wrong["name"], "wrong");
    assert_eq!(wrong["answer"]["body"]["text"], r#"{"state":"open","api_key":"***"}"#);
    assert_eq!(wrong["expected"][1]["holds"], false);
    let late = &of("timed_out")[0];
    assert!(late["response_ns"].as_u64() >= Some(300_000_000), "{late:#}");
    assert_eq!(late["request"]["answer"]["body"]["text"], r#"{"token":"***""#);
    for failed in of("status_5xx") {
        let body = &failed["request"]["answer"]["body"];
        assert_eq!((body["is_cut"].as_bool(), failed["attempts"].as_u64()), (Some(true), Some(1)));
        assert!(body["text"].as_str().is_some_and(|text| text.len() <= 4_096 && text.starts_with("xxx")));
    }
    let text = place.call(&["show", "latest", "--failures", "--store", "h.db"]).stdout;
    assert!(text.contains("> Authorization: ***") && text.contains("< Server: me"), "{text}");
    assert!(text.contains("6 failed requests kept"), "{text}");
    let page = place.call(&["report", "out", "--html", "-"]).stdout;
    assert!(page.contains("<summary>status_5xx · "), "the page shows them");
    let again: Value = serde_json::from_str(&place.call(&["report", "out", "--json"]).stdout).expect("JSON");
    assert_eq!(again["kept_failures"], document["failures"]);
}

/// With several attempts, the last one is told.
#[test]
fn the_last_attempt_is_told() {
    let server = Hostile::start(|seen| {
        Act::Answer(answer("503 Service Unavailable", &format!("attempt {}", seen.number)))
    });
    let place = Place::new();
    let run = place.measure(&[
        &server.url(),
        "-R",
        "50",
        "-n",
        "20",
        "-c",
        "1",
        "--attempts",
        "3",
        "--retry-wait",
        "1ms",
        "--keep-failures",
        "1",
        "--no-preflight",
    ]);
    let kept = run.at("/kept_failures").as_array().expect("a list").clone();
    assert_eq!((kept.len(), &kept[0]["kind"], &kept[0]["attempts"]), (1, &"shed".into(), &3.into()));
    let body = kept[0]["request"]["answer"]["body"]["text"].as_str().expect("a text").to_string();
    assert!(body.starts_with("attempt ") && !body.ends_with(" 0"), "{body}");
}

#[test]
fn a_killed_run_has_what_failed_until_then() {
    let server = Hostile::start(|_| Act::Answer(answer("404 Not Found", "gone")));
    let place = Place::new();
    let args = [&server.url(), "-R", "100", "-d", "30s", "--no-preflight", "--keep-failures", "3"];
    let mut child = place.start(&args);
    wait_for_intervals(&place, &mut child, 2);
    child.signal(Signal::KILL);
    child.wait();
    let again: Value = serde_json::from_str(&place.call(&["report", "out", "--json"]).stdout).expect("JSON");
    assert_eq!(again["kept_failures"].as_array().map(Vec::len), Some(3));
    assert_eq!(again["kept_failures"][0]["request"]["answer"]["body"]["text"], "gone");
}

#[test]
fn a_run_that_kept_none_says_so() {
    let server = Hostile::start(|_| Act::AnswerAfter(Duration::ZERO, ok()));
    let place = Place::new();
    place.call(&[
        "run",
        &server.url(),
        "-R",
        "50",
        "-n",
        "5",
        "--expect",
        "status=201",
        "--no-preflight",
        "--store",
        "h.db",
    ]);
    place.call(&["show", "latest", "--failures", "--store", "h.db"]).refused(&["--keep-failures 3"]);
    for (number, part) in [("0", "0 would do nothing"), ("21", "at most 20"), ("x", "not a whole number")] {
        place.call(&["run", &server.url(), "--keep-failures", number]).refused(&[part, "1 to 20"]);
    }
}

//! Redirects that journeys follow: where they lead, what is sent there, and how they are counted.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, ok};
use serde_json::{Value, json};

fn sent_on(status: u16, location: &str, lines: &str) -> Act {
    Act::Answer(
        format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\n{lines}Content-Length: 0\r\n\r\n")
            .into(),
    )
}

fn with(lines: &str, body: &str) -> Act {
    Act::Answer(format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len()).into())
}

/// A plan of one journey, whose steps are these.
fn plan(steps: &str) -> String {
    format!(
        "[load]\nrate = 20\nduration = \"500ms\"\nseed = 1\n[[journeys]]\nname = \"buy\"\nredirects = 3\ncookies = true\n{steps}"
    )
}

fn operation<'a>(run: &'a Value, name: &str) -> &'a Value {
    let operations = run["operations"].as_array().expect("a list");
    let found = operations.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {operations:?}"))
}

const LOGIN: &str = r#"
[[journeys.steps]]
name = "login"
url = "/users/{{int(1,9)}}/login"
header = ["Authorization: Bearer s3cret", "X-Kept: 1"]
json = { user = "a" }
expect = ["status=200", "json $.id exists"]
capture = { id = "json $.id" }
[[journeys.steps]]
name = "order"
url = "/orders/{{id}}"
method = "POST"
body = "n={{index}}"
"#;

#[test]
fn each_redirect_is_a_request_with_what_belongs_to_it() {
    let other = Hostile::start(|_| Act::Answer(ok()));
    let elsewhere = format!("{}/a/../b?c#d", other.url().trim_end_matches('/'));
    let target = elsewhere.clone();
    let server = Hostile::start(move |seen| match seen.target.as_str() {
        // Relative to a path that is drawn.
        path if path.ends_with("/login") => sent_on(302, "welcome?x=1", "Set-Cookie: sid=7\r\n"),
        path if path.ends_with("/welcome?x=1") => with("", r#"{"id":"k"}"#),
        "/orders/k" => sent_on(307, &target, ""),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    let of_other = format!("[[journeys.steps]]\nname = \"leave\"\nurl = \"{}leave\"\n", other.url());
    place.file("plan.toml", plan(&format!("{LOGIN}{of_other}")));
    let run = place.measure(&["plan.toml", &server.url()]);
    run.assert_accounts();
    assert_eq!(run.at("/journeys/0/account/completed"), &json!(10), "{}", run.at("/journeys/0"));
    let steps = run.at("/journeys/0/steps");
    assert_eq!([&steps[0]["requests"], &steps[1]["requests"], &steps[2]["requests"]], [20, 20, 10]);
    assert_eq!(steps[0]["redirects"]["max"], 3);
    let names = steps[0]["redirects"]["operations"].as_array().expect("a list");
    let own = server.url().trim_start_matches("http://").trim_end_matches('/').to_string();
    assert!(names.contains(&json!(format!("buy: login redirected to {own} with GET"))), "{names:?}");
    let followed = operation(run.at(""), &format!("buy: login redirected to {own} with GET"));
    assert_eq!(followed["arrivals"]["ok"], 10, "{followed}");

    let seen = server.seen();
    let welcome: Vec<_> = seen.iter().filter(|seen| seen.target.ends_with("/welcome?x=1")).collect();
    assert_eq!(welcome.len(), 10);
    for seen in &welcome {
        assert_eq!(
            (seen.method.as_str(), &seen.body[..], seen.header("content-type")),
            ("GET", &b""[..], None)
        );
        assert!(seen.target.starts_with("/users/"), "{}", seen.target);
        // The same origin keeps what was sent to it, and a cookie is sent as soon as it is set.
        assert_eq!((seen.header("authorization"), seen.header("x-kept")), (Some("Bearer s3cret"), Some("1")));
        assert_eq!(seen.header("cookie"), Some("sid=7"));
    }
    // The check before the run asks the first step alone.
    assert_eq!(seen.iter().filter(|seen| seen.target.ends_with("/login")).count(), 11);
    let there = other.seen();
    let orders: Vec<_> = there.iter().filter(|seen| seen.target == "/b?c").collect();
    assert_eq!(orders.len(), 10);
    for seen in orders {
        assert_eq!(seen.method, "POST");
        assert!(seen.body.starts_with(b"n="));
        assert_eq!((seen.header("authorization"), seen.header("cookie")), (None, Some("")));
    }
    assert!(
        there.iter().all(|seen| seen.header("host")
            == Some(other.url().trim_start_matches("http://").trim_end_matches('/')))
    );
    for file in place.list("out") {
        assert!(!place.text(&format!("out/{file}")).contains("s3cret"), "{file}");
    }
}

/// RFC 9110 §15.4: a redirect is about the request that it answers. What an earlier one has turned into GET stays GET.
#[test]
fn a_chain_of_redirects_keeps_the_method_that_it_has_come_to() {
    let statuses = [301, 302, 303, 307, 308];
    for method in ["POST", "PUT"] {
        let server = Hostile::start(move |seen| {
            let parts: Vec<_> = seen.target.split('/').skip(1).collect();
            match parts[..] {
                ["first", a, b] => sent_on(a.parse().unwrap(), &format!("/second/{a}/{b}"), ""),
                ["second", a, b] => sent_on(b.parse().unwrap(), &format!("/third/{a}/{b}"), ""),
                _ => Act::Answer(ok()),
            }
        });
        let pairs = || statuses.into_iter().flat_map(|a| statuses.map(|b| (a, b)));
        let steps: String = pairs()
            .map(|(a, b)| {
                format!(
                    "[[journeys.steps]]\nname = \"{a} {b}\"\nurl = \"/first/{a}/{b}\"\nmethod = \"{method}\"\nbody = \"x\"\n"
                )
            })
            .collect();
        let place = Place::new();
        place.file("plan.toml", plan(&steps));
        let run = place.measure(&["plan.toml", &server.url()]);
        run.assert_accounts();
        assert_eq!(run.at("/journeys/0/account/completed"), &json!(10), "{}", run.at("/journeys/0"));
        let turns = |status| status == 303 || method == "POST" && matches!(status, 301 | 302);
        for (a, b) in pairs() {
            let seen = server.seen();
            let third: Vec<_> = seen.iter().filter(|seen| seen.target == format!("/third/{a}/{b}")).collect();
            assert_eq!(third.len(), 10, "{method} {a} {b}");
            let expected = if turns(a) || turns(b) { ("GET", &b""[..]) } else { (method, &b"x"[..]) };
            for seen in third {
                assert_eq!((seen.method.as_str(), &seen.body[..]), expected, "{method} {a} {b}");
            }
        }
    }
}

#[test]
fn what_leads_nowhere_fails_by_its_own_name() {
    let first = "[[journeys.steps]]\nname = \"home\"\nurl = \"/\"\n";
    let second = "[[journeys.steps]]\nname = \"go\"\nurl = \"/go\"\n";
    for (location, kind, words) in [
        ("/go", "too_many_redirects", "one redirect more"),
        ("http://127.0.0.1:1/x", "redirected_elsewhere", "an origin that the plan does not ask"),
        ("http:x", "bad_redirect", "does not say where"),
    ] {
        let server = Hostile::start(move |seen| match seen.target.as_str() {
            "/go" => sent_on(302, location, ""),
            _ => Act::Answer(ok()),
        });
        let place = Place::new();
        place.file("plan.toml", plan(&format!("{first}{second}")));
        let run = place.measure(&["plan.toml", &server.url()]);
        run.assert_accounts();
        assert_eq!(run.at("/journeys/0/failures"), &json!({kind: 10}));
        let requests = if kind == "too_many_redirects" { 40 } else { 10 };
        assert_eq!(run.at("/journeys/0/steps/1/requests"), &json!(requests));
        assert_eq!(run.at("/journeys/0/steps/1/failed"), &json!(10));
        // `try` follows them, too, and says why.
        let said = place.call(&["try", "plan.toml", &server.url()]);
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(said.stdout.contains(words), "{kind}: {said:?}");
    }
}

#[test]
fn what_is_asked_in_vain_is_refused_at_its_place() {
    let place = Place::new();
    for (steps, part) in [
        ("[[journeys.steps]]\nurl = \"/\"\nredirects = 21\n", "redirects"),
        (
            "[[journeys.steps]]\nurl = \"/\"\n[[journeys.steps]]\nurl = \"/x\"\nredirects = 1\nuntil = \"status=200\"\nevery = \"1s\"\n\
             within = \"2s\"\n",
            "with until a step asks again",
        ),
        ("[[journeys.steps]]\nurl = \"/{{where to}}\"\n", "may not be there yet"),
    ] {
        place.file("plan.toml", format!("target = \"http://127.0.0.1:9/\"\n{}", plan(steps)));
        let said = place.call(&["plan", "check", "plan.toml"]);
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(said.stderr.contains(part) && said.stderr.contains('^'), "{said:?}");
    }
}

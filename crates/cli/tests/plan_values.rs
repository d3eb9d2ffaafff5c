//! Values and variables of plans: what they are shown as, and what passes no longer in silence.

use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use crate::support::{Place, finish};

const SHOP: &str = r#"
target = "http://127.0.0.1:9/"

[load]
rate = 300
duration = "10s"

[let]
item = "zipf(1M)"
user = "csv(users.csv, shuffled)"
size = "lognormal(4KiB, 1.2, max=1MiB)"

[[requests]]
share = "80%"
url = "/items/{{item}}?who={{user.word}}&key=${KEY}&x=s3cret-{{item}}"

[[requests]]
name = "order"
share = "20%"
url = "/orders"
header = ["X-Key: s3cret-{{item}}"]
json = { who = "{{user.word}}", note = "{{bytes(size)}}" }
"#;

#[test]
fn plan_show_draws_what_is_drawn() {
    let place = Place::new();
    place.file("users.csv", "id,word\n1,hidden\n2,hidden\n");
    place.file("shop.toml", SHOP);
    let said = place.call(&["plan", "show", "shop.toml"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let shown = said.stdout.lines().take_while(|line| !line.starts_with("target")).collect::<Vec<_>>();
    assert!(shown.iter().all(|line| line.chars().count() <= 80), "{shown:#?}");
    let shown = shown.join("\n");
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "20 % ███",
        "zipf over 1 000 000 keys, exponent 0.99; the hottest key gets 6.5 %",
        "2 rows of users.csv",
        "of 10 000 draws the median is 4",
        "0 s GET /items/",
        "?who=***&key=${KEY}&x=***",
        "POST /orders + ",
        "/s at 300/s.",
    ] {
        assert!(text.contains(part), "{part}: {shown}");
    }
    assert!(!said.stdout.contains("s3cret") && !said.stdout.contains("hidden"), "{shown}");
    let again = place.call(&["plan", "show", "shop.toml"]);
    assert_eq!(again.stdout, said.stdout, "the same seed draws the same");
}

#[test]
fn plan_show_weighs_a_journey_by_all_its_requests() {
    let place = Place::new();
    let load = "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 100\nduration = \"10s\"\n";
    let shown = |name: &str, requests: &str| {
        place.file(name, &(load.to_string() + requests));
        let said = place.call(&["plan", "show", name]);
        assert_eq!(said.code(), Some(0), "{said:?}");
        said.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mean = |text: &str| -> u64 {
        let (_, rest) = text.split_once("each has ").unwrap_or_else(|| panic!("{text}"));
        rest.split_once(" B on average").unwrap_or_else(|| panic!("{text}")).0.parse().unwrap()
    };
    let one = shown("one.toml", "[[requests]]\nurl = \"/search\"\n");
    let step = "[[journeys]]\nname = \"buy\"\n[[journeys.steps]]\nurl = \"/search\"\nrepeat = 3\n";
    let three = shown("three.toml", step);
    assert_eq!(mean(&three), 3 * mean(&one), "{three}");
    assert!(three.contains("0 s GET /search, then 2 more"), "{three}");
    // What is taken from an answer is not known yet, and of what is asked again and again the first request counts.
    let more =
        "[[journeys.steps]]\nurl = \"/search\"\nuntil = \"status=200\"\nevery = \"1s\"\nwithin = \"9s\"\n";
    let polled = shown("polled.toml", &(step.to_string() + more));
    assert_eq!(mean(&polled), 4 * mean(&one), "{polled}");
    assert!(polled.contains("then 3 more") && polled.contains("What answers bring is left out"), "{polled}");
}

#[test]
fn a_plan_in_another_form_keeps_its_templates() {
    let place = Place::new();
    place.file("users.csv", "id,word\n1,a\n");
    place.file("shop.toml", SHOP);
    let said = place.call(&["plan", "show", "shop.toml", "--as", "toml"]);
    for part in ["x=${PLAN_X}{{item}}", "X-Key: ${PLAN_X_KEY}{{item}}", "json = \"${PLAN_BODY}\""] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    // A body that is one variable is what the variable says, templates and all.
    place.file("again.toml", &said.stdout);
    let checked = place.call(&["plan", "check", "again.toml"]);
    assert_eq!(checked.code(), Some(0), "what the body uses is not known: {checked:?}");
    let server = healthy();
    let run = finish(
        place
            .command(&["run", "again.toml", &server.url(), "-n", "10", "-R", "100", "-o", "out", "--json"])
            .env("KEY", "k")
            .env("PLAN_X", "s3cret-")
            .env("PLAN_X_KEY", "s3cret-")
            .env("PLAN_BODY", r#"{"who":"{{user.word}}","n":{{number(size)}}}"#),
    );
    run.run().assert_all("ok");
    let seen = server.seen();
    let orders: Vec<_> = seen.iter().filter(|one| one.target == "/orders").collect();
    assert!(!orders.is_empty());
    for order in orders {
        assert!(order.body.starts_with(br#"{"who":"a","n":"#), "{:?}", String::from_utf8_lossy(&order.body));
        let key = order.header("x-key").expect("a key").strip_prefix("s3cret-");
        assert!(key.is_some_and(|key| key.parse::<u32>().is_ok()), "{key:?}");
    }
}

#[test]
fn what_a_variable_holds_is_data() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "plan.toml",
        r#"
[load]
rate = 50
requests = 3
[[requests]]
url = "/json"
header = ["X-A: ${A}"]
json = { a = "<${A}>", n = "{{index}}" }
[[requests]]
url = "/form"
form = { a = "<${A}>" }
[[requests]]
url = "/text"
body = "<${A}>"
"#,
    );
    let value = r#"say "{{hi}}" & go"#;
    let args = ["run", "plan.toml", &server.url(), "-o", "out", "--json", "--no-preflight"];
    finish(place.command(&args).env("A", value)).run().assert_all("ok");
    let seen = server.seen();
    let of = |target: &str| seen.iter().find(|one| one.target == target).expect(target);
    assert_eq!(of("/json").header("x-a"), Some(value));
    let json: serde_json::Value = serde_json::from_slice(&of("/json").body).expect("JSON");
    assert_eq!(json["a"], format!("<{value}>"));
    assert_eq!(of("/form").body, b"a=%3Csay%20%22%7B%7Bhi%7D%7D%22%20%26%20go%3E");
    assert_eq!(of("/text").body, format!("<{value}>").as_bytes());
}

#[test]
fn a_file_of_targets_uses_the_values_of_the_plan() {
    let (server, place) = (healthy(), Place::new());
    place.file(
        "plan.toml",
        "[load]\nrate = 50\nrequests = 4\n[let]\nitem = \"uniform(10, 19)\"\nother = \"zipf(9)\"\n",
    );
    place.file("targets.txt", format!("GET {}items/{{{{item}}}}\n", server.url()));
    place.measure(&["plan.toml", "--targets", "targets.txt", "--no-preflight"]).assert_all("ok");
    for one in server.seen() {
        assert!(
            one.target.starts_with("/items/1") && one.target.len() == "/items/10".len(),
            "{}",
            one.target
        );
    }
}

#[test]
fn a_simulation_of_journeys_needs_no_environment() {
    let place = Place::new();
    place.file(
        "plan.toml",
        "[load]\nrate = 20\nduration = \"2s\"\n[world]\nserver = \"service=5ms\"\n[[journeys]]\nname = \"buy\"\n\
         [[journeys.steps]]\nurl = \"/cart?key=${NOBODY_SET_THIS}\"\nheader = [\"X-A: ${NOBODY_SET_THIS}\"]\n",
    );
    let said = place.call(&["sim", "plan.toml", "--json"]);
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    place.call(&["sim", "plan.toml", "--service", "buy=1ms"]).refused(&["no request is called \"buy\""]);
}

#[test]
fn both_sides_of_a_comparison_have_their_setup() {
    let side = |token: &'static str| {
        Hostile::start(move |seen| match seen.target.as_str() {
            "/login" => Act::Answer(answer("200 OK", &format!("{{\"token\": \"{token}\"}}"))),
            _ => Act::Answer(ok()),
        })
    };
    let (base, candidate, place) = (side("of-base"), side("of-candidate"), Place::new());
    place.file(
        "plan.toml",
        "[load]\nrate = 50\nduration = \"1s\"\n[comparison]\nruns = 1\n[[setup]]\nurl = \"/login\"\n\
         capture = { token = \"json $.token\" }\n[[requests]]\nurl = \"/\"\nheader = [\"X-Token: {{token}}\"]\n",
    );
    let said = place.call(&["compare", "plan.toml", &base.url(), &candidate.url(), "-o", "out", "--json"]);
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    for (server, token) in [(base, "of-base"), (candidate, "of-candidate")] {
        let seen = server.seen();
        let tokens: Vec<_> =
            seen.iter().filter(|one| one.target == "/").map(|one| one.header("x-token")).collect();
        assert!(tokens.len() > 50 && tokens.iter().all(|one| *one == Some(token)), "{tokens:?}");
    }
}

#[test]
fn nothing_wrong_passes_in_silence() {
    let place = Place::new();
    place.file("users.csv", "id,word\n1,\"ann\n2,bob\n");
    let run = |args: &[&str]| {
        place.call(&[&["run", "http://127.0.0.1:9/", "-R", "10", "--no-preflight"], args].concat())
    };
    for (args, parts) in [
        (&["--let", "item=zipf(9)"][..], &["names item", "no request uses it"][..]),
        (&["--let", "u=csv(users.csv)"], &["users.csv:2", "never closed"]),
        (&["--let", "u=csv(/dev/zero)"], &["/dev/zero", "more than"]),
        (&["--retry-on", "503"], &["--retry-on", "--attempts 3"]),
        (&["--retry-wait", "1s"], &["--retry-wait", "--attempts 3"]),
        (&["--expect", "contains={{item}}"], &["nothing is filled in", "regex"]),
        (&["--expect", "json $.id == {{item}}"], &["nothing is filled in"]),
    ] {
        run(args).refused(parts);
    }
    place.call(&["run", "http://127.0.0.1:9/{{item}} x", "-R", "10"]).refused(&["9/{{item}} "]);
    place.file(
        "plan.toml",
        "[load]\nrate = 5\n[[requests]]\nurl = \"http://127.0.0.1:9/\"\njson = \"{'a': 1}\"\n",
    );
    place.call(&["plan", "check", "plan.toml"]).refused(&["plan.toml:5:8", "not JSON"]);
}

/// What users who wait ask first does not depend on any answer.
#[test]
fn the_first_requests_of_users_who_wait_are_shown() {
    let place = Place::new();
    let load = "target = \"http://h/\"\n[load]\nclosed = 3\nthink = \"1s\"\nduration = \"10s\"\n";
    place.file(
        "plan.toml",
        format!("{load}[let]\nn = \"uniform(10k)\"\n[[requests]]\nurl = \"/items/{{{{n}}}}\"\n"),
    );
    let shown = place.call(&["plan", "show", "plan.toml"]).stdout;
    let shown = shown.split("target =").next().unwrap_or_default();
    assert!(shown.contains("The first requests, one of each user"), "{shown}");
    assert_eq!(shown.matches("  GET /items/").count(), 3, "{shown}");
    assert!(!shown.contains("***") && shown.contains("Of the first 3 requests"), "{shown}");
}

//! What is wrong with a workload is said before anything is sent, each in its own words, by every command and at its place in a plan; what
//! only answers can tell is a failure of its own kind.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer, healthy};
use serde_json::json;

const HEAD: &str = "target = \"http://127.0.0.1:9\"\n[load]\nrate = 5\nduration = \"1s\"\n[world]\nserver = \"service=1ms\"\n";

/// A plan's further lines, where it is wrong, and what is said of it.
const BAD: [(&str, &str, &str); 12] = [
    (
        "[[requests]]\nurl = \"/a\"\nshare = \"80%\"\n[[requests]]\nurl = \"/b\"\nshare = \"30%\"\n",
        ":12:9:",
        "the shares of all requests sum to 110%, not to 100%",
    ),
    (
        "[[requests]]\nurl = \"/a\"\nshare = \"60%\"\n[[journeys]]\nname = \"j\"\nshare = \"30%\"\n[[journeys.steps]]\nurl = \"/b\"\n",
        ":12:9:",
        "sum to 90%",
    ),
    (
        "[let]\nk = \"zipf(0)\"\n[[requests]]\nurl = \"/{{k}}\"\n",
        ":8:11:",
        "nothing can be drawn from no keys",
    ),
    ("[let]\nk = \"zipf(5, s=0)\"\n[[requests]]\nurl = \"/{{k}}\"\n", ":8:", "`s` must be above 0"),
    (
        "[let]\nu = \"csv(users.csv)\"\n[[requests]]\nurl = \"/{{u.nme}}\"\n",
        ":10:7:",
        "users.csv:1: no column is called `nme`, did you mean `name`?",
    ),
    ("[let]\nu = \"csv(empty.csv)\"\n[[requests]]\nurl = \"/{{u.id}}\"\n", ":8:10:", "empty.csv: is empty"),
    (
        "[let]\nu = \"csv(head.csv)\"\n[[requests]]\nurl = \"/{{u.id}}\"\n",
        ":8:10:",
        "head.csv: has a line with the names",
    ),
    (
        "[let]\nu = \"jsonl(empty.csv)\"\n[[requests]]\nurl = \"/{{u.id}}\"\n",
        ":8:12:",
        "empty.csv: has no lines",
    ),
    (
        "[let]\na = \"{{b}}\"\nb = \"{{a}}\"\n[[requests]]\nurl = \"/{{a}}\"\n",
        ":8:6:",
        "in a circle: a is drawn from b, which is drawn from a.",
    ),
    (
        "[[journeys]]\nname = \"j\"\n[[journeys.steps]]\nurl = \"/a\"\ncapture = { id = \"regex ([\" }\n",
        ":11:11:",
        "not a regular expression",
    ),
    (
        "[[journeys]]\nname = \"j\"\n[[journeys.steps]]\nurl = \"/{{id}}\"\ncapture = { id = \"json $.id\" }\n",
        ":10:7:",
        "id may not be there yet",
    ),
    ("[request]\nscript = \"bad.lua\"\n", ":8:10:", "bad.lua:1: unexpected symbol near '='"),
];

#[test]
fn a_plan_is_refused_at_its_place_by_every_command() {
    let place = Place::new();
    place.file("users.csv", "id,name\n1,a\n");
    place.file("head.csv", "id,name\n");
    place.file("empty.csv", "");
    place.file("bad.lua", "wrk.body = = 1");
    for (lines, at, why) in BAD {
        place.file("plan.toml", format!("{HEAD}{lines}"));
        for command in [&["plan", "check"][..], &["run"], &["sim"], &["try"]] {
            let said = place.call(&[command, &["plan.toml"]].concat());
            said.refused(&[&format!("plan.toml{at}"), why]);
            assert!(said.stderr.contains('^'), "{said:?}");
        }
    }
}

#[test]
fn flags_are_refused_in_the_same_words() {
    let place = Place::new();
    place.file("users.csv", "id,name\n1,a\n");
    place.file("empty.csv", "");
    let url = "http://127.0.0.1:9";
    for (flags, why) in [
        (&["--request", "80% /a", "--request", "30% /b"][..], "sum to 110%"),
        (&["--let", "k=zipf(0)", "--request", "/{{k}}"], "--let k: `n` is 0"),
        (&["--let", "u=csv(users.csv)", "--request", "/{{u.nme}}"], "no column is called `nme`"),
        (&["--let", "u=csv(empty.csv)", "--request", "/{{u.id}}"], "empty.csv: is empty"),
        (
            &["--let", "a={{b}}", "--let", "b={{a}}", "--request", "/{{a}}"],
            "--let a: this goes in a circle: a is drawn from b, which is drawn from a.",
        ),
    ] {
        for command in [&["run", url, "-R", "5"][..], &["try", url], &["knee", url, "--slo", "p99 < 1s"]] {
            place.call(&[command, flags].concat()).refused(&[why]);
        }
    }
}

/// The check before the run knows of the first request alone.
#[test]
fn what_only_answers_tell_has_a_kind_of_its_own() {
    let server = Hostile::start(|seen| {
        let id = if seen.target == "/first" { r#"{"id":1}"# } else { r#"{"other":1}"# };
        Act::Answer(answer("200 OK", id))
    });
    let place = Place::new();
    let load = "[load]\nrate = 20\nduration = \"1s\"\n[[journeys]]\nname = \"j\"\n";
    let step = |url: &str, name: &str| {
        format!("[[journeys.steps]]\nurl = \"{url}\"\ncapture = {{ {name} = \"json $.id\" }}\n")
    };
    let last = "[[journeys.steps]]\nurl = \"/{{a}}/{{b}}\"\n";
    place.file("plan.toml", format!("{load}{}{}{last}", step("/first", "a"), step("/second", "b")));
    let run = place.measure(&["plan.toml", &server.url()]);
    run.assert_accounts();
    assert_eq!(run.at("/failures"), &json!({"not_captured": 20}));
    assert_eq!(run.at("/journeys/0/account/failed"), 20);

    let (server, place) = (healthy(), Place::new());
    place.file(
        "s.lua",
        "local n = 0 function request() n = n + 1 if n > 1 then error('boom') end return wrk.format() end",
    );
    let args = [&server.url(), "-R", "20", "-d", "1s", "-t", "1", "--script", "s.lua", "--no-preflight"];
    let run = place.measure(&args);
    assert_eq!(run.at("/failures"), &json!({"script_failed": 19}));
    assert!(run.stderr.contains("s.lua:1: boom"), "{run:?}");
}

//! Plans that are searched and compared instead of run.

use crate::support::Place;
use serde_json::Value;

#[test]
fn a_plan_can_be_searched_and_compared() {
    let place = Place::new();
    let world = "[world]\nserver = \"slots=5 service=10ms\"\n";
    let both = "[load]\nmax-rate = 800\n[objectives]\nslo = [\"errors < 1%\", \"p99 < 200ms\"]\n[search]\nstart = 100\n\
                measure = \"4s\"\nmeasure-max = \"8s\"\nsettle = \"1s\"\n";
    place.file("search.toml", format!("{both}{world}"));
    let said = place.call(&["knee", "search.toml", "--arrivals", "even", "--json", "-o", "found"]);
    let found: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!((said.code(), &found["question"]["objective"]), (Some(0), &"p99 < 200ms".into()), "{said:?}");
    assert_eq!(found["question"]["max_per_s"], 800.0, "the plan's max-rate");
    assert!(said.stderr.contains("\"errors < 1%\" is left out"), "{said:?}");
    // With a target of its own, it is the target that is searched unless told otherwise.
    place.file("live.toml", format!("target = \"http://127.0.0.1:9/\"\n{both}{world}"));
    let live = place.call(&["knee", "live.toml", "-o", "live"]);
    assert!(live.code() == Some(3) && live.stderr.contains("127.0.0.1:9"), "{live:?}");
    let said = place.call(&["knee", "live.toml", "--simulate", "--arrivals", "even", "-o", "again"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let shown = place.call(&["plan", "show", "live.toml"]);
    assert!(shown.stdout.contains("a search for the highest rate with p99 < 200ms"), "{shown:?}");

    place.file("two.toml", format!("{}{world}", both.replace("errors < 1%", "p50 < 20ms")));
    place.call(&["knee", "two.toml"]).refused(&["two.toml:4:22", "a second one", "--slo"]);
    place.file("none.toml", format!("{}{world}", both.replace("p99 < 200ms", "errors < 2%")));
    place.call(&["knee", "none.toml"]).refused(&["none.toml:4:8", "needs a percentile"]);
    // Where there is no other, it is that of one request; this world has none by name.
    place.file("named.toml", format!("{}{world}", both.replace("\"p99 < 200ms\"", "\"a: p99 < 1s\"")));
    let named = place.call(&["knee", "named.toml"]);
    assert!(named.code() == Some(2) && named.stderr.contains("named.toml:4:23"), "{named:?}");
    assert!(named.stderr.contains("asked for one thing only"), "{named:?}");
    place.file("cap.toml", format!("{}max = 900\n{world}", both));
    let cap = place.call(&["knee", "cap.toml"]);
    assert!(cap.code() == Some(2) && cap.stderr.contains("cap.toml:10:7: max is above max-rate"), "{cap:?}");

    let load = "[load]\nrate = 100\nduration = \"5s\"\n[comparison]\nruns = 1\n";
    let servers = "[world]\nserver = \"service=5ms\"\ncandidate-server = \"service=6ms\"\n";
    place.file("compare.toml", format!("{load}{servers}"));
    let said = place.call(&["compare", "compare.toml", "--json", "-o", "compared"]);
    let found: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!((said.code(), &found["reason"]), (Some(0), &"within_run_only".into()), "{said:?}");
    place.file("half.toml", format!("target = \"http://127.0.0.1:9/\"\n{load}"));
    place.call(&["compare", "half.toml"]).refused(&["has no candidate"]);
    place.call(&["compare", "half.toml", "http://127.0.0.1:9/"]).refused(&["the same addresses"]);
    let nobody = place.call(&["compare", "half.toml", "http://127.0.0.1:10/", "-o", "x"]);
    assert!(nobody.code() == Some(3) && nobody.stderr.contains("127.0.0.1:9"), "{nobody:?}");
    place.call(&["compare", "half.toml", "compare.toml"]).refused(&["one plan at a time"]);
    place.call(&["compare", "half.toml", "--simulate"]).refused(&["[world] has no server"]);
    let urls = ["http://127.0.0.1:9/", "http://127.0.0.1:10/"];
    place
        .call(&[&["compare", "-R", "5", "--simulate"], &urls[..]].concat())
        .refused(&["nothing to simulate"]);
    place.call(&["knee", urls[0], "--slo", "p99 < 1s", "--simulate"]).refused(&["nothing to simulate"]);
    place.file("itself.toml", format!("target = \"http://127.0.0.1:9/\"\n{load}a-a = true\n"));
    place
        .call(&[&["compare", "itself.toml"], &urls[..]].concat())
        .refused(&["itself.toml:7:7", "two are given"]);
    let paths = "target = \"http://127.0.0.1:9/v1/\"\ncandidate = \"http://127.0.0.1:10/v2/\"\n";
    place.file("paths.toml", format!("{paths}{load}[[requests]]\nurl = \"/cart\"\n"));
    place.call(&["compare", "paths.toml"]).refused(&["paths.toml:1:10", "its path is not used"]);
    place.file(
        "masked.toml",
        "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 5\n[request]\nbody = \"***\"\n",
    );
    place.call(&["run", "masked.toml"]).refused(&["masked.toml:5:8", "a hidden value"]);
    place.file("secret.toml", "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 5\n[request]\nheader = [\"Authorization S3CRET\"]\n");
    let secret = place.call(&["run", "secret.toml"]);
    assert!(secret.stderr.contains("secret.toml:5:") && !secret.stderr.contains("S3CRET"), "{secret:?}");
    place.file(
        "targets.toml",
        "[load]\nrate = 5\n[request]\ntargets = \"x\"\n[objectives]\nslo = \"p99 < 1s\"\n",
    );
    place.call(&["knee", "targets.toml"]).refused(&["targets.toml:4:11", "[[requests]]"]);
    let high = place.call(&["knee", "search.toml", "--max", "900"]);
    assert!(high.code() == Some(2) && high.stderr.contains("above the plan's max-rate"), "{high:?}");
    place.file("bare.toml", "target = \"http://127.0.0.1:9/\"\n");
    place.call(&["knee", "bare.toml"]).refused(&["add slo = "]);
    assert_eq!(place.call(&["plan", "check", "compare.toml", "search.toml", "live.toml"]).code(), Some(0));
}

//! `unblink size`: the worked example, a plan, wrong input, and the constants of this machine there and back.

use crate::support::{Place, Said};
use serde_json::Value;

const EXAMPLE: [&str; 7] = ["size", "-R", "10M", "--latency", "20ms", "--stall", "1s"];

fn sized(args: &[&str]) -> Value {
    let said = Place::new().call(&[args, &["--json"]].concat());
    assert!(matches!(said.code(), Some(0 | 1)), "{said:?}");
    document(&said)
}

fn document(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn check(document: &Value, schema: &str) {
    let schema: Value = serde_json::from_str(&Place::new().call(&["schema", schema]).stdout).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    assert!(schema.is_valid(document), "{document}");
}

/// 355 agents if shares were equal; 512 with two whole streams each; ports bind, and not the processors' 25.
#[test]
fn the_worked_example() {
    let document = sized(&EXAMPLE);
    check(&document, "size");
    let fleet = &document["fleet"];
    assert_eq!(
        (&fleet["agents"], &fleet["workers_per_agent"], &fleet["agents_if_equal"]),
        (&512.into(), &2.into(), &355.into())
    );
    assert_eq!((&fleet["largest"]["streams"], &fleet["bounds"][0]["limit"]), (&2.into(), &"ports".into()));
    let bounds = fleet["bounds"].as_array().expect("bounds");
    let processors = bounds.iter().find(|bound| bound["limit"] == "processor").expect("processors");
    assert_eq!(processors["agents_if_equal"], 25);
    let opening = bounds.iter().find(|bound| bound["limit"] == "opening").expect("opening");
    assert_eq!((&opening["agents_if_equal"], opening.get("stall_s_max")), (&120.into(), None));
    assert_eq!(fleet["largest"]["connections_max"], 28_232);
    let even = sized(&[&EXAMPLE[..], &["--arrivals", "even"]].concat());
    assert_eq!(even["fleet"]["agents"], 355);
}

/// A fleet that can't open connections in time is not called enough; one whose connections are open is.
#[test]
fn connections_that_can_not_be_opened_in_time() {
    let secure = [&EXAMPLE[..], &["--tls", "--body", "2k"]].concat();
    let place = Place::new();
    let said = place.call(&secure);
    let flat = |said: &Said| said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(said.code(), Some(1), "{said:?}");
    let text = flat(&said);
    assert!(text.starts_with("NOT POSSIBLE") && text.contains("opening connections binds first"), "{text}");
    assert!(text.contains("(run -c 10000384; here --open-before). Then 512 agents would do."), "{text}");
    let slow = sized(&secure);
    check(&slow, "size");
    assert_eq!(slow["fleet"]["bounds"][0]["limit"], "opening");
    let before = [&secure[..], &["--open-before"]].concat();
    let said = place.call(&before);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(flat(&said).starts_with("ENOUGH 512 agents with 2 workers each"), "{said:?}");
    assert!(flat(&said).contains("with connections opened before (run -c 10000384)."), "{said:?}");
    let open = sized(&before);
    check(&open, "size");
    assert_eq!((&open["load"]["open_before"], &open["fleet"]["agents"]), (&true.into(), &512.into()));
    let plain = sized(&[&EXAMPLE[..], &["--open-before"]].concat());
    assert_eq!(plain["fleet"]["total"]["connections_at_rest"], 10_000_384);
    // A stall that is no longer than answers take opens none.
    let calm = place.call(&["size", "-R", "10M", "--latency", "20ms", "--stall", "20ms", "--tls"]);
    assert_eq!(calm.code(), Some(0), "{calm:?}");
    assert!(flat(&calm).contains("A longer stall would open a connection"), "{calm:?}");
}

/// The page shows what the command prints, and every constant with its value and source.
#[test]
fn the_page_shows_what_is_printed() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sizing.md"))
        .expect("a page");
    let place = Place::new();
    let said = place.call(&EXAMPLE);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(page.contains(said.stdout.trim_end()), "docs/sizing.md should hold\n{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    for constant in sized(&EXAMPLE)["constants"].as_array().expect("constants") {
        let (name, source) = (constant["name"].as_str().unwrap(), constant["source"].as_str().unwrap());
        let row = format!("| `{name}` | {} | {source} |", constant["value"].as_f64().unwrap());
        assert!(page.contains(&row), "docs/sizing.md should hold {row}");
    }
}

#[test]
fn on_paper_up_to_the_highest_rate() {
    let place = Place::new();
    let said = place.call(&["size", "-R", "100M", "--stall", "1s"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stdout.starts_with("NOT POSSIBLE"), "{said:?}");
    let four = ["size", "-R", "100M", "--stall", "1s", "--addresses", "4", "--open-before"];
    let faster = sized(&[&four[..], &["--set", "merge_ms_per_agent_second=0.4"]].concat());
    assert_eq!((&faster["fleet"]["agents"], &faster["fleet"]["is_enough"]), (&1_024.into(), &true.into()));
    // So many can't be merged by half a processor.
    let said = place.call(&[&four[..], &["--agents", "1024"]].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    let flat = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.starts_with("NOT ENOUGH 1 024 agents") && flat.contains("more than merging allows"),
        "{flat}"
    );
    let few = place.call(&["size", "-R", "10M", "--agents", "400"]);
    assert!(few.code() == Some(1) && few.stdout.starts_with("NOT ENOUGH  400 agents"), "{few:?}");
    place.call(&["size", "-R", "100000001"]).refused(&["above the highest possible rate, 100000000/s"]);
}

#[test]
fn a_plan_says_what_is_offered() {
    let place = Place::new();
    let plan = "target = \"https://shop.test/\"\n[load]\nrate = \"1k..500k\"\nduration = \"1m\"\narrivals = \"bursty\"\n\
                [[requests]]\nname = \"a\"\nurl = \"/a\"\n[[requests]]\nname = \"b\"\nurl = \"/b\"\n";
    place.file("plan.toml", plan);
    let of = |args: &[&str]| {
        let said = place.call(&[&["size", "plan.toml", "--json"], args].concat());
        assert!(matches!(said.code(), Some(0 | 1)), "{said:?}");
        document(&said)
    };
    let load = &of(&[])["load"];
    assert_eq!(
        (&load["per_s"], &load["tls"], &load["operations"], &load["dealt"]),
        (&2.5e6.into(), &true.into(), &2.into(), &"streams".into())
    );
    let load = &of(&["-R", "10k", "--arrivals", "even"])["load"];
    assert_eq!((&load["per_s"], &load["dealt"]), (&1e4.into(), &"equally".into()));
    let load = &of(&["--arrivals", "even"])["load"];
    assert_eq!(
        (&load["per_s"], &load["dealt"]),
        (&5e5.into(), &"equally".into()),
        "without the plan's bursts"
    );
    place.file("closed.toml", "target = \"http://shop.test/\"\n[load]\nclosed = 5\n");
    place.call(&["size", "closed.toml"]).refused(&["closed load", "-R"]);
    place.file("norate.toml", plan.replace("rate = \"1k..500k\"\n", ""));
    let refused = place.call(&["size", "norate.toml"]);
    refused.refused(&["norate.toml", "has no load", "[load] rate", "-R 10k"]);
    assert!(!refused.stderr.contains("--closed") && !refused.stderr.contains("--replay"), "{refused:?}");
    place.file("plan.toml", plan.replace("rate = \"1k..500k\"\n", ""));
    let load = &of(&["-R", "10k"])["load"];
    assert_eq!((&load["per_s"], &load["tls"], &load["operations"]), (&5e4.into(), &true.into(), &2.into()));
    place.call(&["size", "plan.txt"]).refused(&["plan.txt", ".toml"]);
    place.call(&["size", "none.toml"]).refused(&["none.toml"]);
}

#[test]
fn wrong_input_is_refused() {
    let place = Place::new();
    place.file("wrong.json", "{}");
    for (args, parts) in [
        (&[][..], &["-R 10M", "--calibrate"][..]),
        (&["-R", "0"], &["the rate is 0"]),
        (&["-R", "10m"], &["write 10M for millions"]),
        (&["-R", "50M", "--arrivals", "bursty"], &["250000000/s", "highest possible"]),
        (&["-R", "1", "--latency", "0"], &["--latency 0"]),
        (&["-R", "1", "--agents", "1025"], &["more agents", "1024"]),
        (&["-R", "1", "--nic", "fast"], &["\"fast\" is not a speed", "10G"]),
        (&["-R", "1", "--set", "port=1"], &["no constant is called \"port\"", "did you mean \"ports\"?"]),
        (&["-R", "1", "--set", "ports=0"], &["ports", "above 0"]),
        (&["-R", "1", "--set", "ports"], &["is not a constant"]),
        (&["-R", "1", "--constants", "wrong.json"], &["wrong.json", "--calibrate"]),
        (&["-R", "1", "--constants", "none.json"], &["none.json"]),
        (&["-R", "1", "-o", "x.json"], &["--calibrate"]),
        (&["--calibrate", "--constants", "wrong.json"], &["--calibrate", "--constants"]),
    ] {
        place.call(&[&["size"], args].concat()).refused(parts);
    }
}

/// What is measured is written down, and what was written down is reckoned with.
#[test]
fn constants_of_this_machine_there_and_back() {
    let place = Place::new();
    let said = place.call(&["size", "--calibrate", "-o", "here.json", "--json"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let measured = document(&said);
    check(&measured, "size-constants");
    let written: Value = serde_json::from_str(&place.text("here.json")).expect("JSON");
    assert_eq!(written, measured);
    assert_eq!(place.list("."), ["here.json"]);
    let args = ["size", "-R", "1M", "--constants", "here.json", "--set", "processor_share=0.25", "--json"];
    let used = document(&place.call(&args));
    let used = used["constants"].as_array().expect("constants");
    let constants = measured["constants"].as_array().expect("constants");
    assert!(constants.iter().any(|one| one["name"] == "cpu_us_per_request"), "{measured}");
    for one in constants {
        assert!(used.contains(one), "{one} is not among {used:?}");
    }
    let given = used.iter().filter(|one| one["is_given"] == true).count();
    assert_eq!(given, constants.len() + 1);
    let share = used.iter().find(|one| one["name"] == "processor_share").unwrap();
    assert_eq!((&share["value"], &share["source"]), (&0.25.into(), &"--set".into()));
}

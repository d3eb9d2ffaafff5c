//! `[[loads]]` of a plan: what is refused, and where it is pointed at.

use crate::support::Place;

const REQUESTS: &str =
    "[[requests]]\nname = \"front\"\nurl = \"/\"\n[[requests]]\nname = \"cart\"\nurl = \"/cart\"\n";
const TARGET: &str = "target = \"http://127.0.0.1:9/\"\n";
const TWO: &str =
    "[[loads]]\nname = \"base\"\nrate = 100\n[[loads]]\nname = \"sale\"\nrate = 50\nstart = \"5s\"\n";

#[test]
fn what_is_wrong_with_a_load_is_pointed_at() {
    let place = Place::new();
    let many = "[[loads]]\nrate = 1\n".repeat(17);
    let cases: [(&str, &[&str]); 14] = [
        ("[[loads]]\nname = \"a\"\n", &["plan.toml:2:1: this load has no rate", "[[loads]]", "^^^"]),
        ("[[loads]]\nrate = \"fast\"\n", &["plan.toml:3:8:", "is not a rate", "^^^"]),
        (
            "[[loads]]\nrate = 1\nclosed = 5\n",
            &["plan.toml:4:1: a load has no \"closed\"", "stands alone: [load] in a plan without [[loads]]"],
        ),
        ("[[loads]]\nrate = 1\nwarmup = \"1s\"\n", &["plan.toml:4:1:", "it belongs into [load]"]),
        (
            "[[loads]]\nrate = 1\nonly = [\"front\", \"pay\"]\n",
            &["plan.toml:4:18: no request is called \"pay\"", "front"],
        ),
        (
            "[[loads]]\nrate = 1\nname = \"a\"\n[[loads]]\nrate = 1\nname = \"a\"\n",
            &["plan.toml:7:8: the load in line 2"],
        ),
        (
            "[[loads]]\nrate = 1\n[[loads]]\nrate = 1\nname = \"load 1\"\n",
            &["plan.toml:6:8:", "\"load 1\", too"],
        ),
        (
            "[[loads]]\nrate = 1\nonly = []\n",
            &["plan.toml:4:8: this load would ask for nothing", "leave only out if it asks for all", "^^"],
        ),
        (&many, &["plan.toml:34:1: this is load 17 of 17: a plan has at most 16"]),
        ("[[loads]]\nrate = 1\nduration = \"30d\"\n", &["plan.toml:4:12:", "too long"]),
        ("[[loads]]\nrate = 1\nstart = \"30d\"\n", &["plan.toml:4:9:", "too long"]),
        ("[[loads]]\nrate = 1\nshape = \"soak\"\n", &["plan.toml:4:9:", "put it into [load]"]),
        ("[[loads]]\nrate = 1\nshape = \"spike\"\n", &["plan.toml:4:9:", "give -R both"]),
        ("[[loads]]\nrate = \"1..9\"\nshape = \"spike\"\nduration = \"5s\"\n", &["plan.toml:5:12:", "spike"]),
    ];
    for (loads, parts) in cases {
        place.file("plan.toml", format!("{TARGET}{loads}{REQUESTS}"));
        place.call(&["plan", "check", "plan.toml"]).refused(parts);
    }
}

#[test]
fn what_only_one_load_can_have_is_refused_beside_several() {
    let place = Place::new();
    let of_load = [
        "rate = 5",
        "closed = 5",
        "duration = \"1s\"",
        "requests = 9",
        "shape = \"load\"",
        "arrivals = \"even\"",
    ];
    for field in of_load {
        place.file("plan.toml", format!("{TARGET}[load]\nwarmup = \"1s\"\n{field}\n{TWO}"));
        let name = field.split(' ').next().unwrap();
        let said = format!("{name} in [load] contradicts [[loads]] in line 5");
        place.call(&["plan", "check", "plan.toml"]).refused(&["plan.toml:4:", &said, "^"]);
    }
    // All of it at once.
    place.file("plan.toml", format!("{TARGET}[load]\nrate = 5\nrequests = 9\n{TWO}"));
    let said = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!(said.stderr.matches("contradicts [[loads]]").count(), 2, "{said:?}");
    place.file("plan.toml", format!("{TARGET}{TWO}"));
    let flags: [(&[&str], &str); 7] = [
        (&["-R", "5"], "--rate"),
        (&["--closed", "5"], "--closed"),
        (&["-d", "5s"], "--duration"),
        (&["-n", "5"], "--requests"),
        (&["--shape", "load"], "--shape"),
        (&["--arrivals", "poisson"], "--arrivals"),
        (&["--precision", "5%"], "--precision"),
    ];
    for (flags, name) in flags {
        let args = [&["run", "plan.toml"], flags].concat();
        place.call(&args).refused(&[name, "[[loads]]", "leave"]);
    }
    place.call(&["run", "plan.toml", "--warmup", "auto"]).refused(&["--warmup auto", "different times"]);
    place.call(&["run", "plan.toml", "--max-rate", "120"]).refused(&["add up to 150/s", "cap of 120"]);
    place
        .call(&["knee", "plan.toml", "--slo", "p99 < 1s"])
        .refused(&["plan.toml:2:1: a search", "[[loads]]"]);
    let world = "[world]\nserver = \"service=1ms\"\n";
    place.file("plan.toml", format!("{TWO}{world}"));
    place.call(&["sim", "plan.toml", "--client", "wrk"]).refused(&["--client", "[[loads]]"]);
}

#[test]
fn a_plan_with_loads_is_shown_and_written_in_any_form() {
    let place = Place::new();
    place.file("plan.toml", format!("{TARGET}{TWO}only = [\"cart\"]\n{REQUESTS}"));
    let shown = place.call(&["plan", "show", "plan.toml"]);
    assert_eq!(shown.code(), Some(0), "{shown:?}");
    for part in [
        "2 open loads: base (100/s, even",
        "only cart",
        "150/s ┤",
        "Each load",
        "  base  100/s ┤█",
        "[[loads]]",
    ] {
        assert!(shown.stdout.contains(part), "{part:?} is missing in {}", shown.stdout);
    }
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    let yaml = place.call(&["plan", "show", "plan.toml", "--as", "yaml"]).stdout;
    place.file("plan.yaml", &yaml);
    let json = |file: &str| place.call(&["plan", "show", file, "--json"]).stdout;
    assert_eq!(json("plan.toml"), json("plan.yaml"));
    // What it comes to is the same, too.
    let first =
        |file: &str| place.call(&["plan", "check", file]).stdout.split_once(": ").unwrap().1.to_string();
    assert_eq!(first("plan.toml"), first("plan.yaml"));
}

/// What no load asks for has no figure, and is not asked before the run either.
#[test]
fn an_objective_for_what_no_load_asks_for_is_refused() {
    let place = Place::new();
    let only = "[[loads]]\nname = \"base\"\nrate = 100\nonly = [\"front\"]\n";
    let plan = |objectives: &str| format!("{TARGET}{only}{REQUESTS}[objectives]\nslo = [{objectives}]\n");
    place.file("plan.toml", plan("\"front: p99 < 1s\", \"cart: p99 < 1s\""));
    place.call(&["plan", "check", "plan.toml"]).refused(&["plan.toml:13:27: ", "no load asks for \"cart\""]);
    for (slo, why) in
        [("load sale: p99 < 1s", "no request is called \"load sale\""), ("load: p99 < 1s", "called")]
    {
        place.file("plan.toml", plan(&format!("{slo:?}")));
        place.call(&["plan", "check", "plan.toml"]).refused(&[why, "load base"]);
    }
    place.file("plan.toml", plan("\"load base: p99 < 1s\", \"front: p99 < 1s\""));
    let said = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
}

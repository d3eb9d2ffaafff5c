//! Fields and flags walked side by side, and plans written and read back.

use super::fields::{Field, For, Kind, LETS, LINES, NO_FIELDS, TOP, all};
use super::file::{PlanFile, parse};
use super::lists::List;
use super::overlay::Overlay;
use super::user::User;
use super::{Foreseen, schema, write};
use crate::args::Cli;
use clap::{CommandFactory, FromArgMatches};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::Path;
use unblink_core::load::Load;
use unblink_core::plan::Plan;
use unblink_core::time::Instant;

/// A value that the flag takes.
fn sample(field: &Field) -> String {
    let by_name = match field.name.as_str() {
        "slo" => "p99 < 1s",
        "abort-on" => "p99 > 1s for 1s",
        "expect" | "until" => "status=200",
        "await" => "contains=x",
        "connections" | "streams" | "depth" | "closed" | "threads" | "fanout" | "requests" | "seed"
        | "journeys-max" | "budget-requests" | "budget-errors" | "attempts" | "keep-failures"
        | "redirects" | "speed" | "scale" | "loop" | "page-size" => "3",
        "rate" | "max-rate" | "start" | "max" | "at-least" => "50",
        "match" => "json $.id",
        "set" => "recordcount=1",
        "trace-link" => "https://traces.test/{trace_id}",
        "precision" | "resolution" | "min-effect" => "5%",
        "precision-of" | "percentile" => "p99",
        "runs" => "5",
        "settle" | "measure" | "measure-max" | "rest" | "within" => "5s",
        "max-body-size" => "1k",
        "arrivals" => "poisson",
        "path-template" => "/items/{id} = /items/1",
        "retry-on" => "500",
        "retry-budget" => "20%",
        "service" => "cart=1ms",
        "answer" => "buy: paid=holds(3)",
        "tag" => "branch=main",
        "watch-pid" => "1",
        "cross-check-latency" => "a_seconds",
        "cross-check-requests" | "cross-check-errors" | "cross-check-watch" => "a_total",
        "from" | "to" | "peak-for" | "think" | "ramp-up" | "duration" | "warmup" | "timeout" | "drain"
        | "budget-time" | "max-duration" | "connection-age" | "resolve-every" | "period" | "trace-step"
        | "try-timeout" | "retry-wait" => "5s",
        _ => field.possible.first().map_or("some", String::as_str),
    };
    by_name.to_string()
}

fn plan_of(json: &Value) -> PlanFile {
    let text = write::toml(json);
    parse(Path::new("plan.toml"), text.clone()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What `command` takes from the plan beside these flags.
fn heeded(plan: &PlanFile, command: For, own: &[String]) -> Vec<&'static str> {
    let argv = ["unblink", command.name()].map(OsString::from).into_iter();
    let argv: Vec<OsString> = argv.chain(own.iter().map(OsString::from)).collect();
    let overlay = Overlay::of(plan, command, User::of(&Cli::command(), command, &argv)).unwrap();
    // A default that the flag would not take makes the parser panic here.
    let read = overlay.below(Cli::command()).unwrap().try_get_matches_from(argv);
    read.unwrap_or_else(|error| panic!("{error}"));
    overlay.names()
}

#[test]
fn every_field_has_a_flag_that_overrides_it() {
    for field in all().iter().filter(|field| For::ALL.iter().any(|command| field.is_for(*command))) {
        let value = match field.kind {
            Kind::Switch => json!(true),
            Kind::One | Kind::Table => json!(sample(field)),
            Kind::Many => json!([sample(field)]),
            Kind::Pairs => write::pairs([sample(field)].into_iter()),
        };
        let plan = plan_of(&json!({field.section.as_str(): {field.key(): value}}));
        for command in For::ALL.into_iter().filter(|command| field.is_for(*command)) {
            // A search has an objective.
            let objective =
                (command == For::Knee && field.name != "slo").then(|| "--slo=p99 < 1s".to_string());
            let mut own: Vec<String> = objective.into_iter().collect();
            assert_eq!(heeded(&plan, command, &own), [field.name.as_str()], "{command:?}");
            own.push(match field.kind {
                Kind::Switch => format!("--{}", field.name),
                _ => format!("--{}={}", field.name, sample(field)),
            });
            assert_eq!(
                heeded(&plan, command, &own),
                [""; 0],
                "{command:?}: the user's own flag {own:?} wins"
            );
        }
    }
}

#[test]
fn every_flag_that_takes_a_value_is_a_field_with_help() {
    let cli = Cli::command();
    for command in For::ALL {
        for arg in cli.find_subcommand(command.name()).unwrap().get_arguments() {
            let is_field =
                |name: &&str| !NO_FIELDS.contains(name) && arg.get_id() != LINES && arg.get_id() != LETS;
            let Some(name) = arg.get_long().filter(is_field) else { continue };
            let field = all().iter().find(|field| field.name == name).unwrap_or_else(|| panic!("--{name}"));
            assert!(field.is_for(command) && !field.help.is_empty(), "--{name}");
            let described = &schema::schema()["properties"][&field.section]["properties"][field.key()];
            assert!(described["description"].is_string(), "--{name}: {described}");
        }
    }
}

/// A name that no flag has any more would do nothing, and show what is not to be shown.
#[test]
fn every_name_that_is_looked_for_is_a_field() {
    let held =
        ["target", "url", "header", "body", "slo", "abort-on", "expect", "targets", "cacert", "cert", "key"];
    let instead = super::user::INSTEAD.iter().flat_map(|(flags, fields)| flags.iter().chain(*fields));
    for name in held.iter().chain(instead) {
        assert!(super::fields::named(name).is_some(), "{name}");
    }
}

#[test]
fn what_takes_the_place_of_a_field_leaves_it_out() {
    let plan = plan_of(
        &json!({"load": {"rate": "5", "arrivals": "poisson", "precision": "5%"}, "request": {"body-file": "b"}}),
    );
    let heeded =
        |own: &[&str]| heeded(&plan, For::Run, &own.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(heeded(&["--closed", "3"]), ["body-file"]);
    assert_eq!(heeded(&["-d", "5s", "--body", "x"]), ["arrivals", "rate"]);
}

/// A text that a plan may hold anywhere.
fn text() -> impl Strategy<Value = String> {
    "[ -~äß→😀\t\n]{1,12}".prop_filter("a plan has no empty value", |text| text != "~")
}

fn any_plan() -> impl Strategy<Value = Value> {
    let request = (text(), proptest::option::of(text()), proptest::collection::vec(text(), 0..3));
    let fields = proptest::collection::vec(any::<bool>(), all().len());
    let loads = proptest::collection::vec(proptest::option::of(text()), 0..3);
    (proptest::option::of(text()), fields, proptest::collection::vec(request, 0..3), text(), loads).prop_map(
        |(target, chosen, requests, free, loads)| {
            let mut root = Map::new();
            if let Some(target) = target {
                root.insert("target".into(), target.into());
            }
            let is_listed = |field: &Field| List::called(&field.section).is_some();
            let flags = all().iter().filter(|field| field.section != TOP && !is_listed(field));
            for (field, _) in flags.zip(chosen).filter(|(_, chosen)| *chosen) {
                // What the flag does not look into may be any text.
                let is_free = ["header", "body", "output", "junit"].contains(&field.name.as_str());
                let value = if is_free { free.clone() } else { sample(field) };
                let value = match field.kind {
                    Kind::Switch => json!(true),
                    Kind::One | Kind::Table => json!(value),
                    Kind::Many => json!([value, value]),
                    Kind::Pairs => json!({"recordcount": "1", "exponential.frac": "0.5"}),
                };
                let section = root.entry(&field.section).or_insert_with(|| json!({}));
                section[field.key()] = value;
            }
            let request = |(url, name, headers): (String, Option<String>, Vec<String>)| {
                let mut table = Map::new();
                table.insert("url".into(), url.into());
                name.map(|name| table.insert("name".into(), name.into()));
                if !headers.is_empty() {
                    table.insert("header".into(), headers.into());
                }
                Value::from(table)
            };
            let load = |name: Option<String>| match name {
                Some(name) => json!({"rate": "1..5", "name": name, "only": [name]}),
                None => json!({"rate": "100", "start": "5s"}),
            };
            if !loads.is_empty() {
                root.insert("loads".into(), loads.into_iter().map(load).collect());
            }
            if let Some((url, name, _)) = requests.first() {
                let steps = json!([{"url": url, "repeat": "1..3"}, {"url": url, "think": "exp(1s)"}]);
                let name = name.clone().unwrap_or_else(|| "buy".into());
                root.insert("journeys".into(), json!([{"name": name, "steps": steps}]));
            }
            if !requests.is_empty() {
                root.insert("requests".into(), requests.into_iter().map(request).collect());
            }
            root.into()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_plan_that_is_written_is_read_back(plan in any_plan()) {
        let mut raw = |_: &Field, text: &super::file::Text| text.raw.clone();
        for (name, text) in [
            ("p.toml", write::toml(&plan)),
            ("p.yaml", write::yaml(&plan)),
            ("p.yml", serde_json::to_string_pretty(&plan).unwrap()),
        ] {
            let read = parse(Path::new(name), text.clone());
            let read = read.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(write::json(&read, &mut raw), plan.clone(), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n){0,60}") {
        for name in ["p.toml", "p.yaml"] {
            let _ = parse(Path::new(name), text.clone());
        }
    }
}

/// What a plan comes to as `command` reads it.
fn comes_to(text: &str, command: For) -> Plan {
    let plan =
        parse(Path::new("plan.toml"), text.to_string()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let argv = ["unblink", command.name()].map(OsString::from);
    let overlay = Overlay::of(&plan, command, User::of(&Cli::command(), command, &argv)).unwrap();
    let matches = overlay.below(Cli::command()).unwrap().try_get_matches_from(argv).unwrap();
    let cli = overlay.requested(Cli::from_arg_matches(&matches).unwrap());
    match super::planned(&cli).unwrap() {
        Foreseen::Run(planned) => planned.plan,
        Foreseen::Simulated(plan, _) => *plan,
        Foreseen::Several(..) => panic!("{text}"),
    }
}

/// The operations of the first arrivals, in their order.
fn asked_in_order(plan: &Plan) -> Vec<u32> {
    let mut load = plan.journeys_load(Instant(0), 0).expect("journeys");
    let mut asked = Vec::new();
    while asked.len() < 500 {
        let due = load.next_due().expect("there are more");
        load.advance(due, |arrival| asked.push(arrival.operation));
    }
    asked
}

/// Requests that stand alone and journeys, of which two may not be sent twice, at two origins.
#[test]
fn a_simulation_asks_for_what_a_run_asks_for() {
    let text = |order: &str| {
        format!(
            "target = \"http://a.test\"\n[load]\nrate = 200\nduration = \"10s\"\nseed = 3\narrivals = \"poisson\"\n{order}\
             [world]\nserver = \"service=1ms\"\n[[requests]]\nweight = 3\nurl = \"/items\"\n\
             [[requests]]\nweight = 1\nurl = \"http://b.test/post\"\nmethod = \"POST\"\n\
             [[journeys]]\nweight = 1\nname = \"g\"\nthink = \"exp(1s)\"\n[[journeys.steps]]\nname = \"s1\"\nurl = \"/fail\"\nmethod = \"POST\"\n\
             [[journeys.steps]]\nname = \"s2\"\nurl = \"http://b.test/b\"\nrepeat = \"1..3\"\n"
        )
    };
    let mut orders = Vec::new();
    for order in ["", "[request]\norder = \"random\"\n"] {
        let [run, sim] = [For::Run, For::Sim].map(|command| comes_to(&text(order), command));
        assert_eq!(sim.spec().mix, run.spec().mix, "{order}");
        assert_eq!(sim.spec().origins, run.spec().origins);
        assert_eq!((0..4).map(|one| sim.spec().origins.of(one)).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(sim.spec().idempotent, run.spec().idempotent);
        assert_eq!(sim.spec().idempotent, [true, false, false, true]);
        assert_eq!(asked_in_order(&sim), asked_in_order(&run));
        orders.push(asked_in_order(&sim));
    }
    assert_ne!(orders[0], orders[1]);
}

/// Of PostgreSQL, too; where a connection is held, an error that is expected would hide that COMMIT rolls back.
#[test]
fn steps_expect_the_codes_of_their_protocol() {
    let check = |hold: bool, status: &str| {
        let text = format!(
            "target = \"postgres://me@127.0.0.1:9/shop\"\n[load]\nrate = 5\nduration = \"2s\"\n[[journeys]]\nname = \"buy\"\n\
             hold-connection = {hold}\n[[journeys.steps]]\nname = \"look\"\nurl = \"/shop\"\nsql = [\"SELECT 1\"]\n\
             expect = [\"status={status}\"]\n"
        );
        let plan = parse(Path::new("plan.toml"), text).unwrap();
        super::checked_as(&plan, For::Run, &[], &[]).map(|_| ()).map_err(|error| format!("{error:#}"))
    };
    assert_eq!(check(false, "done"), Ok(()));
    assert_eq!(check(true, "done,empty"), Ok(()));
    assert_eq!(check(false, "unique_violation"), Ok(()));
    let refused = check(true, "unique_violation").unwrap_err();
    assert!(refused.contains("rolls back"), "{refused}");
    assert!(check(false, "200").unwrap_err().contains("has a name"));
}

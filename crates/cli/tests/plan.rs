//! Plan files through the binary.

use crate::support;
use crate::support::lab::Lab;
use crate::support::{Place, finish};
use serde_json::Value;

const PLAN: &str = r#"
target = "http://127.0.0.1:9/base"
[load]
rate = 50
duration = "1s"
seed = 7
[objectives]
slo = ["p99 < 5s", "cart: p99 < 5s"]
[[requests]]
name = "home"
url = "/"
[[requests]]
name = "cart"
url = "/cart?token=${CART_TOKEN}"
method = "POST"
header = ["X-Key: ${CART_TOKEN}", "Accept: text/html"]
body = "{}"
"#;

#[test]
fn a_plan_runs_and_flags_override_its_fields() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "1ms"]);
    place.file("plan.toml", PLAN);
    // The URL takes the place of the target, the rate that of the plan's.
    let args = ["run", "plan.toml", lab.url.as_str(), "-R", "100", "-o", "out", "--json", "-q"];
    let said = finish(place.command(&args).env("CART_TOKEN", "s3cret"));
    let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(run["plan"]["phases"][0]["from_per_s"], 100.0);
    assert_eq!(run["arrivals"]["ok"], 100, "{run}");
    let names: Vec<&str> =
        run["operations"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["home", "cart"]);
    assert_eq!(run["targets"][1]["method"], "POST");
    assert!(run["targets"][1]["url"].as_str().unwrap().contains(lab.port()), "{run}");
    assert_eq!(run["verdict"]["slos"][1]["name"], "cart");
    for file in place.list("out") {
        let bytes = std::fs::read(place.path().join("out").join(&file)).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"s3cret"), "{file} holds the secret");
    }
    assert!(!said.stderr.contains("s3cret") && !said.stdout.contains("s3cret"));
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    let place = Place::new();
    place.file("plan.toml", PLAN);
    let mut run = place.command(&["run", "plan.toml"]);
    finish(run.env_remove("CART_TOKEN")).refused(&["plan.toml:14:", "no variable CART_TOKEN", "^^^"]);
    let mut check = place.command(&["plan", "check", "plan.toml"]);
    assert_eq!(
        finish(check.env_remove("CART_TOKEN")).code(),
        Some(0),
        "a plan is looked at without its secrets"
    );
}

#[test]
fn what_is_shown_holds_no_secret_and_is_a_plan() {
    let place = Place::new();
    let plan = format!(
        "{PLAN}[request]\nheader = [\"Authorization: Basic czNjcmV0\", \"X: ${{A}}\"]\nexpect = \"contains=s3cretly\"\n"
    );
    place.file("plan.toml", plan);
    let shown =
        finish(place.command(&["plan", "show", "plan.toml"]).env("CART_TOKEN", "s3cret").env("A", "s3cret"));
    assert_eq!(shown.code(), Some(0), "{shown:?}");
    assert!(!shown.stdout.contains("s3cret") && !shown.stdout.contains("czNjcmV0"), "{shown:?}");
    assert!(shown.stdout.contains("Offered rate over time") && shown.stdout.contains("X: ${A}"), "{shown:?}");
    assert!(
        shown.stdout.contains("# timeout = \"30s\""),
        "what is left out is shown with its default: {shown:?}"
    );
    assert!(shown.stdout.lines().take(14).all(|line| line.chars().count() <= 80), "{shown:?}");
    for form in ["toml", "yaml", "json"] {
        let text = place.call(&["plan", "show", "plan.toml", "--as", form]).stdout;
        let again = format!("again.{}", if form == "toml" { "toml" } else { "yaml" });
        place.file(&again, &text);
        let read = place.call(&["plan", "show", &again, "--as", "json"]);
        let json = place.call(&["plan", "show", "plan.toml", "--json"]);
        assert_eq!(read.stdout, json.stdout, "{form}");
    }
}

/// Written down again it sends the same, once its variables are set, and shows no secret.
#[test]
fn a_plan_in_another_form_sends_the_same() {
    let server = support::hostile::Hostile::start(|_| support::hostile::Act::Answer(support::hostile::ok()));
    let place = Place::new();
    let address = server.address;
    let plan = format!(
        "target = \"http://me:s3cret@{address}/\"\n[load]\nrate = 100\nrequests = 4\n[request]\n\
         header = [\"Accept: text/html\", \"X-Tenant: s3cret one\"]\n\
         [[requests]]\nname = \"a\"\nurl = \"/a?id=s3cret&limit=5\"\nmethod = \"PUT\"\nbody = '{{\"a\": \"s3cret $${{x}}\"}}'\n\
         [[requests]]\nurl = \"/b\"\nheader = \"X-Tenant: s3cret two\"\n"
    );
    place.file("plan.toml", plan);
    let sent = |plan: &str, out: &str, variables: &[(&str, &str)]| {
        let before = server.seen().len();
        let mut command = place.command(&["run", plan, "-o", out]);
        finish(command.envs(variables.iter().copied())).assert_ran();
        let seen = server.seen().split_off(before);
        let mut seen: Vec<_> =
            seen.into_iter().map(|one| (one.method, one.target, one.headers, one.body)).collect();
        seen.sort();
        seen
    };
    let first = sent("plan.toml", "first", &[]);
    for form in ["toml", "yaml", "json"] {
        let shown = place.call(&["plan", "show", "plan.toml", "--as", form]);
        assert!(!shown.stdout.contains("s3cret") && !shown.stderr.contains("s3cret"), "{shown:?}");
        assert!(
            shown.stderr.contains("PLAN_X_TENANT is the value of the header X-Tenant in line 6: set it"),
            "{shown:?}"
        );
        let again = format!("again-{form}.{}", if form == "toml" { "toml" } else { "yaml" });
        place.file(&again, &shown.stdout);
        assert_eq!(place.call(&["plan", "check", &again]).code(), Some(0), "{}", shown.stdout);
        let variables = [
            ("PLAN_USERINFO", "me:s3cret"),
            ("PLAN_X_TENANT", "s3cret one"),
            ("PLAN_X_TENANT_2", "s3cret two"),
            ("PLAN_ID", "s3cret"),
            ("PLAN_BODY", "{\"a\": \"s3cret ${x}\"}"),
        ];
        assert_eq!(sent(&again, form, &variables), first, "{}", shown.stdout);
        finish(place.command(&["run", &again]).env_remove("PLAN_BODY")).refused(&["no variable PLAN_"]);
    }
}

/// Of all files, and of all fields.
#[test]
fn a_check_tells_all_that_is_wrong() {
    let place = Place::new();
    place.file("a.toml", "target = \"http://h/\"\n[load]\nrate = 0\ndurration = \"5s\"\n[objectives]\nslo = [\"p99 < 200\", \"x\"]\n[[requests]]\nname = \"a\"\n");
    place.file("b.yaml", "target: http://h/\nload: {rate: 5}\nrequests:\n  - url: nothing\n  - {url: /b, header: [no colon]}\n  - {url: /c, body-file: none}\n");
    place.file("c.toml", "[load]\nrate = \nduration = 5 s\n");
    place.file("good.toml", "target = \"http://h/\"\n[load]\nrate = 5\n");
    let said = place.call(&["plan", "check", "a.toml", "good.toml", "b.yaml", "c.toml"]);
    assert_eq!(said.code(), Some(2), "{said:?}");
    assert!(said.stdout.starts_with("good.toml is in order"), "{said:?}");
    let places = [
        "a.toml:3:8",
        "a.toml:4:1",
        "a.toml:6:15",
        "a.toml:6:2",
        "a.toml:7:",
        "b.yaml:4:10",
        "b.yaml:5:24",
        "b.yaml:6:26",
        "c.toml:2:8",
        "c.toml:3",
    ];
    for at in places {
        assert!(said.stderr.contains(&format!("error: {at}")), "{at} is missing: {}", said.stderr);
    }
    let marks =
        said.stderr.lines().filter(|line| line.trim_start_matches([' ', '|']).starts_with('^')).count();
    assert!(marks >= places.len(), "{}", said.stderr);
    let json = place.call(&["plan", "check", "--json", "a.toml", "b.yaml"]);
    let found: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let counts = [0, 1].map(|i| found["plans"][i]["errors"].as_array().map(Vec::len));
    assert_eq!(counts, [Some(5), Some(3)], "{found:#}");
    assert!(
        found["plans"][1]["errors"].as_array().unwrap().iter().all(|error| error["column"].is_u64()),
        "{found:#}"
    );
}

#[test]
fn a_plan_in_json_is_told_its_name() {
    let place = Place::new();
    place.file("plan.json", "{\"target\": \"http://127.0.0.1:9/\", \"load\": {\"rate\": 5}}");
    for args in [
        &["run", "plan.json"][..],
        &["knee", "plan.json"],
        &["sim", "plan.json"],
        &["plan", "check", "plan.json"],
    ] {
        place.call(args).refused(&["TOML or YAML", "\"plan.yaml\""]);
    }
    std::fs::rename(place.path().join("plan.json"), place.path().join("plan.yaml")).expect("renamed");
    assert_eq!(place.call(&["plan", "check", "plan.yaml"]).code(), Some(0));
}

#[test]
fn a_plan_is_simulated_with_what_a_simulation_has() {
    let place = Place::new();
    place.file("plan.yaml", "load: {rate: 1000, duration: 60s}\nworld: {scenario: stall}\nobjectives: {slo: ['p99 < 200ms', 'cart: p99 < 1s']}\ntarget: http://127.0.0.1:9/\n");
    let said = place.call(&["sim", "plan.yaml", "-o", "out", "--json"]);
    let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!((said.code(), &run["arrivals"]["ok"]), (Some(1), &60_000.into()));
    assert!(said.stderr.contains("\"cart: p99 < 1s\" is left out"), "{said:?}");
    // A flag in the place of another: --server instead of the plan's scenario.
    let said =
        place.call(&["sim", "plan.yaml", "--server", "service=1ms", "-o", "other", "--slo", "p99 < 5ms"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    place.call(&["sim", "plan.txt"]).refused(&["is not a plan", ".yaml"]);
}

#[test]
fn flags_that_say_something_else_take_the_place_of_fields() {
    let place = Place::new();
    place.file("rate.toml", "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 50\narrivals = \"poisson\"\n[world]\nscenario = \"healthy\"\n");
    let said =
        place.call(&["sim", "rate.toml", "--closed", "3", "--think", "1s", "-d", "5s", "-o", "a", "--json"]);
    let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!((&run["loads"][0]["model"], &run["loads"][0]["users"]), (&"closed".into(), &3.into()));
    // --think belongs to the users that only the plan has.
    place.file("users.toml", "[load]\nclosed = 3\nduration = \"5s\"\n[world]\nscenario = \"healthy\"\n");
    let said = place.call(&["sim", "users.toml", "--think", "1s", "-o", "b", "--json"]);
    let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(run["loads"][0]["think_ns"], 1_000_000_000u64);
}

#[test]
fn errors_point_into_the_file() {
    let place = Place::new();
    for (name, text, parts) in [
        (
            "a.toml",
            "[load]\nrate = 5\ndurration = \"5s\"\n",
            &["a.toml:3:1", "durration", "did you mean \"duration\"?", "^^^^^^^^^"][..],
        ),
        ("b.toml", "[laod]\nrate = 5\n", &["b.toml:1:2", "did you mean \"load\"?"]),
        ("c.toml", "rate = 5\n", &["c.toml:1:1", "it belongs into [load]"]),
        ("ca.toml", "url = \"/x\"\n", &["ca.toml:1:1", "belongs into [[requests]]"]),
        ("cb.toml", "[load]\ntarget = \"x\"\n", &["cb.toml:2:1", "above all sections"]),
        ("cc.toml", "[[requests]]\nurl = \"/\"\norder = \"turn\"\n", &["cc.toml:3:1", "into [request]"]),
        ("cx.toml", "[[requests]]\nurl = \"/\"\nexpect = \"json id\"\n", &["cx.toml:3:10", "begins with $"]),
        ("cd.yaml", "requests: [{url: /, body: a, body-file: b}]\n", &["cd.yaml:1:41", "exclude"]),
        ("d.toml", "[load]\nrate = 0\n", &["d.toml:2:8", "the rate is 0"]),
        ("e.toml", "[load]\narrivals = \"poison\"\n", &["e.toml:2:12", "did you mean \"poisson\"?"]),
        ("f.toml", "[objectives]\nslo = [\n  \"p99 < 200\",\n]\n", &["f.toml:3:10", "no unit"]),
        ("g.toml", "[load]\nrate = \n", &["g.toml:2:8"]),
        ("h.toml", "[load]\nrate = 5\nrate = 6\n", &["h.toml:3:1"]),
        ("i.yaml", "load:\n  rate: 5\n  durration: 5s\n", &["i.yaml:3:3", "did you mean \"duration\"?"]),
        ("j.yaml", "load:\n  rate: [1, 2]\n", &["j.yaml:2:9", "not a list"]),
        ("k.yaml", "load:\n  rate: 5\n rate: 6\n", &["k.yaml:3"]),
        ("l.toml", "[[requests]]\nname = \"a\"\n", &["l.toml:1", "no url"]),
        ("m.toml", "[[requests]]\nurl = \"/a\"\n[load]\nrate=1\n", &["m.toml:2:7", "no target"]),
        ("n.toml", "target = \"nothing\"\n[load]\nrate = 1\n", &["n.toml", "no scheme"]),
        ("o.toml", "target = \"http://h/\"\n", &["o.toml", "how much load?"]),
        (
            "p.toml",
            "target = \"http://h/\"\n[load]\nthink = \"1s\"\nrate = 5\n",
            &["p.toml:3:9", "--think is for users", "^^^"],
        ),
        ("q.toml", "target = \"http://h/\"\n[load]\nclosed = 3\nrate = 5\n", &["q.toml:4:8", "exclude", "^"]),
        (
            "r.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\n[objectives]\nslo = [\"p99 < 1s\", \"cart: p99 < 1s\"]\n",
            &["r.toml:5:20", "no request is called \"cart\"", "^^^^"],
        ),
        (
            "s.yaml",
            "target: http://h/\nload: {rate: 5}\ntls: {insecure: Yes}\n",
            &["s.yaml:3:17", "true or false"],
        ),
        (
            "z.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\n[[requests]]\nurl = \"/a b\"\n",
            &["z.toml:5:7", "is not a URL", "^^^^^^"],
        ),
        (
            "u.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\nduration = \"0s\"\n",
            &["u.toml:4:12", "the duration is 0", "^^^^"],
        ),
        (
            "v.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\n[request]\nbody = \"a\"\nbody-file = \"b\"\n",
            &["v.toml:6:13", "body and body-file exclude each other", "^^^"],
        ),
        (
            "w.toml",
            "target = \"http://h/\"\n[load]\nrate = 5\n[request]\nheader = [\"A: b\", \"no colon\"]\n",
            &["w.toml:5:19", "has no colon", "^^^"],
        ),
        (
            "x.toml",
            "[load]\nrate = 5\n[comparison]\nruns = 5\n[world]\nserver = \"service=1ms\"\ncandidate-server = \"service=fast\"\n",
            &["x.toml:7:20", "--candidate-server: word 1", "^^^"],
        ),
        (
            "y.toml",
            "target = \"http://h/\"\n[objectives]\nslo = \"p99 < 1s\"\n[search]\nmax = 20\nstart = 50\n",
            &["y.toml:6:9", "--start is above --max", "^^"],
        ),
        (
            "t.toml",
            "target = \"http://h/\"\n[load]\nrate = \"10/m..60\"\n",
            &["t.toml:3:8", "each rate its unit"],
        ),
    ] {
        place.file(name, text);
        place.call(&["plan", "check", name]).refused(parts);
    }
    place.call(&["run", "missing.toml"]).refused(&["missing.toml", "unblink init"]);
    // So they do before a run, unless it is the user's own flag that is wrong.
    place.call(&["run", "q.toml"]).refused(&["q.toml:4:8", "exclude"]);
    place.file("good.toml", "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 5\n");
    let own = place.call(&["run", "good.toml", "--think", "1s"]);
    assert!(own.code() == Some(2) && !own.stderr.contains("good.toml"), "{own:?}");
}

/// A flag's value may be the plan's own name, and only the plan is taken away.
#[test]
fn the_plan_is_told_from_the_values_of_flags() {
    let place = Place::new();
    place.file("p.toml", "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 5\nduration = \"200ms\"\n[world]\nserver = \"service=1ms\"\n");
    for args in [["run", "--body-file", "p.toml", "p.toml"], ["run", "p.toml", "--body-file", "p.toml"]] {
        let said = place.call(&[&args[..], &["--no-preflight", "--json"]].concat()).run();
        assert_eq!(said.arrivals("scheduled"), 1, "{args:?}");
    }
    for second in ["p.toml", "other.toml", "http://127.0.0.1:9/"] {
        place.call(&["sim", "p.toml", second]).refused(&["p.toml", "beside it"]);
    }
    place.call(&["run", "p.toml", "p.toml"]).refused(&["one plan at a time"]);
}

/// A flag that means nothing beside the plan's load is refused for what it is.
#[test]
fn a_flag_of_another_kind_of_load_leaves_the_plans_load() {
    let place = Place::new();
    place.file("open.toml", "[load]\nrate = 5\nduration = \"1s\"\n[world]\nserver = \"service=1ms\"\n");
    place.call(&["sim", "open.toml", "--think", "1s"]).refused(&["--think is for users who wait"]);
    place.file("closed.toml", "[load]\nclosed = 4\nduration = \"1s\"\n[world]\nserver = \"service=1ms\"\n");
    let said = place.call(&["sim", "closed.toml", "--arrivals", "poisson"]);
    assert!(said.code() == Some(2) && !said.stderr.contains("how much load"), "{said:?}");
}

/// YAML has three spellings of true.
#[test]
fn yaml_may_say_true_with_a_capital() {
    let place = Place::new();
    place.file("a.yaml", "target: https://h/\nload: {rate: 5}\ntls: {insecure: True}\n");
    let shown = place.call(&["plan", "show", "a.yaml"]);
    assert!(shown.code() == Some(0) && shown.stdout.contains("insecure = true"), "{shown:?}");
}

#[test]
fn what_a_plan_comes_to_fits_a_narrow_screen() {
    let place = Place::new();
    place.file(
        "steps.toml",
        "target = \"http://h/\"\n[load]\nrate = \"1,2,3/m\"\nduration = \"3m\"\nwarmup = \"10s\"\n",
    );
    let shown = finish(place.command(&["plan", "show", "steps.toml"]).env("COLUMNS", "60"));
    let picture = shown.stdout.split("target =").next().unwrap_or_default();
    assert!(picture.lines().all(|line| line.chars().count() <= 60), "{picture}");
    let said = picture.replace('\n', " ");
    assert!(said.contains("1/min, 2/min, 3/min") && said.contains(": 6 arrivals"), "{picture}");
}

#[test]
fn errors_are_there_for_programs_too() {
    let place = Place::new();
    place.file("good.toml", "target = \"http://h/\"\n[load]\nrate = 5\n");
    place.file("bad.yaml", "load:\n  rate: 5\n  durration: 5s\n");
    place.file("whole.toml", "target = \"http://h/\"\n");
    let check = |files: &[&str]| {
        let said = place.call(&[&["plan", "check", "--json"], files].concat());
        let found: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        let schema: Value =
            serde_json::from_str(&place.call(&["schema", "plan-check"]).stdout).expect("JSON");
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        assert!(schema.is_valid(&found), "{found}");
        (said.code(), found)
    };
    let (code, found) = check(&["bad.yaml", "good.toml", "whole.toml", "none.toml"]);
    assert_eq!((code, &found["in_order"]), (Some(2), &false.into()));
    let error = &found["plans"][0]["errors"][0];
    assert_eq!((&error["line"], &error["column"]), (&3.into(), &3.into()));
    assert_eq!(error["help"], "did you mean \"duration\"?");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("has no \"durration\"")), "{error}");
    let good = &found["plans"][1];
    assert_eq!(
        (&good["in_order"], &good["load"]),
        (&true.into(), &"open, 5/s, even arrivals, for 30 s".into())
    );
    let whole = &found["plans"][2]["errors"][0];
    assert_eq!(whole["line"], Value::Null);
    assert!(whole["message"].as_str().is_some_and(|said| said.starts_with("how much load?")), "{whole}");
    assert_eq!(found["plans"][3]["in_order"], false);
    assert_eq!(check(&["good.toml"]).0, Some(0));
}

/// What a plan switches on, a flag switches off.
#[test]
fn switches_of_a_plan_can_be_switched_off() {
    let server = support::hostile::Hostile::start(|_| support::hostile::Act::Answer(support::hostile::ok()));
    let place = Place::new();
    let plan = format!("target = \"{}\"\n[load]\nrate = 10\nduration = \"200ms\"\n", server.url());
    let tls = format!("{plan}[tls]\ninsecure = true\n");
    place.file("tls.toml", &tls);
    place.call(&["run", "tls.toml"]).refused(&["does not use TLS"]);
    for (flag, folder) in [("--insecure=false", "long"), ("-k=false", "short")] {
        place.call(&["run", "tls.toml", flag, "-o", folder]).assert_ran();
    }
    place.file(
        "off.toml",
        format!("{plan}[request]\nno-preflight = true\n").replace(&server.url(), "http://127.0.0.1:9/"),
    );
    let said = place.call(&["run", "off.toml", "-o", "refused"]);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let asked = place.call(&["run", "off.toml", "--no-preflight=false"]);
    assert_eq!(asked.code(), Some(1), "{asked:?}");
    assert!(asked.stderr.contains("the request before the run failed"), "{asked:?}");
    // Alone, and among other short flags, they mean what they always did.
    for flags in [&["-k"][..], &["--insecure"], &["-qk"], &["-kHX-A: b"], &["--insecure=true"]] {
        let url = server.url();
        let args = [&["run", &url, "-R", "10"], flags].concat();
        place.call(&args).refused(&["does not use TLS"]);
    }
    place.call(&["run", &server.url(), "-R", "10", "--insecure=maybe"]).refused(&["maybe"]);
}

#[test]
fn init_writes_a_plan_once() {
    let place = Place::new();
    assert_eq!(place.call(&["init"]).code(), Some(0));
    let text = place.text("plan.toml");
    assert_eq!(place.call(&["plan", "check", "plan.toml"]).code(), Some(0));
    place.file("plan.toml", "mine");
    place.call(&["init"]).refused(&["exists"]);
    assert_eq!(place.text("plan.toml"), "mine");
    place.call(&["init", "plan.yaml"]).refused(&[".toml"]);
    // Every field that is a comment would be in order without its sign, wherever its value is one.
    let all: String = text.replace("# [[requests]]", "[[requests]]");
    for line in all.lines().filter_map(|line| line.strip_prefix("# ")) {
        let is_field = line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '));
        assert!(!is_field || toml::from_str::<toml::Table>(line).is_ok(), "{line}");
    }
}

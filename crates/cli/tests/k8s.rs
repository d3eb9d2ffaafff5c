//! What `unblink k8s` prints: held against the schemas of Kubernetes, and run as its pods would run it.

use crate::support::bus::server;
use crate::support::hostile::healthy;
use crate::support::k8s::{Container, asked_of_python, named, objects, spec};
use crate::support::{Place, Started, finish};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const SHOP: &str = r#"
target = "http://shop.test/"
[load]
rate = 300
arrivals = "poisson"
duration = "2s"
[let]
user = "csv(data/users.csv)"
[[requests]]
url = "/items?by={{user.id}}"
header = ["X-Note: ${NOTE}"]
"#;

/// A folder with a plan that reads a file and a variable.
fn shop() -> Place {
    let place = Place::new();
    place.file("shop.toml", SHOP);
    place.file("data/users.csv", "id\nanne\nbob\ncleo\n");
    place
}

fn render(place: &Place, args: &[&str]) -> String {
    let said = place.call(&[&["k8s", "render"], args].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    said.stdout
}

fn assert_valid(place: &Place, text: &str) {
    place.file("all.yaml", text);
    let said = asked_of_python(place, &["-m", "kubernetes_validate", "--strict", "all.yaml"]);
    assert_eq!(said.code(), Some(0), "{said:?}\n{text}");
}

fn args(object: &Value) -> Vec<&str> {
    let args = spec(object)["containers"][0]["args"].as_array().expect("a list");
    args.iter().map(|arg| arg.as_str().expect("a text")).collect()
}

/// The word behind a flag.
fn given<'a>(args: &[&'a str], flag: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| *arg == flag)?;
    args.get(at + 1).copied()
}

/// With Secrets that are there already, nothing in the folder is secret.
#[test]
fn keys_of_a_rendering_before_do_not_stay() {
    let place = shop();
    let render = |more: &[&str]| {
        let all = [&["k8s", "render", "shop.toml", "--agents", "2", "-qo", "out"], more].concat();
        let said = place.call(&all);
        assert_eq!(said.code(), Some(0), "{said:?}");
        ["secret-operator.yaml", "secret-agent.yaml", "mine.yaml"]
            .map(|file| place.path().join("out").join(file).exists())
    };
    assert_eq!(render(&[]), [true, true, false]);
    place.file("out/mine.yaml", "");
    assert_eq!(render(&["--secret", "shop"]), [false, false, true]);
}

#[test]
fn what_is_rendered_is_valid() {
    let place = shop();
    place.file("ca.pem", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
    place.file("data/raw.bin", [0, 159, 146, 150]);
    for args in [
        &["shop.toml", "--agents", "3"][..],
        &[
            "http://10.0.0.7:8080/",
            "-R",
            "5",
            "-d",
            "3s",
            "--agents",
            "1",
            "--name",
            "a",
            "--namespace",
            "load",
        ],
        &[
            "shop.toml",
            "--agents",
            "20",
            "--cpu",
            "4",
            "--memory",
            "2Gi",
            "--namespace",
            "load",
            "--create-namespace",
        ],
        &[
            "shop.toml",
            "--agents=2",
            "--env-secret",
            "shop.env",
            "--claim",
            "runs",
            "--max-rate",
            "1k",
            "--json",
        ],
        &[
            "shop.toml",
            "--agents",
            "2",
            "--bus",
            "tls://nats.infra:4223",
            "--bus-ca",
            "ca.pem",
            "--secret",
            "shop",
        ],
        &[
            "http://[fd00::1]/",
            "-R",
            "5",
            "-n",
            "3",
            "--body-file",
            "data/raw.bin",
            "--agents",
            "2",
            "--image",
            "r:5/u@sha256:ab",
        ],
    ] {
        assert_valid(&place, &render(&place, args));
    }
    let keys = place.call(&["k8s", "keys", "--name", "shop", "--namespace", "load"]);
    assert_valid(&place, &keys.stdout);
    assert_eq!(keys.code(), Some(0), "{keys:?}");
    // It does look: a field that no schema has.
    place.file(
        "all.yaml",
        render(&place, &["shop.toml", "--agents", "3"]).replace("completions:", "completion:"),
    );
    let said = asked_of_python(&place, &["-m", "kubernetes_validate", "--strict", "all.yaml"]);
    assert_ne!(said.code(), Some(0), "{said:?}");
}

#[test]
fn a_run_on_a_cluster() {
    let place = shop();
    let text = render(
        &place,
        &["shop.toml", "-R", "1k", "--agents", "5", "--cpu", "2", "--name", "eve", "--max-rate", "2k"],
    );
    let all = objects(&place, &text);
    let agents = named(&all, "Job", "eve-agents");
    for (field, value) in [
        ("completions", json!(5)),
        ("parallelism", json!(5)),
        ("completionMode", json!("Indexed")),
        ("backoffLimitPerIndex", json!(0)),
        ("maxFailedIndexes", json!(5)),
        ("podReplacementPolicy", json!("Failed")),
    ] {
        assert_eq!(agents["spec"][field], value, "{field}");
    }
    let pod = spec(agents);
    assert_eq!(
        (&pod["restartPolicy"], &pod["automountServiceAccountToken"]),
        (&json!("Never"), &json!(false))
    );
    // The timeout, the time in which a record is fetched, and some.
    assert_eq!(pod["terminationGracePeriodSeconds"], 30 + 120 + 30);
    let container = &pod["containers"][0];
    let resources = json!({"cpu": "2", "memory": "512Mi"});
    assert_eq!(container["resources"], json!({"requests": resources, "limits": resources}));
    let own = args(agents);
    for (flag, value) in [
        ("--shares", "2"),
        ("--allow-target", "shop.test"),
        ("--max-rate", "400.000/s"),
        ("--fleet", "eve"),
        ("--bus", "nats://eve-bus:4222"),
        ("--accept-from", "$(OPERATOR_KEY)"),
    ] {
        assert_eq!(given(&own, flag), Some(value), "{own:?}");
    }
    let coordinator = named(&all, "Job", "eve-run");
    let own = args(coordinator);
    assert_eq!(own[..4], ["run", "shop.toml", "-R", "1k"]);
    assert_eq!((given(&own, "--agents"), given(&own, "--max-rate")), (Some("5"), Some("2k")));
    assert_eq!(coordinator["spec"]["backoffLimit"], 0);
    let plan = named(&all, "ConfigMap", "eve-plan");
    assert_eq!(plan["data"]["0-shop.toml"], SHOP);
    assert_eq!(plan["data"]["1-users.csv"], "id\nanne\nbob\ncleo\n");
    let items = &spec(coordinator)["volumes"][2]["configMap"]["items"];
    assert_eq!(items[1], json!({"key": "1-users.csv", "path": "data/users.csv"}));
    // Nobody but agents and their coordinator comes onto the bus.
    let policy = &named(&all, "NetworkPolicy", "eve-bus")["spec"];
    assert_eq!(policy["ingress"][0]["from"].as_array().map(Vec::len), Some(2));
    assert_eq!(policy["egress"], json!([]));
    // Whoever names a public host may put load on it.
    let env = &container["env"];
    assert!(!env.to_string().contains("UNBLINK_ALLOW"), "{env}");
    let more = ["shop.toml", "--agents", "5", "--allow-target", "shop.test", "--allow-target", "*.shop.test"];
    let all = objects(&place, &render(&place, &more));
    let env = &spec(named(&all, "Job", "unblink-agents"))["containers"][0]["env"];
    assert_eq!(env[2], json!({"name": "UNBLINK_ALLOW", "value": "shop.test"}));
}

/// Who asks whether load may go on, and keeps the run, must be let through: an address is one, a name is its port.
#[test]
fn the_coordinator_reaches_what_stops_it_and_where_runs_are_kept() {
    let place = shop();
    let egress = |args: &[&str]| {
        let text = render(&place, &[&["shop.toml", "--agents", "2"], args].concat());
        assert_valid(&place, &text);
        let all = objects(&place, &text);
        let policy = |name: &str| named(&all, "NetworkPolicy", name)["spec"]["egress"].clone();
        (policy("unblink-coordinator"), policy("unblink-agent"))
    };
    let tcp = |port: u16| json!([{"protocol": "TCP", "port": port}]);
    let at = |rules: &Value, from: usize| rules.as_array().expect("rules")[from..].to_vec();
    let (bare, of_agents) = egress(&[]);
    assert_eq!(bare.as_array().map(Vec::len), Some(2), "names and the bus");
    let (rules, agents) = egress(&["--kill-url", "http://ctl.web:8080/stop"]);
    let any_pod = json!({"to": [{"namespaceSelector": {}}]});
    assert_eq!(at(&rules, 2), [any_pod.clone(), json!({"ports": tcp(8080)})]);
    assert_eq!(agents, of_agents, "they don't ask it");
    let store = ["--store", "postgres://10.1.2.3/runs", "--kill-url", "https://10.1.2.4/stop"];
    let address = |host: &str, port| json!({"to": [{"ipBlock": {"cidr": host}}], "ports": tcp(port)});
    let (rules, _) = egress(&store);
    assert_eq!(at(&rules, 2), [address("10.1.2.3/32", 5432), address("10.1.2.4/32", 443)]);
    place.file("shop.toml", SHOP.replace("[load]", "[guards]\nkill-url = \"http://ctl.web/stop\"\n[load]"));
    let (rules, _) = egress(&["--store", "/runs/runs.db"]);
    assert_eq!(at(&rules, 2), [any_pod, json!({"ports": tcp(80)})]);
}

/// Private keys stand in their Secrets and nowhere else; what the environment has stands nowhere.
#[test]
fn secrets_stay_in_secrets() {
    let place = shop();
    let line = ["k8s", "render", "shop.toml", "--agents", "2"];
    let said = finish(place.command(&line).env("NOTE", "s3cret-note"));
    assert!(said.stderr.contains("the plan reads NOTE from the environment"), "{said:?}");
    assert!(!said.stdout.contains("s3cret-note") && !said.stderr.contains("s3cret-note"));
    for one in objects(&place, &said.stdout) {
        assert_eq!(one.to_string().contains("\"SU"), one["kind"] == "Secret", "{one}");
    }
    let other = place.call(&line);
    assert!(said.stdout != other.stdout, "keys are new each time");
    let existing = [&line[..], &["--secret", "shop", "--env-secret", "env"]].concat();
    let (one, other) = (place.call(&existing), place.call(&existing));
    assert!(
        one.stdout == other.stdout && !one.stdout.contains("kind: Secret") && one.stderr.is_empty(),
        "{one:?}"
    );
    // In a folder, only their owner can read them.
    place.call(&[&line[..], &["-o", "out"]].concat());
    use std::os::unix::fs::PermissionsExt;
    for (file, mode) in
        [("secret-operator.yaml", 0o600), ("secret-agent.yaml", 0o600), ("agents.yaml", 0o644)]
    {
        let known = std::fs::metadata(place.path().join("out").join(file)).expect("a file");
        assert_eq!(known.permissions().mode() & 0o777, mode, "{file}");
    }
}

/// Nothing is printed of a run that could not be led, or that no cluster would hold.
#[test]
fn what_can_not_be_run_is_not_rendered() {
    let place = shop();
    let refused = |args: &[&str], parts: &[&str]| {
        place.call(&[&["k8s", "render"], args].concat()).refused(parts);
    };
    let url = ["http://10.0.0.7/", "-R", "5", "--agents", "2"];
    let with = |more: &[&'static str]| [&url[..], more].concat();
    refused(&["shop.toml", "-d", "0s", "--agents", "2"], &["the duration is 0"]);
    refused(&["nowhere.toml", "--agents", "2"], &["nowhere.toml"]);
    refused(&["http://10.0.0.7/", "--agents", "2"], &["-R RATE"]);
    refused(&["http://10.0.0.7/", "-R", "5", "--agents", "local:2"], &["processes of one machine"]);
    refused(&with(&["--nkey", "a.nk"]), &["--secret NAME"]);
    refused(&with(&["--agents-stay"]), &["never comes"]);
    refused(&with(&["--bus", "nats://nats:4222"]), &["--secret NAME"]);
    refused(&with(&["--bus", "http://nats", "--secret", "a"]), &["nats://HOST:4222"]);
    refused(&with(&["--fleet", "a.b"]), &["fleet"]);
    refused(&with(&["--bus-ca", "ca.pem"]), &["--bus-ca is for a bus that is named"]);
    let elsewhere = ["--bus", "nats://nats:4222", "--secret", "a"];
    refused(&with(&[&elsewhere[..], &["--bus-storage", "2Gi"]].concat()), &["--bus-storage", "leave it out"]);
    refused(&with(&["--bus-storage", "2"]), &["not the size of a disk", "2Gi"]);
    refused(&["http://10.0.0.7/", "-R", "5", "--agents", "5", "--cpu", "256"], &["1280 shares", "1024"]);
    refused(&with(&["--cross-check-scrape", "http://10.0.0.7/metrics"]), &["exclude each other"]);
    refused(&with(&["-H", "Authorization: Bearer x"]), &["secret on the command line"]);
    refused(&with(&["--cacert", "ca.pem"]), &["are files of this machine"]);
    refused(&with(&["--allow-target", "a b"]), &["--allow-target"]);
    place.file("elsewhere.toml", "target = \"${TARGET}\"\n[load]\nrate = 5\n");
    refused(&["elsewhere.toml", "--agents", "2"], &["name the host with --allow-target"]);
    refused(
        &["http://192.0.2.1/", "-R", "10", "--agents", "2"],
        &["192.0.2.1 is a public address", "--allow-target 192.0.2.1"],
    );
    refused(&["elsewhere.toml", "--agents", "2", "--cpu", "0.5"], &["a whole number of processors"]);
    render(&place, &["elsewhere.toml", "--agents", "2", "--allow-target", "shop.test"]);
    place.file("part.toml", "target = \"http://api.${DOMAIN}/\"\n[load]\nrate = 5\n");
    refused(&["part.toml", "--agents", "2"], &["name the host with --allow-target"]);
    place.file("named.toml", "target = \"http://variable.example.com/\"\n[load]\nrate = 5\n");
    render(&place, &["named.toml", "--agents", "2"]);
    let shop = ["shop.toml", "--agents", "2", "--csv"];
    let beneath = ["a pod writes beneath /runs alone", "--csv /runs/figures.csv"];
    refused(&[&shop[..], &["figures.csv"]].concat(), &beneath);
    refused(&with(&["--store", "/h.db"]), &["--store /runs/h.db"]);
    render(&place, &[&shop[..], &["/runs/figures.csv"]].concat());
    // Nobody could make the file that is to stop the load.
    let makes_it = ["--kill-file /runs/stop.toml", "kubectl exec job/unblink-run --", "--kill-url"];
    refused(&with(&["--kill-file", "/tmp/stop"]), &makes_it);
    refused(&["shop.toml", "--agents", "2", "--kill-file", "stop"], &makes_it);
    let evening = with(&["--kill-file", "/tmp/stop", "--name", "evening", "--namespace", "load"]);
    refused(&evening, &["kubectl -n load exec job/evening-run -- unblink init /runs/stop.toml makes"]);
    place.file("killed.toml", format!("{SHOP}[guards]\nkill-file = \"/tmp/stop\"\n"));
    refused(&["killed.toml", "--agents", "2"], &makes_it);
    render(&place, &["shop.toml", "--agents", "2", "--kill-file", "/runs/stop.toml"]);
    place.file("data/users.csv", format!("id\n{}", "a line of a large file\n".repeat(50_000)));
    refused(&["shop.toml", "--agents", "2"], &["a ConfigMap holds 1,024 KiB", "unblink run --agents"]);
    place.file("data/users.csv", format!("id\n{}", "a line of a large file\n".repeat(20_000)));
    let said = place.call(&["k8s", "render", "shop.toml", "--agents", "2"]);
    assert!(said.stderr.contains("kubectl apply --server-side"), "{said:?}");
    // What clap refuses has no `error:` of ours.
    for (flag, value) in
        [("--name", "A"), ("--cpu", "0"), ("--memory", "1"), ("--image", "a b"), ("--claim", "a_b")]
    {
        let said = place.call(&[&["k8s", "render"], &url[..], &[flag, value]].concat());
        assert_eq!((said.code(), said.stdout.as_str()), (Some(2), ""), "{said:?}");
    }
    assert_eq!(
        place.call(&["k8s", "render", "http://10.0.0.7/", "-R", "5"]).code(),
        Some(2),
        "--agents is needed"
    );
}

/// The base in this repository is what this binary renders.
#[test]
fn the_base_is_up_to_date() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes");
    let place = Place::new();
    std::fs::copy(base.join("shop.toml"), place.path().join("shop.toml")).expect("a plan");
    let line = ["k8s", "render", "shop.toml", "--agents", "3", "--secret", "unblink", "-o", "out"];
    let said = place.call(&line);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let (mut all, mut rendered) = (Vec::new(), place.list("out"));
    for entry in std::fs::read_dir(&base).expect("a folder") {
        all.push(entry.expect("an entry").file_name().into_string().expect("a name"));
    }
    all.retain(|name| name.ends_with(".yaml"));
    all.sort();
    rendered.sort();
    assert_eq!(all, rendered);
    for name in all {
        let kept = std::fs::read_to_string(base.join(&name)).expect("a file");
        assert!(
            kept == place.text(&format!("out/{name}")),
            "{name} is out of date: in deploy/kubernetes, unblink {}",
            line.join(" ").replace("-o out", "-o .")
        );
    }
}

/// From the plan to the figures, with the words, keys, files and permissions that were rendered.
#[test]
fn what_pods_run_is_a_run() {
    let (target, place) = (healthy(), shop());
    let text = render(&place, &["shop.toml", &target.url(), "--agents", "2", "--json"]);
    let all = objects(&place, &text);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let of = |object, name| {
        let dir = place.path().join("pods").join(name);
        Container { all: &all, spec: spec(object), name, dir }
    };
    let start = |object, name| Started::spawn(of(object, name).command(&place, port).env("NOTE", "a note"));
    let agents = named(&all, "Job", "unblink-agents");
    let agents = [start(agents, "agents-0"), start(agents, "agents-1")];
    let run = start(named(&all, "Job", "unblink-run"), "run");
    // The bus comes last, and all wait for it.
    let bus = of(named(&all, "StatefulSet", "unblink-bus"), "bus");
    let mounts = bus.mounts();
    let config = mounts[0].1.join("nats.conf");
    let text = std::fs::read_to_string(&config)
        .expect("a file")
        .replace("0.0.0.0:4222", &format!("127.0.0.1:{port}"));
    std::fs::write(&config, text.replace("/data", &mounts[1].1.display().to_string())).expect("a file");
    let bus = Started::spawn(Command::new(server()).arg("--config").arg(&config).envs(bus.variables()));
    let merged = run.wait().run();
    merged.assert_all("ok");
    assert_eq!(merged.at("/plan/threads"), &json!(2));
    assert!(
        target.seen().iter().any(|one| one.header("x-note") == Some("a note")),
        "each agent has the Secret's variables"
    );
    for agent in agents {
        assert_eq!(agent.wait().code(), Some(0));
    }
    bus.signal(Signal::TERM);
    bus.wait();
    assert!(place.path().join("pods/run/runs/run/run.json").is_file(), "the run folder has the pod's name");
}

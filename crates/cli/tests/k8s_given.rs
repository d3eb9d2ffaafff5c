//! What a cluster has already, and a rendered run is given: a bus with TLS, a Secret with variables, a claim.

use crate::support::bus::{Bus, server};
use crate::support::hostile::healthy;
use crate::support::k8s::{Container, asked_of_python, named, objects, spec};
use crate::support::{Place, Started};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::Command;

const SHOP: &str = r#"
target = "http://shop.test/"
[load]
rate = 100
duration = "2s"
[[requests]]
url = "/"
header = ["X-Note: ${NOTE}"]
"#;

/// An authority whose certificate is in the file `ca`. It signs for a bus at 127.0.0.1, in `bus.pem` and `bus.key`.
fn certify(place: &Place, ca: &str) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    place.file(ca, issuer.pem());
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_string()]).expect("a name");
    place.file("bus.pem", params.signed_by(&key, &issuer).expect("a certificate").pem());
    place.file("bus.key", key.serialize_pem());
}

/// The objects of `unblink k8s ARGS`, which the schemas know.
fn all_of(place: &Place, args: &[&str]) -> Vec<Value> {
    let said = place.call(&[&["k8s"], args].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    place.file("all.yaml", &said.stdout);
    let checked = asked_of_python(place, &["-m", "kubernetes_validate", "--strict", "all.yaml"]);
    assert_eq!(checked.code(), Some(0), "{checked:?}\n{}", said.stdout);
    objects(place, &said.stdout)
}

/// Whoever applies it lets the script run in the pods of agents; without one, they let none.
#[test]
fn agents_of_a_script_let_it_run() {
    let place = Place::new();
    place.file("s.lua", "function request() return wrk.format() end");
    for (line, is_allowed) in [("", false), ("[request]\nscript = \"s.lua\"\n", true)] {
        let load = "[load]\nrate = 100\nduration = \"2s\"\n";
        place.file("plan.toml", format!("target = \"http://shop.test/\"\n{line}{load}"));
        let all = all_of(&place, &["render", "plan.toml", "--agents", "2"]);
        let agents = spec(named(&all, "Job", "unblink-agents"))["containers"][0]["args"].to_string();
        assert_eq!(agents.contains("\"--allow-scripts\""), is_allowed, "{agents}");
        let files = named(&all, "ConfigMap", "unblink-plan")["data"].to_string();
        assert_eq!(files.contains("wrk.format()"), is_allowed, "{files}");
    }
}

#[test]
fn pods_measure_themselves_where_that_is_asked_for() {
    let place = Place::new();
    let render = ["render", "http://shop.test/", "-R", "100", "-d", "2s", "--agents", "2"];
    let of = |more: &[&str]| {
        let all = all_of(&place, &[&render[..], more].concat());
        ["agents", "run"].map(|part| {
            let job = named(&all, "Job", &format!("unblink-{part}"));
            let is_told = spec(job)["containers"][0]["args"].to_string().contains("--calibrate");
            (is_told, job["spec"]["activeDeadlineSeconds"].as_u64().expect("a deadline"))
        })
    };
    let (without, with) = (of(&[]), of(&["--calibrate"]));
    assert_eq!(without.map(|(is_told, _)| is_told), [false, false]);
    assert_eq!(with.map(|(is_told, _)| is_told), [true, false]);
    assert_eq!(
        with.map(|(_, end_s)| end_s),
        without.map(|(_, end_s)| end_s + 60),
        "measuring takes its time"
    );
    let hasty = [&["k8s"][..], &render[..], &["--calibrate", "--agents-within", "10s"][..]].concat();
    place.call(&hasty).refused(&["--calibrate", "--agents-within 60s"]);
    assert!(of(&["--calibrate", "--agents-within", "60s"])[0].0);
}

#[test]
fn what_a_cluster_has_is_named_where_it_is_used() {
    let place = Place::new();
    place.file("shop.toml", SHOP);
    certify(&place, "ca.pem");
    let bus = ["--bus", "tls://nats.infra:4223", "--bus-ca", "ca.pem", "--secret", "keys"];
    let more = ["--env-secret", "shop.env", "--claim", "runs"];
    let all = all_of(&place, &[&["render", "shop.toml", "--agents", "2"], &bus[..], &more].concat());
    let jobs = ["agents", "run"].map(|name| named(&all, "Job", &format!("unblink-{name}")));
    for (job, keys, runs) in [
        (jobs[0], "keys-agent", json!({"name": "runs", "emptyDir": {}})),
        (jobs[1], "keys-operator", json!({"name": "runs", "persistentVolumeClaim": {"claimName": "runs"}})),
    ] {
        let container = &spec(job)["containers"][0];
        assert_eq!(container["envFrom"], json!([{"secretRef": {"name": "shop.env"}}]));
        let volume = |name: &str| {
            let volumes = spec(job)["volumes"].as_array().expect("a list");
            volumes.iter().find(|volume| volume["name"] == name).unwrap_or_else(|| panic!("no volume {name}"))
        };
        assert_eq!(*volume("runs"), runs);
        assert_eq!(volume("keys")["secret"]["secretName"], keys);
        assert_eq!(volume("bus-ca")["configMap"], json!({"name": "unblink-bus-ca"}));
        let args: Vec<&str> =
            container["args"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        let given = |flag: &str| args.iter().skip_while(|arg| **arg != flag).nth(1).copied();
        assert_eq!(given("--bus"), Some("tls://nats.infra:4223"), "{args:?}");
        // Where it is mounted.
        let mounts = container["volumeMounts"].as_array().expect("a list");
        let mount = mounts.iter().find(|mount| mount["name"] == "bus-ca").expect("a mount");
        let file = format!("{}/ca.pem", mount["mountPath"].as_str().expect("a path"));
        assert_eq!(given("--bus-ca"), Some(file.as_str()), "{args:?}");
        // Folders of pods that share a claim are told apart.
        assert!(given("-o").is_some_and(|folder| folder.contains("$(POD_NAME)")), "{args:?}");
    }
    assert_eq!(named(&all, "ConfigMap", "unblink-bus-ca")["data"]["ca.pem"], place.text("ca.pem"));
    for kind in ["StatefulSet", "Secret", "Service", "PersistentVolumeClaim"] {
        assert!(all.iter().all(|one| one["kind"] != kind), "{kind} is there already");
    }
    for part in ["agent", "coordinator"] {
        let egress = &named(&all, "NetworkPolicy", &format!("unblink-{part}"))["spec"]["egress"];
        assert_eq!(egress[1], json!({"ports": [{"protocol": "TCP", "port": 4223}]}), "{part}");
    }
}

/// What the bus keeps goes with its pod, or stays on a claim that is found, and deleted, like the rest of the run.
#[test]
fn a_bus_has_a_disk_that_outlives_its_pod_where_one_is_asked_for() {
    let place = Place::new();
    let line = ["render", "http://10.0.0.7/", "-R", "5", "--agents", "2", "--namespace", "load"];
    for storage in [None, Some("3Gi")] {
        let more = storage.map_or(Vec::new(), |size| vec!["--bus-storage", size]);
        let all = all_of(&place, &[&line[..], &more].concat());
        let bus = named(&all, "StatefulSet", "unblink-bus");
        let volumes = spec(bus)["volumes"].as_array().expect("a list");
        let own: Vec<&Value> = volumes.iter().filter(|volume| volume["name"] == "data").collect();
        let mounts = spec(bus)["containers"][0]["volumeMounts"].as_array().expect("a list");
        assert!(mounts.iter().any(|mount| *mount == json!({"name": "data", "mountPath": "/data"})));
        let Some(size) = storage else {
            assert_eq!(own, [&json!({"name": "data", "emptyDir": {}})]);
            assert_eq!(bus["spec"]["volumeClaimTemplates"], Value::Null);
            continue;
        };
        assert!(own.is_empty(), "{own:?}");
        let claims = bus["spec"]["volumeClaimTemplates"].as_array().expect("a list");
        assert_eq!((claims.len(), &claims[0]["metadata"]["name"]), (1, &json!("data")));
        assert_eq!(claims[0]["spec"]["resources"], json!({"requests": {"storage": size}}));
        assert_eq!(claims[0]["metadata"]["labels"]["app.kubernetes.io/instance"], "unblink");
        assert_eq!(bus["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], "Delete");
        // It is the cluster's matter, and no pod is told of it.
        let run = spec(named(&all, "Job", "unblink-run"))["containers"][0]["args"].to_string();
        assert!(!run.contains("bus-storage"), "{run}");
    }
}

/// The configuration of a bus that the documents show.
fn documented(place: &Place, port: u16, operator: &str, agent: &str) -> String {
    let text = include_str!("../../../docs/agents.md");
    let from = text.find("listen: \"0.0.0.0:4222\"").expect("a configuration");
    let text = &text[from..from + text[from..].find("```").expect("its end")];
    let file = |name: &str| place.path().join(name).display().to_string();
    let changed = [
        ("0.0.0.0:4222", format!("127.0.0.1:{port}")),
        ("nats.pem", file("bus.pem")),
        ("nats.key", file("bus.key")),
        ("/var/lib/nats", file("kept")),
        ("U…OPERATOR", operator.to_string()),
        ("U…AGENT", agent.to_string()),
    ];
    changed.into_iter().fold(text.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, &to)
    })
}

/// From the plan to the figures over a bus that lets in who has a key, and over TLS alone.
#[test]
fn pods_meet_on_a_bus_with_tls() {
    let (target, place) = (healthy(), Place::new());
    place.file("shop.toml", SHOP);
    certify(&place, "other.pem");
    certify(&place, "ca.pem");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let url = format!("tls://127.0.0.1:{port}");
    let mut all = all_of(&place, &["keys", "--name", "keys"]);
    let bus = ["--bus", &url, "--bus-ca", "ca.pem", "--secret", "keys", "--env-secret", "env"];
    let line = ["render", "shop.toml", &target.url(), "--agents", "2", "--json"];
    all.extend(all_of(&place, &[&line[..], &bus].concat()));
    let key = |of: &str, key: &str| {
        let secret = named(&all, "Secret", &format!("keys-{of}"));
        secret["stringData"][key].as_str().expect("a text").to_string()
    };
    let config = documented(&place, port, &key("operator", "public"), &key("agent", "public"));
    let config = place.file("nats.conf", config);
    let bus = Started::spawn(Command::new(server()).arg("--config").arg(&config));
    let start = |job: &str, name| {
        let dir = place.path().join("pods").join(name);
        let pod = Container { all: &all, spec: spec(named(&all, "Job", job)), name, dir };
        Started::spawn(pod.command(&place, port).env("NOTE", "a note"))
    };
    let agents = ["agents-0", "agents-1"].map(|name| start("unblink-agents", name));
    let merged = start("unblink-run", "run").wait().run();
    merged.assert_all("ok");
    assert_eq!(merged.arrivals("ok"), 200);
    for agent in agents {
        assert_eq!(agent.wait().code(), Some(0));
    }
    // Nobody believes another authority, a certificate for another host, or a bus that speaks without TLS.
    place.file("agent.nk", key("agent", "nkey"));
    let plain_place = Place::new();
    let plain = Bus::start(&plain_place);
    let unencrypted = plain.url.replace("nats://", "tls://");
    let (by_name, without_tls) = (url.replace("127.0.0.1", "localhost"), url.replace("tls://", "nats://"));
    let [other, own] = [["--bus-ca", "other.pem"], ["--bus-ca", "ca.pem"]];
    for (bus, ca, why, remedy) in [
        (&url, &other[..], "invalid peer certificate", "not the one in --bus-ca"),
        (&url, &[], "invalid peer certificate", "with --bus-ca FILE"),
        (&without_tls, &[], "invalid peer certificate", "write tls://"),
        (&by_name, &own, "certificate not valid for name \"localhost\"", "as its certificate does"),
        (&unencrypted, &own, "received corrupt message", "the bus speaks no TLS: write nats://"),
    ] {
        let line = ["agent", "--bus", bus, "--nkey", "agent.nk", "-o", "own"];
        let said = place.call(&[&line[..], ca, &["--accept-from", &key("operator", "public")]].concat());
        said.refused(&["can't connect to the bus", bus, why, remedy]);
    }
    bus.signal(Signal::TERM);
    bus.wait();
}

//! The Jobs of a run, and the ConfigMaps that they read.

use super::inside::{BUS_CA, CA_FILE, CALIBRATED_WITHIN, FOLDER, KEYS, PLAN, RUNS};
use super::object::{Object, Part, away_from_agents, confined, from_secret, labels, nobody, run_name};
use super::wanted::Wanted;
use super::{keys, words};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use std::path::{Component, Path};

/// With the operator's public key, by which agents know who may lead them.
const OPERATOR: &str = "OPERATOR_KEY";
/// Nobody in particular.
const USER: u32 = 65532;
/// After its load, an agent waits so long for its record to be fetched.
const FETCHED_WITHIN_S: u64 = 120;
/// After the load of all, the coordinator waits so long for the last records, or for a bus that is gone.
const GATHERED_WITHIN_S: u64 = 90;
/// For a process to end and for a merge.
const SLACK_S: u64 = 30;
/// Agents make ready and compare clocks.
const PREPARED_WITHIN_S: u64 = 150;
/// Linux gives a load so many local ports if it is asked to; a stall needs one for each arrival that waits.
const LOCAL_PORTS: &str = "1024 65535";

/// The plan and what it reads, and the certificate of who signed the bus's.
pub(super) fn plan(wanted: &Wanted) -> Vec<Object> {
    let mut all = Vec::new();
    if !wanted.files.is_empty() {
        let (mut data, mut binary) = (Map::new(), Map::new());
        for (number, (name, bytes)) in wanted.files.iter().enumerate() {
            let key = key(number, name);
            match std::str::from_utf8(bytes) {
                Ok(text) => data.insert(key, text.into()),
                Err(_) => binary.insert(key, BASE64_STANDARD.encode(bytes).into()),
            };
        }
        let mut map = config_map(&plan_name(wanted), data);
        if !binary.is_empty() {
            map["binaryData"] = binary.into();
        }
        all.push(Object::new("plan", map));
    }
    if let Some(text) = &wanted.bus_ca {
        let data = Map::from_iter([(CA_FILE.to_string(), text.as_str().into())]);
        all.push(Object::new("bus-ca", config_map(&ca_name(wanted), data)));
    }
    all.into_iter().map(|object| wanted.own(object)).collect()
}

fn config_map(name: &str, data: Map<String, Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn plan_name(wanted: &Wanted) -> String {
    format!("{}-plan", wanted.name)
}

fn ca_name(wanted: &Wanted) -> String {
    format!("{}-bus-ca", wanted.name)
}

/// A key of a ConfigMap has no slash and no space.
fn key(number: usize, name: &str) -> String {
    let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    format!("{number}-{}", name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect::<String>())
}

/// As a volume names it: without a dot of its own.
fn path(name: &str) -> String {
    let parts = Path::new(name).components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// One pod for each index. An index that fails is not tried again: who starts anew has no place in a run that goes on.
pub(super) fn agents(wanted: &Wanted) -> Object {
    let mut args: Vec<String> = vec!["agent".into()];
    args.extend(wanted.onto_bus.iter().map(|word| words::escaped(word)));
    args.extend([
        "--accept-from".into(),
        format!("$({OPERATOR})"),
        "--shares".into(),
        wanted.cpu.to_string(),
    ]);
    args.extend(["--bus-within".into(), format!("{}s", wanted.gather_for.0 / 1_000_000_000)]);
    args.extend(wanted.allow_target.iter().flat_map(|host| ["--allow-target".into(), host.clone()]));
    if wanted.has_script {
        args.push("--allow-scripts".into());
    }
    if wanted.calibrate {
        args.push("--calibrate".into());
    }
    if let Some(max) = wanted.max_rate {
        let milli = max.milli_per_s();
        args.extend(["--max-rate".into(), format!("{}.{:03}/s", milli / 1_000, milli % 1_000)]);
    }
    args.extend(["-o".into(), FOLDER.into()]);
    let mut env = vec![from_secret(OPERATOR, &keys::operator(&wanted.keys), keys::PUBLIC)];
    // What whoever rendered it has named is theirs to test, public or not.
    let named = wanted.named_targets.iter().filter(|host| !host.contains(['*', '/']));
    let named = named.map(String::as_str).collect::<Vec<_>>().join(",");
    if !named.is_empty() {
        env.push(json!({"name": "UNBLINK_ALLOW", "value": named}));
    }
    let cpu = wanted.cpu.to_string();
    let resources = json!({
        "requests": {"cpu": cpu, "memory": wanted.memory},
        "limits": {"cpu": cpu, "memory": wanted.memory},
    });
    let container = container(wanted, Part::Agent, args, env, resources);
    let mut pod = pod(wanted, Part::Agent, container);
    pod["spec"]["securityContext"]["sysctls"] =
        json!([{"name": "net.ipv4.ip_local_port_range", "value": LOCAL_PORTS}]);
    let job = json!({
        "completions": wanted.agents,
        "parallelism": wanted.agents,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "maxFailedIndexes": wanted.agents,
        "podReplacementPolicy": "Failed",
        "activeDeadlineSeconds": deadline_s(wanted),
        "template": pod,
    });
    wanted.own(Object::new("agents", job_of(&format!("{}-agents", wanted.name), job)))
}

/// The one who leads. A second attempt would be another run.
pub(super) fn coordinator(wanted: &Wanted) -> Object {
    let mut args = vec!["run".to_string()];
    args.extend(wanted.words.iter().chain(&wanted.onto_bus).map(|word| words::escaped(word)));
    args.extend(["--agents".into(), wanted.agents.to_string(), "-o".into(), FOLDER.into()]);
    let env = vec![match &wanted.env_secret {
        // What is given here would win over what the Secret says of it.
        Some(_) => json!({"name": "XDG_DATA_HOME", "value": RUNS}),
        None => json!({"name": "UNBLINK_STORE", "value": format!("{RUNS}/history.db")}),
    }];
    let resources = json!({
        "requests": {"cpu": "500m", "memory": wanted.memory},
        "limits": {"memory": wanted.memory},
    });
    let container = container(wanted, Part::Coordinator, args, env, resources);
    let job = json!({
        "backoffLimit": 0,
        "activeDeadlineSeconds": deadline_s(wanted) + SLACK_S,
        "template": pod(wanted, Part::Coordinator, container),
    });
    wanted.own(Object::new("coordinator", job_of(&run_name(&wanted.name), job)))
}

fn job_of(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})
}

/// By then all is over: nobody waits for ever for others who never come.
fn deadline_s(wanted: &Wanted) -> u64 {
    let measured = if wanted.calibrate { CALIBRATED_WITHIN.0 } else { 0 };
    let known = (measured + wanted.gather_for.0 + wanted.length.0).div_ceil(1_000_000_000);
    known + PREPARED_WITHIN_S + FETCHED_WITHIN_S + 2 * SLACK_S
}

/// Until then a pod that is told to go may wait for answers and give its record away.
fn grace_s(wanted: &Wanted, part: Part) -> u64 {
    let after = if part == Part::Agent { FETCHED_WITHIN_S } else { GATHERED_WITHIN_S };
    wanted.drain.0.div_ceil(1_000_000_000) + after + SLACK_S
}

fn pod(wanted: &Wanted, part: Part, container: Value) -> Value {
    json!({
        "metadata": {
            "labels": labels(&wanted.name, Some(part)),
            // Who makes a cluster smaller leaves a run alone.
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
        },
        "spec": {
            "affinity": away_from_agents(),
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "restartPolicy": "Never",
            "securityContext": nobody(USER),
            "terminationGracePeriodSeconds": grace_s(wanted, part),
            "containers": [container],
            "volumes": volumes(wanted, part),
        },
    })
}

fn container(wanted: &Wanted, part: Part, args: Vec<String>, own: Vec<Value>, resources: Value) -> Value {
    let reads_files = part == Part::Coordinator && !wanted.files.is_empty();
    let mut env =
        vec![json!({"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})];
    env.extend(own);
    let mut mounts = vec![
        json!({"name": "keys", "mountPath": KEYS, "readOnly": true}),
        json!({"name": "runs", "mountPath": RUNS}),
    ];
    if wanted.bus_ca.is_some() {
        mounts.push(json!({"name": "bus-ca", "mountPath": BUS_CA, "readOnly": true}));
    }
    if reads_files {
        mounts.push(json!({"name": "plan", "mountPath": PLAN, "readOnly": true}));
    }
    let mut container = json!({
        "name": part.name(),
        "image": wanted.image,
        "imagePullPolicy": "IfNotPresent",
        "args": args,
        "env": env,
        "resources": resources,
        "securityContext": confined(),
        "volumeMounts": mounts,
        "workingDir": if reads_files { PLAN } else { RUNS },
    });
    if let Some(secret) = &wanted.env_secret {
        container["envFrom"] = json!([{"secretRef": {"name": secret}}]);
    }
    container
}

fn volumes(wanted: &Wanted, part: Part) -> Vec<Value> {
    let secret = if part == Part::Agent { keys::agent(&wanted.keys) } else { keys::operator(&wanted.keys) };
    let own_key = json!([{"key": keys::PRIVATE, "path": keys::PRIVATE}]);
    // For its owner and for the pod's group, to which it belongs.
    let mut all = vec![
        json!({"name": "keys", "secret": {"secretName": secret, "items": own_key, "defaultMode": 0o440}}),
    ];
    all.push(match &wanted.claim {
        Some(claim) if part == Part::Coordinator => {
            json!({"name": "runs", "persistentVolumeClaim": {"claimName": claim}})
        }
        _ => json!({"name": "runs", "emptyDir": {}}),
    });
    if wanted.bus_ca.is_some() {
        all.push(json!({"name": "bus-ca", "configMap": {"name": ca_name(wanted)}}));
    }
    if part == Part::Coordinator && !wanted.files.is_empty() {
        let items: Vec<Value> = wanted
            .files
            .iter()
            .enumerate()
            .map(|(number, (name, _))| json!({"key": key(number, name), "path": path(name)}))
            .collect();
        all.push(json!({"name": "plan", "configMap": {"name": plan_name(wanted), "items": items}}));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_keys_and_paths_of_their_own() {
        assert_eq!(key(0, "plan.toml"), "0-plan.toml");
        assert_eq!(key(2, "data/two words.csv"), "2-two_words.csv");
        assert_eq!(path("./data/./users.csv"), "data/users.csv");
    }
}

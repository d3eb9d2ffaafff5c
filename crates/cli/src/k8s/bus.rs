//! A bus of the run's own.

use super::keys;
use super::object::{Object, Part, away_from_agents, bus_name, confined, from_secret, labels, nobody};
use super::wanted::Wanted;
use crate::agents::authorization;
use serde_json::{Value, json};

pub(super) const PORT: u16 = 4222;
/// Variables with the public keys, which the server's configuration names.
const OPERATOR: &str = "OPERATOR_KEY";
const AGENT: &str = "AGENT_KEY";
/// The volume with what it keeps.
const DATA: &str = "data";
/// The user of nats-server's image.
const USER: u32 = 1000;

/// Nothing, where there is a bus already.
pub(super) fn objects(wanted: &Wanted) -> Vec<Object> {
    if !wanted.has_own_bus {
        return Vec::new();
    }
    let all =
        [("bus-config", configuration(wanted)), ("bus-service", service(wanted)), ("bus", server(wanted))];
    all.into_iter().map(|(what, value)| wanted.own(Object::new(what, value))).collect()
}

fn configuration(wanted: &Wanted) -> Value {
    let users = authorization(&format!("${OPERATOR}"), &format!("${AGENT}"));
    let text = format!(
        "server_name: unblink\nlisten: \"0.0.0.0:{PORT}\"\njetstream {{ store_dir: \"/data\" }}\n{users}"
    );
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": bus_name(&wanted.name)},
        "data": {"nats.conf": text},
    })
}

fn service(wanted: &Wanted) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": bus_name(&wanted.name)},
        "spec": {
            "clusterIP": "None",
            "selector": labels(&wanted.name, Some(Part::Bus)),
            "ports": [{"name": "nats", "port": PORT}],
        },
    })
}

/// What it keeps until the coordinator has it outlives the container; the pod as well, if it has a claim.
fn server(wanted: &Wanted) -> Value {
    let name = bus_name(&wanted.name);
    let labels = labels(&wanted.name, Some(Part::Bus));
    let mut volumes = vec![json!({"name": "config", "configMap": {"name": name}})];
    if wanted.bus_storage.is_none() {
        volumes.push(json!({"name": DATA, "emptyDir": {}}));
    }
    let mut server = json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "affinity": away_from_agents(),
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    "securityContext": nobody(USER),
                    "terminationGracePeriodSeconds": 30,
                    "containers": [{
                        "name": "nats",
                        "image": wanted.nats_image,
                        "imagePullPolicy": "IfNotPresent",
                        "command": ["nats-server", "--config", "/etc/nats/nats.conf"],
                        "env": [
                            from_secret(OPERATOR, &keys::operator(&wanted.keys), keys::PUBLIC),
                            from_secret(AGENT, &keys::agent(&wanted.keys), keys::PUBLIC),
                        ],
                        "ports": [{"name": "nats", "containerPort": PORT}],
                        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
                        "resources": {
                            "requests": {"cpu": "500m", "memory": "512Mi"},
                            "limits": {"memory": "512Mi"},
                        },
                        "securityContext": confined(),
                        "volumeMounts": [
                            {"name": "config", "mountPath": "/etc/nats", "readOnly": true},
                            {"name": DATA, "mountPath": "/data"},
                        ],
                    }],
                    "volumes": volumes,
                },
            },
        },
    });
    if let Some(size) = &wanted.bus_storage {
        server["spec"]["volumeClaimTemplates"] = json!([claim(size, &labels)]);
        // No other run has a use for it.
        server["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({"whenDeleted": "Delete", "whenScaled": "Delete"});
    }
    server
}

/// A disk of the class that the cluster gives where none is named.
fn claim(size: &str, labels: &Value) -> Value {
    json!({
        "metadata": {"name": DATA, "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    })
}

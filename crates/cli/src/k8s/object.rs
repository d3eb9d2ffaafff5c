//! An object of a cluster, and what all objects of a run have in common.

use serde_json::{Value, json};

/// One object, and the file that it is written into.
pub(super) struct Object {
    pub(super) file: String,
    pub(super) value: Value,
}

impl Object {
    /// `what` is its kind in words, which names its file.
    pub(super) fn new(what: &str, value: Value) -> Object {
        Object { file: Object::file_of(what), value }
    }

    /// The file of an object that is called so in words.
    pub(super) fn file_of(what: &str) -> String {
        format!("{what}.yaml")
    }

    pub(super) fn in_namespace(mut self, namespace: Option<&str>) -> Object {
        if let Some(namespace) = namespace {
            self.value["metadata"]["namespace"] = namespace.into();
        }
        self
    }

    pub(super) fn labelled(mut self, labels: Value) -> Object {
        self.value["metadata"]["labels"] = labels;
        self
    }
}

/// What a pod of a run does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Agent,
    Coordinator,
    Bus,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Agent => "agent",
            Part::Coordinator => "coordinator",
            Part::Bus => "bus",
        }
    }
}

/// By these the objects of a run are found, and by the part its pods.
pub(super) fn labels(instance: &str, part: Option<Part>) -> Value {
    let mut labels = json!({"app.kubernetes.io/name": "unblink", "app.kubernetes.io/instance": instance});
    if let Some(part) = part {
        labels["app.kubernetes.io/component"] = part.name().into();
    }
    labels
}

/// Where the bus of a run is found.
pub(super) fn bus_name(run: &str) -> String {
    format!("{run}-bus")
}

/// The Job of the coordinator.
pub(super) fn run_name(run: &str) -> String {
    format!("{run}-run")
}

/// What of the machine a container may touch: nothing, which the profile `restricted` of clusters asks for.
pub(super) fn confined() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
    })
}

/// The user of a pod that needs none in particular.
pub(super) fn nobody(user: u32) -> Value {
    json!({
        "fsGroup": user,
        "runAsGroup": user,
        "runAsNonRoot": true,
        "runAsUser": user,
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// Rather not on the machine of an agent, of whichever run: what it uses would be missing there.
pub(super) fn away_from_agents() -> Value {
    let agents =
        json!({"app.kubernetes.io/name": "unblink", "app.kubernetes.io/component": Part::Agent.name()});
    json!({
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{
                "podAffinityTerm": {
                    "labelSelector": {"matchLabels": agents},
                    "topologyKey": "kubernetes.io/hostname",
                },
                "weight": 100,
            }],
        },
    })
}

/// A variable from a key of a Secret.
pub(super) fn from_secret(variable: &str, secret: &str, key: &str) -> Value {
    json!({"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
}

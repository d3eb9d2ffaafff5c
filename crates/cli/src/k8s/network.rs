//! Who may talk to whom. Where a cluster has no such policies, these change nothing.

use super::bus;
use super::object::{Object, Part, labels};
use super::wanted::Wanted;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// What is beside names and the bus in the coordinator's policy, for whoever reads it.
const ASKED: &str = "The last rules are for --kill-url and --store. A policy knows no names: a host that is a name is any pod, and any \
                     address at its port.";

pub(super) fn policies(wanted: &Wanted) -> Vec<Object> {
    let mut all = Vec::new();
    if wanted.has_own_bus {
        all.push(("network-bus", of_bus(wanted)));
    }
    let mut of_agents = vec![names(), to_bus(wanted)];
    of_agents.extend(to_places(&wanted.places));
    all.push(("network-agents", policy(wanted, Part::Agent, vec![], of_agents)));
    let mut of_coordinator = vec![names(), to_bus(wanted)];
    of_coordinator.extend(to_places(&wanted.asked_by_coordinator));
    let mut coordinator = policy(wanted, Part::Coordinator, vec![], of_coordinator);
    if !wanted.asked_by_coordinator.is_empty() {
        coordinator["metadata"]["annotations"] = json!({"kubernetes.io/description": ASKED});
    }
    all.push(("network-coordinator", coordinator));
    all.into_iter().map(|(what, value)| wanted.own(Object::new(what, value))).collect()
}

fn policy(wanted: &Wanted, part: Part, ingress: Vec<Value>, egress: Vec<Value>) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": format!("{}-{}", wanted.name, part.name())},
        "spec": {
            "podSelector": {"matchLabels": labels(&wanted.name, Some(part))},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress,
        },
    })
}

/// Agents and coordinators come in, and nothing goes out.
fn of_bus(wanted: &Wanted) -> Value {
    let from = [Part::Agent, Part::Coordinator]
        .map(|part| json!({"podSelector": {"matchLabels": labels(&wanted.name, Some(part))}}));
    policy(wanted, Part::Bus, vec![json!({"from": from, "ports": [tcp(bus::PORT)]})], vec![])
}

/// Wherever names are resolved.
fn names() -> Value {
    json!({"ports": [{"protocol": "UDP", "port": 53}, tcp(53)]})
}

fn to_bus(wanted: &Wanted) -> Value {
    match wanted.has_own_bus {
        true => {
            let bus = labels(&wanted.name, Some(Part::Bus));
            json!({"to": [{"podSelector": {"matchLabels": bus}}], "ports": [tcp(bus::PORT)]})
        }
        // Where it is, only its name says.
        false => {
            let port =
                wanted.bus.rsplit_once(':').and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
            json!({"ports": [tcp(port.unwrap_or(bus::PORT))]})
        }
    }
}

/// Policies know addresses and no names. So an address is one, and a name is any pod, since a Service may be behind it whose pods
/// listen elsewhere, and any other place at its port.
fn to_places(places: &BTreeSet<(String, u16)>) -> Vec<Value> {
    let (addresses, names): (Vec<_>, Vec<_>) =
        places.iter().partition(|(host, _)| host.parse::<IpAddr>().is_ok());
    let mut all: Vec<Value> = addresses
        .iter()
        .map(|(host, port)| {
            let bits = if host.contains(':') { 128 } else { 32 };
            json!({"to": [{"ipBlock": {"cidr": format!("{host}/{bits}")}}], "ports": [tcp(*port)]})
        })
        .collect();
    if !names.is_empty() {
        all.push(json!({"to": [{"namespaceSelector": {}}]}));
        let ports: BTreeSet<u16> = names.iter().map(|(_, port)| *port).collect();
        all.push(json!({"ports": ports.into_iter().map(tcp).collect::<Vec<_>>()}));
    }
    all
}

fn tcp(port: u16) -> Value {
    json!({"protocol": "TCP", "port": port})
}

//! What is to be rendered: checked like a run of agents, and once more for what a cluster holds.

use super::inside::{BUS_CA, CA_FILE, FOLDER, KEYS};
use super::keys::Keys;
use super::object::{self, Object};
use super::{keys, places, refused, words};
use crate::args::Command;
use crate::args::k8s::{ClusterArgs, RenderArgs};
use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::{agents, environment, output, plan, run};
use anyhow::{Result, bail};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// All objects of a run begin at the same time: an image is fetched, a machine is added.
const BUS_WITHIN: Nanos = Nanos::from_secs(300);
const AGENTS_WITHIN: Nanos = Nanos::from_secs(600);
/// What a ConfigMap holds.
const FILES_BYTES_MAX: usize = 1 << 20;
/// What kubectl keeps of an object in an annotation, unless the server applies it.
const APPLIED_BYTES_MAX: usize = 256 << 10;

/// A run on a cluster.
pub(super) struct Wanted {
    pub(super) name: String,
    namespace: Option<String>,
    creates_namespace: bool,
    pub(super) image: String,
    pub(super) nats_image: String,
    pub(super) agents: u32,
    pub(super) cpu: u32,
    pub(super) memory: String,
    pub(super) bus: String,
    /// The bus is one of the run's own.
    pub(super) has_own_bus: bool,
    /// It keeps what it holds on a claim of this size.
    pub(super) bus_storage: Option<String>,
    /// Certificates of who signed the bus's.
    pub(super) bus_ca: Option<String>,
    /// What the Secrets with keys begin with.
    pub(super) keys: String,
    pub(super) new_keys: Option<Keys>,
    pub(super) env_secret: Option<String>,
    pub(super) claim: Option<String>,
    /// What an agent and the coordinator have in common to get onto the bus.
    pub(super) onto_bus: Vec<String>,
    /// The run's own words.
    pub(super) words: Vec<String>,
    /// Their names and what stands in them.
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) allow_target: Vec<String>,
    /// Whoever rendered it has named these.
    pub(super) named_targets: Vec<String>,
    /// The run has a script, which agents must let run.
    pub(super) has_script: bool,
    /// Agents measure their pods before they join.
    pub(super) calibrate: bool,
    /// At most so much for each agent.
    pub(super) max_rate: Option<Rate>,
    /// Hosts and ports that agents connect to.
    pub(super) places: BTreeSet<(String, u16)>,
    /// Those that the coordinator connects to beside the bus.
    pub(super) asked_by_coordinator: BTreeSet<(String, u16)>,
    /// From the start to the last answer that is waited for, and how long it is waited for.
    pub(super) length: Nanos,
    pub(super) drain: Nanos,
    /// For all to come.
    pub(super) gather_for: Nanos,
}

/// # Errors
/// There is no such run, agents can't do it, or a cluster can't hold it.
pub(super) fn wanted(args: &RenderArgs) -> Result<Wanted> {
    let cluster = &args.cluster;
    let count = refused::check(args)?;
    let words: Vec<String> = environment::arguments().into_iter().skip(3).collect();
    let words = words::of_run(&words);
    let (name, keys) = (cluster.name.clone(), cluster.secret.clone());
    let fleet = args.run.agents.bus.fleet.clone().unwrap_or_else(|| name.clone());
    let own_bus = format!("nats://{}:4222", object::bus_name(&name));
    let bus = args.run.agents.bus.bus.clone().unwrap_or(own_bus);
    agents::check_bus(&bus, &fleet)?;
    let bus_ca = agents::check_ca(&args.run.agents.bus)?;
    let mut onto_bus: Vec<String> =
        ["--bus", &bus, "--nkey", &format!("{KEYS}/{}", keys::PRIVATE), "--fleet", &fleet]
            .map(String::from)
            .into();
    let (run, planned) = checked(count, &words, &onto_bus)?;
    // It is a file of the pods, which can't be looked at here.
    if bus_ca.is_some() {
        onto_bus.extend(["--bus-ca".into(), format!("{BUS_CA}/{CA_FILE}")]);
    }
    let origins = planned.requests.origins.iter().chain(run.beside().map(|request| &request.url.origin));
    let places = run::destinations(&run, origins)?;
    let asked_by_coordinator = places::asked_by_coordinator(&run)?;
    let (files, allow_target) = (files()?, places::allowed(cluster, &places)?);
    refused::outputs(&run, !files.is_empty(), cluster)?;
    say_what_is_missing(cluster, &files);
    let within = |asked: Option<Nanos>, otherwise| asked.unwrap_or(otherwise).0;
    let gather_for =
        within(run.agents.bus.bus_within, BUS_WITHIN) + within(run.agents.agents_within, AGENTS_WITHIN);
    Ok(Wanted {
        namespace: cluster.namespace.clone(),
        creates_namespace: cluster.create_namespace,
        image: cluster.image.clone(),
        nats_image: cluster.nats_image.clone(),
        agents: count,
        cpu: cluster.cpu,
        memory: cluster.memory.clone(),
        has_own_bus: args.run.agents.bus.bus.is_none(),
        bus_storage: cluster.bus_storage.clone(),
        new_keys: if keys.is_none() { Some(Keys::new()?) } else { None },
        keys: keys.unwrap_or_else(|| name.clone()),
        env_secret: cluster.env_secret.clone(),
        claim: cluster.claim.clone(),
        allow_target,
        named_targets: cluster.allow_target.clone(),
        calibrate: cluster.calibrate,
        has_script: run.target.script.script.is_some(),
        max_rate: run.load.max_rate.map(|max| part_of(max, count, cluster.cpu)),
        length: Nanos(planned.plan.load_length().0 + planned.plan.drain().0),
        drain: planned.plan.drain(),
        gather_for: Nanos(gather_for),
        words: with_patience(words, &run),
        name,
        bus,
        bus_ca,
        onto_bus,
        files,
        places,
        asked_by_coordinator,
    })
}

/// The run as its coordinator will read it.
fn checked(count: u32, words: &[String], onto_bus: &[String]) -> Result<(Box<RunArgs>, run::Planned)> {
    let count = count.to_string();
    let own = ["--agents", &count, "-o", FOLDER].map(String::from);
    let argv = ["unblink", "run"].map(String::from).into_iter();
    let argv: Vec<OsString> = argv
        .chain(words.iter().cloned())
        .chain(onto_bus.iter().cloned())
        .chain(own)
        .map(OsString::from)
        .collect();
    environment::begin_part(Some(argv.clone()));
    let Command::Run(run) = plan::line_for_elsewhere(argv)?.command else {
        bail!("the rendered command is not a run")
    };
    let planned = agents::checked(&run)?;
    Ok((run, planned))
}

/// With how long to wait, where nobody has said so: both begin together with what they wait for.
fn with_patience(mut words: Vec<String>, run: &RunArgs) -> Vec<String> {
    let seconds = |time: Nanos| format!("{}s", time.0 / 1_000_000_000);
    if run.agents.agents_within.is_none() {
        words.extend(["--agents-within".into(), seconds(AGENTS_WITHIN)]);
    }
    if run.agents.bus.bus_within.is_none() {
        words.extend(["--bus-within".into(), seconds(BUS_WITHIN)]);
    }
    words
}

fn files() -> Result<Vec<(String, Vec<u8>)>> {
    let (offered, contents) = agents::files()?;
    let files: Vec<_> = offered
        .into_iter()
        .map(|file| (file.name, contents.get(&file.sha256).cloned().unwrap_or_default()))
        .collect();
    let bytes: usize = files.iter().map(|(name, bytes)| name.len() + bytes.len()).sum();
    if bytes > FILES_BYTES_MAX {
        refuse!(
            ["agents"],
            "the plan and what it reads are {} KiB together, and a ConfigMap holds 1,024 KiB: make them smaller, or lead the agents from a machine that has the files (unblink run --agents, docs/kubernetes.md)",
            bytes.div_ceil(1024)
        );
    }
    Ok(files)
}

/// What whoever applies it would find out from a pod that fails.
fn say_what_is_missing(cluster: &ClusterArgs, files: &[(String, Vec<u8>)]) {
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    if bytes > APPLIED_BYTES_MAX {
        output::note(format_args!(
            "note: the ConfigMap of the plan is larger than 256 KiB: use kubectl apply --server-side"
        ));
    }
    let plan = files.first().and_then(|(_, bytes)| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    let variables = variables(plan);
    if cluster.env_secret.is_none() && !variables.is_empty() {
        output::note(format_args!(
            "note: the plan reads {} from the environment: put that into a Secret, and name it with --env-secret",
            variables.join(", ")
        ));
    }
}

/// The names in `${NAME}`.
fn variables(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$')) {
        let name = text[at + 2..].split('}').next().unwrap_or_default();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Of the limit for all, the part of one agent, in whole thousandths for each of its shares.
fn part_of(max: Rate, agents: u32, cpu: u32) -> Rate {
    let of_share = max.milli_per_s().div_ceil(u64::from(agents) * u64::from(cpu));
    Rate::from_milli(of_share * u64::from(cpu))
}

impl Wanted {
    /// With what all objects of the run have.
    pub(super) fn own(&self, object: Object) -> Object {
        object.in_namespace(self.namespace.as_deref()).labelled(object::labels(&self.name, None))
    }

    pub(super) fn namespace(&self) -> Option<Object> {
        let name = self.namespace.as_ref().filter(|_| self.creates_namespace)?;
        let value = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
        });
        Some(Object::new("namespace", value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_plan() {
        assert_eq!(variables("a = \"${X} ${Y_2} ${X}\" # $${Z} ${a b} ${}"), ["X", "Y_2"]);
    }

    #[test]
    fn the_parts_of_a_limit_are_enough_for_all_of_it() {
        for (max, agents, cpu) in [(1_000, 3, 1), (200_000, 20, 4), (7, 5, 3)] {
            let part = part_of(Rate::per_second(max), agents, cpu);
            // As an agent reckons with it.
            let all = part.milli_per_s() / u64::from(cpu) * u64::from(agents * cpu);
            assert!((max * 1_000..).contains(&all), "{max} {agents} {cpu}");
        }
    }
}

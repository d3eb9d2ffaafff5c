//! What is to be rendered: checked like a run of agents, and once more for what a cluster holds.

use super::keys::Keys;
use super::object::{self, Object};
use super::{keys, words};
use crate::args::Command;
use crate::args::agents::Agents;
use crate::args::k8s::{ClusterArgs, RenderArgs};
use crate::args::run::RunArgs;
use crate::errors::{refuse, refused};
use crate::request::template::json_body::UNKNOWN_VARIABLE;
use crate::request::url::Url;
use crate::{agents, environment, guard, output, plan, run};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use unblink_core::plan::SHARES_MAX;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use unblink_store::Location;

/// Where containers find things.
pub(super) const PLAN: &str = "/plan";
pub(super) const RUNS: &str = "/runs";
pub(super) const KEYS: &str = "/etc/unblink";
pub(super) const BUS_CA: &str = "/etc/unblink-bus";
pub(super) const CA_FILE: &str = "ca.pem";
/// A folder of its own for each pod, also where several share a volume.
pub(super) const FOLDER: &str = "/runs/$(POD_NAME)";

/// All objects of a run begin at the same time: an image is fetched, a machine is added.
const BUS_WITHIN: Nanos = Nanos::from_secs(300);
const AGENTS_WITHIN: Nanos = Nanos::from_secs(600);
/// For pods that measure themselves: ten seconds, and more where their processor is a part of one.
pub(super) const CALIBRATED_WITHIN: Nanos = Nanos::from_secs(60);
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
    let count = check(args)?;
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
    let asked_by_coordinator = asked_by_coordinator(&run)?;
    let (files, allow_target) = (files()?, allowed(cluster, &places)?);
    outputs(&run, !files.is_empty(), cluster)?;
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

/// What decides whether load goes on, and where the run is kept.
fn asked_by_coordinator(run: &RunArgs) -> Result<BTreeSet<(String, u16)>> {
    let store = match &run.keep.store.store {
        Some(Location::Server(url)) => Some(("--store", url)),
        Some(Location::File(_)) | None => None,
    };
    let kill_url = run.target.guards.kill_url.as_ref().map(|url| ("--kill-url", url));
    let mut places = BTreeSet::new();
    for (flag, url) in kill_url.into_iter().chain(store) {
        let origin = Url::parse(url).with_context(|| format!("{flag}: no URL"))?.origin;
        // A database is asked where it is.
        let own = match flag {
            "--store" => BTreeSet::from([(origin.host, origin.port)]),
            _ => run::destinations(run, [&origin])?,
        };
        if own.iter().any(is_unknown) {
            output::note(format_args!(
                "note: {flag} is taken from the environment, so the policy of the coordinator does not let it through: add a rule \
                 to its NetworkPolicy"
            ));
            continue;
        }
        places.extend(own);
    }
    Ok(places)
}

/// What can be refused before the plan is read. Gives the number of agents.
fn check(args: &RenderArgs) -> Result<u32> {
    let of_bus = &args.run.agents.bus;
    let count = match args.run.agents.agents {
        Some(Agents::Anywhere(count)) => count,
        Some(Agents::Local(_)) => {
            refuse!(
                ["agents"],
                "--agents local:N are processes of one machine: say how many pods, such as --agents 20"
            )
        }
        None => bail!("--agents is not given"),
    };
    if of_bus.nkey.is_some() || args.run.agents.nats_server.is_some() {
        refuse!(
            ["nkey"],
            "--nkey and --nats-server are files of this machine: pods have their keys from Secrets (--secret NAME), and their bus from --nats-image"
        );
    }
    if args.run.agents.agents_resume {
        refuse!(
            ["agents-resume"],
            "--agents-resume needs the clock of the machine on which the coordinator has died, and a pod may come back on another one: leave it out"
        );
    }
    if args.run.agents.agents_stay {
        refuse!(
            ["agents-stay"],
            "--agents-stay would let pods of a Job wait for a run that never comes: leave it out, and give each run a Job"
        );
    }
    if of_bus.bus.is_some() && args.cluster.secret.is_none() {
        refuse!(
            ["bus", "secret"],
            "--bus names a bus that knows its users already: say with --secret NAME which Secrets have their keys (unblink k8s keys makes them)"
        );
    }
    if of_bus.bus_ca.is_some() && of_bus.bus.is_none() {
        refuse!(["bus-ca"], "--bus-ca is for a bus that is named with --bus: leave it out");
    }
    if args.cluster.bus_storage.is_some() && of_bus.bus.is_some() {
        refuse!(
            ["bus-storage"],
            "--bus-storage is for the run's own bus, and --bus names another one: leave it out"
        );
    }
    if let Some(within) = args.run.agents.agents_within
        && args.cluster.calibrate
        && within < CALIBRATED_WITHIN
    {
        refuse!(
            ["calibrate", "agents-within"],
            "--calibrate has each pod measure itself before it joins, which takes ten seconds and more on a busy machine: wait with --agents-within 60s or longer, or leave one of them out"
        );
    }
    let shares = count * args.cluster.cpu;
    if shares > SHARES_MAX {
        refuse!(
            ["agents", "cpu"],
            "--agents {count} with --cpu {} have {shares} shares together, and a load has at most {SHARES_MAX}: lower one of them",
            args.cluster.cpu
        );
    }
    guard::check_only(&args.cluster.allow_target)?;
    Ok(count)
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

/// The coordinator writes beneath one folder alone: all else of its container is read-only. It works there, unless it reads `files`.
fn outputs(run: &RunArgs, reads_files: bool, cluster: &ClusterArgs) -> Result<()> {
    let store = match &run.keep.store.store {
        Some(Location::File(path)) => Some(("--store", path.as_path())),
        Some(Location::Server(_)) | None => None,
    };
    for (flag, path) in run.exports.places().chain(store) {
        if !path.starts_with(RUNS) && (path.is_absolute() || reads_files) {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            return Err(refused(
                &[flag.trim_start_matches('-')],
                format!("{flag} {path:?}: a pod writes beneath {RUNS} alone: write {flag} {RUNS}/{name}"),
            ));
        }
    }
    kill_file(run, reads_files, cluster)
}

/// A file that nobody can make where it is looked for stops no load. The image has no shell, and unblink writes files, too: whatever
/// stands in this one, that it is there counts.
fn kill_file(run: &RunArgs, reads_files: bool, cluster: &ClusterArgs) -> Result<()> {
    let Some(path) = &run.target.guards.kill_file else { return Ok(()) };
    if path.starts_with(RUNS) || (path.is_relative() && !reads_files) {
        return Ok(());
    }
    let namespace = cluster.namespace.as_ref().map_or(String::new(), |name| format!("-n {name} "));
    let job = object::run_name(&cluster.name);
    refuse!(
        ["kill-file"],
        "--kill-file {path:?}: a pod's files are read-only but beneath {RUNS}, so nobody could make it: write --kill-file {RUNS}/stop.toml, which kubectl {namespace}exec job/{job} -- unblink init {RUNS}/stop.toml makes (touch, in an image that has one), or use --kill-url"
    )
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

/// All or part of a host is taken from the environment: `${TARGET}`, or `http://api.${DOMAIN}`.
fn is_unknown((host, _): &(String, u16)) -> bool {
    host.contains(UNKNOWN_VARIABLE)
}

/// Hosts that agents may put load on.
fn allowed(cluster: &ClusterArgs, places: &BTreeSet<(String, u16)>) -> Result<Vec<String>> {
    if !cluster.allow_target.is_empty() {
        return Ok(cluster.allow_target.clone());
    }
    if places.iter().any(is_unknown) {
        return Err(refused(
            &["allow-target"],
            "the plan takes its target, or a part of it, from the environment, so nobody knows here where load may go: name the host with --allow-target",
        ));
    }
    let hosts: BTreeSet<&String> = places.iter().map(|(host, _)| host).collect();
    if let Some(host) = hosts.iter().find(|host| guard::is_public_address(host)) {
        return Err(refused(
            &["allow-target"],
            format!(
                "{host} is a public address, and agents put no load on one that is not named: --allow-target {host} says that it is yours to test"
            ),
        ));
    }
    Ok(hosts.into_iter().cloned().collect())
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
    use crate::request::url::UNKNOWN_ADDRESS;

    #[test]
    fn variables_of_a_plan() {
        assert_eq!(variables("a = \"${X} ${Y_2} ${X}\" # $${Z} ${a b} ${}"), ["X", "Y_2"]);
    }

    #[test]
    fn a_host_is_unknown_by_what_stands_in_for_a_variable_alone() {
        let is_unknown_in = |url: &str| {
            let origin = Url::parse(url).expect("a URL").origin;
            is_unknown(&(origin.host, origin.port))
        };
        let part = format!("http://api.{UNKNOWN_VARIABLE}:8080/");
        assert!(is_unknown_in(UNKNOWN_ADDRESS) && is_unknown_in(&part));
        assert!(!is_unknown_in("http://variable.example.com/") && !is_unknown_in("http://h/variable~"));
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

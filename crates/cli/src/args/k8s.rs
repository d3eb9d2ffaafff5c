//! `unblink k8s`: its flags.

use super::agents::{pods, unoffered};
use super::run::RunArgs;
use clap::{Args, Subcommand};

/// How a cluster calls its objects: with what each adds behind it, this stays a DNS label.
const NAME_BYTES_MAX: usize = 40;

#[derive(Subcommand, Debug)]
pub(crate) enum K8sCommand {
    /// Print the objects that run a plan on a cluster
    Render(Box<RenderArgs>),
    /// Print the key pairs of a bus as two Secrets
    Keys(KeysArgs),
}

const RENDER_HELP: &str = "\
EXAMPLES
  unblink k8s render plan.toml --agents 20 | kubectl apply -f -
  unblink k8s render plan.toml -R 200k --agents 20 --cpu 4 --name evening --namespace load
  unblink k8s render plan.toml --agents 20 --secret shop -o deploy      (kubectl apply -k deploy)
  unblink k8s render plan.toml --agents 20 --bus tls://nats.infra:4222 --secret shop

EXIT STATUS
  0 printed or written   2 wrong usage, or no such run can be led";

/// Print what runs a plan on Kubernetes: a Job of agents, a Job of their coordinator, a bus, Secrets and policies.
///
/// Takes the flags of unblink run, and checks the plan as unblink run --agents does. Nothing is sent, and no cluster is asked. The result
/// stands in the log of the coordinator's pod: kubectl logs -f job/unblink-run.
#[derive(Args, Debug)]
#[command(
    after_help = RENDER_HELP,
    // What stands behind -- is for a script, and does not travel: a plan has it.
    override_usage = "unblink k8s render [OPTIONS] --agents <N> [URL|PLAN]...",
    mut_arg("output", |arg| arg.help(
        "Write a file for each object, and a kustomization.yaml, into this folder instead")),
    mut_arg("agents", |arg| arg.required(true).value_name("N").value_parser(pods).help("Let this many pods offer the load together")),
    mut_arg("bus", |arg| arg.help("Use this NATS server instead of one of the run's own; needs --secret")),
    mut_arg("max_rate", |arg| arg.help(
        "Refuse to start a run with a higher rate than this; each agent refuses more than its part of it")),
    mut_arg("fleet", |arg| arg.help("Meet those of this fleet alone [default: as --name]")),
    mut_arg("agents_within", |arg| arg.help("Wait this long for the pods, once the bus is there [default: 10m]")),
    mut_arg("bus_within", |arg| arg.help("Keep trying to reach the bus for this long [default: 5m]")),
    mut_arg("share", unoffered),
    mut_arg("start_at", unoffered),
    mut_arg("agents_stay", unoffered),
    mut_arg("agents_resume", unoffered),
    mut_arg("nats_server", unoffered),
    mut_arg("nkey", unoffered),
)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// What a cluster is to know beside the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Kubernetes")]
pub(crate) struct ClusterArgs {
    /// What all objects are called; each run needs a name of its own
    #[arg(long, value_name = "NAME", default_value = "unblink", value_parser = name)]
    pub name: String,

    /// Where they are [default: where kubectl puts them]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    pub namespace: Option<String>,

    /// Print the namespace as well; deleting the output then deletes everything in the namespace
    #[arg(long, requires = "namespace")]
    pub create_namespace: bool,

    /// Image whose entry point is unblink
    #[arg(long, value_name = "IMAGE", default_value = "unblink", value_parser = image)]
    pub image: String,

    /// Image of the bus
    #[arg(long, value_name = "IMAGE", default_value = "nats:2.15.2-alpine", value_parser = image)]
    pub nats_image: String,

    /// Keep what the bus holds on a PersistentVolumeClaim of this size, so that it outlives the bus's pod [default: it goes with the pod, and agents send it again]
    #[arg(long, value_name = "SIZE", value_parser = storage)]
    pub bus_storage: Option<String>,

    /// Processors of each agent; it takes a share of the load on each
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = processors)]
    pub cpu: u32,

    /// Memory of each agent, and of the coordinator
    #[arg(long, value_name = "SIZE", default_value = "512Mi", value_parser = memory)]
    pub memory: String,

    /// Let each agent measure its pod before it joins, for about ten seconds, and refuse more than that carries
    #[arg(long)]
    pub calibrate: bool,

    /// Agents only put load on these hosts; may be given several times. A public host must be named here [default: the hosts of the run]
    #[arg(long, value_name = "HOST")]
    pub allow_target: Vec<String>,

    /// Use the key pairs in the Secrets NAME-operator and NAME-agent (unblink k8s keys) instead of new ones
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub secret: Option<String>,

    /// Fill ${X} of the plan in from this Secret
    #[arg(long, value_name = "NAME", value_parser = object)]
    pub env_secret: Option<String>,

    /// Keep run folders and history on this PersistentVolumeClaim
    #[arg(long, value_name = "NAME", value_parser = object)]
    pub claim: Option<String>,
}

const KEYS_HELP: &str = "\
EXAMPLES
  unblink k8s keys --name shop | kubectl apply -f -

EXIT STATUS
  0 printed   2 wrong usage";

/// Print two new key pairs as the Secrets NAME-operator and NAME-agent, which unblink k8s render --secret NAME names.
#[derive(Args, Debug)]
#[command(after_help = KEYS_HELP)]
pub(crate) struct KeysArgs {
    /// What the Secrets begin with
    #[arg(long, value_name = "NAME", default_value = "unblink", value_parser = name)]
    pub name: String,

    /// Where they are [default: where kubectl puts them]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    pub namespace: Option<String>,
}

/// RFC 1123, and short enough for what stands behind it.
fn name(text: &str) -> Result<String, String> {
    let is_label = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-');
    match is_label && text.len() <= NAME_BYTES_MAX {
        true => Ok(text.to_string()),
        false => Err(format!(
            "{text:?} can't be a name: small letters, digits and - are allowed, a letter first, {NAME_BYTES_MAX} at most"
        )),
    }
}

fn namespace(text: &str) -> Result<String, String> {
    match object(text).is_ok() && !text.contains('.') && text.len() <= 63 {
        true => Ok(text.to_string()),
        false => {
            Err(format!("{text:?} can't be a namespace: small letters, digits and - are allowed, 63 at most"))
        }
    }
}

/// The name of something that is there already.
fn object(text: &str) -> Result<String, String> {
    let is_edge = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    let is_name = bytes.iter().all(|b| is_edge(b) || b"-.".contains(b))
        && bytes.first().is_some_and(is_edge)
        && bytes.last().is_some_and(is_edge);
    match is_name && text.len() <= 253 {
        true => Ok(text.to_string()),
        false => Err(format!(
            "{text:?} can't be the name of an object: small letters, digits, - and . are allowed"
        )),
    }
}

fn image(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/:@".contains(&b)) {
        true => Ok(text.to_string()),
        false => Err(format!("{text:?} is not an image: give one such as registry.test/unblink:1")),
    }
}

fn processors(text: &str) -> Result<u32, String> {
    let whole = text.parse().ok().filter(|count| (1..=256).contains(count));
    whole.ok_or_else(|| "give a whole number of processors from 1 to 256".into())
}

fn memory(text: &str) -> Result<String, String> {
    match is_size(text) {
        true => Ok(text.to_string()),
        false => Err(format!("{text:?} is not a memory size: give one such as 512Mi or 2Gi")),
    }
}

fn storage(text: &str) -> Result<String, String> {
    match is_size(text) {
        true => Ok(text.to_string()),
        false => Err(format!("{text:?} is not the size of a disk: give one such as 2Gi")),
    }
}

/// A quantity of Kubernetes in bytes.
fn is_size(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    (1..=6).contains(&number.len()) && !number.starts_with('0') && ["Mi", "Gi", "M", "G"].contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes() {
        assert!(["a", "shop-2", "unblink"].iter().all(|text| name(text).is_ok()));
        let long = "a".repeat(41);
        for bad in ["", "-a", "a-", "2a", "A", "a.b", "a b", &long] {
            assert!(name(bad).is_err(), "{bad}");
        }
        assert!(
            object("a.b-2").is_ok() && ["", ".a", "a.", "A", "a b"].iter().all(|text| object(text).is_err())
        );
        assert!(["512Mi", "2Gi", "900M"].iter().all(|text| memory(text).is_ok()));
        for bad in ["", "512", "0Mi", "Mi", "1.5Gi", "1Ki", "-1Gi", "1234567Mi", "1gi"] {
            assert!(memory(bad).is_err() && storage(bad).is_err(), "{bad}");
        }
        assert!(
            image("registry.test:5000/a/unblink@sha256:ab").is_ok()
                && image("a b").is_err()
                && image("").is_err()
        );
    }
}

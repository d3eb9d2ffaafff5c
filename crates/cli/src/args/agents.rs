//! `unblink agent`, and the flags of a run that agents offer.

use crate::value;
use clap::{Arg, Args};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// Agents and coordinators meet here unless told otherwise.
const FLEET: &str = "default";

/// A run that agents offer.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Many machines")]
pub(crate) struct AgentsArgs {
    /// Let this many agents (unblink agent) on the bus offer the load together; local:N starts N of them here, and a bus
    #[arg(long, value_name = "N|local:N")]
    pub agents: Option<Agents>,

    /// Wait this long for them, once the bus is there [default: 60s]
    #[arg(long, value_name = "TIME", requires = "agents", value_parser = value::duration)]
    pub agents_within: Option<Nanos>,

    /// Where up to COUNT agents are lost, say of each percentile between which values it lies whatever came of their arrivals, instead
    /// of calling the run invalid
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub tolerate_lost: Option<u32>,

    #[command(flatten)]
    pub bus: BusArgs,

    /// Let the agents wait for another run when this one is over
    #[arg(long, requires = "agents", help_heading = "Many machines")]
    pub agents_stay: bool,

    /// Go on with the run into the same folder (-o) whose coordinator has died, if there is one
    #[arg(long, requires = "agents", help_heading = "Many machines")]
    pub agents_resume: bool,

    /// What this is a part of, if it is one.
    #[arg(skip)]
    pub series: Option<Series>,

    /// For local:N: the nats-server to start [default: the one in PATH, or in target/tools]
    #[arg(long, value_name = "FILE", requires = "agents", help_heading = "Many machines")]
    pub nats_server: Option<PathBuf>,
}

/// The part that a run or a search is of a command: all of them have the same agents.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// A name that no other command has.
    pub command: String,
    /// So many runs were before this part.
    pub before: u32,
    /// There are parts after this one.
    pub goes_on: bool,
    /// What has been fetched of the part before.
    pub fetched: Fetched,
}

/// Whose record of the last run of a command, which had that name, has been fetched. The parts of a command know it of each other.
pub(crate) type Fetched = Arc<Mutex<BTreeMap<String, String>>>;

impl AgentsArgs {
    /// The flags that say the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let BusArgs { bus, nkey, bus_ca, fleet, bus_within } = &self.bus;
        let time = |time: Nanos| format!("{}ns", time.0);
        let path = |path: &PathBuf| path.display().to_string();
        let values = [
            ("agents", self.agents.map(|agents| agents.to_string())),
            ("bus", bus.clone()),
            ("nkey", nkey.as_ref().map(path)),
            ("bus-ca", bus_ca.as_ref().map(path)),
            ("fleet", fleet.clone()),
            ("bus-within", bus_within.map(time)),
            ("agents-within", self.agents_within.map(time)),
            ("tolerate-lost", self.tolerate_lost.map(|count| count.to_string())),
            ("nats-server", self.nats_server.as_ref().map(path)),
        ];
        // Two words each: a URL that stands alone is seen to be one.
        let words = values.into_iter().filter_map(|(flag, value)| Some([format!("--{flag}"), value?]));
        words.flatten().chain(self.agents_stay.then(|| "--agents-stay".to_string())).collect()
    }

    /// All of them are processes of this machine.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.agents, Some(Agents::Local(_)))
    }
}

/// In a command that shares these flags and always refuses this one, its help does not offer it. Whoever gives it all the same is told
/// why not, which clap could not say.
pub(crate) fn unoffered(arg: Arg) -> Arg {
    arg.hide(true)
}

/// How many agents, and where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Agents {
    /// Processes of this machine.
    Local(u32),
    /// Whoever is on the bus.
    Anywhere(u32),
}

impl fmt::Display for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Agents::Local(count) => write!(f, "local:{count}"),
            Agents::Anywhere(count) => write!(f, "{count}"),
        }
    }
}

impl FromStr for Agents {
    type Err = String;

    fn from_str(text: &str) -> Result<Agents, String> {
        let (number, is_local) = match text.strip_prefix("local:") {
            Some(number) => (number, true),
            None => (text, false),
        };
        let wrong = format!("{text:?} is not a number of agents from 1 to 1024, such as 20, or local:4");
        match number.parse() {
            Ok(count @ 1..=1024) if is_local => Ok(Agents::Local(count)),
            Ok(count @ 1..=1024) => Ok(Agents::Anywhere(count)),
            _ => Err(wrong),
        }
    }
}

/// How many pods: those of `local:N` are refused later, with what they are.
pub(crate) fn pods(text: &str) -> Result<Agents, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number of pods from 1 to 1024, such as 20"))
}

/// How to get onto the bus.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Bus")]
pub(crate) struct BusArgs {
    /// The NATS server that all are connected to, such as tls://nats:4222
    #[arg(long, value_name = "URL")]
    pub bus: Option<String>,

    /// File with the private nkey of this user of the bus; the operator's also signs what agents are told
    #[arg(long, value_name = "FILE")]
    pub nkey: Option<PathBuf>,

    /// The certificate of the bus, or of its authority [default: what the system trusts]
    #[arg(long, value_name = "FILE")]
    pub bus_ca: Option<PathBuf>,

    /// Meet those of this fleet alone [default: default]
    #[arg(long, value_name = "NAME")]
    pub fleet: Option<String>,

    /// Try to reach the bus for so long [default: once]
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub bus_within: Option<Nanos>,
}

impl BusArgs {
    pub(crate) fn fleet(&self) -> String {
        self.fleet.clone().unwrap_or_else(|| FLEET.to_string())
    }
}

const AGENT_HELP: &str = "\
EXAMPLES
  unblink agent --bus tls://nats:4222 --nkey agent.nk --accept-from UA… --allow-target shop.test
  unblink agent --bus nats://10.0.0.5:4222 --accept-from UA… --shares 8 --max-rate 200k

EXIT STATUS
  0 it took part, and its record was fetched   1 the target did not answer as expected before the run
  2 wrong usage, or no bus   3 it took no part, was left alone, or could not measure   130 interrupted";

/// Wait on the bus for a run, take part in it, and leave.
///
/// An agent only does what is signed by one of the keys of --accept-from. Without a word of the coordinator its load ends within
/// 5 s. It fills ${X} of a plan in from its own environment.
#[derive(Args, Clone, Debug)]
#[command(after_help = AGENT_HELP)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub bus: BusArgs,

    /// Only do what the holder of this public nkey (U…) signs; may be given several times
    #[arg(long, value_name = "NKEY", required = true, value_parser = public_key, help_heading = "Limits")]
    pub accept_from: Vec<String>,

    /// Only put load on these hosts, such as shop.test or *.shop.test; may be given several times [default: as on this machine]
    #[arg(long, value_name = "HOST", help_heading = "Limits")]
    pub allow_target: Vec<String>,

    /// Refuse a share with a higher rate than this
    #[arg(long, value_name = "RATE", value_parser = value::rate, help_heading = "Limits")]
    pub max_rate: Option<Rate>,

    /// Take this many shares of a load, each with a thread of its own [default: one per core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Limits")]
    pub shares: Option<u32>,

    /// Run the scripts of plans, which are programs
    ///
    /// A script (--script) can read files and start other programs, as the user of this agent.
    #[arg(long, help_heading = "Limits")]
    pub allow_scripts: bool,

    /// Refuse more than this machine was measured to carry
    #[arg(long, value_name = "FILE", help_heading = "Limits")]
    pub constants: Option<PathBuf>,

    /// Measure that now, as unblink size --calibrate does
    ///
    /// It takes about ten seconds, before the agent joins.
    #[arg(long, help_heading = "Limits", conflicts_with = "constants")]
    pub calibrate: bool,

    /// Read the files of plans where they are, instead of fetching them: for an agent on the coordinator's own machine, which
    /// leaves when its standard input ends
    #[arg(long, hide = true)]
    pub in_place: bool,

    /// Folder for its own record, or DIR-2 and so on [default: unblink-runs/<time>]
    ///
    /// That of the next run is DIR-2, and so on.
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Say nothing but errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

fn public_key(text: &str) -> Result<String, String> {
    let is_key = text.len() == 56
        && text.starts_with('U')
        && text.chars().all(|c| c.is_ascii_uppercase() || ('2'..='7').contains(&c));
    match is_key {
        true => Ok(text.to_string()),
        false if text.starts_with('S') => Err(
            "this looks like a private nkey, which nobody else may know: make a new one, and give its public key, which begins with U".into(),
        ),
        false => Err(format!("{text:?} is not the public nkey of a user, 56 letters and digits that begin with U")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_here_and_elsewhere() {
        assert_eq!("20".parse(), Ok(Agents::Anywhere(20)));
        assert_eq!("local:4".parse(), Ok(Agents::Local(4)));
        assert_eq!(
            [Agents::Anywhere(20), Agents::Local(4)].map(|agents| agents.to_string()),
            ["20", "local:4"]
        );
        for bad in ["", "0", "local:", "local:0", "local", "-1", "1025", "local:1025", "four"] {
            assert!(bad.parse::<Agents>().unwrap_err().contains("number of agents"), "{bad}");
        }
        assert_eq!(pods("20"), Ok(Agents::Anywhere(20)));
        assert!(pods("0").is_err_and(|why| why.contains("number of pods") && !why.contains("local")));
    }

    #[test]
    fn a_private_key_is_no_public_one() {
        assert!(public_key("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY").is_err());
        assert!(public_key("UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4").is_ok());
        assert!(public_key("").is_err());
    }
}

//! `unblink sim` and `unblink explain`: their flags.

use super::Exports;
use super::history::KeepArgs;
use super::journeys::JourneyArgs;
use super::load::LoadArgs;
use super::metric_rule::{self, StopRule};
use super::objectives::SloArgs;
use super::script::ScriptArgs;
use super::steady::PrecisionArgs;
use crate::errors::{refused, refused_value};
use crate::journey::Journey;
use crate::request::Request;
use crate::request::share::OrderArg;
use crate::request::version::HttpArg;
use crate::request::workload::WorkloadArgs;
use crate::value;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use unblink_analysis::slo::AbortRule;

pub(crate) const HELP: &str = "\
EXAMPLES
  unblink sim -R 1000 -d 60s --scenario stall
  unblink sim plan.toml --scenario stall --slo 'p99 < 200ms'
  unblink sim plan.toml --server 'slots=8 service=2ms' --service 'checkout=exp(20ms)'
  unblink sim shop.toml --scenario stall --answer 'buy: paid=holds(3)' --answer 'buy: login=redirects(1)'
  unblink sim -R 1000 -d 60s --scenario stall --client wrk
  unblink sim -R 450 -d 30s --server 'slots=1 service=1ms pause=200ms/500'
  unblink sim -R 500 -d 1h --arrivals poisson --server 'slots=1 service=exp(1ms)'
  unblink sim -R 800 -d 60s --server 'slots=10 service=10ms pause=1s@20s' --client 'retry patience=500ms'

SCENARIOS (made for 60 s at 1,000/s)
  healthy      service=10ms
  stall        service=10ms pause=1s@30s
  ramp         service=ramp(10ms,100ms,20s,50s)
  pauses       service=10ms pause=200ms@9.5s/10s*6
  saturation   slots=5 service=10ms
  one-server   slots=1 service=1ms pause=200ms/500 (for 30 s at 450/s)

SERVER
  slots=N queue=N      N are served at once and the others wait; with N already waiting, the next is answered 503
  limit=50/s           a token bucket: requests above this rate are answered 429; 50/s+20 allows bursts of 20
  service=TIME         also exp(MEAN) lognormal(MEDIAN,SIGMA) pareto(LEAST,ALPHA) values(1ms:90,5ms:10)
                       ramp(FROM,TO,BEGIN,END)
  events=20 gap=TIME   an answer comes in 20 events, the first after the service time; gaps as for service
  pause=200ms/500      every 500th request takes this long instead
  pause=1s@30s         no answers for 1 s, starting at 30 s; @9.5s/10s: every 10 s; @9.5s/10s*6: six times
  pause=500ms~20s      the same at random times, 20 s apart on average
  slow=100ms/100       one request in 100, at random, takes this long instead
  order=connection     one request of a connection at a time, in their order: --http 2 --streams 8 is then --depth 8
  crowd=2x@200         twice as slow while it holds more than 200 requests; 2x@200~5s: until it was empty for 5 s
  error=1/N reset=1/N refuse=1/N     one request in N, at random, is answered 500, reset, or refused
  down=5s@20s accept-stall=1s@30s    resets and refuses everything; new connections wait for the kernel's next try

ANSWERS to a step of a journey
  --answer NAME=holds(3)         the third answer is what its `until` waits for; without it, the first
  --answer NAME=holds(exp(5s))   an answer that leaves the server so long after the step was to start; times as for service
  --answer NAME=redirects(1)     each of its requests is redirected once (302); without it, none

CLIENTS
  ideal                the dispatcher of `unblink run` (default)
  wrk                  10 users who wait, and values made up afterwards (wrk's stats_correct)
  wrk2                 50 connections with a schedule each; one that is late catches up at twice its rate; the first
                       10 s are left out
  k6                   50 virtual users; requests due while all are busy are dropped
  ycsb                 50 threads with a schedule each, timed from the send; ycsb-intended: from the schedule
  cassandra-stress     one schedule shared by 50 threads (its fixed=); with clock=sent: its throttle=
  retry                users who give up after patience=1s and try again: attempts=3 back-off=100ms budget=PERCENT
  herd                 users who fail wait until another is answered, then all retry: attempts=100 probe=1s
  Single choices, alone or after a name to change it:
  schedule=static|static-local|dynamic|dynamic-local   late=queue|shift|drop   clock=intended|sent
  correct=none|expected-interval[:TIME]|backfill   connections=auto|N   closed=N   burst=N
  catch-up=N   discard=TIME

NETWORK, GENERATOR
  --network 'latency=1ms jitter=200us'     --generator 'pause=5ms@1s/1s cpu=10us'

EXIT STATUS
  0 every objective is met, or there are none and the run is valid or degraded
  1 an objective is missed, or a rule of --abort-on stopped the run
  2 wrong usage   3 an objective is inconclusive, or there are none and the run is invalid";

/// Simulate a load in virtual time against a server that you describe, and report it like a real run. Nothing is sent:
/// the dispatcher and the recorder are those of a real run, but server, network and clock are simulated.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct SimArgs {
    /// A plan: a file that ends in .toml, .yaml or .yml. Its fields act like flags. Of its requests and journeys,
    /// names, methods, addresses, shares and values count, its script is run, and each origin is a server of its own; what only a
    /// real target takes is ignored
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,

    #[command(flatten)]
    pub world: WorldArgs,

    /// The load generator to simulate: a name, single choices, or both
    #[arg(long, value_name = "WORDS", default_value = "ideal", help_heading = "World")]
    pub client: String,

    /// Version of HTTP: with 2, a simulated connection takes several requests at once; with auto, one, as in 1.1
    #[arg(long, value_enum, value_name = "VERSION", default_value_t = HttpArg::One, help_heading = "Connections")]
    pub http: HttpArg,

    /// Requests at once on a connection of HTTP/2 [default: 100]
    #[arg(long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::streams)]
    pub streams: Option<u32>,

    #[command(flatten)]
    pub services: ServiceArgs,

    #[command(flatten)]
    pub script: ScriptArgs,

    /// What the script of a plan may change
    #[arg(skip)]
    pub scripted: Option<Request>,

    /// Which request of the plan comes when [default: shuffled where requests have shares, turn where they have none]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Request")]
    pub order: Option<OrderArg>,

    #[command(flatten)]
    pub load: LoadArgs,

    #[command(flatten)]
    pub under_way: JourneyArgs,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// What a plan requests; beside its journeys what stands alone
    #[arg(skip)]
    pub requests: Vec<Request>,

    /// The journeys of a plan
    #[arg(skip)]
    pub journeys: Vec<Journey>,

    #[command(flatten)]
    pub precision: PrecisionArgs,

    #[command(flatten)]
    pub objectives: SloArgs,

    /// Stop the run when this rule holds, such as 'p99 > 2s for 5s'; may be given several times
    #[arg(long, value_name = "RULE", help_heading = "Objectives", value_parser = metric_rule::stop_rule)]
    pub abort_on: Vec<StopRule>,

    /// Folder for the record and the report [default: unblink-runs/<time>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub exports: Exports,

    #[command(flatten)]
    pub keep: KeepArgs,
}

impl SimArgs {
    /// What may end the load. A simulated service has no metrics of its own.
    pub(crate) fn rules(&self) -> Result<Vec<AbortRule>> {
        let of_figure = |(number, rule): (usize, &StopRule)| match rule {
            StopRule::Figure(rule) => Ok(rule.clone()),
            StopRule::Metric(rule) => {
                let text = rule.to_string();
                let why = "a simulated server has no metrics of its own: leave prom(…) out, or give a rule on what is measured";
                Err(refused_value("abort-on", number, format!("--abort-on {text:?}: {why}")))
            }
        };
        self.abort_on.iter().enumerate().map(of_figure).collect()
    }
}

/// What is said of single requests.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServiceArgs {
    /// The service time of one request of the plan, by its name, instead of the server's; may be given several times
    #[arg(long, value_name = "NAME=TIME", help_heading = "World")]
    pub service: Vec<String>,

    /// What the answers to one step of a journey say, by its name: holds(3), holds(exp(5s)) or redirects(1); may be given several
    /// times
    #[arg(long, value_name = "NAME=WHAT", help_heading = "World")]
    pub answer: Vec<String>,
}

impl ServiceArgs {
    /// A flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [("service", &self.service), ("answer", &self.answer)];
        all.into_iter().find(|(_, values)| !values.is_empty()).map(|(flag, _)| flag)
    }

    /// Refuses what is about a simulated server, where there is none.
    pub(crate) fn refuse_without_server(&self) -> Result<()> {
        match self.given() {
            None => Ok(()),
            Some(flag) => Err(refused(
                &[flag],
                format!("--{flag} is about a simulated server: add --server in words, or leave it out"),
            )),
        }
    }
}

/// Server, network and generator.
#[derive(Args, serde::Serialize, Clone, Debug)]
pub(crate) struct WorldArgs {
    /// What the simulated server does, as words
    #[arg(long, value_name = "WORDS", help_heading = "World")]
    pub server: Option<String>,

    /// Simulate this scenario of the lab
    #[arg(long, value_name = "NAME", help_heading = "World", conflicts_with = "server",
          value_parser = clap::builder::PossibleValuesParser::new(crate::scenario::names()))]
    pub scenario: Option<String>,

    /// The simulated network's delay, as words [default: none]
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true, help_heading = "World")]
    pub network: String,

    /// The load generator's own pauses and CPU time, as words [default: none]
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true, help_heading = "World")]
    pub generator: String,
}

const EXPLAIN_HELP: &str = "\
EXAMPLES
  unblink explain
  unblink explain --scenario one-server
  unblink explain --server 'service=exp(5ms) pause=2s@20s' -R 500 -d 60s -o lesson

For the scenarios and the words of --server see `unblink sim --help`.

EXIT STATUS
  0 shown   2 wrong usage";

/// Simulate one server under many load tools, and show what each of them reports next to what users feel.
#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_HELP)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub world: WorldArgs,

    #[command(flatten)]
    pub load: LoadArgs,

    /// Write explain.html and explain.svg into this folder
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Print everything as one JSON object instead of the text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

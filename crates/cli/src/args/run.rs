//! `unblink run`: its flags.

use super::Exports;
use super::agents::AgentsArgs;
use super::cross_check::CrossCheckArgs;
use super::history::KeepArgs;
use super::journeys::JourneyArgs;
use super::load::LoadArgs;
use super::metric_rule::{self, MetricRule, StopRule};
use super::objectives::SloArgs;
use super::share::{ShareArgs, ShareOf};
use super::steady::PrecisionArgs;
use super::target::TargetArgs;
use crate::journey::{self, Journey};
use crate::request::Request;
use crate::request::line::LineArgs;
use crate::request::url::Speaks;
use crate::request::version::Version;
use crate::setup::SetupRequest;
use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_analysis::slo::AbortRule;

/// Requests of each kind of failure that a run keeps, at the most.
const KEPT_FAILURES_MAX: u32 = 20;

const HELP: &str = "\
EXAMPLES
  unblink run http://127.0.0.1:8080/ -R 1000 -d 60s
  unblink run https://api.test/ -R 100..5000 -d 5m --arrivals poisson
  unblink run http://[::1]:8080/ -R 30/m -n 20
  unblink run http://127.0.0.1:8080/ --closed 10 -d 30s
  unblink run --targets targets.txt -R 500 -c 64 -t 2
  unblink run http://127.0.0.1:8080/ -R 1000 --request '80% /a' --request '20% POST /b @body'
  unblink run https://staging.test --replay hour.trace --speed 2        (see unblink import)
  unblink run plan.toml -R 2000                    (see unblink init, unblink plan)
  unblink run http://127.0.0.1:8080/ -R 1000 --slo 'p99 < 200ms' --slo 'errors < 0.1%'

VALUES
  rates      5000   5k   50/s   30/m   3/10s   100..5000 (ramp)   100,200,400 (equal steps)
  times      500us   200ms   30s   5m   1h30m   30 (seconds)
  -c         auto (opens what is needed, up to a limit)   auto:5000   64 (fixed)
  --expect   status=200,404   status=2xx   size=512   size=100..900   contains=TEXT   'regex PATTERN'
             'header NAME'   'header NAME = VALUE'   'json $.id exists'   'json $.n > 5'
  --slo      p99 < 200ms   p99.9 <= 1s   mean < 50ms   max < 2s   errors < 0.1%   achieved >= 99.9%
             p99 < 200ms in 95% of 10s   GET /cart: p99 < 200ms
  --abort-on p99 > 2s for 5s   errors > 50% for 10s   prom(process_open_fds) > 900 for 10s

EXIT STATUS
  0 every objective is met, or there are none and the run is valid or degraded
  1 an objective is missed, --abort-on stopped the run, or the check before it failed
  2 wrong usage, or as 0 but the report or an export could not be written: stderr says where the record is
  3 an objective is inconclusive, a guard stopped the run, or there is no objective and it is invalid   130 interrupted";

/// The schedule fixes beforehand when each request is due. When the target stalls, requests still fall due, and each
/// response is measured from the moment its request should have started.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Where to send requests. Several URLs are requested in turn, or as --order says. A file that ends in .toml, .yaml or .yml is a plan: its fields act like flags, and a URL given with it replaces its
    /// target
    #[arg(value_name = "URL|PLAN")]
    pub urls: Vec<String>,

    /// What `urls` ask for, or a plan
    #[arg(skip)]
    pub requests: Vec<Request>,

    /// The journeys of a plan
    #[arg(skip)]
    pub journeys: Vec<Journey>,

    /// What a plan asks beside the load
    #[arg(skip)]
    pub setup: Vec<SetupRequest>,

    /// What the command line and its plan say, in their own words
    #[arg(skip)]
    pub said: Option<Said>,

    /// Request the targets in this file, in turn unless --order says otherwise; the format is vegeta's (`-` reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "lines"], help_heading = "Request")]
    pub targets: Option<PathBuf>,

    #[command(flatten)]
    pub load: LoadArgs,

    #[command(flatten)]
    pub under_way: JourneyArgs,

    /// Also watch this process on this machine: its memory, open descriptors and processor time, and how long its cgroup was throttled
    #[arg(long, value_name = "PID", help_heading = "Watch", value_parser = value::positive)]
    pub watch_pid: Option<u32>,

    /// Also watch the size of this file or folder, such as the server's log
    #[arg(long, value_name = "PATH", help_heading = "Watch")]
    pub watch_path: Option<PathBuf>,

    #[command(flatten)]
    pub cross_check: CrossCheckArgs,

    #[command(flatten)]
    pub precision: PrecisionArgs,

    #[command(flatten)]
    pub lines: LineArgs,

    #[command(flatten)]
    pub target: TargetArgs,

    #[command(flatten)]
    pub share: ShareArgs,

    #[command(flatten)]
    pub agents: AgentsArgs,

    #[command(flatten)]
    pub objectives: SloArgs,

    /// Stop the run when this rule holds, such as 'p99 > 2s for 5s', or one on the service's own metrics, such as
    /// 'prom(process_open_fds) > 900 for 10s'; may be given several times
    #[arg(long, value_name = "RULE", help_heading = "Objectives", value_parser = metric_rule::stop_rule)]
    pub abort_on: Vec<StopRule>,

    /// Folder for the record and the report [default: unblink-runs/<time>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Keep this many requests of each kind of failure, with their answers and without their secrets (1 to 20)
    #[arg(long, value_name = "COUNT", help_heading = "Output", allow_hyphen_values = true,
          value_parser = kept_failures)]
    pub keep_failures: Option<u32>,

    /// Where a trace of --traceparent is looked at, such as 'https://traces.test/{trace_id}': the slowest arrivals carry the link
    #[arg(long, value_name = "URL", help_heading = "Output", value_parser = trace_link)]
    pub trace_link: Option<String>,

    #[command(flatten)]
    pub exports: Exports,

    #[command(flatten)]
    pub keep: KeepArgs,

    /// Don't show the live line during the run
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// What a command line and its plan say of a run, so that machines that offer parts of one can tell whether they were told the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub words: String,
    /// The plan, of which all that counts stands in these words.
    pub plan: Option<PathBuf>,
}

impl Said {
    /// The same of one of the runs that this `command` asks for.
    pub(crate) fn of_part(&self, command: &str, part: &serde_json::Value) -> Said {
        let words = serde_json::json!([command, part, self.words]).to_string();
        Said { words, plan: self.plan.clone() }
    }
}

impl RunArgs {
    /// What is measured instead of HTTP, and is not merely to be shown as text.
    pub(crate) fn other_than_http(&self) -> Option<Version> {
        if !self.target.as_text && journey::requests(&self.journeys).any(|one| one.parts.socket.is_some()) {
            return Some(Version::Steps);
        }
        let all = self.requests.iter().chain(journey::requests(&self.journeys));
        let mut origins = all.map(|request| &request.url.origin).filter(|_| !self.target.as_text);
        origins.find_map(|origin| match origin.speaks {
            Speaks::Http => None,
            Speaks::WebSocket => Some(Version::WebSocket),
            Speaks::Grpc => Some(Version::Grpc),
            Speaks::Redis => Some(Version::Redis),
            Speaks::Postgres => Some(Version::Postgres),
            Speaks::Cql => Some(Version::Cql),
        })
    }

    /// Worker threads, if it was said how many: each share has one.
    pub(crate) fn threads(&self) -> Option<u32> {
        self.share.share.map(ShareOf::threads).or(self.target.threads)
    }

    /// Rules on our own figures that stop it.
    pub(crate) fn figure_rules(&self) -> Vec<AbortRule> {
        let of_figure = |rule: &StopRule| match rule {
            StopRule::Figure(rule) => Some(rule.clone()),
            StopRule::Metric(_) => None,
        };
        self.abort_on.iter().filter_map(of_figure).collect()
    }

    /// Rules on the service's own metrics, with their places among all.
    pub(crate) fn metric_rules(&self) -> Vec<(usize, MetricRule)> {
        let of_metric = |(place, rule): (usize, &StopRule)| match rule {
            StopRule::Metric(rule) => Some((place, rule.clone())),
            StopRule::Figure(_) => None,
        };
        self.abort_on.iter().enumerate().filter_map(of_metric).collect()
    }

    /// What is asked beside the requests that stand alone: by steps of journeys and by `[[setup]]`.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Request> {
        journey::requests(&self.journeys).chain(self.setup.iter().map(|one| &one.request))
    }

    /// A run within an experiment: the experiment keeps it, judges it, and says how long it lasts.
    pub(crate) fn of_experiment(
        requests: Vec<Request>,
        load: LoadArgs,
        target: TargetArgs,
        quiet: bool,
    ) -> RunArgs {
        RunArgs {
            urls: Vec::new(),
            requests,
            setup: Vec::new(),
            journeys: Vec::new(),
            said: None,
            targets: None,
            load,
            under_way: JourneyArgs::default(),
            watch_pid: None,
            watch_path: None,
            cross_check: CrossCheckArgs::default(),
            precision: PrecisionArgs::default(),
            lines: LineArgs::default(),
            target,
            share: ShareArgs::default(),
            agents: AgentsArgs::default(),
            objectives: SloArgs::default(),
            abort_on: Vec::new(),
            output: None,
            keep_failures: None,
            trace_link: None,
            exports: Exports::default(),
            keep: KeepArgs::default(),
            quiet,
        }
    }
}

fn kept_failures(text: &str) -> Result<u32, String> {
    let wrong = |why| {
        format!("{why}; expected how many requests to keep of each kind of failure, 1 to {KEPT_FAILURES_MAX}")
    };
    value::at_most(KEPT_FAILURES_MAX, "requests of each kind", text).map_err(wrong)
}

fn trace_link(text: &str) -> Result<String, String> {
    let is_url = text.starts_with("https://") || text.starts_with("http://");
    match is_url && text.contains("{trace_id}") && !text.contains(char::is_whitespace) {
        true => Ok(text.to_string()),
        false => {
            Err(format!("{text:?} is not a link to a trace: write it as https://traces.test/{{trace_id}}"))
        }
    }
}

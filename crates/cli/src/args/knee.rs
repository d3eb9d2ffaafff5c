//! `unblink knee`: its flags.

use super::agents::{AgentsArgs, unoffered};
use super::arrivals::{self, Arrivals};
use super::history::KeepArgs;
use super::journeys::JourneyArgs;
use super::replay::{self, By, Factor, RecordedArgs};
use super::retry::RetryArgs;
use super::run::Said;
use super::sim::{ServiceArgs, WorldArgs};
use super::target::TargetArgs;
use crate::journey::Journey;
use crate::request::Request;
use crate::request::line::LineArgs;
use crate::secrets;
use crate::setup::SetupRequest;
use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_analysis::slo::{Figure, Measure, Slo};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

const USAGE: &str = "unblink knee [OPTIONS] --slo <OBJECTIVE> <URL>...
       unblink knee [OPTIONS] <PLAN>
       unblink knee [OPTIONS] --slo <OBJECTIVE> --server <WORDS>";

const HELP: &str = "\
EXAMPLES
  unblink knee http://127.0.0.1:8080/ --slo 'p99 < 200ms'
  unblink knee http://127.0.0.1:8080/ --slo 'p95 < 50ms' --start 500 --max 20k --then-latency
  unblink knee http://127.0.0.1:8080/ --slo 'p99 < 200ms' --at-least 5000/s        (a check for CI)
  unblink knee http://127.0.0.1:8080/ --slo 'p99 < 200ms' --within 5m --resolution 10%
  unblink knee --resume unblink-knee/2026-01-31T12-00-00Z http://127.0.0.1:8080/ --slo 'p99 < 200ms'
  unblink knee http://127.0.0.1:8080/ --replay hour.trace --measure 1h --slo 'p99 < 200ms'  (3.4 × the recorded hour)
  unblink knee plan.toml                           target, objective and [search] in a file, see unblink init
  unblink knee --server 'slots=1 service=exp(1ms)' --slo 'p99 < 50ms'      (in virtual time, see unblink sim)

A rate is good when the upper end of the percentile's 95 % interval is below the limit, at least 99 % of the requests
due are answered as expected, and the number in flight does not grow. The search doubles the rate until one is not
good, bisects, and tries every rate again in another order. The answer is the rate at which the percentile reaches its
limit, from a line through the trials near it; that rate is then held for longer. A search takes 20 to 30 minutes of
load. One that --within ends early reports the highest rate that was good and the lowest that was not.

EXIT STATUS
  0 found, or bracketed; with --at-least: certainly met   1 with --at-least: certainly not met   2 wrong usage
  3 no answer can be trusted   130 interrupted (--resume continues)
  If the target fails the request before the first trial: 3, or 1 with --at-least";

/// Find the highest rate at which the target meets an objective, where throughput stops growing, and what happens
/// beyond that.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP, override_usage = USAGE, mut_arg("tolerate_lost", unoffered), mut_arg("agents_resume", unoffered))]
pub(crate) struct KneeArgs {
    /// Where to send requests, or a plan. Several URLs are requested in turn, or as --order says
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// What `urls` ask for, or a plan.
    #[arg(skip)]
    pub requests: Vec<Request>,

    /// What the command line and its plan say, in their own words.
    #[arg(skip)]
    pub said: Option<Said>,

    /// What a plan asks beside the load.
    #[arg(skip)]
    pub setup: Vec<SetupRequest>,

    /// The journeys of a plan.
    #[arg(skip)]
    pub journeys: Vec<Journey>,

    /// The cap of a plan with journeys: of requests, where `max` is of arrivals.
    #[arg(skip)]
    pub max_requests: Option<Rate>,

    /// The objective: a percentile of response time and its limit, such as 'p99 < 200ms'; of one request or journey by
    /// name, such as 'GET /cart: p99 < 200ms' or 'buy: p95 < 20s'
    #[arg(long, value_name = "OBJECTIVE", help_heading = "Search", value_parser = objective)]
    pub slo: Objective,

    /// Only check whether the objective is met at this rate: stop as soon as that is certain, and exit with 1 if it is
    /// not met; with --replay also a multiple of what was recorded, such as 2x
    #[arg(long, value_name = "RATE", help_heading = "Search", value_parser = level)]
    pub at_least: Option<Level>,

    /// First rate to try, with --replay also such as 0.5x [default: the rate of --at-least, or 100, with --replay 1x]
    #[arg(long, value_name = "RATE", help_heading = "Search", value_parser = level)]
    pub start: Option<Level>,

    /// Highest rate to try, with --replay also such as 10x [default: max-rate of the config file, or 100,000,000/s]
    #[arg(long, value_name = "RATE", help_heading = "Search", value_parser = level)]
    pub max: Option<Level>,

    /// How the recorded traffic of --replay becomes more or less: `scale` sends copies of it in the same time, of which each
    /// begins elsewhere, and draws users for a part of one; `speed` sends it in less time [default: scale]
    #[arg(long, value_enum, value_name = "WAY", help_heading = "Search")]
    pub by: Option<By>,

    /// Bisect until the rate is known to within this percentage
    #[arg(long, value_name = "PERCENT", default_value = "2%", help_heading = "Search", value_parser = resolution)]
    pub resolution: f64,

    /// Limit the total time under load; the answer is what is known by then
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = value::duration)]
    pub within: Option<Nanos>,

    /// Load before each measurement
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Search", value_parser = value::duration)]
    pub settle: Nanos,

    /// Measure each rate for at least this long; below 20s percentiles have no interval
    #[arg(long, value_name = "TIME", default_value = "20s", help_heading = "Search", value_parser = value::duration)]
    pub measure: Nanos,

    /// Measure a rate for at most this long while it is undecided [default: 8 times --measure]
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = value::duration)]
    pub measure_max: Option<Nanos>,

    /// Pause this long between two rates, after the target has answered everything [default: same as --settle]
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = value::duration)]
    pub rest: Option<Nanos>,

    /// Afterwards, measure latency at 75 % of the highest rate that the target kept up with: the figure to quote
    #[arg(long, help_heading = "Search")]
    pub then_latency: bool,

    /// Continue the search in this folder; the other flags must be the ones it was started with
    #[arg(long, value_name = "DIR", conflicts_with = "output", help_heading = "Search")]
    pub resume: Option<PathBuf>,

    /// How requests are spaced in time, `even` or `poisson`; evenly spaced requests give a higher rate than real users
    /// would
    #[arg(long, value_name = "PROCESS", default_value = "poisson", help_heading = "Search",
          value_parser = arrivals::of_search)]
    pub arrivals: Arrivals,

    /// Seed of the arrivals and of the order of the second pass
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Search")]
    pub seed: u64,

    #[command(flatten)]
    pub recorded: RecordedArgs,

    #[command(flatten)]
    pub world: WorldArgs,

    #[command(flatten)]
    pub services: ServiceArgs,

    /// Search the simulated server in the plan's [world], in virtual time, instead of the target
    #[arg(long, help_heading = "World")]
    pub simulate: bool,

    /// Connections: `auto`, `auto:MAX`, or a fixed number shared by the threads [default: auto; to a database a number: 50
    /// to Redis, 20 to PostgreSQL, 8 to Cassandra]
    #[arg(short, long, value_name = "auto|N", help_heading = "Connections", value_parser = value::connections)]
    pub connections: Option<value::Connections>,

    /// Count a request as timed out after this time, measured from its intended start
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Connections",
          value_parser = value::duration)]
    pub timeout: Nanos,

    #[command(flatten)]
    pub under_way: JourneyArgs,

    #[command(flatten)]
    pub retry: RetryArgs,

    #[command(flatten)]
    pub lines: LineArgs,

    #[command(flatten)]
    pub target: TargetArgs,

    #[command(flatten)]
    pub agents: AgentsArgs,

    /// Folder for the record and the report [default: unblink-knee/<time>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Print the document as JSON instead of the text
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Don't show progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// A percentile of response time that is to stay below a limit.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Objective {
    /// As it was written.
    pub text: String,
    /// Of the requests of this name; otherwise of all.
    pub name: Option<String>,
    /// 0 to 1.
    pub quantile: f64,
    pub limit: Nanos,
}

fn objective(text: &str) -> Result<Objective, String> {
    let slo = Slo::parse(text).map_err(|error| error.to_string())?;
    let asked = &slo.objective;
    match asked.figure {
        Figure::Quantile(quantile) if slo.windows.is_none() && slo.measure == Measure::Response => {
            // An SLO's limit is in ns here, and above 0.
            let (text, limit) = (slo.to_string(), Nanos(asked.limit as u64));
            Ok(Objective { text, name: slo.name, quantile, limit })
        }
        _ => Err(format!(
            "a search needs one percentile of response time over a whole trial, such as 'p99 < 200ms'; it can't search \
             for {}",
            secrets::mask_objective(&slo.to_string())
        )),
    }
}

/// A rate, or so many times what was recorded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Level {
    /// On average.
    Rate(Rate),
    /// Of recorded traffic.
    Times(Factor),
}

/// `5000/s`, or `2x`.
pub(crate) fn level(text: &str) -> Result<Level, String> {
    match text.trim().ends_with(['x', '×']) {
        true => replay::factor(text).map(Level::Times),
        false => value::rate(text).map(Level::Rate),
    }
}

fn resolution(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|p| p.trim().parse::<f64>().ok());
    percent
        .map(|percent| percent / 100.0)
        .filter(|share| (0.001..=0.5).contains(share))
        .ok_or_else(|| format!("{text:?} is not a resolution: expected a share from 0.1% to 50%, such as 2%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives() {
        let found = objective(" p99.9 < 200ms ").unwrap();
        assert_eq!(found.limit, Nanos::from_millis(200));
        assert!((found.quantile - 0.999).abs() < 1e-12);
        assert_eq!(objective("GET /cart: p99 < 1s").unwrap().name.as_deref(), Some("GET /cart"));
        for bad in [
            "",
            "p99",
            "p99 > 1s",
            "p100 < 1s",
            "errors < 1%",
            "p99 < soon",
            "a: errors < 1%",
            "p99 < 1s in 95% of 10s",
        ] {
            assert!(objective(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn levels() {
        assert_eq!(level("2x"), Ok(Level::Times(Factor { micro: 2_000_000 })));
        assert_eq!(level("0.5 ×"), Ok(Level::Times(Factor { micro: 500_000 })));
        assert_eq!(level("50/s"), Ok(Level::Rate(Rate::per_second(50))));
        assert!(level("x").is_err() && level("0x").is_err() && level("10..20").is_err());
    }

    #[test]
    fn resolutions() {
        assert_eq!(resolution("2%"), Ok(0.02));
        for bad in ["2", "0%", "60%", "x%", "-1%"] {
            assert!(resolution(bad).is_err(), "{bad}");
        }
    }
}

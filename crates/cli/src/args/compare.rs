//! `unblink compare`: its flags.

use super::agents::{AgentsArgs, unoffered};
use super::history::KeepArgs;
use super::journeys::JourneyArgs;
use super::load::LoadArgs;
use super::run::Said;
use super::sim::{ServiceArgs, WorldArgs};
use super::steady;
use super::target::TargetArgs;
use crate::journey::Journey;
use crate::request::Request;
use crate::request::workload::WorkloadArgs;
use crate::setup::SetupRequest;
use crate::value;
use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
EXAMPLES
  unblink compare http://127.0.0.1:8080/ http://127.0.0.1:8081/ -R 1000 -d 30s
  unblink compare main/ branch/ --percentile p95   each folder holds 5 or more runs
  unblink compare baseline:main branch/            see unblink baseline
  unblink compare knee-main/ knee-branch/          searches of unblink knee: has the highest rate changed?
  unblink compare --a-a http://127.0.0.1:8080/ -R 1000 -d 30s
  unblink compare plan.toml                        target, candidate and load in a file, see unblink init
  unblink compare --server 'service=exp(5ms)' --candidate-server 'service=exp(6ms)' -R 200 -d 30s
  unblink compare redis://127.0.0.1:6379 postgres://bench@127.0.0.1/shop --workload ycsb-b -R 1k -d 60s
  unblink compare http://127.0.0.1:8080/ http://127.0.0.1:8081/ -R 1000 -d 30s --resume DIR

EXIT STATUS
  0 no regression, or one run each   1 regression   2 wrong usage
  3 no verdict   130 interrupted
  If a target fails the request before the runs: 1 for the candidate, 3 for the baseline";

/// Measure two targets in turn (ABBA) with the same load, or read saved runs. One percentile decides: a difference
/// counts when chance can't explain it and it is large enough to matter. With --server both targets are simulated in
/// virtual time.
#[derive(Args, Debug)]
#[command(after_help = HELP, mut_arg("tolerate_lost", unoffered), mut_arg("agents_resume", unoffered))]
pub(crate) struct CompareArgs {
    /// The baseline: a URL, the folder of a run or of a search (unblink knee), a folder of such folders, baseline:NAME
    /// in the history, or a plan
    #[arg(value_name = "BASE")]
    pub baseline: Option<String>,

    /// The candidate: the same kinds as the baseline
    #[arg(value_name = "CANDIDATE")]
    pub candidate: Option<String>,

    /// What a plan requests of the baseline and of the candidate.
    #[arg(skip)]
    pub planned: Option<[Vec<Request>; 2]>,

    /// What the command line and its plan say, in their own words
    #[arg(skip)]
    pub said: Option<Said>,

    /// What a plan asks beside the load, of the baseline and of the candidate.
    #[arg(skip)]
    pub setup: [Vec<SetupRequest>; 2],

    /// The journeys of a plan, at the baseline and at the candidate; of a simulation the first alone.
    #[arg(skip)]
    pub journeys: [Vec<Journey>; 2],

    /// What simulated servers are asked for, beside journeys.
    #[arg(skip)]
    pub beside: Vec<Request>,

    /// Compare BASE with itself, to see how much equal targets differ here
    #[arg(long, conflicts_with = "candidate", help_heading = "Comparison")]
    pub a_a: bool,

    /// Runs of each target: 5 to 10, or 1 for a look without a verdict
    #[arg(long, value_name = "COUNT", default_value_t = 5, help_heading = "Comparison",
          allow_hyphen_values = true, value_parser = runs)]
    pub runs: u32,

    /// The percentile of response time that decides
    #[arg(long, value_name = "PERCENTILE", default_value = "p99", help_heading = "Comparison",
          value_parser = steady::percentile)]
    pub percentile: f64,

    /// Compare only this request or journey, by its name in the report, such as 'GET /items' or 'buy'
    #[arg(long, value_name = "NAME", help_heading = "Comparison")]
    pub request: Option<String>,

    /// A smaller relative difference doesn't count as a regression
    #[arg(long, value_name = "PERCENT", default_value = "5%", help_heading = "Comparison",
          allow_hyphen_values = true, value_parser = effect)]
    pub min_effect: f64,

    #[command(flatten)]
    pub load: LoadArgs,

    #[command(flatten)]
    pub under_way: JourneyArgs,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    #[command(flatten)]
    pub target: TargetArgs,

    #[command(flatten)]
    pub agents: AgentsArgs,

    /// The simulated baseline: --server or --scenario, or the [world] of a plan
    #[command(flatten)]
    pub world: WorldArgs,

    #[command(flatten)]
    pub services: ServiceArgs,

    /// What the simulated candidate does, as words
    #[arg(long, value_name = "WORDS", help_heading = "World")]
    pub candidate_server: Option<String>,

    /// Simulate the servers in the plan's [world] instead of measuring its targets
    #[arg(long, help_heading = "World")]
    pub simulate: bool,

    /// Folder for the runs and the report [default: unblink-compares/<time>; for saved runs: none]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Continue the interrupted comparison in this folder: measure the runs that are missing or invalid
    #[arg(long, value_name = "DIR", conflicts_with = "output", help_heading = "Output")]
    pub resume: Option<PathBuf>,

    /// Print the document as JSON instead of the text
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Don't show the live line during the runs
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// As many as can give a verdict, or one.
fn runs(text: &str) -> Result<u32, String> {
    match value::positive(text)? {
        runs @ (1 | 5..=10) => Ok(runs),
        2..=4 => Err(format!(
            "{text} + {text} runs can't tell a regression from chance: even with 4 + 4, the most extreme split comes \
             by chance in 2 of 70 cases; take 5 to 10, or 1 for a look without a verdict"
        )),
        _ => Err(format!("{text} runs are too many: take at most 10")),
    }
}

/// `5%`, as a share of 1; 0 counts every difference.
pub(super) fn effect(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(number) => number.trim_end(),
        // 0.05 may mean 5 % or a two-thousandth.
        None if text != "0" => {
            return Err(format!("{text:?} has no unit: expected a percentage, such as 5%"));
        }
        None => text,
    };
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=1_000.0).contains(&percent) => Ok(percent / 100.0),
        Ok(_) => Err(format!("{text:?} is out of range: 0% to 1000%, such as 5%")),
        Err(_) => Err(format!("{text:?} is not a relative difference: expected a percentage, such as 5%")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_runs() {
        assert_eq!((runs("5"), runs("10"), runs("1")), (Ok(5), Ok(10), Ok(1)));
        assert!(runs("4").unwrap_err().contains("2 of 70"));
        assert!(runs("11").is_err() && runs("0").is_err() && runs("-1").is_err() && runs("x").is_err());
    }

    #[test]
    fn least_effects() {
        assert_eq!((effect("5%"), effect("0"), effect("2.5 %")), (Ok(0.05), Ok(0.0), Ok(0.025)));
        for bad in ["-1%", "NaN", "inf", "", "%", "5x"] {
            assert!(effect(bad).is_err(), "{bad}");
        }
    }
}

//! `unblink signoff`: its flags, and the stages of a plan.

use super::agents::{AgentsArgs, unoffered};
use super::arrivals::{self, Arrivals};
use super::history::KeepArgs;
use super::{metric_rule, objectives};
use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

const HELP: &str = "\
EXAMPLES
  unblink signoff plan.toml --dry-run                what would run, and how long it takes
  unblink signoff plan.toml
  unblink signoff plan.toml --simulate               the same on the server of the plan's [world], in virtual time
  unblink signoff --resume unblink-signoff/2026-01-31T12-00-00Z plan.toml

STAGES of a plan, run in this order
  [[stages]]
  kind = \"knee\"                                      a search as by unblink knee, with the plan's [search]
  [[stages]]
  kind = \"hold\"                                      also soak, spike and stress: a run of the shape of this name
  rate = \"75% of knee\"                               or 50%..120% of knee, or any rate of --rate
  duration = \"10m\"

Fields of a stage stand in the place of those that the plan has for all. A stage that needs the knee is left out if the
search before it found none. A guard that stops a stage stops all that follow.

EXIT STATUS
  0 every stage passed   1 an objective is certainly missed in some stage   2 wrong usage
  3 otherwise, if some stage is inconclusive, invalid or was not run   130 interrupted (--resume continues)";

/// Run the stages of a plan one after the other, such as a search for the knee, a run at 75 % of it, a soak and a spike,
/// and report all of them as one: one page, one document, one exit code.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP, mut_arg("agents_resume", unoffered))]
pub(crate) struct SignoffArgs {
    /// The plan with its [[stages]]
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,

    /// Continue the sign-off in this folder: stages that have ended are not run again
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub resume: Option<PathBuf>,

    /// Say what would run and how long it takes, and send nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Run everything on the simulated server in the plan's [world], in virtual time
    #[arg(long)]
    pub simulate: bool,

    /// Skip the stages after the first one that did not pass
    #[arg(long)]
    pub fail_fast: bool,

    #[command(flatten)]
    pub agents: AgentsArgs,

    /// Folder for the report and for the records of all stages [default: unblink-signoff/<time>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Print the document as JSON instead of the text
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Write the objectives and the validity of every stage as JUnit XML
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,

    /// Don't show progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// What a stage does.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StageKind {
    /// Looks for the highest rate that meets the objective.
    Knee,
    /// Holds a rate.
    Hold,
    /// Holds a rate for a long time and looks for drift.
    Soak,
    /// Jumps from a rate to a higher one and back.
    Spike,
    /// Ramps from a rate to a higher one, stays there, and ramps down.
    Stress,
}

/// A rate of a stage: so much of the knee, a rate as elsewhere, or from one to another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum StageRate {
    /// Nothing of it depends on the knee.
    Fixed(String),
    /// One or two, of which one at least depends on it.
    OfKnee(Vec<RatePart>),
}

/// One end of a rate.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RatePart {
    /// Millionths of the knee.
    Share(u64),
    Rate(Rate, String),
}

/// One of the stages of a plan.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlannedStage {
    /// What it does: `knee` looks for the highest rate that meets the objective; `hold` holds a rate; `soak` holds it for
    /// a long time and looks for drift; `spike` jumps to a higher rate and back; `stress` ramps to it and back
    #[arg(long, value_enum, value_name = "KIND", required = true)]
    pub kind: StageKind,

    /// How the report calls it, and the end of its folder's name [default: its kind]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,

    /// Requests per second, or a share of the knee that a stage before it found: 75% of knee, 50%..120% of knee
    #[arg(long, value_name = "RATE", value_parser = stage_rate)]
    pub rate: Option<StageRate>,

    /// How long it is measured
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub duration: Option<Nanos>,

    /// Load before the measured part
    #[arg(long, value_name = "TIME|auto", value_parser = super::steady::warmup)]
    pub warmup: Option<super::steady::Warmup>,

    /// How long a spike or the top of a stress test lasts
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub peak_for: Option<Nanos>,

    /// How requests are spaced in time: `even`, `poisson`, or `bursty(peak=5x,on=200ms,off=1s)`
    #[arg(long, value_name = "PROCESS", value_parser = arrivals::arrivals)]
    pub arrivals: Option<Arrivals>,

    /// Seed of random arrivals, and of the order of the requests
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// Objectives of this stage instead of the plan's; of a search its percentile
    #[arg(long, value_name = "SLO", value_parser = objectives::slo)]
    pub slo: Vec<unblink_analysis::slo::Slo>,

    /// Rules that stop this stage, instead of the plan's
    #[arg(long, value_name = "RULE", value_parser = metric_rule::stop_rule)]
    pub abort_on: Vec<metric_rule::StopRule>,

    /// Of a search: only check whether the objective is met at this rate
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub at_least: Option<Rate>,

    /// Of a search: first rate to try
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub start: Option<Rate>,

    /// Of a search: highest rate to try
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub max: Option<Rate>,

    /// Of a search: limit the total time under load
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub within: Option<Nanos>,
}

/// A folder's name is made of it.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    match !text.is_empty() && text.len() <= 60 && text.chars().all(is_plain) && !text.starts_with(['.', ' '])
    {
        true => Ok(text.to_string()),
        false => Err(format!(
            "{text:?} is not a valid stage name (it becomes a folder name): use letters, digits, spaces, - _ and . \
             (60 at most)"
        )),
    }
}

/// Millionths of a percent's hundred.
const SHARE_ONE: f64 = 1e6;
/// Above it nobody means the knee.
const PERCENT_MAX: f64 = 1000.0;
const OF_KNEE: &str = "of knee";

fn stage_rate(text: &str) -> Result<StageRate, String> {
    if !text.contains('%') && !text.contains("knee") {
        return value::shape(text).map(|_| StageRate::Fixed(text.to_string()));
    }
    let parts: Vec<&str> = text.split("..").collect();
    let is_of_knee = parts.last().is_some_and(|last| last.trim_end().ends_with(OF_KNEE));
    if parts.len() > 2 || !is_of_knee {
        return Err(format!(
            "{text:?} is not a rate of a stage: expected a rate such as 500, 75% of knee, or 50%..120% of knee"
        ));
    }
    let part = |part: &str| match part.trim().trim_end_matches(OF_KNEE).trim_end().strip_suffix('%') {
        Some(percent) => share(percent.trim(), text).map(RatePart::Share),
        None => value::rate(part.trim()).map(|rate| RatePart::Rate(rate, part.trim().to_string())),
    };
    parts.into_iter().map(part).collect::<Result<Vec<_>, _>>().map(StageRate::OfKnee)
}

fn share(percent: &str, whole: &str) -> Result<u64, String> {
    let is_plain = percent.chars().all(|c| c.is_ascii_digit() || c == '.');
    let percent = percent.parse::<f64>().ok().filter(|_| is_plain);
    let percent = percent.filter(|percent| *percent > 0.0 && *percent <= PERCENT_MAX);
    percent.map(|percent| (percent / 100.0 * SHARE_ONE).round() as u64).filter(|share| *share > 0).ok_or_else(
        || {
            format!(
                "{whole:?}: a share of the knee is above 0% and at most {PERCENT_MAX}%, such as 75% of knee"
            )
        },
    )
}

impl StageRate {
    /// As `--rate` takes it, with the knee at this rate; nothing where there is none and it is needed. It is rounded down.
    pub(crate) fn text(&self, knee_per_s: Option<f64>) -> Option<String> {
        let parts = match self {
            StageRate::Fixed(text) => return Some(text.clone()),
            StageRate::OfKnee(parts) => parts,
        };
        let one = |part: &RatePart| match part {
            RatePart::Rate(_, text) if text.contains('/') => Some(text.clone()),
            RatePart::Rate(_, text) => Some(format!("{text}/s")),
            RatePart::Share(share) => Some(format!("{}/s", written(knee_per_s? * *share as f64 / SHARE_ONE))),
        };
        Some(parts.iter().map(one).collect::<Option<Vec<_>>>()?.join(".."))
    }

    pub(crate) fn needs_knee(&self) -> bool {
        matches!(self, StageRate::OfKnee(_))
    }
}

/// With three digits behind the point, or six of a low one; never above `per_s`.
fn written(per_s: f64) -> String {
    let digits = if per_s >= 1.0 { 3 } else { 6 };
    let unit = 10f64.powi(digits);
    let down = (per_s * unit * (1.0 + f64::EPSILON)).floor() / unit;
    let text = format!("{down:.*}", digits as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_stages() {
        let at = |text: &str, knee| stage_rate(text).unwrap().text(knee);
        assert_eq!(at("75% of knee", Some(1000.0)).as_deref(), Some("750/s"));
        assert_eq!(at("50%..120% of knee", Some(333.3333)).as_deref(), Some("166.666/s..399.999/s"));
        assert_eq!(at("50% of knee..80% of knee", Some(10.0)).as_deref(), Some("5/s..8/s"));
        assert_eq!(at("100..90% of knee", Some(1000.0)).as_deref(), Some("100/s..900/s"));
        assert_eq!(at("0.1% of knee", Some(50.0)).as_deref(), Some("0.05/s"));
        assert_eq!(at("75% of knee", None), None);
        assert_eq!(at("100..900", None).as_deref(), Some("100..900"));
        // What is written is a rate.
        for knee in [0.7, 1.0, 1234.5678, 999_999.9] {
            let text = at("33%..66.6% of knee", Some(knee)).unwrap();
            assert!(value::shape(&text).is_ok(), "{text}");
        }
        for bad in [
            "75%",
            "75% of knees",
            "0% of knee",
            "-5% of knee",
            "1%..2%..3% of knee",
            "knee",
            "2000% of knee",
        ] {
            assert!(stage_rate(bad).is_err(), "{bad}");
        }
        for bad in ["", "../x", ".x", "a/b"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}

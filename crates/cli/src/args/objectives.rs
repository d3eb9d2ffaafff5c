//! What is asked of a run, and when it is to be stopped: flags of `run` and `sim`.

use clap::Args;
use unblink_analysis::slo::{AbortRule, Slo};
use unblink_artifact::document;

/// The objectives of a run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SloArgs {
    /// An objective for the run, such as 'p99 < 200ms' or 'errors < 0.1%'; may be given several times
    #[arg(long, value_name = "SLO", help_heading = "Objectives", value_parser = slo)]
    pub slo: Vec<Slo>,

    /// Count an inconclusive objective as met or as missed [default: exit with 3]
    #[arg(long, value_enum, value_name = "pass|fail", help_heading = "Objectives")]
    pub on_inconclusive: Option<OnInconclusive>,
}

/// What an inconclusive objective counts as.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnInconclusive {
    /// As met
    Pass,
    /// As missed
    Fail,
}

impl SloArgs {
    /// For the run's header.
    pub(crate) fn document(&self, abort_on: &[AbortRule]) -> document::Objectives {
        document::Objectives {
            slos: self.slo.iter().map(ToString::to_string).collect(),
            abort_on: abort_on.iter().map(ToString::to_string).collect(),
            on_inconclusive: self.on_inconclusive.map(|asked| match asked {
                OnInconclusive::Pass => document::OnInconclusive::Pass,
                OnInconclusive::Fail => document::OnInconclusive::Fail,
            }),
        }
    }
}

pub(crate) fn slo(text: &str) -> Result<Slo, String> {
    Slo::parse(text).map_err(|error| error.to_string())
}

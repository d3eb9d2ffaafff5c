//! `unblink run`: its flags.

use super::Exports;
use super::load::LoadArgs;
use super::steady::PrecisionArgs;
use super::target::TargetArgs;
use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
EXAMPLES
  unblink run http://127.0.0.1:8080/ -R 1000 -d 60s
  unblink run https://api.test/ -R 100..5000 -d 5m --arrivals poisson
  unblink run http://[::1]:8080/ -R 10/m -n 20
  unblink run http://127.0.0.1:8080/ --closed 10 -d 30s
  unblink run --targets targets.txt -R 500 -c 64 -t 2

VALUES
  rates      5000   5k   50/s   10/m   3/10s   100..5000 (ramp)   100,200,400 (equal steps)
  times      500us   200ms   30s   5m   1h30m   30 (seconds)
  -c         auto (opens what is needed, up to a limit)   auto:5000   64 (fixed)
  --expect   status=200,404   status=2xx   size=512   size=100..900   contains=TEXT

EXIT STATUS
  0 the run can be believed   2 wrong usage   3 run invalid   130 interrupted";

/// Each request is due at a time that the schedule fixes beforehand. When the target stalls, requests
/// go on falling due, and each response is measured from the moment it should have started.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Where to send requests; several are taken in turn and share one scheme, host and port
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Read targets from a file in vegeta's format, taken in turn (`-` reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "urls")]
    pub targets: Option<PathBuf>,

    #[command(flatten)]
    pub load: LoadArgs,

    #[command(flatten)]
    pub precision: PrecisionArgs,

    #[command(flatten)]
    pub target: TargetArgs,

    /// Folder for the run's record and report [default: unblink-runs/<time> here]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub exports: Exports,

    /// No live line while the run goes on
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

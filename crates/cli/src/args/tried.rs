//! `unblink try`: its flags.

use super::run::RunArgs;
use crate::value;
use clap::Args;
use unblink_core::schedule::Rate;

const HELP: &str = "\
EXAMPLES
  unblink try plan.toml
  unblink try http://127.0.0.1:8080/ -H 'Authorization: Bearer abc'
  unblink try plan.toml --arrival 83694
  unblink try plan.toml --json | jq '.requests[].answer'

EXIT STATUS
  0 every answer is as expected   1 one is not, or did not come   2 wrong usage
  3 a request could not be sent, because nothing is left to fill it in with";

/// The plan's [[setup]] is asked first. Then each request of the mix is sent once, and each journey step by step, without a
/// schedule. Takes the flags of unblink run, so that a command line can be tried as it is; nothing is recorded.
#[derive(Args, Debug)]
#[command(
    after_help = HELP,
    mut_arg("json", |arg| arg.help("Print everything as JSON (`unblink schema try` prints the schema)"))
)]
pub(crate) struct TryArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Send only what this arrival of the run sends, by its number; a journey if it begins one
    #[arg(long, value_name = "NUMBER", help_heading = "Request")]
    pub arrival: Option<u64>,
}

impl TryArgs {
    /// What is asked says no load: it is drawn for one of a request per second.
    pub(crate) fn offer_something(&mut self) {
        let load = &mut self.run.load;
        if load.rate.is_none() && load.closed.is_none() && load.loads.is_empty() && load.trace.trace.is_none()
        {
            load.rate = Some(value::Shape::Hold(Rate::per_second(1)));
        }
    }
}

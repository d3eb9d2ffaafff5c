//! Requests beside the load: what a plan asks before it, and again every so often, for a token and the like.

use crate::request::Request;
use crate::request::fields::RequestArgs;
use crate::value;
use clap::Args;
use unblink_core::time::Nanos;
use unblink_workload::answer::Capture;

/// One of them in a plan.
#[derive(Args, Debug)]
pub(crate) struct PlannedSetup {
    /// How messages and the report call it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A path at the target, or a whole URL
    #[arg(long, value_name = "URL", required = true)]
    pub url: String,

    /// What is taken from its answer, by name: { token = "json $.access_token" } makes {{token}} what stands there
    #[arg(long, value_name = "TABLE")]
    pub capture: Option<String>,

    /// Ask again every so often while the load goes on [default: it is asked once, before the load]
    #[arg(long, value_name = "TIME", value_parser = every)]
    pub every: Option<Nanos>,

    /// Send this table as JSON
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file"])]
    pub json: Option<String>,

    /// Send this table as the fields of a form
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file", "json"])]
    pub form: Option<String>,

    /// Send these parts, each with its name and a value or a file
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file", "json", "form"])]
    pub multipart: Option<String>,

    #[command(flatten)]
    pub own: RequestArgs,
}

/// Asked more often, it would be a load of its own.
const EVERY_MIN: Nanos = Nanos::from_millis(100);

fn every(text: &str) -> Result<Nanos, String> {
    match value::duration(text)? {
        short if short < EVERY_MIN => Err("this is too often: give at least 100ms".into()),
        every => Ok(every),
    }
}

/// One that can be asked.
#[derive(Clone, Debug)]
pub(crate) struct SetupRequest {
    pub request: Request,
    /// What is taken from its answer, by name.
    pub captures: Vec<(String, Capture)>,
    pub every: Option<Nanos>,
}

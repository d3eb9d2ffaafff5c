//! The workload that a plan asks in the place of requests.

use super::file::{Given, LET, PlanFile};
use super::lists::{JOURNEYS, REQUESTS, SETUP};
use super::source::Wrong;
use super::user::User;
use super::value;
use crate::request::workload::WorkloadArgs;
use crate::ycsb::workload::Workload;
use anyhow::Result;
use clap::{Args, Command};

/// The fields that say which.
const FIELDS: [&str; 3] = ["workload", "properties", "set"];

/// The plan has one, or the user asks for one.
pub(super) fn is_given(plan: &PlanFile, user: &User) -> bool {
    FIELDS.iter().any(|field| user.has(field) || plan.value(field).is_some())
}

/// A workload says all that is requested.
pub(super) fn check(plan: &PlanFile, user: &User) -> Result<()> {
    if !is_given(plan, user) {
        return Ok(());
    }
    let lists = [(REQUESTS, &plan.requests), (JOURNEYS, &plan.journeys), (SETUP, &plan.setup)];
    let listed = lists
        .into_iter()
        .find_map(|(list, tables)| Some((format!("[[{list}]]"), tables.first()?.at.clone())));
    let named = plan.lets.first().map(|one| (format!("[{LET}]"), one.name.at.clone()));
    let of_file = plan.value("targets").map(|text| ("targets".to_string(), text.at.clone()));
    let Some((what, at)) = listed.or(named).or(of_file) else { return Ok(()) };
    let message = format!(
        "{what} and a workload exclude each other: a workload says what is requested and draws its own values. Leave {what} out, \
         or workload, properties and set"
    );
    Err(plan.source.error_hiding(&Wrong::new(at, message), &plan.hidden))
}

/// What stays below the flags of this name if the user gives some: properties win one by one, as in files of them.
pub(super) fn set_below(plan: &PlanFile, name: &str, is_users: bool) -> Vec<String> {
    let own = if is_users && name == "set" { plan.values(name) } else { &[] };
    own.iter().map(|text| text.raw.clone()).collect()
}

/// Refuses a workload that inserts, and says `why`.
pub(super) fn refuse_inserts(plan: &PlanFile, why: &str) -> Result<()> {
    let Some(first) = FIELDS.iter().find_map(|field| plan.value(field)) else { return Ok(()) };
    let is_its = |given: &&Given| FIELDS.contains(&given.field.name.as_str());
    let given: Vec<Given> = plan.given.iter().filter(is_its).cloned().collect();
    let command = WorkloadArgs::augment_args(Command::new("")).no_binary_name(true);
    let args: WorkloadArgs = value::read_by(plan, &given, command)?;
    let workload = Workload::read(&args).map_err(|error| plan.pointed(error, &given, |_| false))?;
    match workload.inserts() {
        true => Err(plan.error(first, why)),
        false => Ok(()),
    }
}

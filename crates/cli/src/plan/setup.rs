//! `[[setup]]`: what a plan asks beside its load.

use super::fields::For;
use super::file::{PlanFile, Table, values_of};
use super::journeys::Paths;
use super::lists::SETUP;
use super::requests::{One, built};
use super::user::User;
use super::value;
use crate::errors;
use crate::request::body::BodyFiles;
use crate::setup::{PlannedSetup, SetupRequest};
use anyhow::Result;
use std::collections::BTreeMap;
use unblink_workload::Lets;
use unblink_workload::answer::Capture;

/// Names the values that the plan's setup takes from answers.
pub(super) fn add_captured(plan: &PlanFile, lets: &mut Lets) -> Result<()> {
    for table in &plan.setup {
        for name in captures(plan, table)?.keys() {
            if lets.captured(name).is_none() {
                let text = &values_of(&table.given, "capture")[0];
                lets.add_captured(name).map_err(|why| plan.error(text, why))?;
            }
        }
    }
    Ok(())
}

/// What is taken from an answer, as it is written, by name.
fn captures(plan: &PlanFile, table: &Table) -> Result<BTreeMap<String, String>> {
    let Some(text) = values_of(&table.given, "capture").first() else { return Ok(BTreeMap::new()) };
    serde_json::from_str(&text.raw).map_err(|_| {
        plan.error(
            text,
            "capture is a table of names and places, such as { token = \"json $.access_token\" }",
        )
    })
}

/// What is asked beside the load of `command`.
pub(super) fn of(plan: &PlanFile, command: For, user: &User, paths: Paths<'_>) -> Result<Vec<SetupRequest>> {
    let Some(first) = plan.setup.first() else { return Ok(Vec::new()) };
    match command {
        // Nothing is asked where all is simulated.
        For::Sim => return Ok(Vec::new()),
        For::Knee | For::Compare if user.wants_simulation(command, plan) => return Ok(Vec::new()),
        For::Compare => {
            let message = "a comparison asks two targets, and [[setup]] is for one: measure each with unblink run, and \
                           compare their folders";
            return Err(plan.error(&values_of(&first.given, "url")[0], message));
        }
        For::Run | For::Knee => {}
    }
    let mut files = BodyFiles::default();
    errors::all(plan.setup.iter().map(|table| one(plan, table, paths, &mut files)))
}

fn one(plan: &PlanFile, table: &Table, paths: Paths<'_>, files: &mut BodyFiles) -> Result<SetupRequest> {
    let PlannedSetup { name, url, capture: _, every, json, form, own } = value::read(plan, table, SETUP)?;
    let one = One { name, url, share: None, inserts: false, json, form, own };
    let request = built(plan, table, one, paths.target, None, paths.lets, files)?;
    let captures = errors::all(captures(plan, table)?.into_iter().map(|(name, text)| {
        let capture = Capture::parse(&text).map_err(|error| {
            plan.error(&values_of(&table.given, "capture")[0], format!("{name}: {error}"))
        })?;
        Ok((name, capture))
    }))?;
    Ok(SetupRequest { request, captures, every })
}

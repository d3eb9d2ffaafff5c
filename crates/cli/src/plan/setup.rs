//! `[[setup]]`: what a plan asks beside its load.

use super::fields::For;
use super::file::{PlanFile, Table, values_of};
use super::journeys::Paths;
use super::lists::SETUP;
use super::requests::{One, built, captures};
use super::user::User;
use super::value;
use crate::errors;
use crate::request::body::BodyFiles;
use crate::request::taking::{self, Taking};
use crate::request::version::Version;
use crate::setup::{PlannedSetup, SetupRequest};
use anyhow::Result;
use unblink_workload::answer::Capture;
use unblink_workload::{Composition, Lets};

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

/// What is asked beside the load of `command`.
pub(super) fn of(plan: &PlanFile, command: For, user: &User, paths: Paths<'_>) -> Result<Vec<SetupRequest>> {
    if plan.setup.is_empty() {
        return Ok(Vec::new());
    }
    match command {
        // Nothing is asked where all is simulated.
        For::Sim => return Ok(Vec::new()),
        For::Knee | For::Compare if user.wants_simulation(command, plan) => return Ok(Vec::new()),
        For::Run | For::Knee | For::Compare | For::Try => {}
    }
    let mut files = BodyFiles::default();
    let all = errors::all(plan.setup.iter().map(|table| one(plan, table, paths, &mut files)))?;
    check_order(plan, &all)?;
    Ok(all)
}

/// What one takes, no other takes, and none uses before.
fn check_order(plan: &PlanFile, all: &[SetupRequest]) -> Result<()> {
    let mut known: Vec<&str> = Vec::new();
    for (one, table) in all.iter().zip(&plan.setup) {
        let (_, composition) = one.request.render(Version::One)?;
        let lets = &one.request.lets;
        for number in composition.iter().flat_map(Composition::captured) {
            if known.iter().all(|name| lets.captured(name) != Some(number)) {
                let text = &values_of(&table.given, "url")[0];
                let message =
                    "this request uses a value that is captured later, by this or a following request";
                return Err(plan.error(text, message));
            }
        }
        for (name, _) in &one.captures {
            if known.contains(&name.as_str()) {
                let text = &values_of(&table.given, "capture")[0];
                return Err(plan.error(
                    text,
                    format!("another request takes {name}, too: give each value a name of its own"),
                ));
            }
            known.push(name);
        }
    }
    Ok(())
}

fn one(plan: &PlanFile, table: &Table, paths: Paths<'_>, files: &mut BodyFiles) -> Result<SetupRequest> {
    let PlannedSetup { name, url, capture: _, every, json, form, multipart, own } =
        value::read(plan, table, SETUP)?;
    let at_fault = |name: &str, why: &dyn std::fmt::Display| {
        plan.error(&values_of(&table.given, "capture")[0], format!("{name}: {why}"))
    };
    let captures: Vec<(String, Capture)> =
        errors::all(captures(plan, table)?.into_iter().map(|(name, text)| {
            let capture = Capture::parse(&text).map_err(|error| at_fault(&name, &error))?;
            Ok((name, capture))
        }))?;
    let tells_values = captures.iter().any(|(_, capture)| capture.is_told());
    let taking = Taking { tells_values, ..Taking::default() };
    let one = One { name, url, share: None, inserts: false, json, form, multipart, own, taking };
    let request = built(plan, table, one, paths.target, None, paths.lets, files)?;
    let speaks = request.url.origin.speaks;
    let unfit =
        |(name, capture): &(String, Capture)| Some(at_fault(name, &taking::refusal(capture, speaks)?));
    if let Some(error) = captures.iter().find_map(unfit) {
        return Err(error);
    }
    Ok(SetupRequest { request, captures, every })
}

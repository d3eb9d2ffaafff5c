//! The journeys of a plan: its `[[journeys]]`, each with its `[[journeys.steps]]`.

use super::fields::For;
use super::file::{PlanFile, Table, Text, values_of};
use super::lists::{JOURNEYS, STEPS};
use super::requests::{self, Address, One};
use super::source::Wrong;
use super::user::User;
use super::value;
use crate::errors;
use crate::journey::{Chance, Journey, PlannedJourney, PlannedStep, Repeat, Step};
use crate::request::Request;
use crate::request::body::BodyFiles;
use crate::request::share::{self, Share};
use anyhow::{Error, Result};
use std::sync::Arc;
use unblink_core::journey::{CERTAIN, JOURNEYS_MAX, STEPS_MAX, StepSpec, Think};
use unblink_workload::Lets;

/// Where paths lead to, and what stands in requests.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a> {
    pub target: Option<&'a Address<'a>>,
    pub lets: &'a Arc<Lets>,
}

/// The journeys of `plan` for `command`. `user` is the command line without the plan, and `beside` are the requests that share
/// the load with them.
pub(super) fn of(
    plan: &PlanFile,
    command: For,
    user: &User,
    paths: Paths<'_>,
    beside: &[Request],
) -> Result<Vec<Journey>> {
    let Some(first) = plan.journeys.first() else { return Ok(Vec::new()) };
    if let Some(message) = refusal(plan, command, user) {
        return Err(wrong(plan, first, message));
    }
    let mut files = BodyFiles::default();
    let tables = plan.journeys.iter().enumerate();
    let journeys: Vec<Journey> =
        errors::all(tables.map(|(number, table)| one(plan, number, table, paths, &mut files)))?;
    for (place, journey) in journeys.iter().enumerate() {
        if journeys[..place].iter().any(|other| other.name == journey.name) {
            let message =
                format!("another journey is called {:?}, too: give each a name of its own", journey.name);
            return Err(wrong(plan, &plan.journeys[place], message));
        }
    }
    let requests = beside.iter().map(|request| request.share);
    let shares: Vec<Option<Share>> = requests.chain(journeys.iter().map(|journey| journey.share)).collect();
    match share::weights(&shares) {
        Ok(_) => Ok(journeys),
        Err(bad) => {
            let tables = plan.requests.iter().chain(&plan.journeys).collect::<Vec<_>>();
            match tables.get(bad.request) {
                Some(table) if plan.requests.len() == beside.len() => Err(wrong(plan, table, bad.message)),
                _ => Err(bad.into()),
            }
        }
    }
}

/// Why there are no journeys for this command, if there are none.
fn refusal(plan: &PlanFile, command: For, user: &User) -> Option<String> {
    let has = |field: &str| user.has(field) || plan.value(field).is_some();
    let why = match command {
        For::Knee => "a search sets the rate of requests, one beside the other",
        For::Compare => "a comparison is of requests",
        _ if has("closed") => {
            "closed users ask for one thing after the other as they are, and journeys need a rate"
        }
        _ if has("precision") || has("precision-of") => {
            "--precision ends a run in the middle of its journeys"
        }
        _ if has("targets") => "a file of targets has no shares to set them beside",
        _ => return None,
    };
    Some(format!("{why}, so that it takes no [[{JOURNEYS}]]: leave one or the other out"))
}

fn wrong(plan: &PlanFile, table: &Table, message: impl Into<String>) -> Error {
    let at = ["share", "weight", "name"].into_iter().flat_map(|field| values_of(&table.given, field)).next();
    let at = at.map_or(&table.at, |text| &text.at);
    plan.source.error_hiding(&Wrong::new(at.clone(), message), &plan.hidden)
}

fn one(
    plan: &PlanFile,
    number: usize,
    table: &Table,
    paths: Paths<'_>,
    files: &mut BodyFiles,
) -> Result<Journey> {
    if number >= JOURNEYS_MAX || table.inner.len() > STEPS_MAX {
        let message = format!("a run has {JOURNEYS_MAX} journeys at the most, and each {STEPS_MAX} steps");
        return Err(wrong(plan, table, message));
    }
    let PlannedJourney { name, share, weight, think } = value::read(plan, table, JOURNEYS)?;
    let name = name.unwrap_or_else(|| format!("journey {}", number + 1));
    let share = requests::share_in(share, weight).map_err(|message| wrong(plan, table, message))?;
    let of_step = |(i, inner)| step(plan, i, inner, (&name, think), paths, files);
    let steps: Vec<Step> = errors::all(table.inner.iter().enumerate().map(of_step))?;
    for (place, one) in steps.iter().enumerate() {
        if steps[..place].iter().any(|other| other.request.name == one.request.name) {
            let message = "another step of this journey has the same name: give each a name of its own";
            return Err(wrong(plan, &table.inner[place], message));
        }
    }
    Ok(Journey { name, share, steps })
}

fn step(
    plan: &PlanFile,
    place: usize,
    table: &Table,
    (journey, of_all): (&str, Option<Think>),
    paths: Paths<'_>,
    files: &mut BodyFiles,
) -> Result<Step> {
    let PlannedStep { name, url, think, repeat, chance, own, json, form } = value::read(plan, table, STEPS)?;
    let of = |field: &str| values_of(&table.given, field).first();
    let at_fault = |text: Option<&Text>, message: &str| match text {
        Some(text) => plan.error(text, message),
        None => wrong(plan, table, message),
    };
    if place == 0 && chance.is_some_and(|Chance(chance)| chance < CERTAIN) {
        let message = "a journey begins with its first step: give the journey a smaller share instead";
        return Err(at_fault(of("chance"), message));
    }
    let Repeat(least, most) = repeat.unwrap_or(Repeat(1, 1));
    let spec = StepSpec {
        think: think.or(of_all).unwrap_or(Think::NONE),
        repeat: (least, most),
        chance: chance.map_or(CERTAIN, |Chance(chance)| chance),
    };
    if place == 0 && most == 1 && think.is_some() {
        let message = "nobody thinks before the first request of a journey: write it to the step after";
        return Err(at_fault(of("think"), message));
    }
    let name = format!("{journey}: {}", name.unwrap_or_else(|| format!("step {}", place + 1)));
    let one = One { name: Some(name), url, share: None, inserts: false, json, form, own };
    Ok(Step { request: requests::built(plan, table, one, paths.target, None, paths.lets, files)?, spec })
}

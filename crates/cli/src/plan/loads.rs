//! What a plan offers at the same time: its `[[loads]]`, each with its name, and nothing beside them that says otherwise.

use super::fields::For;
use super::file::{PlanFile, values_of};
use super::lists::{ALONE, LOADS};
use super::source::Wrong;
use super::user::User;
use super::value;
use crate::args::load::PlannedLoad;
use crate::errors;
use anyhow::{Error, Result, anyhow};
use std::ops::Range;

/// What each of several loads says for itself.
const OF_EACH: [&str; 9] =
    ["rate", "shape", "peak-for", "period", "trace", "trace-column", "trace-step", "arrivals", "duration"];

/// The loads of `plan` for `command`; none where it has the one in `[load]`. `user` is the command line without the plan.
pub(super) fn of(plan: &PlanFile, command: For, user: &User) -> Result<Vec<PlannedLoad>> {
    let Some(first) = plan.loads.first() else { return Ok(Vec::new()) };
    let wrong = |at: &Range<usize>, message: String| {
        plan.source.error_hiding(&Wrong::new(at.clone(), message), &plan.hidden)
    };
    if command == For::Knee {
        let message = format!(
            "a search sets the rate of one load by itself, so that it takes no [[{LOADS}]]: keep [search] in a plan \
             without them"
        );
        return Err(wrong(&first.at, message));
    }
    let line = plan.source.line(first.at.start);
    let of_one = || OF_EACH.iter().chain(&ALONE);
    let given = of_one().filter(|flag| user.has(flag)).map(|flag| beside_flag(plan, line, flag));
    let fields = of_one().filter_map(|field| Some((field, plan.value(field)?)));
    let beside = fields.map(|(field, text)| wrong(&text.at, beside_field(line, field)));
    let mut bad: Vec<Error> = given.chain(beside).collect();
    let mut loads: Vec<PlannedLoad> = Vec::new();
    for (number, table) in plan.loads.iter().enumerate() {
        let mut load: PlannedLoad = match value::read(plan, table, LOADS) {
            Ok(load) => load,
            Err(error) => {
                bad.extend(errors::each(error));
                continue;
            }
        };
        let name = load.name.get_or_insert_with(|| format!("load {}", number + 1));
        if let Some(same) = loads.iter().position(|other| other.name.as_ref() == Some(name)) {
            let at = values_of(&table.given, "name").first().map_or(&table.at, |text| &text.at);
            let other = plan.source.line(plan.loads[same].at.start);
            let message =
                format!("the load in line {other} is called {name:?}, too: give each a name of its own");
            bad.push(wrong(at, message));
        }
        loads.push(load);
    }
    if bad.is_empty() { Ok(loads) } else { Err(errors::several(bad)) }
}

fn beside_field(line: usize, field: &str) -> String {
    let remedy = match field {
        "closed" | "think" | "ramp-up" => {
            "users who wait are a load that stands alone: leave out one or the other"
        }
        "requests" => "a number of requests does not say whose they are: give each load a duration instead",
        _ => "each load has its own: write it there, or leave it out",
    };
    format!("{field} in [load] contradicts [[{LOADS}]] in line {line}; {remedy}")
}

fn beside_flag(plan: &PlanFile, line: usize, flag: &str) -> Error {
    let name = &plan.source.name;
    anyhow!(
        "--{flag} is for one load, and {name} lists its loads from line {line} on: leave --{flag} out and change the \
         plan's [[{LOADS}]], or use a plan without them"
    )
}

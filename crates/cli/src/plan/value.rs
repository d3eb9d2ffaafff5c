//! Texts of a plan as flags take them: files beside the plan, `${NAME}` filled in from the environment.

use super::fields::{Field, Kind};
use super::file::{Given, PlanFile, Table, Text};
use super::holds::Holds;
use super::lists::{LISTS, List};
use super::variables::{Form, fill};
use crate::errors::{self, without_secrets};
use crate::request::template::json_body::UNKNOWN_VARIABLE;
use crate::request::url::UNKNOWN_ADDRESS;
use crate::secrets;
use anyhow::Result;
use clap::{Command, FromArgMatches};
use std::ffi::OsString;

/// What `table` of the list of this name says, read by the list's flags; or all that the environment lacks for it.
pub(super) fn read<T: FromArgMatches>(plan: &PlanFile, table: &Table, list: &str) -> Result<T> {
    let list = List::called(list).expect("the list exists");
    read_by(plan, &table.given, list.command().no_binary_name(true))
}

/// What is `given`, read by the flags of `command`.
pub(super) fn read_by<T: FromArgMatches>(plan: &PlanFile, given: &[Given], command: Command) -> Result<T> {
    let values = given.iter().flat_map(|given| given.values.iter().map(|text| (given.field, text)));
    let args = errors::all(values.map(|(field, text)| {
        if field.kind == Kind::Switch {
            return Ok(format!("--{}", field.name).into());
        }
        let mut arg = OsString::from(format!("--{}=", field.name));
        arg.push(of(plan, field, text)?);
        Ok(arg)
    }))?;
    let matches = command.try_get_matches_from(args);
    let read = matches.and_then(|matches| T::from_arg_matches(&matches));
    read.map_err(|error| plan.error_of_all(&without_secrets(error).to_string()))
}

/// The value as the flag is to see it.
pub(super) fn of(plan: &PlanFile, field: &Field, text: &Text) -> Result<OsString> {
    Ok(match field.holds {
        Holds::File if text.raw != "-" => plan.beside(&text.raw).into_os_string(),
        holds if holds.is_statement() => {
            if let Some(variable) = variable_in(&text.raw) {
                let message = format!(
                    "{variable}: environment variables are not allowed in a statement: use a value, {{{{x}}}}, which \
                     [let] takes from a file, such as x = \"csv(FILE)\""
                );
                return Err(plan.error(text, message));
            }
            text.raw.clone().into()
        }
        holds if holds.takes_variables() => filled_in(plan, Form::of(&field.name), text)?.into(),
        _ => text.raw.clone().into(),
    })
}

/// The text with each `${NAME}` replaced by what the environment says; `$${` stands for `${`.
pub(super) fn filled_in(plan: &PlanFile, form: Form, text: &Text) -> Result<String> {
    let is_sent = !plan.to_look_at && !plan.is_simulated;
    if text.raw.contains(secrets::MASK) && is_sent {
        let message = "*** is in the place of a hidden value: write the value, or ${NAME}";
        return Err(plan.error(text, message));
    }
    let stand_in = stand_in(text);
    let value = |name: &str| {
        let known = std::env::var(name).ok().inspect(|value| secrets::note_variable(value));
        known.or_else(|| (!is_sent || plan.is_for_elsewhere).then(|| stand_in.to_string()))
    };
    fill(&text.raw, form, value).map_err(|why| plan.error(text, why))
}

/// The first `${NAME}` of a text. In `$${` a text in dollars may begin.
fn variable_in(text: &str) -> Option<&str> {
    let starts = text.match_indices("${").map(|(at, _)| at).filter(|&at| !text[..at].ends_with('$'));
    let mut all = starts.filter_map(|at| Some(&text[at..=at + text[at..].find('}')?]));
    all.find(|found| secrets::is_one_variable(found))
}

/// Is a body a variable that the environment lacks? What it says, templates and all, is not known then.
pub(super) fn lacks_a_body(plan: &PlanFile) -> bool {
    let tables = LISTS.iter().flat_map(|list| plan.tables(list));
    let tables = tables.flat_map(|table| [table].into_iter().chain(&table.inner));
    let given = plan.given.iter().chain(tables.flat_map(|table| &table.given));
    let bodies = given.filter(|given| given.field.holds == Holds::Body).flat_map(|given| &given.values);
    let name = |text: &Text| text.raw.strip_prefix("${")?.strip_suffix('}').map(str::to_string);
    bodies.filter_map(name).any(|name| std::env::var(name).is_err())
}

/// The same with what stands in for each variable, so that it can be looked at without the environment.
pub(crate) fn stood_in(text: &Text) -> String {
    let stand_in = stand_in(text);
    fill(&text.raw, Form::Plain, |_| Some(stand_in.to_string())).unwrap_or_else(|_| text.raw.clone())
}

/// An address that is a variable altogether is still to look like one.
fn stand_in(text: &Text) -> &'static str {
    if text.raw.starts_with("${") { UNKNOWN_ADDRESS } else { UNKNOWN_VARIABLE }
}

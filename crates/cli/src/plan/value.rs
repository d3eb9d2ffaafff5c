//! Texts of a plan as flags take them: files beside the plan, `${NAME}` filled in from the environment.

use super::fields::{Field, Kind};
use super::file::{PlanFile, Table, Text};
use super::holds::Holds;
use super::lists::List;
use crate::errors::{self, without_secrets};
use crate::secrets;
use anyhow::Result;
use clap::FromArgMatches;
use std::ffi::OsString;

/// What `table` of the list of this name says, read by the list's flags; or all that the environment lacks for it.
pub(super) fn read<T: FromArgMatches>(plan: &PlanFile, table: &Table, list: &str) -> Result<T> {
    let list = List::called(list).expect("the list exists");
    let values = table.given.iter().flat_map(|given| given.values.iter().map(|text| (given.field, text)));
    let args = errors::all(values.map(|(field, text)| {
        if field.kind == Kind::Switch {
            return Ok(format!("--{}", field.name).into());
        }
        let mut arg = OsString::from(format!("--{}=", field.name));
        arg.push(of(plan, field, text)?);
        Ok(arg)
    }))?;
    let matches = list.command().no_binary_name(true).try_get_matches_from(args);
    let read = matches.and_then(|matches| T::from_arg_matches(&matches));
    read.map_err(|error| plan.error_of_all(&without_secrets(error).to_string()))
}

/// The value as the flag is to see it.
pub(super) fn of(plan: &PlanFile, field: &Field, text: &Text) -> Result<OsString> {
    Ok(match field.holds {
        Holds::File if text.raw != "-" => plan.beside(&text.raw).into_os_string(),
        holds if holds.takes_variables() => filled_in(plan, text)?.into(),
        _ => text.raw.clone().into(),
    })
}

/// The text with each `${NAME}` replaced by what the environment says; `$${` stands for `${`.
pub(crate) fn filled_in(plan: &PlanFile, text: &Text) -> Result<String> {
    if text.raw.contains(secrets::MASK) && !plan.to_look_at {
        let message =
            "*** stands in the place of a value that was not to be shown: write the value, or ${NAME}";
        return Err(plan.error(text, message));
    }
    let stand_in = stand_in(text);
    let value = |name: &str| {
        let known = std::env::var(name).ok().inspect(|value| secrets::note_variable(value));
        known.or_else(|| plan.to_look_at.then(|| stand_in.to_string()))
    };
    fill(&text.raw, value).map_err(|why| plan.error(text, why))
}

/// The same with what stands in for each variable, so that it can be looked at without the environment.
pub(crate) fn stood_in(text: &Text) -> String {
    let stand_in = stand_in(text);
    fill(&text.raw, |_| Some(stand_in.to_string())).unwrap_or_else(|_| text.raw.clone())
}

/// An address that is a variable altogether is still to look like one.
fn stand_in(text: &Text) -> &'static str {
    if text.raw.starts_with("${") { "http://variable.test" } else { "variable" }
}

fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, behind) = (&rest[..start], &rest[start + 2..]);
        if let Some(literal) = before.strip_suffix('$') {
            out += literal;
            out += "${";
            rest = behind;
            continue;
        }
        let end = behind.find('}').ok_or("${ has no } behind it")?;
        let name = &behind[..end];
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err("what stands between ${ and } is no name of a variable".into());
        }
        out += before;
        out += &value(name)
            .ok_or_else(|| format!("the environment has no variable {name}: set it before the run"))?;
        rest = &behind[end + 1..];
    }
    out += rest;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_or_named() {
        let value = |name: &str| (name == "TOKEN").then(|| "s3cret".to_string());
        assert_eq!(fill("Authorization: Bearer ${TOKEN}", value).unwrap(), "Authorization: Bearer s3cret");
        assert_eq!(fill("$${TOKEN} ${TOKEN}$ $5", value).unwrap(), "${TOKEN} s3cret$ $5");
        assert!(fill("${NONE}", value).unwrap_err().contains("NONE"));
        assert!(fill("${", value).is_err() && fill("${a b}", value).is_err());
    }
}

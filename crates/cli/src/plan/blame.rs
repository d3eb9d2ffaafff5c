//! Which field of a plan an error is about, when it was found by what reads flags: the message names the flag, and
//! mostly the value.

use super::fields::For;
use super::file::{Given, PlanFile, Text};
use super::source::{Pointed, Wrong};
use crate::args::Cli;
use crate::errors::{each, several};
use crate::secrets;
use anyhow::{Error, anyhow};
use clap::CommandFactory;
use std::ffi::OsString;
use std::ops::Range;
use unblink_analysis::slo::{AbortRule, Slo};

/// The error with its place in the plan; with the plan's name alone where no field is named, as when one is missing.
pub(super) fn pointed(plan: &PlanFile, error: Error) -> Error {
    several(each(error).into_iter().map(|error| pointed_one(plan, error)).collect())
}

fn pointed_one(plan: &PlanFile, error: Error) -> Error {
    if error.chain().any(|cause| cause.is::<Pointed>()) {
        return error;
    }
    let said = without_name(plan, &error);
    match place(plan, &said, |_| true) {
        Some(at) => plan.error(&Wrong::new(at, said)),
        None => anyhow!("{}: {said}", plan.source.name),
    }
}

/// The same for a command line beside the plan: what the user's own flags are to blame for stays as it is.
/// `all` is the command line with the plan's fields, of which some make way for the user's.
pub(super) fn pointed_if_named(plan: &PlanFile, user: &[OsString], all: &[OsString], error: Error) -> Error {
    several(each(error).into_iter().map(|error| one_pointed_if_named(plan, user, all, error)).collect())
}

fn one_pointed_if_named(plan: &PlanFile, user: &[OsString], all: &[OsString], error: Error) -> Error {
    let said = without_name(plan, &error);
    let is_used = |given: &Given| {
        let flag = format!("--{}", given.field.name);
        all.iter().any(|arg| arg.to_string_lossy().split('=').next() == Some(&flag))
    };
    let is_users = user.iter().skip(2).any(|arg| {
        let arg = arg.to_string_lossy();
        let flag = arg.split('=').next().unwrap_or_default();
        flag.starts_with('-') && named_at(&said, flag).is_some()
    });
    let is_pointed = error.chain().any(|cause| cause.is::<Pointed>());
    match place(plan, &said, is_used).filter(|_| !is_users && !is_pointed) {
        Some(at) => plan.error(&Wrong::new(at, said)),
        None => error,
    }
}

fn without_name(plan: &PlanFile, error: &Error) -> String {
    let said = crate::explain_error(error);
    said.strip_prefix(&format!("{}: ", plan.source.name)).unwrap_or(&said).to_string()
}

/// Of several fields, the one that the message names first.
fn place(plan: &PlanFile, said: &str, is_used: impl Fn(&Given) -> bool) -> Option<Range<usize>> {
    let is_quoted = |given: &Given, text: &Text| {
        let meant = match given.field.name.as_str() {
            "slo" => Slo::parse(&text.raw).map(|slo| slo.to_string()).ok(),
            "abort-on" => AbortRule::parse(&text.raw).map(|rule| rule.to_string()).ok(),
            _ => None,
        };
        let quoted = |text: &str| said.contains(&format!("{text:?}"));
        // By a name as it was given, or without its parameters.
        let said = |text: &str| quoted(text) || quoted(&secrets::mask_objective(text));
        said(&text.raw) || meant.is_some_and(|meant| said(&meant))
    };
    let mentioned = |given: &Given| {
        let at = flags(&given.field.name).iter().filter_map(|flag| named_at(said, flag)).min()?;
        let quoted = given.values.iter().find(|text| is_quoted(given, text));
        Some((at, quoted.or(given.values.first())?.at.clone()))
    };
    let urls = [&plan.target, &plan.candidate].into_iter().flatten();
    let is_of_url =
        |url: &&Text| said.contains(&url.raw) || said.contains(&secrets::mask_wrong_url(&url.raw));
    let of_url = urls.filter(is_of_url).map(|url| url.at.clone()).next();
    plan.given
        .iter()
        .filter(|given| is_used(given))
        .filter_map(mentioned)
        .min_by_key(|(at, _)| *at)
        .map(|(_, at)| at)
        .or(of_url)
}

/// `--rate` and `-R`.
fn flags(name: &str) -> Vec<String> {
    let cli = Cli::command();
    let commands = For::ALL.into_iter().filter_map(|command| cli.find_subcommand(command.name()));
    let arg = commands.flat_map(|command| command.get_arguments()).find(|arg| arg.get_long() == Some(name));
    let short = arg.and_then(|arg| arg.get_short()).map(|short| format!("-{short}"));
    std::iter::once(format!("--{name}")).chain(short).collect()
}

/// Where the message names this flag, and no longer one.
fn named_at(said: &str, flag: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '-';
    let is_alone = |at: usize| {
        let before = said[..at].chars().next_back();
        let behind = said[at + flag.len()..].chars().next();
        !before.is_some_and(is_word) && !behind.is_some_and(is_word)
    };
    said.match_indices(flag).map(|(at, _)| at).find(|&at| is_alone(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_named_by_itself() {
        assert_eq!(named_at("-R and --closed exclude", "-R"), Some(0));
        assert_eq!(named_at("--rate-limit or '--rate <RATE>'", "--rate"), Some(17));
        assert_eq!((named_at("--rate-limit", "--rate"), named_at("a-R", "-R")), (None, None));
    }
}

//! What the user gave on the command line beside a plan.

use super::fields::{self, Field, For};
use super::file::{self, PlanFile};
use anyhow::{Context, Result, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;

/// Any flag on the left, given, takes the place of the plan's fields on the right, beside those that it excludes.
pub(super) const INSTEAD: [(&[&str], &[&str]); 6] = [
    (
        &["rate", "closed"],
        &["replay", "speed", "scale", "loop", "from", "to", "mutating", "per-user-order", "path-template"],
    ),
    (&["replay"], &["rate", "shape", "trace", "closed", "think", "ramp-up", "arrivals", "warmup"]),
    (&["rate"], &["closed", "think", "ramp-up"]),
    (&["closed"], &["rate", "arrivals", "precision-of", "max-duration"]),
    (&["duration", "requests"], &["precision-of", "max-duration"]),
    (&["precision-of", "max-duration"], &["duration", "requests", "closed"]),
];

/// The plan among the positional arguments of a command line that may be incomplete without it, and the command.
pub(super) fn plan_among(cli: &Command, argv: &[OsString]) -> Result<Option<(For, String)>> {
    let Some(command) = argv.get(1).and_then(|name| For::ALL.into_iter().find(|c| *name == *c.name())) else {
        return Ok(None);
    };
    let user = User::of(cli, command, argv);
    let plans: Vec<String> = match command {
        For::Run | For::Knee | For::Try => {
            let is_meant = |name: &String| file::is_plan(name) || file::is_json(name);
            user.positional("urls").filter(is_meant).collect()
        }
        // A run's document may be named for its folder.
        For::Compare => {
            let both = user.positional("baseline").chain(user.positional("candidate"));
            both.filter(|name| file::is_plan(name)).collect()
        }
        For::Sim => user.positional("plan").take(1).collect(),
    };
    match plans.as_slice() {
        [] => Ok(None),
        [plan] => Ok(Some((command, plan.clone()))),
        [_, second, ..] => bail!("there is one plan at a time, and {second:?} is a second one"),
    }
}

/// The command line without the plan called `name`. A flag's value may be the same text: without the right one of them no
/// plan is left.
pub(super) fn without_plan(cli: &Command, argv: &[OsString], name: &str) -> Result<Vec<OsString>> {
    let same = (2..argv.len()).filter(|&place| argv[place] == *name);
    let mut left = same.map(|place| [&argv[..place], &argv[place + 1..]].concat());
    let is_left = |argv: &Vec<OsString>| plan_among(cli, argv).is_ok_and(|plan| plan.is_none());
    left.find(is_left).with_context(|| format!("{name:?} is a plan, and nothing else may stand beside it"))
}

/// Flags and addresses of a command line that lacks what the plan has.
pub(super) struct User {
    command: Command,
    /// Nothing where help is asked for.
    matches: Option<ArgMatches>,
}

impl User {
    pub(super) fn of(cli: &Command, command: For, argv: &[OsString]) -> User {
        let matches = cli.clone().ignore_errors(true).try_get_matches_from(argv).ok();
        let matches = matches.and_then(|mut matches| matches.remove_subcommand()).map(|(_, sub)| sub);
        User { command: command.of(cli).clone(), matches }
    }

    /// Did the user give this flag?
    pub(super) fn has(&self, flag: &str) -> bool {
        self.command.get_arguments().any(|arg| arg.get_long() == Some(flag) && self.gave(arg))
    }

    fn gave(&self, arg: &Arg) -> bool {
        let source = self.matches.as_ref().and_then(|all| all.value_source(arg.get_id().as_str()));
        source == Some(ValueSource::CommandLine)
    }

    /// What the user gave for a flag.
    pub(super) fn value(&self, flag: &str) -> Option<String> {
        self.positional(flag).last().filter(|_| self.has(flag))
    }

    /// Did the user give a flag that says something else in the place of this field?
    pub(super) fn has_instead_of(&self, field: &Field) -> bool {
        let name = field.name.as_str();
        let given = |flags: &[&str]| flags.iter().any(|flag| self.has(flag));
        let mut excluding = self.command.get_arguments().filter(|arg| self.gave(arg));
        INSTEAD.iter().any(|(flags, fields)| fields.contains(&name) && given(flags))
            || excluding.any(|arg| fields::exclude(&self.command, arg, field.arg(&self.command)))
    }

    /// Is it the plan's world that is asked, and not its target?
    pub(super) fn wants_simulation(&self, command: For, plan: &PlanFile) -> bool {
        match command {
            For::Run | For::Try => false,
            For::Sim => true,
            For::Knee | For::Compare => {
                let given = ["simulate", "server", "scenario", "candidate-server"];
                let is_nobody_asked = !plan.has_target() && self.urls().is_empty();
                given.iter().any(|flag| self.has(flag)) || (is_nobody_asked && plan.has_section("world"))
            }
        }
    }

    /// Addresses beside the plan.
    pub(super) fn urls(&self) -> Vec<String> {
        let all = ["urls", "baseline", "candidate"].into_iter().flat_map(|id| self.positional(id));
        all.filter(|url| !file::is_plan(url)).collect()
    }

    /// Values that the user names.
    pub(super) fn lets(&self) -> Vec<String> {
        self.positional(fields::LETS).collect()
    }

    /// What stands at the place that clap calls `id`.
    fn positional(&self, id: &str) -> impl Iterator<Item = String> {
        let raw = self.matches.as_ref().and_then(|matches| matches.try_get_raw(id).ok().flatten());
        raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned())
    }
}

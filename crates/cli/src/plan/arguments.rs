//! A plan becomes flags that stand before the user's own, so that both are read by one parser. A field whose flag
//! was given, or a flag that says something else in its place, is left out.

use super::fields::{For, Kind};
use super::file::{FILES, PlanFile, Text};
use super::requests::{self, Planned};
use super::search;
use super::source::Wrong;
use anyhow::{Result, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::path::Path;
use unblink_analysis::slo::Slo;

/// Sections of which whoever wrote them expects that they are heeded.
const IS_MISSED: [&str; 2] = ["objectives", "output"];

/// The section of what is simulated.
const WORLD: &str = "world";

/// Flags of which those on the one side make those on the other pointless.
const ALTERNATIVES: [(&[&str], &[&str]); 7] = [
    (&["output"], &["resume"]),
    (&["rate", "arrivals"], &["closed", "think", "ramp-up"]),
    (&["duration", "requests"], &["precision", "precision-of", "max-duration"]),
    (&["closed"], &["precision", "precision-of", "max-duration"]),
    (&["body"], &["body-file"]),
    (&["connect-to"], &["unix-socket"]),
    (&["server"], &["scenario"]),
];

/// The plan among the positional arguments of a command line that may be incomplete without it, and the command.
pub(crate) fn given(cli: &Command, argv: &[OsString]) -> Result<Option<(For, String)>> {
    let Some(command) = argv.get(1).and_then(|name| For::ALL.into_iter().find(|c| *name == *c.name())) else {
        return Ok(None);
    };
    let Some(matches) = lenient(cli, argv) else { return Ok(None) };
    let Some((_, sub)) = matches.subcommand() else { return Ok(None) };
    let id = match command {
        For::Run | For::Knee => "urls",
        For::Sim => "plan",
        For::Compare => "baseline",
    };
    let more = (command == For::Compare).then_some("candidate");
    let raw = std::iter::once(id).chain(more).filter_map(|id| sub.get_raw(id)).flatten();
    let mut positional = raw.map(|value| value.to_string_lossy().into_owned());
    let plans: Vec<String> = match command {
        For::Run | For::Knee => {
            let is_meant = |name: &String| super::file::is_plan(name) || super::file::is_json(name);
            positional.filter(is_meant).collect()
        }
        // A run's document may be named for its folder.
        For::Compare => positional.filter(|name| super::file::is_plan(name)).collect(),
        For::Sim => positional.next().into_iter().collect(),
    };
    match plans.as_slice() {
        [] => Ok(None),
        [plan] => Ok(Some((command, plan.clone()))),
        [_, second, ..] => bail!("there is one plan at a time, and {second:?} is a second one"),
    }
}

/// What a plan requests.
pub(crate) enum Requests {
    /// Nothing: what it describes is simulated, or the user's flags say it.
    None,
    Of(Vec<Planned>),
    /// Of the baseline, and of the candidate.
    OfBoth([Vec<Planned>; 2]),
}

/// The command line with the plan's fields in front of the user's flags, and the plan's requests.
pub(crate) fn joined(
    cli: &Command,
    argv: &[OsString],
    command: For,
    plan: &PlanFile,
) -> Result<(Vec<OsString>, Requests)> {
    let matches = lenient(cli, argv);
    let sub = matches.as_ref().and_then(|matches| matches.subcommand()).map(|(_, sub)| sub);
    let user = User { command: cli.find_subcommand(command.name()), matches: sub };
    let is_simulated = user.wants_simulation(command, plan);
    if matches!(command, For::Knee | For::Compare) && user.has("simulate") {
        let is_there =
            ["server", "scenario"].iter().any(|flag| user.has(flag) || !plan.values(flag).is_empty());
        if !is_there {
            bail!("{}: there is nothing to simulate: [world] has no server", plan.source.name);
        }
    }
    if let (For::Knee | For::Compare, Some(targets)) = (command, plan.values("targets").first()) {
        let message = format!("{} takes [[requests]] of a plan, and no file of targets", command.name());
        return Err(plan.error(&Wrong::new(targets.at.clone(), message)));
    }
    if command == For::Knee && !user.has("slo") && plan.values("slo").is_empty() {
        bail!(
            "{}: a search needs a percentile to go by: add slo = \"p99 < 200ms\" to [objectives], or give --slo",
            plan.source.name
        );
    }
    let mut injected: Vec<OsString> = Vec::new();
    for given in &plan.given {
        let field = given.field;
        if !field.is_for(command) {
            if IS_MISSED.contains(&field.section.as_str()) && command != For::Sim {
                say(
                    plan,
                    format_args!("{} has no {}, so the plan's is left out", command.name(), field.name),
                );
            }
            continue;
        }
        let is_not_asked = field.section == WORLD && !is_simulated;
        if is_not_asked || user.has(&field.name) || user.has_instead_of(&field.name) {
            continue;
        }
        let objective = match (command, field.name.as_str()) {
            (For::Knee, "slo") => Some(search::objective(plan)?),
            _ => None,
        };
        let values = objective.as_ref().map_or(given.values.as_slice(), std::slice::from_ref);
        for text in values.iter().filter(|text| !is_of_one_request(plan, command, &field.name, &text.raw)) {
            injected.push(match field.kind {
                Kind::Switch => format!("--{}", field.name).into(),
                Kind::One | Kind::Many => {
                    let mut flag = OsString::from(format!("--{}=", field.name));
                    flag.push(value(plan, &field.name, text)?);
                    flag
                }
            });
        }
    }
    if command == For::Knee {
        injected.extend(search::cap(plan, user.value("max"))?);
    }
    let urls = user.urls();
    if let (Some(targets), true) =
        (plan.values("targets").first(), plan.target.is_some() || !plan.requests.is_empty())
    {
        let message = "targets stands beside target or requests: a plan has one or the other";
        return Err(plan.error(&Wrong::new(targets.at.clone(), message)));
    }
    let requests = match command {
        For::Run if user.has("targets") => Requests::None,
        For::Compare if !is_simulated => {
            let a_a = user.has("a-a") || !plan.values("a-a").is_empty();
            let both =
                if a_a { [requests::of(plan, &urls)?, Vec::new()] } else { requests::of_both(plan, &urls)? };
            Requests::OfBoth(both)
        }
        For::Run | For::Knee if !is_simulated => Requests::Of(requests::of(plan, &urls)?),
        _ => Requests::None,
    };
    let mut all = argv.to_vec();
    all.splice(2..2, injected);
    Ok((all, requests))
}

/// Tells whoever is about to start something; a plan that is only looked at is for several commands.
pub(super) fn say(plan: &PlanFile, what: std::fmt::Arguments<'_>) {
    if !plan.to_look_at {
        crate::output::note(format_args!("note: {what}"));
    }
}

/// An objective of one request by its name, which a simulation does not have.
fn is_of_one_request(plan: &PlanFile, command: For, field: &str, raw: &str) -> bool {
    let is_one = command == For::Sim && field == "slo" && Slo::parse(raw).is_ok_and(|slo| slo.name.is_some());
    if is_one {
        say(plan, format_args!("a simulation has no request by name, so {raw:?} is left out"));
    }
    is_one
}

/// The value as the flag is to see it.
fn value(plan: &PlanFile, name: &str, text: &Text) -> Result<OsString> {
    if FILES.contains(&name) && text.raw != "-" {
        return Ok(beside(&plan.path, &text.raw).into_os_string());
    }
    if matches!(name, "header" | "body") {
        return Ok(requests::filled_in(plan, text)?.into());
    }
    Ok(text.raw.clone().into())
}

/// A file that a plan names lies beside the plan.
pub(crate) fn beside(plan: &Path, name: &str) -> std::path::PathBuf {
    plan.parent().unwrap_or(Path::new("")).join(name)
}

/// What can be read of a command line that lacks what the plan has.
fn lenient(cli: &Command, argv: &[OsString]) -> Option<ArgMatches> {
    cli.clone().ignore_errors(true).try_get_matches_from(argv).ok()
}

/// What the user gave.
struct User<'a> {
    command: Option<&'a Command>,
    matches: Option<&'a ArgMatches>,
}

impl User<'_> {
    fn has(&self, flag: &str) -> bool {
        let arguments = self.command.into_iter().flat_map(Command::get_arguments);
        let id =
            arguments.into_iter().find(|arg| arg.get_long() == Some(flag)).map(|arg| arg.get_id().as_str());
        let source = id.zip(self.matches).and_then(|(id, matches)| matches.value_source(id));
        source == Some(ValueSource::CommandLine)
    }

    /// What the user gave for a flag.
    fn value(&self, flag: &str) -> Option<String> {
        let raw = self.has(flag).then(|| self.matches?.try_get_raw(flag).ok().flatten()?.next_back());
        raw.flatten().map(|value| value.to_string_lossy().into_owned())
    }

    fn has_instead_of(&self, flag: &str) -> bool {
        let given = |flags: &[&str]| flags.iter().any(|flag| self.has(flag));
        let instead = ALTERNATIVES.iter().any(|(one, other)| {
            (one.contains(&flag) && given(other)) || (other.contains(&flag) && given(one))
        });
        instead || (flag == "targets" && !self.urls().is_empty())
    }

    /// Is it the plan's world that is asked, and not its target?
    fn wants_simulation(&self, command: For, plan: &PlanFile) -> bool {
        match command {
            For::Run => false,
            For::Sim => true,
            For::Knee | For::Compare => {
                let given = ["simulate", "server", "scenario", "candidate-server"];
                let is_nobody_asked = !plan.has_target() && self.urls().is_empty();
                given.iter().any(|flag| self.has(flag)) || (is_nobody_asked && plan.has_section(WORLD))
            }
        }
    }

    /// Addresses beside the plan.
    fn urls(&self) -> Vec<String> {
        let all = ["urls", "baseline", "candidate"].into_iter().flat_map(|id| self.positional(id));
        all.filter(|url| !super::file::is_plan(url)).collect()
    }

    fn positional(&self, id: &str) -> Vec<String> {
        let Some(matches) = self.matches else { return Vec::new() };
        let raw = matches.try_get_raw(id).ok().flatten();
        raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()
    }
}

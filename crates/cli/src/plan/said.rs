//! What a command line and its plan say of a run, in their own words: machines that offer parts of one run must have been told the
//! same. Variables of the environment stand there by their names, since each machine fills in its own.

use super::fields::{self, For, TARGET};
use super::file::{Given, LET, PlanFile};
use super::holds::Holds;
use super::lists::{LISTS, STAGES};
use super::{workload, write};
use crate::args::run::Said;
use crate::args::{Cli, Command};
use clap::parser::ValueSource;
use clap::{Arg, CommandFactory};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::path::Path;

/// Headings of flags that say how one looks at a run, where it is kept, and how machines meet.
const BESIDE: [&str; 5] = ["Output", "History", "Watch", "Many machines", "Bus"];

/// What is there under one of these headings, and is part of how a run is judged.
const JUDGES: [&str; 1] = ["tolerate-lost"];

/// What each machine has for itself: its files of TLS, its folders, what keeps it from offering too much, and what it asks before.
const OF_A_MACHINE: [&str; 9] =
    ["cacert", "cert", "key", "import-path", "kill-file", "kill-url", "max-rate", "no-preflight", "resume"];

/// Files, beside those of plans, of which the name stands for the contents.
const FILES: [&str; 2] = ["proto", "descriptor-set"];

/// Notes in the flags of a run, or of an experiment whose runs agents may offer, what was said. `plan` is the plan, if there is one,
/// with those of its fields that are heeded; `argv` is without it.
pub(super) fn note(cli: &mut Cli, argv: &[OsString], plan: Option<(&PlanFile, &[Given])>) {
    let (command, noted) = match &mut cli.command {
        Command::Run(args) => (For::Run, &mut args.said),
        Command::Knee(args) => (For::Knee, &mut args.said),
        Command::Compare(args) => (For::Compare, &mut args.said),
        _ => return,
    };
    let words = said(command, argv, plan).to_string();
    *noted = Some(Said { words, plan: plan.map(|(plan, _)| plan.path.clone()) });
}

fn said(command: For, argv: &[OsString], plan: Option<(&PlanFile, &[Given])>) -> Value {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(argv).ok();
    let matches = matches.and_then(|mut matches| matches.remove_subcommand()).map(|(_, own)| own);
    let heeded = plan.map_or(&[][..], |(_, heeded)| heeded);
    let mut said = Map::new();
    for arg in command.of(fields::built()).get_arguments() {
        let (id, name) = (arg.get_id().as_str(), arg.get_long().unwrap_or(arg.get_id().as_str()));
        if is_of_a_machine(arg, name) {
            continue;
        }
        let source = matches.as_ref().and_then(|matches| matches.value_source(id));
        let of_plan = heeded.iter().find(|given| given.field.name == name);
        let is_users = source == Some(ValueSource::CommandLine);
        let texts: Vec<String> = match of_plan.filter(|_| !is_users) {
            Some(given) => given.values.iter().map(|text| text.raw.clone()).collect(),
            None => {
                let raw = matches.as_ref().and_then(|matches| matches.try_get_raw(id).ok().flatten());
                let own = raw.into_iter().flatten().map(|text| text.to_string_lossy().into_owned());
                // Those of the plan stay below the user's.
                let below = plan.map(|(plan, _)| workload::set_below(plan, name, is_users));
                below.unwrap_or_default().into_iter().chain(own).collect()
            }
        };
        if !texts.is_empty() {
            let is_file = Holds::of(name) == Holds::File || FILES.contains(&name);
            said.insert(name.into(), texts.iter().map(|text| named(is_file, text)).collect());
        }
    }
    if let Some((plan, _)) = plan {
        let whole = write::json(plan, &mut |field, text| named(field.holds == Holds::File, &text.raw));
        let lists = LISTS.iter().map(|list| list.name).filter(|name| *name != STAGES);
        for name in lists.chain([TARGET, LET]) {
            if let Some(value) = whole.get(name) {
                said.insert(format!("[{name}]"), value.clone());
            }
        }
    }
    said.into()
}

fn is_of_a_machine(arg: &Arg, name: &str) -> bool {
    let is_beside = arg.get_help_heading().is_some_and(|heading| BESIDE.contains(&heading));
    (is_beside && !JUDGES.contains(&name))
        || OF_A_MACHINE.contains(&name)
        || ["help", "version"].contains(&name)
}

/// What stands in a file is told apart from where it lies.
fn named(is_file: bool, text: &str) -> String {
    let name = Path::new(text).file_name().filter(|_| is_file);
    name.map_or_else(|| text.to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Value {
        of_command(For::Run, words)
    }

    fn of_command(command: For, words: &[&str]) -> Value {
        let argv: Vec<OsString> =
            ["unblink", command.name(), "http://h/"].iter().chain(words).map(Into::into).collect();
        said(command, &argv, None)
    }

    /// Where its trials are kept, and that it goes on, is nothing of what they ask.
    #[test]
    fn what_an_experiment_asks_is_said_too() {
        for (command, base) in [
            (For::Knee, &["--slo", "p99 < 1s", "--start", "5"][..]),
            (For::Compare, &["http://other/", "-R", "5", "--runs", "5"]),
        ] {
            let bare = of_command(command, base);
            for own in [&["-o", "out"][..], &["--resume", "out"], &["--agents", "local:2"], &["--json", "-q"]]
            {
                assert_eq!(of_command(command, &[base, own].concat()), bare, "{own:?}");
            }
            for other in [&["-H", "X-A: 1"][..], &["--expect", "status=200"], &["--timeout", "9s"]] {
                assert_ne!(of_command(command, &[base, other].concat()), bare, "{other:?}");
            }
        }
        let slo = |text| of_command(For::Knee, &["--slo", text]);
        assert_ne!(slo("p99 < 1s"), slo("p99 < 2s"));
    }

    #[test]
    fn what_each_machine_has_for_itself_is_left_out() {
        let bare = of(&["-R", "5"]);
        for own in [
            &["--share", "1/2", "--start-at", "2026-11-27T12:00:00Z"][..],
            &["-o", "out", "-q", "--json", "--no-store", "--tag", "a=b"],
            &["--agents", "local:4", "--nats-server", "x"],
            &["--cacert", "ca.pem", "--kill-file", "stop", "--max-rate", "9"],
            // As it is by itself.
            &["--seed", "1", "--arrivals", "even"],
        ] {
            assert_eq!(of(&[&["--rate", "5"], own].concat()), bare, "{own:?}");
        }
        for other in [
            &["-H", "X-A: 1"][..],
            &["--body", "b"],
            &["--expect", "status=200"],
            &["--seed", "2"],
            &["--connect-to", "h:80:127.0.0.1:81"],
            &["--tolerate-lost", "1"],
        ] {
            assert_ne!(of(&[&["-R", "5"], other].concat()), bare, "{other:?}");
        }
        assert_eq!(of(&["--body-file", "/a/b.json"]), of(&["--body-file", "c/b.json"]));
        assert_ne!(of(&["--body-file", "/a/b.json"]), of(&["--body-file", "/a/c.json"]));
    }
}

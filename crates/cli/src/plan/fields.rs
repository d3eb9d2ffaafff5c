//! The fields of a plan: every flag of the commands that take a plan is one, if it takes a value, in the section that
//! its help names. So a plan can say what the command line can, in the same words, and a flag always has the field's
//! meaning. The fields of the tables in lists stand in [`lists`](super::lists).

use super::holds::Holds;
use super::lists::{self, List};
use crate::args::Cli;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::error::Error;
use std::sync::OnceLock;

/// What a plan has no field for: how one looks at a run and where it is kept, not what it is.
pub(super) const NO_FIELDS: [&str; 22] = [
    "agents",
    "agents-resume",
    "agents-stay",
    "agents-within",
    "arrival",
    "bus",
    "bus-ca",
    "bus-within",
    "fleet",
    "nats-server",
    "nkey",
    "json",
    "quiet",
    "store",
    "no-store",
    "resume",
    "share",
    "start-at",
    "tolerate-lost",
    "simulate",
    "help",
    "version",
];

/// The flag of `run` and `knee` that does what `REQUESTS` do; that of `compare` with the same name has a field.
pub(super) const LINES: &str = "lines";
/// The flag that does what `[let]` does.
pub(super) const LETS: &str = "lets";

/// Sections whose name their flags begin with, to tell them from others on a command line; in the section it would say nothing.
const NAMED_BY_SECTION: [(&str, &str); 2] = [("cross-check", "cross-check-"), ("retry", "retry-")];

/// What is above all sections.
pub(crate) const TOP: &str = "";
/// The address of what is tested.
pub(crate) const TARGET: &str = "target";
/// The address that `unblink compare` holds against the target.
pub(crate) const CANDIDATE: &str = "candidate";

/// One field.
#[derive(Debug)]
pub(crate) struct Field {
    /// As in the help, in small letters; or `TOP`, or the name of a list.
    pub section: String,
    /// Of the flag, without the dashes.
    pub name: String,
    pub kind: Kind,
    pub holds: Holds,
    /// A table of its section has it.
    pub is_required: bool,
    pub help: String,
    /// What stands for the value in the help.
    pub value_name: String,
    /// The values that there are, where they are few.
    pub possible: Vec<String>,
    /// Those that have the flag, each with its default.
    commands: Vec<(For, Option<String>)>,
}

/// How many values a field takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `true`, or left out.
    Switch,
    One,
    Many,
    /// A table of names, each with its value; of the flag `NAME=VALUE`, which may be given several times.
    Pairs,
    /// A table, or a text that says the same.
    Table,
}

/// The commands that take a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum For {
    Run,
    Sim,
    Knee,
    Compare,
    Try,
}

impl For {
    pub(crate) const ALL: [For; 5] = [For::Run, For::Sim, For::Knee, For::Compare, For::Try];

    pub(crate) fn name(self) -> &'static str {
        match self {
            For::Run => "run",
            For::Sim => "sim",
            For::Knee => "knee",
            For::Compare => "compare",
            For::Try => "try",
        }
    }

    /// The command among those of `cli`.
    pub(crate) fn of(self, cli: &Command) -> &Command {
        cli.find_subcommand(self.name()).expect("the command exists")
    }
}

/// Every field, in the order of the help; those of no command at the end.
pub(crate) fn all() -> &'static [Field] {
    static ALL: OnceLock<Vec<Field>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut fields: Vec<Field> = Vec::new();
        for command in For::ALL {
            for arg in command.of(built()).get_arguments() {
                let is_field =
                    |name: &&str| !NO_FIELDS.contains(name) && arg.get_id() != LINES && arg.get_id() != LETS;
                let Some(name) = arg.get_long().filter(is_field) else { continue };
                let place = fields.iter().position(|field| field.name == name);
                let place = place.unwrap_or_else(|| {
                    let section = arg.get_help_heading().unwrap_or("Request").to_lowercase();
                    fields.push(Field::of(arg, name, section));
                    fields.len() - 1
                });
                let default = default(arg, fields[place].kind);
                fields[place].commands.push((command, default));
            }
        }
        for table in [top()].into_iter().chain(lists::with_inner().map(List::command)) {
            let args = table.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
            fields.extend(args.map(|(arg, name)| Field::of(arg, name, table.get_name().into())));
        }
        fields
    })
}

fn top() -> Command {
    let target = "URL of what is tested; ${NAME} is taken from the environment";
    let candidate = "URL that `unblink compare` holds against target";
    let arg = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    Command::new(TOP).args([arg(TARGET, target), arg(CANDIDATE, candidate)])
}

/// The fields of a section, of `TOP`, or of the tables of a list.
pub(crate) fn of(section: &str) -> impl Iterator<Item = &'static Field> + Clone {
    all().iter().filter(move |field| field.section == section)
}

/// The field with this name. Those of sections come first.
pub(crate) fn named(name: &str) -> Option<&'static Field> {
    all().iter().find(|field| field.name == name)
}

/// The field of this name or, where there is none, the one that is called so in its section.
pub(crate) fn called(key: &str) -> Option<&'static Field> {
    named(key).or_else(|| all().iter().find(|field| field.key() == key))
}

/// Every section, in the order of the help.
pub(crate) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = Vec::new();
    for field in all() {
        let section = field.section.as_str();
        if !sections.contains(&section) && section != TOP && List::called(section).is_none() {
            sections.push(section);
        }
    }
    sections
}

/// Does `command` take only one of the two?
pub(super) fn exclude(command: &Command, one: &Arg, other: &Arg) -> bool {
    // Of two flags, one names the other.
    let names = |one, other| command.get_arg_conflicts_with(one).contains(&other);
    names(one, other) || names(other, one)
}

/// The command line with everything that clap works out by itself.
pub(super) fn built() -> &'static Command {
    static BUILT: OnceLock<Command> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cli = Cli::command();
        cli.build();
        cli
    })
}

impl Field {
    fn of(arg: &Arg, name: &str, section: String) -> Field {
        let stands_for =
            |what: &str| arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == what));
        let kind = match arg.get_action() {
            ArgAction::SetTrue => Kind::Switch,
            // A flag alone means true; `--flag=false` is for whoever has a plan that says so.
            _ if arg.is_require_equals_set() => Kind::Switch,
            ArgAction::Append if stands_for("NAME=VALUE") => Kind::Pairs,
            ArgAction::Append => Kind::Many,
            _ if stands_for("TABLE") => Kind::Table,
            _ => Kind::One,
        };
        let value_names = arg.get_value_names().unwrap_or_default();
        Field {
            section,
            name: name.to_string(),
            kind,
            holds: Holds::of(name),
            is_required: arg.is_required_set(),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
            value_name: value_names.first().map(ToString::to_string).unwrap_or_default(),
            possible: match kind {
                Kind::Switch => Vec::new(),
                _ => arg.get_possible_values().iter().map(|value| value.get_name().to_string()).collect(),
            },
            commands: Vec::new(),
        }
    }

    /// What it is called in its section: the flag's name, of which the section's own name is left out where it stands there
    /// only to tell the flag from others.
    pub(crate) fn key(&self) -> &str {
        let prefix = NAMED_BY_SECTION.iter().find(|(section, _)| *section == self.section);
        prefix.and_then(|(_, prefix)| self.name.strip_prefix(prefix)).unwrap_or(&self.name)
    }

    /// The flag of a command that has it.
    pub(crate) fn arg<'a>(&self, command: &'a Command) -> &'a Arg {
        let found = command.get_arguments().find(|arg| arg.get_long() == Some(&self.name));
        found.expect("the command has the flag")
    }

    /// Does `command` have the flag?
    pub(crate) fn is_for(&self, command: For) -> bool {
        self.commands.iter().any(|(one, _)| *one == command)
    }

    /// What it is when it is left out, in the eyes of the first of `commands` that has it; nothing when none has. The
    /// arrivals of a search are others than a run's.
    pub(crate) fn default_for(&self, commands: &[For]) -> Option<&str> {
        let of = |command: &For| self.commands.iter().find(|(one, _)| one == command);
        commands.iter().find_map(of)?.1.as_deref()
    }

    /// What is wrong with `value`, in the words of the flag.
    pub(crate) fn check(&self, value: &str) -> Result<(), String> {
        let command = match (self.commands.first(), List::called(&self.section)) {
            (Some((command, _)), _) => command.of(built()).clone(),
            (None, Some(list)) => list.command(),
            (None, None) => return Ok(()),
        };
        let argv = [command.get_name().to_string(), format!("--{}={value}", self.name)];
        let Err(error) = command.try_get_matches_from(argv) else { return Ok(()) };
        match error.kind() {
            ErrorKind::ValueValidation => {
                Err(error.source().map_or_else(|| error.to_string(), ToString::to_string))
            }
            ErrorKind::InvalidValue if value.is_empty() => Err("the value is empty".into()),
            ErrorKind::InvalidValue => Err(format!("{value:?} is not one of {}", self.possible.join(", "))),
            // Flags that it takes or excludes are looked at when all are known.
            _ => Ok(()),
        }
    }
}

fn default(arg: &Arg, kind: Kind) -> Option<String> {
    let mut defaults = arg.get_default_values().iter();
    let first = defaults.next().map(|value| value.to_string_lossy().into_owned());
    first.filter(|value| kind == Kind::One && !value.is_empty())
}

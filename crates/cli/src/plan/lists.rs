//! Lists of tables: what a plan may have several of. The fields of such a table come from a struct of flags.

use crate::args::load::PlannedLoad;
use crate::request::fields::PlannedRequest;
use clap::{Args, Command};
use unblink_core::plan::LOADS_MAX;

/// The requests, each a table.
pub(crate) const REQUESTS: &str = "requests";
/// The loads, each a table.
pub(crate) const LOADS: &str = "loads";

/// Fields of a load that no other may stand beside.
pub(crate) const ALONE: [&str; 4] = ["closed", "think", "ramp-up", "requests"];

/// A list of tables with the same fields.
#[derive(Debug)]
pub(crate) struct List {
    pub name: &'static str,
    /// One of its tables.
    pub one: &'static str,
    pub help: &'static str,
    /// The field that each table has, and what to do where it lacks.
    pub needs: (&'static str, &'static str),
    /// So many tables at the most, where there is a limit.
    pub tables_max: Option<usize>,
    /// Adds its fields to a command.
    fields: fn(Command) -> Command,
}

/// Every list, in the order in which they are written.
pub(crate) static LISTS: [List; 2] = [
    List {
        name: LOADS,
        one: "load",
        help: "Open loads that are offered at the same time, in the place of the one in [load]",
        needs: ("rate", "give requests per second, such as 100"),
        tables_max: Some(LOADS_MAX),
        fields: PlannedLoad::augment_args,
    },
    List {
        name: REQUESTS,
        one: "request",
        help: "Requests, each with its share of the load, or sent in turn",
        needs: ("url", "give a path, such as \"/cart\""),
        tables_max: None,
        fields: PlannedRequest::augment_args,
    },
];

impl List {
    /// The list of this name.
    pub(crate) fn called(name: &str) -> Option<&'static List> {
        LISTS.iter().find(|list| list.name == name)
    }

    /// What reads one of its tables.
    pub(crate) fn command(&self) -> Command {
        (self.fields)(Command::new(self.name)).disable_help_flag(true)
    }
}

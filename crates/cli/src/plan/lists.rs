//! Lists of tables: what a plan may have several of. The fields of such a table come from a struct of flags.

use crate::args::load::PlannedLoad;
use crate::args::signoff::PlannedStage;
use crate::journey::{PlannedJourney, PlannedStep};
use crate::request::fields::PlannedRequest;
use crate::setup::PlannedSetup;
use clap::{Args, Command};
use unblink_core::journey::{JOURNEYS_MAX, STEPS_MAX};
use unblink_core::plan::LOADS_MAX;

/// The requests, each a table.
pub(crate) const REQUESTS: &str = "requests";
/// What is asked beside the load, each a table.
pub(crate) const SETUP: &str = "setup";
/// The loads, each a table.
pub(crate) const LOADS: &str = "loads";
/// The journeys, each a table.
pub(crate) const JOURNEYS: &str = "journeys";
/// The stages of a sign-off, each a table.
pub(crate) const STAGES: &str = "stages";
/// The steps of a journey, each a table in it.
pub(crate) const STEPS: &str = "steps";

/// Setup requests of a plan at the most.
const SETUP_MAX: usize = 32;

/// Stages of a plan at the most.
const STAGES_MAX: usize = 32;

/// Fields of a load that no other may stand beside.
pub(crate) const ALONE: [&str; 4] = ["closed", "think", "ramp-up", "requests"];

/// The field of a load that names its requests.
pub(crate) const ONLY: &str = "only";

/// Why the list in the field `name` must not be empty, if it must not.
pub(super) fn why_not_empty(name: &str) -> Option<&'static str> {
    match name {
        ONLY => {
            Some("this load would ask for nothing: name its requests, or leave only out if it asks for all")
        }
        "await" => Some("this step would wait for nothing: say what the message must be like, or \"any\""),
        "until" => {
            Some("this step would wait for nothing: name what its answer must be like, or leave until out")
        }
        _ => None,
    }
}

/// A list of tables with the same fields.
#[derive(Debug)]
pub(crate) struct List {
    pub name: &'static str,
    /// One of its tables.
    pub one: &'static str,
    pub help: &'static str,
    /// The field that each table has, and what to do where it lacks.
    pub needs: (&'static str, &'static str),
    /// Fields that may stand in its place.
    pub instead: &'static [&'static str],
    /// So many tables at the most, where there is a limit.
    pub tables_max: Option<usize>,
    /// A list that each of its tables has.
    pub inner: Option<&'static List>,
    /// Adds its fields to a command.
    fields: fn(Command) -> Command,
}

/// Every list, in the order in which they are written.
pub(crate) static LISTS: [List; 5] = [
    List {
        name: LOADS,
        one: "load",
        help: "Open loads that are offered at the same time, in the place of the one in [load]",
        needs: ("rate", "give requests per second, such as 100"),
        instead: &["trace"],
        tables_max: Some(LOADS_MAX),
        inner: None,
        fields: PlannedLoad::augment_args,
    },
    List {
        name: REQUESTS,
        one: "request",
        help: "Requests, each with its share of the load, or sent in turn",
        needs: ("url", "give a path, such as \"/cart\""),
        instead: &[],
        tables_max: None,
        inner: None,
        fields: PlannedRequest::augment_args,
    },
    List {
        name: JOURNEYS,
        one: "journey",
        help: "Requests that follow each other, each journey with its share of the load beside the requests",
        needs: (STEPS, "add [[journeys.steps]], each with its url"),
        instead: &[],
        tables_max: Some(JOURNEYS_MAX),
        inner: Some(&STEPS_OF_ONE),
        fields: PlannedJourney::augment_args,
    },
    List {
        name: SETUP,
        one: "setup request",
        help: "Requests before the load, for a token and the like; they enter no figure",
        needs: ("url", "give a path, such as \"/login\""),
        instead: &[],
        tables_max: Some(SETUP_MAX),
        inner: None,
        fields: PlannedSetup::augment_args,
    },
    List {
        name: STAGES,
        one: "stage",
        help: "What `unblink signoff` runs, one after the other",
        needs: ("kind", "give knee, hold, soak, spike or stress"),
        instead: &[],
        tables_max: Some(STAGES_MAX),
        inner: None,
        fields: PlannedStage::augment_args,
    },
];

static STEPS_OF_ONE: List = List {
    name: STEPS,
    one: "step",
    help: "Its requests, in order",
    needs: ("url", "give a path, such as \"/cart\"; or, over a WebSocket, connect, message, await or close"),
    instead: &["connect", "message", "await", "close"],
    tables_max: Some(STEPS_MAX),
    inner: None,
    fields: PlannedStep::augment_args,
};

/// Every list and the lists in its tables.
pub(crate) fn with_inner() -> impl Iterator<Item = &'static List> {
    LISTS.iter().flat_map(|list| [Some(list), list.inner]).flatten()
}

impl List {
    /// The list of this name.
    pub(crate) fn called(name: &str) -> Option<&'static List> {
        with_inner().find(|list| list.name == name)
    }

    /// What reads one of its tables.
    pub(crate) fn command(&self) -> Command {
        (self.fields)(Command::new(self.name)).disable_help_flag(true)
    }
}

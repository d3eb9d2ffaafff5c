//! Why journeys can't be.

use super::{JOURNEYS_MAX, POLLS_MAX, REPEAT_MAX, STEPS_MAX};

/// Why journeys can't be as they are asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JourneyError {
    /// More than are kept apart.
    #[error("{0} journeys are more than the highest possible, {JOURNEYS_MAX}")]
    TooMany(usize),
    /// Nothing to do in it.
    #[error("a journey has no steps: give it one at least ([[journeys.steps]])")]
    NoSteps,
    /// More than are kept apart.
    #[error("{0} steps of one journey are more than the highest possible, {STEPS_MAX}")]
    TooManySteps(usize),
    /// More operations than are recorded apart.
    #[error("{0} requests and steps are more than a run with journeys may have, {1}")]
    TooManyOperations(usize, usize),
    /// A first step that may be skipped, or before which somebody thinks.
    #[error(
        "the first step of a journey has a chance: a journey begins with its first step, so give the journey a smaller share"
    )]
    FirstMayBeSkipped,
    /// No request, or more than a journey may have, or from more to fewer.
    #[error("a step repeats {0} to {1} times: expected 1 to {REPEAT_MAX}, the smaller number first")]
    Repeat(u16, u16),
    /// Never, or more than always.
    #[error("a step has a chance of 0: it would never be taken; leave it out")]
    NoChance,
    /// There is nothing to leave out.
    #[error("the last step of a journey has an exit: the journey ends there anyhow; leave it out")]
    ExitAtTheEnd,
    /// A connection of one kind would be taken from the other.
    #[error(
        "some journeys have own-connection and others hold-connection, which a run has only one of: give all of them the same"
    )]
    OwnAndHeld,
    /// It repeats as often as it must.
    #[error("a step has until and repeat: it asks until it has its answer; leave repeat out")]
    RepeatOfUntil,
    /// Of a request that is asked again and again it is not known which answers come first.
    #[error("a step has until and redirects: ask where it leads to, and leave redirects out")]
    RedirectsOfUntil,
    /// It asks too often.
    #[error(
        "a step with until would ask more than {POLLS_MAX} times: give it a longer every, or a shorter within"
    )]
    Polls,
    /// There are no times with this number.
    #[error("a step thinks by times that the plan does not have")]
    UnknownTimes,
    /// Nothing could start.
    #[error("0 journeys under way: none could start")]
    NoneUnderWay,
    /// Users who wait are journeys of their own kind.
    #[error("journeys need a rate (-R), so they can't run with --closed")]
    Closed,
}

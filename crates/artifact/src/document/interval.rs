//! How sure a quantile is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the 95 % interval of a quantile was found, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalKind {
    /// By circular blocks of time.
    BlockBootstrap,
    /// By ranks: neighbouring arrivals do not depend on one another more than ranks allow for.
    Exact,
    /// `low` alone: the upper end lies beyond what is known.
    Censored,
    /// Even independent samples would have to be more.
    NotEnoughData,
    /// One event decides this quantile, see `event_at_ns`.
    OneEvent,
    /// Few events decide this quantile, see `events`.
    FewEvents,
    /// Events, or the target's memory, are too long for this run, see `needed_ns`.
    TooShort,
    /// The rate changes, or the target is saturated.
    NotSteady,
    /// The run has no end: how long what was under way then took is not known.
    Killed,
    /// Machines were lost: how long their arrivals took is not known.
    Lost,
}

impl IntervalKind {
    /// As in the document.
    pub fn name(self) -> &'static str {
        match self {
            IntervalKind::BlockBootstrap => "block_bootstrap",
            IntervalKind::Exact => "exact",
            IntervalKind::Censored => "censored",
            IntervalKind::NotEnoughData => "not_enough_data",
            IntervalKind::OneEvent => "one_event",
            IntervalKind::FewEvents => "few_events",
            IntervalKind::TooShort => "too_short",
            IntervalKind::NotSteady => "not_steady",
            IntervalKind::Killed => "killed",
            IntervalKind::Lost => "lost",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_document() {
        let kinds = [
            IntervalKind::BlockBootstrap,
            IntervalKind::Exact,
            IntervalKind::Censored,
            IntervalKind::NotEnoughData,
            IntervalKind::OneEvent,
            IntervalKind::FewEvents,
            IntervalKind::TooShort,
            IntervalKind::NotSteady,
            IntervalKind::Killed,
            IntervalKind::Lost,
        ];
        for kind in kinds {
            assert_eq!(serde_json::to_value(kind).expect("a string"), kind.name());
        }
    }
}

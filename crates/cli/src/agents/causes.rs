//! What ends a load: as agents are told of it, and as their records say it.

use crate::observe::{End, Why};
use unblink_artifact::document::{Aborted, GuardKind};
use unblink_cluster::message::Cause;

/// What the end that the figures of all call for is to the agents.
pub(super) fn cause(end: End) -> (Cause, String) {
    match end {
        End::Enough => (Cause::Enough, "enough is known".into()),
        End::Aborted(Aborted { rule, guard: None, .. }) => (Cause::Rule, rule),
        End::Aborted(Aborted { rule, guard: Some(guard), .. }) => (by_guard(guard), rule),
    }
}

/// A guard, as agents are told of it.
pub(super) fn by_guard(guard: GuardKind) -> Cause {
    match serde_json::to_value(guard) {
        Ok(serde_json::Value::String(name)) => Cause::Guard(name),
        _ => Cause::Coordinator,
    }
}

/// The same as the record of an agent has it.
pub(super) fn why_of(cause: Cause) -> Why {
    match cause {
        Cause::Coordinator => Why::Guard(GuardKind::Coordinator),
        Cause::Lease => Why::Guard(GuardKind::Lease),
        Cause::Rule => Why::Rule,
        Cause::Enough => Why::Enough,
        Cause::Guard(name) => {
            let named = serde_json::from_value(serde_json::Value::String(name));
            Why::Guard(named.unwrap_or(GuardKind::Coordinator))
        }
    }
}

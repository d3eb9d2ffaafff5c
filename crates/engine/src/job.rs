//! Everything that the workers of a run must know.

use crate::pacing::Pacing;
use crate::target::Target;
use std::sync::Arc;
use unblink_core::plan::Plan;
use unblink_core::time::Nanos;
use unblink_wire::protocol::Protocol;
use unblink_workload::Values;
use unblink_workload::answer::Expects;
use unblink_workload::script::Script;

/// A run that is ready to start, by the protocol `P`.
#[derive(Debug)]
pub struct Job<P: Protocol> {
    /// When and how much.
    pub plan: Plan,
    /// Where to, by origin; as many as the plan has origins.
    pub targets: Vec<Target>,
    /// What; as many as the plan has operations.
    pub operations: Vec<P::Request>,
    /// What differs from one arrival to the next, if anything does.
    pub values: Option<Values>,
    /// What renders the requests instead, and is told of answers.
    pub script: Option<Arc<Script>>,
    /// What answers must be like, by operation.
    pub expects: Expects,
    /// What the protocol must know, such as limits on an answer.
    pub settings: P::Settings,
    /// A connection is used for so long, and then replaced.
    pub connection_age: Option<Nanos>,
    /// What punctuality may cost.
    pub pacing: Pacing,
}

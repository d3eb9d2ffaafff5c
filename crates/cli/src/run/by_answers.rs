//! What of a run follows from answers, so that the same seed does not bring it again.

use super::job::AnyJob;
use crate::args::run::RunArgs;
use unblink_artifact::document::ByAnswers;
use unblink_workload::Values;
use unblink_workload::script::Script;

/// In the order in which it is said.
pub(super) fn of(args: &RunArgs, job: &AnyJob, script: Option<&Script>) -> Vec<ByAnswers> {
    let steps = || args.journeys.iter().flat_map(|journey| &journey.steps);
    let takes = steps().any(|step| !step.request.parts.taking.captures.is_empty());
    let all = [
        (ByAnswers::ClosedLoad, !job.plan().is_open()),
        (ByAnswers::Retries, job.plan().spec().retry.is_some()),
        (ByAnswers::Setup, args.setup.iter().any(|one| !one.captures.is_empty())),
        (ByAnswers::Captures, takes),
        (ByAnswers::Until, steps().any(|step| step.spec.until.is_some())),
        (ByAnswers::Redirects, steps().any(|step| step.spec.redirects.max > 0)),
        (ByAnswers::AcknowledgedInserts, job.values().is_some_and(Values::follows_inserts)),
        (ByAnswers::Script, script.is_some_and(Script::hears)),
    ];
    all.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what).collect()
}

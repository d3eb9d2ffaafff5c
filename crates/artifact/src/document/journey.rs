//! What came of journeys.

use super::{Distribution, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One journey as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JourneyPlan {
    /// How it is called.
    pub name: String,
    /// Its share of the load's arrivals, from 0 to 1. Absent where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// At most this many journeys, of whatever kind, are under way in one worker.
    pub under_way_max: u32,
    /// Each journey keeps the cookies that answers set, and sends them back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cookies: bool,
    /// Each journey has a connection of its own to each origin, over which no other requests go.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own_connection: bool,
    /// Each journey holds the connection that its first request took, over which no other requests go until it ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold_connection: bool,
    /// Its steps, in order.
    pub steps: Vec<StepPlan>,
}

fn is_false(it: &bool) -> bool {
    !it
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// One step of a journey as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepPlan {
    /// The operation that it asks for; no other step has it.
    pub operation: String,
    /// How long is thought before each of its requests, in words; absent where nobody thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<String>,
    /// Requests at least.
    pub repeat_min: u32,
    /// Requests at most.
    pub repeat_max: u32,
    /// How often it is taken, from 0 to 1; absent where it always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// How often the journey ends behind it, from 0 to 1; absent where it always goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<f64>,
    /// It is asked again and again until its answer is what is waited for; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilPlan>,
    /// Redirects are followed; absent where an answer that is one ends the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<RedirectsPlan>,
    /// Names of the values that later steps take from its answers. What they are does not follow from the seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<String>,
}

/// Which redirects a step follows. Each is a request of its own, intended at the end of the answer before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedirectsPlan {
    /// One after the other, at the most: one more fails.
    pub max: u32,
    /// The operations of the requests that follow redirects. None of them is a step.
    pub operations: Vec<String>,
}

/// How often a step is asked again, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UntilPlan {
    /// From an answer to the intended time of the next request.
    pub every_ns: u64,
    /// From the intended time of the first request: a step whose answer is not there by then has timed out.
    pub within_ns: u64,
}

/// One journey and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Journey {
    /// Its name.
    pub name: String,
    /// Its share of the load's arrivals, from 0 to 1. Absent where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// At most this many journeys, of whatever kind, are under way in one worker.
    pub under_way_max: u32,
    /// Each journey keeps the cookies that answers set, and sends them back.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cookies: bool,
    /// Each journey has a connection of its own to each origin, over which no other requests go.
    #[serde(default, skip_serializing_if = "is_false")]
    pub own_connection: bool,
    /// Each journey holds the connection that its first request took, over which no other requests go until it ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold_connection: bool,
    /// Where those of the measured part ended. A journey is of the measured part by its own intended time, whenever its
    /// requests are.
    pub account: JourneyAccount,
    /// Scheduled per second, while the load lasted.
    pub offered: f64,
    /// Failed ones by kind of the request that failed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// From the intended start of a journey to the end of its last step, with all that was thought on the way. Completed ones;
    /// those that timed out or were cut off are lower bounds.
    pub time: Distribution,
    /// How far they came.
    pub steps: Vec<JourneyStep>,
}

/// Where journeys ended. `completed + failed + timed_out + unfinished + unsent = scheduled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JourneyAccount {
    /// Counted from the schedule.
    pub scheduled: u64,
    /// Came to their end.
    pub completed: u64,
    /// Of these: left behind a step, as drawn (`exit`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exited: u64,
    /// A request failed, which ended the journey.
    pub failed: u64,
    /// A request took longer than the timeout, which ended the journey.
    pub timed_out: u64,
    /// Under way when the run ended: waiting for an answer, or thinking.
    pub unfinished: u64,
    /// Still waiting for their start when the run ended.
    pub unsent: u64,
}

/// One step, and the journeys that came to it. `passed + skipped + failed + timed_out + unfinished + unsent = entered`, and
/// `passed + skipped − exited − thinking` entered the next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JourneyStep {
    /// As it was planned.
    #[serde(flatten)]
    pub plan: StepPlan,
    /// Came to it.
    pub entered: u64,
    /// Each of its requests was answered as expected.
    pub passed: u64,
    /// Passed by, as drawn (`chance`).
    pub skipped: u64,
    /// Ended by a failed request.
    pub failed: u64,
    /// Ended by a request that took longer than the timeout.
    pub timed_out: u64,
    /// Cut off at it by the end of the run.
    pub unfinished: u64,
    /// Never began: still waiting when the run ended. Of the first step only.
    pub unsent: u64,
    /// Cut off by the end of the run while somebody thought behind it.
    pub thinking: u64,
    /// Of those that passed: left behind it, as drawn (`exit`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exited: u64,
    /// Requests for it. Where there was a warm-up, its operation has others, of journeys that had begun before.
    pub requests: u64,
    /// Of a step that is asked again and again: from the intended time of its first request to the end of the answer that was
    /// waited for. Those that timed out or were cut off are lower bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_done: Option<Distribution>,
}

impl Journey {
    /// As it was planned.
    pub fn plan(&self) -> JourneyPlan {
        JourneyPlan {
            name: self.name.clone(),
            share: self.share,
            under_way_max: self.under_way_max,
            cookies: self.cookies,
            own_connection: self.own_connection,
            hold_connection: self.hold_connection,
            steps: self.steps.iter().map(|step| step.plan.clone()).collect(),
        }
    }

    /// Each request of each step has ended once: those of its operation, and of what follows its redirects. `all` are the operations
    /// of the run; `is_alike` where a journey is measured exactly if its requests are. `Err` says what does not add up.
    pub(crate) fn check_requests(&self, all: &[Operation], is_alike: bool) -> Result<(), String> {
        for JourneyStep { plan, requests, .. } in &self.steps {
            let elsewhere = plan.redirects.iter().flat_map(|redirects| &redirects.operations);
            // Steps stand behind what may have the same name by chance.
            let own = std::iter::once(&plan.operation).chain(elsewhere);
            let own = own.filter_map(|name| all.iter().rfind(|one| one.plan.name == *name));
            let mut scheduled = Some(0u64);
            for operation in own {
                operation.check()?;
                scheduled = scheduled.zip(operation.arrivals.scheduled).map(|(sum, n)| sum.saturating_add(n));
            }
            if let Some(scheduled) = scheduled.filter(|scheduled| is_alike && scheduled != requests) {
                let name = &plan.operation;
                return Err(format!(
                    "journeys made {requests} requests at step {name:?}, and {scheduled} are known"
                ));
            }
        }
        Ok(())
    }

    /// Everything that began has ended once, and whoever came to a step came from the one before. `Err` says what does not
    /// add up.
    pub(crate) fn check(&self) -> Result<(), String> {
        let JourneyAccount { scheduled, completed, exited, failed, timed_out, unfinished, unsent } =
            self.account;
        let ended = [completed, failed, timed_out, unfinished, unsent];
        let sum = |all: &[u64]| all.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        if sum(&ended) != scheduled {
            return Err(format!("{scheduled} journeys {:?} are scheduled, {} ended", self.name, sum(&ended)));
        }
        let (mut came, mut left_early) = (scheduled, 0u64);
        for step in &self.steps {
            let JourneyStep { entered, passed, skipped, failed, timed_out, unfinished, unsent, .. } = *step;
            let left = sum(&[passed, skipped, failed, timed_out, unfinished, unsent]);
            if entered != came || entered != left {
                let name = &step.plan.operation;
                return Err(format!(
                    "{came} journeys came to step {name:?}, {entered} entered it, {left} left it"
                ));
            }
            let stayed = step.thinking.saturating_add(step.exited);
            let behind = passed.saturating_add(skipped);
            came = behind.checked_sub(stayed).filter(|_| step.exited <= passed).ok_or_else(|| {
                let name = &step.plan.operation;
                format!(
                    "{behind} journeys passed or skipped step {name:?}, and {stayed} left or stayed after it"
                )
            })?;
            left_early = left_early.saturating_add(step.exited);
        }
        if left_early != exited {
            return Err(format!("{left_early} journeys {:?} left after a step, {exited} exited", self.name));
        }
        match came.saturating_add(exited) == completed {
            true => Ok(()),
            false => Err(format!(
                "{came} journeys {:?} passed the last step and {exited} left before, {completed} completed",
                self.name
            )),
        }
    }
}

//! What is kept of a run while it goes on, so that a coordinator that comes after this one takes it up.

use super::member::Member;
use super::{Coordinator, Phase, Task};
use crate::message::{AgentId, Cause, Machine, Progress, Stage, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A run whose start is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its name.
    pub run: String,
    /// That of the command.
    pub command: String,
    /// When the load begins, by the coordinator's clock.
    pub start_at: Time,
    /// When it ends before its time, if it does: when, what it comes of, and for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<(Time, Cause, String)>,
    /// What then ended the journeys and retries that went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<(Time, Cause, String)>,
    /// Those who take part, in the order of their shares.
    pub members: Vec<SavedMember>,
    /// How often the bus has lost what it kept.
    #[serde(default)]
    pub lost_by_bus: u32,
}

/// One of those who take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedMember {
    /// Its name.
    pub agent: AgentId,
    /// What it has.
    pub machine: Machine,
    /// Its first share.
    pub first: u32,
    /// It has been lost: what it would still send is in nobody's account.
    #[serde(default)]
    pub was_lost: bool,
}

/// What differs from one state that is kept to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    is_settled: bool,
    is_stopped: bool,
    is_cut: bool,
    lost: usize,
    lost_by_bus: u32,
}

impl Coordinator {
    /// Changes whenever [`Coordinator::saved`] does.
    pub fn mark(&self) -> Mark {
        Mark {
            is_settled: self.start_at().is_some(),
            is_stopped: matches!(self.phase, Phase::Running { stop: Some(_), .. }),
            is_cut: self.cut.is_some(),
            lost: self.members.values().filter(|member| has_been_lost(member)).count(),
            lost_by_bus: self.lost_by_bus,
        }
    }

    /// What must be kept before anybody hears what follows from it; `None` while no start is settled, and once it is over.
    pub fn saved(&self) -> Option<Saved> {
        let start_at = self.start_at()?;
        let stop = match &self.phase {
            Phase::Running { stop, .. } => stop.clone(),
            _ => None,
        };
        let members = self.order.iter().filter_map(|agent| {
            let member = self.members.get(agent)?;
            Some(SavedMember {
                agent: agent.clone(),
                machine: member.machine.clone(),
                first: member.first,
                was_lost: has_been_lost(member),
            })
        });
        Some(Saved {
            run: self.task.run.clone(),
            command: self.task.command.clone(),
            start_at,
            stop,
            cut: self.cut.clone(),
            members: members.collect(),
            lost_by_bus: self.lost_by_bus,
        })
    }

    /// A coordinator that takes up what another one has begun, with the same clock. `task` is the same, its names those of `saved`.
    ///
    /// Nothing is known yet of where the agents stand. Each says so twice a second; who does not is lost as if it had been heard now.
    pub fn resume(task: Task, saved: &Saved, now: Time) -> Coordinator {
        let is_ahead = now < saved.start_at && saved.stop.is_none();
        let (phase, stage) = match is_ahead {
            true => (Phase::Going { start_at: saved.start_at }, Stage::Preparing),
            false => (
                Phase::Running { start_at: saved.start_at, stop: saved.stop.clone(), alone_since: None },
                Stage::Running(Progress::default()),
            ),
        };
        let members = saved.members.iter().map(|one| {
            let member = Member {
                first: one.first,
                stage: stage.clone(),
                was_lost: one.was_lost,
                ..Member::new(one.machine.clone(), now)
            };
            (one.agent.clone(), member)
        });
        Coordinator {
            task,
            phase,
            members: members.collect(),
            order: saved.members.iter().map(|one| one.agent.clone()).collect(),
            gone: BTreeSet::new(),
            turned_away: BTreeMap::new(),
            bus_gone_since: None,
            lost_by_bus: saved.lost_by_bus,
            cut: saved.cut.clone(),
            say_again_at: now,
        }
    }
}

fn has_been_lost(member: &Member) -> bool {
    member.is_lost || member.was_lost
}

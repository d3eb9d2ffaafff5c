//! Who comes, who goes again before there is a run, and who has no place in it.

use super::member::Member;
use super::{Action, Coordinator, LOST_AFTER, Phase, SECOND};
use crate::PROTOCOL;
use crate::message::{AgentId, Machine, Time};
use std::collections::BTreeSet;

impl Coordinator {
    /// Waits for agents until there are enough.
    pub(super) fn gather(&mut self, now: Time, until: Time) {
        // Who goes away before the run makes room for another one.
        let is_here = |member: &Member| now.saturating_sub(member.heard_at) <= LOST_AFTER;
        self.members.retain(|_, member| is_here(member));
        let members = &self.members;
        self.order.retain(|id| members.contains_key(id));
        if self.order.len() == self.task.agents as usize {
            return self.deal(now);
        }
        if now >= until {
            let mut reasons = vec![format!(
                "{} of {} agents came within {} s: start the others (unblink agent)",
                self.order.len(),
                self.task.agents,
                self.task.gather_for / SECOND
            )];
            let others: BTreeSet<&String> = self.turned_away.values().collect();
            reasons.extend(others.into_iter().cloned());
            self.fail(now, reasons, false);
        }
    }

    /// An agent has left in order. While agents gather, whoever else waits may take its place.
    pub(super) fn has_left(&mut self, now: Time, who: AgentId, why: &str, out: &mut Vec<Action>) {
        self.gone.insert(who.clone());
        let Some(member) = self.members.get_mut(&who) else { return };
        let left = format!("{} has left ({why})", member.name());
        match self.phase {
            Phase::Gathering { .. } => {
                self.members.remove(&who);
                self.order.retain(|id| *id != who);
                out.push(Action::Note(left));
            }
            Phase::Preparing { .. } | Phase::Going { .. } => {
                self.fail(now, vec![format!("{left}: start another one, and the run again")], false);
            }
            Phase::Running { .. } if !member.is_lost && !member.is_complete() => {
                member.is_lost = true;
                out.push(Action::Note(format!("{left} before its load began, which is lost")));
            }
            Phase::Running { .. } | Phase::Failed { .. } | Phase::Over => {}
        }
    }

    /// Why an agent that comes can't take part.
    pub(super) fn no_place(&self, machine: &Machine) -> Option<String> {
        if machine.protocol != PROTOCOL || machine.version != self.task.version {
            return Some(format!(
                "it is unblink {}, and the coordinator is unblink {}: use the same build",
                machine.version, self.task.version
            ));
        }
        if !self.task.is_first && machine.after.is_none() {
            return Some("the command goes on with the agents that began it".to_string());
        }
        let is_gathering = matches!(self.phase, Phase::Gathering { .. });
        let has_place = is_gathering && self.order.len() < self.task.agents as usize;
        (!has_place).then(|| {
            "the run has all its agents, and an agent that is started again counts as another one".to_string()
        })
    }
}

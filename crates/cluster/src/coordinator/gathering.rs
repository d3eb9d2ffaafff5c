//! Who comes, who goes again before there is a run, and who has no place in it.

use super::member::Member;
use super::{Action, Coordinator, LOST_AFTER, Phase, SECOND};
use crate::PROTOCOL;
use crate::message::{AgentId, Machine, Time};
use std::collections::BTreeSet;

impl Coordinator {
    /// Waits for agents until there are enough.
    pub(super) fn gather(&mut self, now: Time, until: Time) {
        let is_here = |member: &Member| now.saturating_sub(member.heard_at) <= LOST_AFTER;
        let silent = self.members.values().find(|member| !is_here(member));
        if let Some(member) = silent.filter(|_| !self.task.is_first) {
            let gone = format!("{} has gone silent", member.name());
            return self.fail(now, vec![self.without(&gone)], false);
        }
        // Who goes away before the run makes room for another one.
        self.members.retain(|_, member| is_here(member));
        let members = &self.members;
        self.order.retain(|id| members.contains_key(id));
        if self.order.len() == self.task.agents as usize {
            return self.deal(now);
        }
        if now >= until {
            let mut reasons = vec![self.too_few()];
            let others: BTreeSet<&String> = self.turned_away.values().collect();
            reasons.extend(others.into_iter().cloned());
            self.fail(now, reasons, false);
        }
    }

    fn too_few(&self) -> String {
        let (here, all) = (self.order.len(), self.task.agents);
        let within = self.task.gather_for as f64 / SECOND as f64;
        match (self.task.is_first, self.task.is_local) {
            (true, false) => {
                format!("{here} of {all} agents came within {within} s: start the others (unblink agent)")
            }
            (true, true) => format!(
                "{here} of {all} agents that were started here came within {within} s: give them longer (--agents-within), or start fewer"
            ),
            (false, _) => self.without(&format!(
                "{here} of {all} agents of this command were there again within {within} s, so one is gone"
            )),
        }
    }

    /// What is to be said of an agent that is `gone` and would have been in the next run of a command.
    fn without(&self, gone: &str) -> String {
        format!("{gone}, and no other takes its place in this command: {}", self.anew())
    }

    /// What helps when an agent is gone.
    pub(super) fn anew(&self) -> &'static str {
        match (self.task.is_first, self.task.is_local) {
            (true, false) => "start another one, and the run again",
            (true, true) => "start the run again",
            (false, false) => "start the agents again, and go on with --resume",
            (false, true) => "go on with --resume",
        }
    }

    /// An agent has left in order. While agents gather, whoever else waits may take its place.
    pub(super) fn has_left(&mut self, now: Time, who: AgentId, why: &str, out: &mut Vec<Action>) {
        self.gone.insert(who.clone());
        let Some(member) = self.members.get_mut(&who) else { return };
        let left = format!("{} has left ({why})", member.name());
        match self.phase {
            Phase::Gathering { .. } if !self.task.is_first => {
                self.fail(now, vec![self.without(&left)], false);
            }
            Phase::Gathering { .. } => {
                self.members.remove(&who);
                self.order.retain(|id| *id != who);
                out.push(Action::Note(left));
            }
            Phase::Preparing { .. } | Phase::Going { .. } => {
                self.fail(now, vec![format!("{left}: {}", self.anew())], false);
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
        // Numbers are summed up from here on, and whoever is on the bus may say any.
        if !(1..=self.task.shares_max).contains(&machine.shares) {
            return Some(format!(
                "it has {} shares, and a load has from 1 to {}: start it with other --shares",
                machine.shares, self.task.shares_max
            ));
        }
        if !self.task.is_first && machine.after.is_none() {
            return Some("the command goes on with the agents that began it".to_string());
        }
        let why = match self.phase {
            Phase::Gathering { .. } if self.order.len() < self.task.agents as usize => return None,
            Phase::Running { .. } => {
                "the run has begun, and nobody takes the place of an agent that is lost or was started again"
            }
            _ => "enough others were there before it, and it waits for another run",
        };
        Some(why.to_string())
    }
}

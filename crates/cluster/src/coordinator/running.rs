//! A run that has begun: who is lost, who ends it for all, and when it is over.

use super::member::Member;
use super::outcome::NotBegun;
use super::{
    Action, BUS_BACK_WITHIN, Coordinator, END_WITHIN, FleetOutcome, LOST_AFTER, Phase, RETURN_WITHIN,
    STOP_AHEAD,
};
use crate::message::{Cause, Stage, Time};

impl Coordinator {
    /// From when on nothing falls due, if all were stopped before the planned end.
    pub fn stop_at(&self) -> Option<Time> {
        match &self.phase {
            Phase::Running { stop: Some((at, ..)), .. } => Some(*at),
            _ => None,
        }
    }

    pub(super) fn stop(&mut self, now: Time, cause: Cause, why: String) {
        match &mut self.phase {
            Phase::Gathering { .. } | Phase::Preparing { .. } => {
                let guard = if let Cause::Guard(name) = cause { Some(name) } else { None };
                self.fail_for(now, NotBegun { guard, ..NotBegun::because(why) });
            }
            // Whoever has heard of the start begins, and then hears of the stop.
            Phase::Going { start_at } => {
                let start_at = *start_at;
                let at = start_at.max(now + STOP_AHEAD);
                self.phase = Phase::Running { start_at, stop: Some((at, cause, why)), alone_since: None };
            }
            Phase::Running { stop: stop @ None, .. } => {
                *stop = Some((now + STOP_AHEAD, cause, why));
                self.say_again_at = now;
            }
            // What journeys and retries go on with is load, too.
            Phase::Running { stop: Some((_, before, _)), .. }
                if !before.cuts_off() && cause.cuts_off() && self.cut.is_none() =>
            {
                self.cut = Some((now + STOP_AHEAD, cause, why));
                self.say_again_at = now;
            }
            _ => {}
        }
    }

    /// Nobody hears anything, and nobody's record can come, if it is gone.
    pub(super) fn give_up_bus(&mut self, now: Time) {
        if let Some(since) = &mut self.bus_gone_since {
            *since = now.saturating_sub(BUS_BACK_WITHIN);
        }
    }

    pub(super) fn run(&mut self, now: Time, start_at: Time, out: &mut Vec<Action>) {
        let overdue = now > self.over_at(start_at) + END_WITHIN;
        for member in self.members.values_mut() {
            let is_over = matches!(member.stage, Stage::Ended(_)) && member.is_complete();
            let is_silent = now.saturating_sub(member.heard_at) > LOST_AFTER;
            if member.is_lost || is_over {
                continue;
            }
            if is_silent {
                member.is_lost = true;
                out.push(Action::Note(format!("{} is lost: nothing was heard of it for 6 s", member.name())));
            } else if (overdue || member.is_unkept_for(now, RETURN_WITHIN)) && !member.is_overdue {
                member.is_overdue = true;
                let what = match member.stage {
                    Stage::Ended(_) => "has ended, and its record does not come: it is there",
                    _ => "does not come to its end",
                };
                out.push(Action::Note(format!("{} {what}", member.name())));
            }
        }
        if let Some((cause, why, who)) = self.stopped_by_one() {
            out.push(Action::Note(format!("stopping all agents: {who}")));
            self.stop(now, cause, why);
        }
        let is_awaited = |member: &Member| !(member.is_complete() || member.is_lost || member.is_overdue);
        let others = !self.members.values().any(is_awaited);
        let is_alone = others && self.bus_gone_since.is_none();
        let Phase::Running { alone_since, .. } = &mut self.phase else { return };
        *alone_since = is_alone.then(|| alone_since.unwrap_or(now));
        let has_waited = alone_since.is_some_and(|since| now >= since + RETURN_WITHIN);
        let all = self.members.values().all(Member::is_complete);
        let bus_is_given_up = self.bus_gone_since.is_some_and(|since| now >= since + BUS_BACK_WITHIN);
        if all || bus_is_given_up || has_waited {
            let parts = self.order.iter().filter_map(|id| Some((id, self.members.get(id)?)));
            let parts = parts.map(|(id, member)| member.part(id.clone())).collect();
            let stopped = match &self.phase {
                Phase::Running { stop, .. } => stop.clone().map(|(.., why)| why),
                _ => None,
            };
            // The last word that each hears.
            let last: Vec<Action> = self.order.iter().filter_map(|to| self.reply(now, to, false)).collect();
            out.extend(last);
            self.phase = Phase::Over;
            out.push(Action::Done(FleetOutcome::Run { start_at, parts, stopped }));
        }
    }

    /// What ends the load for all because one of them has ended its own, and who that is. Where a rule has stopped it before, what
    /// goes on by itself is ended by guards.
    fn stopped_by_one(&self) -> Option<(Cause, String, String)> {
        let Phase::Running { stop, .. } = &self.phase else { return None };
        let ends = |cause: &Cause| match stop {
            None => true,
            Some((_, before, _)) => {
                !before.cuts_off() && self.cut.is_none() && matches!(cause, Cause::Guard(_))
            }
        };
        self.members.values().find_map(|member| {
            let (cause, why) = member.stops().filter(|(cause, _)| ends(cause))?;
            let who = format!("{}: {why}", member.name());
            Some((cause, why, who))
        })
    }

    /// When the last answer is waited for: a load that is stopped is over long before it was to be, perhaps by hours.
    fn over_at(&self, start_at: Time) -> Time {
        let planned = start_at + self.task.length;
        match &self.phase {
            Phase::Running { stop: Some((at, ..)), .. } => planned.min(at.saturating_add(self.task.drain)),
            _ => planned,
        }
    }
}

//! Attempts after the first: who has another one, when, and which attempts are given up.

use super::attempts::{Tries, is_asked_for, wait};
use super::books::{Books, TIMEOUTS_PER_TURN};
use super::entry::Entry;
use unblink_core::code::Code;
use unblink_core::outcome::Outcome;
use unblink_core::record::{RetryCause, RetryCounts};

/// Rounds of attempts.
const ROUNDS_MAX: u32 = 4;

impl Books<'_> {
    /// Counts something of an arrival's attempts.
    fn count_tries(&mut self, place: usize, count: impl Fn(&mut RetryCounts)) {
        let entry = &mut self.entries[place];
        count(&mut entry.tries);
        count(&mut self.tally.outcomes(entry.measured).retries);
    }

    /// An attempt after the first send has gone out.
    pub(super) fn sent_again(&mut self, place: usize) {
        self.count_tries(place, |tries| tries.sent_again += 1);
    }

    /// An arrival with several attempts has ended.
    pub(super) fn retried(&mut self, place: usize, outcome: Outcome) {
        let Some(retry) = &self.plan.spec().retry else { return };
        let is_last = self.entries[place].repeats + 1 == retry.attempts;
        let has_failed = matches!(outcome, Outcome::Failed(_) | Outcome::TimedOut);
        self.count_tries(place, |tries| {
            tries.retried += 1;
            tries.recovered += u64::from(outcome == Outcome::Ok);
            tries.exhausted += u64::from(has_failed && is_last);
        });
    }

    /// The attempt was sent: it may be given up, unless it is the last one.
    pub(super) fn time_attempt(&mut self, place: usize) {
        let Some(retry) = &self.plan.spec().retry else { return };
        let Entry { repeats, attempt, .. } = self.entries[place];
        if let Some(sent) = attempt.filter(|_| retry.try_timeout.is_some() && repeats + 1 < retry.attempts) {
            self.tries.time(place, sent);
        }
    }

    /// What is under way is given up by intended time; of one time, and to one origin, attempts with a low number come first.
    /// All from the fourth on share a round.
    pub(super) fn round_of(&self, repeats: u32) -> usize {
        let last = self.plan.spec().retry.as_ref().map_or(0, |retry| ROUNDS_MAX.min(retry.attempts) - 1);
        repeats.min(last) as usize
    }

    /// Those whose time has come wait in their lanes.
    pub(super) fn release(&mut self) {
        while let Some(first) = self.tries.ahead.first_entry().filter(|first| first.key().0 <= self.turn.now)
        {
            let ((at, ..), place) = first.remove_entry();
            let origin = self.origin(place);
            self.lanes[origin].ready.push_back((at, place));
        }
    }

    /// Attempts that take too long are given up, those that were sent first before others, if there may be another one.
    pub(super) fn give_up_attempts(&mut self) -> Result<(), String> {
        let Some(limit) = self.plan.spec().retry.as_ref().and_then(|retry| retry.try_timeout) else {
            return Ok(());
        };
        for _ in 0..TIMEOUTS_PER_TURN {
            let first = self.tries.timed.first_key_value().map(|(at, place)| (at.0, *place));
            let Some((_, place)) = first.filter(|(sent, _)| self.turn.now.since(*sent) > limit) else {
                break;
            };
            self.tries.forget(place);
            if self.is_tried_again(place, RetryCause::TryTimeout, None)? {
                self.let_go(place);
            }
        }
        Ok(())
    }

    /// Whether an attempt that came to nothing is not the arrival's last. If so it waits for the next one.
    pub(super) fn is_tried_again(
        &mut self,
        place: usize,
        cause: RetryCause,
        code: Option<Code>,
    ) -> Result<bool, String> {
        let plan = self.plan;
        let Some(retry) = &plan.spec().retry else { return Ok(false) };
        let entry = self.entries[place];
        let may = retry.is_unsafe || plan.spec().idempotent[entry.operation as usize];
        if !may || entry.repeats + 1 == retry.attempts || !is_asked_for(retry, cause, code) {
            return Ok(false);
        }
        let at = self.turn.now + wait(retry, &entry)?;
        if at >= entry.intended + plan.spec().timeout {
            return Ok(false);
        }
        let Tries { arrivals, granted, .. } = self.tries;
        // So many percent of those who have begun.
        if retry.budget_percent.is_some_and(|percent| (granted + 1) * 100 > arrivals * u64::from(percent)) {
            self.count_tries(place, |tries| tries.refused_by_budget += 1);
            return Ok(false);
        }
        self.tries.granted += 1;
        if entry.measured {
            let causes = &mut self.tally.counters.retry_causes;
            match cause {
                RetryCause::Failed(kind) => causes.failed[kind.index()] += 1,
                RetryCause::TryTimeout => causes.try_timeout += 1,
            }
        }
        self.tries.forget(place);
        self.under_way.end(place);
        let (now, entry) = (self.turn.now, &mut self.entries[place]);
        if let (RetryCause::TryTimeout, Some(sent)) = (cause, entry.attempt) {
            entry.given_up[entry.repeats as usize] = Some(now.since(sent));
        }
        (entry.attempt, entry.resent) = (None, false);
        entry.repeats += 1;
        entry.ready_at = at;
        self.tries.ahead.insert((at, entry.intended, entry.index), place);
        Ok(true)
    }
}

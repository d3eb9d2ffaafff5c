//! What becomes of each arrival of a worker, by what happened at the simulated server and by the plainest rules. It knows neither
//! dispatcher nor recorder.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use unblink_cluster::message::Time;

/// Counts of arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) due: u64,
    pub(super) sent: u64,
    pub(super) ok: u64,
    pub(super) failed: u64,
    pub(super) timed_out: u64,
    pub(super) timed_out_never_sent: u64,
    pub(super) unfinished: u64,
    pub(super) unsent: u64,
}

impl Counts {
    /// In any way.
    pub(super) fn ended(&self) -> u64 {
        self.ok + self.failed + self.timed_out + self.unfinished + self.unsent
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.due += other.due;
        self.sent += other.sent;
        self.ok += other.ok;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.timed_out_never_sent += other.timed_out_never_sent;
        self.unfinished += other.unfinished;
        self.unsent += other.unsent;
    }
}

/// An arrival that the plan has.
#[derive(Clone, Copy, Debug)]
struct Entry {
    intended: Time,
    is_sent: bool,
    has_ended: bool,
}

/// Of one worker. Times are those of its agent's clock.
#[derive(Debug)]
pub(super) struct Books {
    timeout: Time,
    /// In the order in which they are intended.
    entries: Vec<Entry>,
    /// Places in `entries`, by the number of the arrival.
    places: BTreeMap<u64, usize>,
    /// Nothing falls due from then on.
    stop: Time,
    /// Those before it have been counted as due.
    due: usize,
    /// Those before it have ended.
    open: usize,
    /// Since the last hand-over.
    now: Counts,
    /// What was handed over: until when, after the schedule's zero.
    handed: Vec<(u64, Counts)>,
    /// How long those took that are ok, from when they were intended: so many were handed over each time.
    answers: Vec<u64>,
    answers_handed: Vec<usize>,
}

impl Books {
    /// Of the arrivals with these numbers, which are intended then.
    pub(super) fn new(arrivals: impl Iterator<Item = (u64, Time)>, timeout: Time) -> Books {
        let (mut entries, mut places) = (Vec::new(), BTreeMap::new());
        for (index, intended) in arrivals {
            places.insert(index, entries.len());
            entries.push(Entry { intended, is_sent: false, has_ended: false });
        }
        assert!(entries.is_sorted_by_key(|entry| entry.intended));
        let (now, handed) = (Counts::default(), Vec::new());
        let (answers, answers_handed) = (Vec::new(), Vec::new());
        Books {
            timeout,
            entries,
            places,
            stop: Time::MAX,
            due: 0,
            open: 0,
            now,
            handed,
            answers,
            answers_handed,
        }
    }

    /// All that were planned.
    pub(super) fn planned(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Nothing falls due from then on.
    pub(super) fn stop(&mut self, at: Time) {
        self.stop = self.stop.min(at);
    }

    /// The request of an arrival goes to the server. Gives when it was intended.
    pub(super) fn sent(&mut self, index: u64) -> Time {
        let entry = &mut self.entries[self.places[&index]];
        assert!(!entry.is_sent && !entry.has_ended, "arrival {index} is sent again: {entry:?}");
        entry.is_sent = true;
        self.now.sent += 1;
        entry.intended
    }

    /// Its answer is seen.
    pub(super) fn answered(&mut self, index: u64, status: u16, at: Time) {
        let entry = &mut self.entries[self.places[&index]];
        if std::mem::replace(&mut entry.has_ended, true) {
            return;
        }
        match (at - entry.intended > self.timeout, status) {
            (true, _) => self.now.timed_out += 1,
            (false, 200) => {
                self.now.ok += 1;
                self.answers.push(at - entry.intended);
            }
            (false, _) => self.now.failed += 1,
        }
    }

    /// The worker looks around: what has taken too long has timed out.
    pub(super) fn look(&mut self, at: Time) {
        self.count_due(at.saturating_add(1));
        self.end_those(|entry, timeout| at > entry.intended + timeout, at);
    }

    /// Nothing is sent any more: what waits ends.
    pub(super) fn cease(&mut self, at: Time) {
        self.count_due(at.saturating_add(1));
        self.end_those(|entry, timeout| at > entry.intended + timeout || !entry.is_sent, at);
    }

    /// The worker is done with all.
    pub(super) fn finish(&mut self, at: Time, zero: Time) {
        self.count_due(Time::MAX);
        self.end_those(|_, _| true, at);
        self.hand_over(at.saturating_sub(zero));
    }

    /// What was counted until now belongs to the time until then.
    pub(super) fn hand_over(&mut self, to: u64) {
        self.handed.push((to, std::mem::take(&mut self.now)));
        self.answers_handed.push(self.answers.len());
    }

    /// What falls due before `until`.
    pub(super) fn count_due(&mut self, until: Time) {
        let until = until.min(self.stop);
        while self.entries.get(self.due).is_some_and(|entry| entry.intended < until) {
            self.due += 1;
            self.now.due += 1;
        }
    }

    /// The sum of what was handed over for the time up to then.
    pub(super) fn until(&self, to: u64) -> Counts {
        let mut sum = Counts::default();
        self.handed.iter().filter(|(end, _)| *end <= to).for_each(|(_, counts)| sum += *counts);
        sum
    }

    /// How long those took that are ok, of what was handed over for the time up to then.
    pub(super) fn answers_until(&self, to: u64) -> &[u64] {
        let handed = self.handed.iter().filter(|(end, _)| *end <= to).count();
        &self.answers[..handed.checked_sub(1).map_or(0, |last| self.answers_handed[last])]
    }

    /// Where the last of it ends.
    pub(super) fn end(&self) -> u64 {
        self.handed.last().map_or(0, |(end, _)| *end)
    }

    fn end_those(&mut self, is_over: impl Fn(&Entry, Time) -> bool, at: Time) {
        for entry in &mut self.entries[self.open..self.due] {
            if entry.has_ended || !is_over(entry, self.timeout) {
                continue;
            }
            entry.has_ended = true;
            match (at > entry.intended + self.timeout, entry.is_sent) {
                (true, is_sent) => {
                    self.now.timed_out += 1;
                    self.now.timed_out_never_sent += u64::from(!is_sent);
                }
                (false, true) => self.now.unfinished += 1,
                (false, false) => self.now.unsent += 1,
            }
        }
        while self.open < self.due && self.entries[self.open].has_ended {
            self.open += 1;
        }
    }
}

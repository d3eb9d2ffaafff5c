//! Journeys under way: arrivals by schedule, and the steps that follow the answers to them.

use super::{Load, Open};
use crate::arrival::{Arrival, Key};
use crate::journey::Paths;
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::num::NonZeroU16;
use std::sync::Arc;

/// Open loads whose arrivals are requests that stand alone, and journeys.
///
/// A journey has a slot from its first request to its end. While no slot is free, journeys that are due wait in lines of
/// their own, so that they hold up nothing else.
#[derive(Clone, Debug)]
pub struct Travelling {
    open: Open,
    paths: Arc<Paths>,
    origins: Origins,
    slots: Slots,
    /// When the next request of a slot's journey is due.
    thinking: BinaryHeap<Reverse<(Instant, NonZeroU16)>>,
    /// Requests that follow others and are due, by origin and in order of time.
    ready: Vec<VecDeque<Arrival>>,
    /// The run is over: whatever waits may be taken, to be put down as unsent.
    is_over: bool,
}

/// What is known of a journey under way.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// When the journey was to start.
    intended: Instant,
    /// At which step it is, and how many of that step's requests are still to come.
    step: u16,
    left: u16,
    /// None of the step's requests has ended.
    is_fresh: bool,
    /// While it thinks: its next request.
    next: Arrival,
}

/// Places for journeys, the first of which has the number 1.
#[derive(Clone, Debug)]
struct Slots {
    each: Vec<Slot>,
    free: Vec<NonZeroU16>,
    /// Since when a place has been free.
    free_since: Instant,
}

impl Slots {
    fn new(max: usize) -> Slots {
        let free = (1..=max as u16).rev().filter_map(NonZeroU16::new).collect();
        Slots { each: vec![Slot::default(); max], free, free_since: Instant(0) }
    }

    fn is_free(&self) -> bool {
        !self.free.is_empty()
    }

    fn get_mut(&mut self, number: NonZeroU16) -> &mut Slot {
        &mut self.each[usize::from(number.get()) - 1]
    }

    fn release(&mut self, number: NonZeroU16, now: Instant) {
        if self.free.is_empty() {
            self.free_since = now;
        }
        self.free.push(number);
    }
}

impl Travelling {
    /// A worker's share: `open` draws what starts, and `paths` says what follows.
    pub fn new(open: Open, paths: Arc<Paths>, origins: Origins) -> Travelling {
        let max = paths.under_way_max();
        Travelling {
            open,
            slots: Slots::new(max),
            thinking: BinaryHeap::with_capacity(max),
            ready: (0..origins.count()).map(|_| VecDeque::with_capacity(max)).collect(),
            paths,
            origins,
            is_over: false,
        }
    }

    /// The line in which journeys to `origin` wait for their start.
    fn starts(&self, origin: usize) -> usize {
        self.origins.count() + origin
    }

    fn may_start(&self) -> bool {
        self.is_over || self.slots.is_free()
    }

    /// From which line the oldest arrival comes, of those that may start or of all.
    fn first(&self, origin: usize, starts_too: bool) -> Option<(Arrival, Line)> {
        let ready = self.ready[origin].front().map(|arrival| (*arrival, Line::Ready));
        let plain = self.open.head(origin).map(|arrival| (arrival, Line::Plain));
        let starts = starts_too.then(|| self.open.head(self.starts(origin))).flatten();
        let starts = starts.map(|arrival| (arrival, Line::Starts));
        [plain, starts, ready].into_iter().flatten().min_by_key(|(arrival, _)| arrival.intended)
    }

    fn take(&mut self, origin: usize, line: Line) {
        match line {
            Line::Plain => self.open.pop(origin),
            Line::Starts => self.open.pop(self.starts(origin)),
            Line::Ready => drop(self.ready[origin].pop_front()),
        }
    }

    /// A journey that has just been taken gets a slot, if there is one.
    fn begin(&mut self, start: &Arrival) {
        let Some(number) = self.slots.free.pop() else { return };
        let first = start.journey().and_then(|journey| self.paths.step(journey, 0));
        let repeats = first.map_or(1, |step| self.paths.repeats(&step, 0, start.key));
        *self.slots.get_mut(number) = Slot {
            intended: start.intended,
            step: 0,
            left: repeats - 1,
            is_fresh: true,
            next: Arrival::default(),
        };
    }

    /// A request of the journey in `number` was answered as expected.
    fn go_on(
        &mut self,
        number: NonZeroU16,
        journey: usize,
        arrival: &Arrival,
        now: Instant,
        rec: &mut Recorder,
    ) {
        let Travelling { paths, slots, .. } = self;
        let slot = slots.get_mut(number);
        let key = Key { step: arrival.key.step + 1, ..arrival.key };
        let mut at = usize::from(slot.step);
        if slot.left > 0 {
            slot.left -= 1;
        } else {
            rec.at_step(slot.intended, arrival.operation, |step| step.passed += 1);
            at += 1;
            while let Some(step) = paths.step(journey, at)
                && !paths.is_taken(&step, at, key)
            {
                rec.at_step(slot.intended, paths.operation(journey, at), |step| {
                    step.entered += 1;
                    step.skipped += 1;
                });
                at += 1;
            }
            let Some(step) = paths.step(journey, at) else {
                rec.journey_ended(journey, slot.intended, Outcome::Ok, now, now);
                return slots.release(number, now);
            };
            (slot.step, slot.left, slot.is_fresh) = (at as u16, paths.repeats(&step, at, key) - 1, true);
        }
        let Some(step) = paths.step(journey, at) else { return };
        let due = now + paths.think(&step, key);
        slot.next = arrival.following(key.step, paths.operation(journey, at), due);
        self.thinking.push(Reverse((due, number)));
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Plain,
    Starts,
    Ready,
}

impl Load for Travelling {
    fn advance(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while let Some(&Reverse((at, number))) = self.thinking.peek().filter(|Reverse((at, _))| *at <= now) {
            self.open.advance(at, &mut due);
            self.thinking.pop();
            let arrival = self.slots.get_mut(number).next;
            due(arrival);
            self.ready[self.origins.of(arrival.operation)].push_back(arrival);
        }
        self.open.advance(now, due);
    }

    fn head(&self, origin: usize) -> Option<Arrival> {
        let (arrival, line) = self.first(origin, self.may_start())?;
        let slot = self.slots.free.last().copied().filter(|_| line == Line::Starts && !self.is_over);
        Some(Arrival { slot: slot.or(arrival.slot), ..arrival })
    }

    fn pop(&mut self, origin: usize) {
        let Some((arrival, line)) = self.first(origin, self.may_start()) else { return };
        self.take(origin, line);
        if line == Line::Starts && !self.is_over {
            self.begin(&arrival);
        }
    }

    fn oldest(&self, origin: usize) -> Option<Arrival> {
        Some(self.first(origin, true)?.0)
    }

    fn pop_oldest(&mut self, origin: usize) {
        if let Some((_, line)) = self.first(origin, true) {
            self.take(origin, line);
        }
    }

    fn waiting(&self, origin: usize) -> u64 {
        let starts = if self.may_start() { self.open.waiting(self.starts(origin)) } else { 0 };
        self.open.waiting(origin) + starts + self.ready[origin].len() as u64
    }

    fn held_back(&self) -> u64 {
        if self.may_start() {
            return 0;
        }
        (0..self.origins.count()).map(|origin| self.open.waiting(self.starts(origin))).sum()
    }

    fn held_until(&self, arrival: &Arrival) -> Option<Instant> {
        let is_held = arrival.starts_journey() && self.slots.free_since > arrival.intended;
        is_held.then_some(self.slots.free_since)
    }

    fn add_ages(&self, now: Instant, ages: &mut Ages) {
        self.open.add_ages(now, ages);
        for ready in &self.ready {
            ages.add_in_order(ready.len() as u64, |rank| now.since(ready[rank as usize].intended));
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let follows = self.thinking.peek().map(|Reverse((at, _))| *at);
        [self.open.next_due(), follows].into_iter().flatten().min()
    }

    fn ended(&mut self, arrival: &Arrival, outcome: Outcome, now: Instant, rec: &mut Recorder) {
        let Some(journey) = arrival.journey() else { return };
        let (intended, is_fresh) = match arrival.slot {
            Some(number) => {
                let slot = self.slots.get_mut(number);
                (slot.intended, std::mem::replace(&mut slot.is_fresh, false))
            }
            // It never got a slot.
            None => (arrival.intended, true),
        };
        rec.at_step(intended, arrival.operation, |step| {
            step.requests += 1;
            step.entered += u64::from(is_fresh);
        });
        if let (Outcome::Ok, Some(number)) = (outcome, arrival.slot) {
            return self.go_on(number, journey, arrival, now, rec);
        }
        // A journey whose first request was sent has begun, whatever became of a later one.
        let outcome = match outcome {
            Outcome::Unsent if arrival.follows() => Outcome::Unfinished,
            outcome => outcome,
        };
        rec.at_step(intended, arrival.operation, |step| step.ends(outcome));
        rec.journey_ended(journey, intended, outcome, arrival.intended, now);
        if let Some(number) = arrival.slot {
            self.slots.release(number, now);
        }
    }

    fn stop(&mut self, at: Instant) {
        // Journeys that are under way go on.
        self.open.stop(at);
    }

    fn finish(&mut self, now: Instant, rec: &mut Recorder) {
        self.is_over = true;
        while let Some(Reverse((_, number))) = self.thinking.pop() {
            let Slot { intended, is_fresh, next, .. } = *self.slots.get_mut(number);
            match is_fresh {
                // It thinks behind the step before.
                true => rec.at_step(intended, next.operation - 1, |step| step.thinking += 1),
                false => rec.at_step(intended, next.operation, |step| step.ends(Outcome::Unfinished)),
            }
            if let Some(journey) = next.journey() {
                rec.journey_ended(journey, intended, Outcome::Unfinished, now, now);
            }
            self.slots.release(number, now);
        }
    }

    fn end(&self) -> Instant {
        self.open.end()
    }

    fn is_exhausted(&self, now: Instant) -> bool {
        // Journeys in flight have slots, too.
        let is_nobody_under_way = self.slots.free.len() == self.slots.each.len();
        let nobody_waits =
            (0..self.origins.count()).all(|origin| self.open.waiting(self.starts(origin)) == 0);
        is_nobody_under_way && nobody_waits && self.open.is_exhausted(now)
    }
}

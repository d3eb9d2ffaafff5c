//! Journeys under way: arrivals by schedule, and the steps that follow the answers to them.

mod inserting;
mod slots;

use super::{Load, Open};
use crate::arrival::{Arrival, Key};
use crate::journey::{Paths, StepSpec};
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::time::Instant;
use inserting::Inserting;
use slots::{Slot, Slots};
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
    inserting: Inserting,
    /// When the next request of a slot's journey is due.
    thinking: BinaryHeap<Reverse<(Instant, NonZeroU16)>>,
    /// Requests that follow others and are due, by line and in order of time.
    ready: Vec<VecDeque<Arrival>>,
    /// Slots of journeys that have ended and may have connections. Each is taken until these are closed or given back.
    left: Vec<NonZeroU16>,
    /// The run is over: whatever waits may be taken, to be put down as unsent.
    is_over: bool,
}

impl Travelling {
    /// A worker's share: `open` draws what starts, and `paths` says what follows.
    pub fn new(open: Open, paths: Arc<Paths>, origins: Origins) -> Travelling {
        let (max, is_bound) = (paths.under_way_max(), paths.bound().is_some());
        let lines = if is_bound { 2 } else { 1 };
        Travelling {
            open,
            slots: Slots::new(max),
            inserting: Inserting::new(max),
            thinking: BinaryHeap::with_capacity(max),
            ready: (0..lines * origins.count()).map(|_| VecDeque::with_capacity(max)).collect(),
            left: Vec::with_capacity(if is_bound || origins.has_sockets() { max } else { 0 }),
            paths,
            origins,
            is_over: false,
        }
    }

    /// The lines of `line`, by what waits in them: requests that stand alone, starts, and what follows.
    fn parts(&self, line: usize) -> [Option<usize>; 3] {
        let origins = self.origins.count();
        match line / origins {
            0 => [Some(line), Some(origins + line), Some(line)],
            1 => [None, None, Some(line)],
            _ => [None, Some(line), None],
        }
    }

    /// Where journeys wait for their start.
    fn all_starts(&self) -> std::ops::Range<usize> {
        let kinds = if self.paths.own().is_some() { 3 } else { 2 };
        self.origins.count()..kinds * self.origins.count()
    }

    /// The line of a request that follows another.
    fn following(&self, arrival: &Arrival) -> usize {
        let is_bound = self.paths.bound().is_some_and(|bound| bound.has(arrival));
        self.origins.of(arrival.operation) + if is_bound { self.origins.count() } else { 0 }
    }

    /// A journey has ended. Its slot is free at once, or as soon as its connections are closed.
    fn leave(&mut self, number: NonZeroU16, journey: usize, now: Instant) {
        self.inserting.remove(number);
        let paths = &self.paths;
        if paths.has_own_connection(journey) || paths.holds_connection(journey) || self.origins.has_sockets()
        {
            self.left.push(number);
        } else {
            self.slots.release(number, now);
        }
    }

    fn may_start(&self) -> bool {
        self.is_over || self.slots.is_free()
    }

    /// From which line the oldest arrival comes, of those that may start or of all.
    fn first(&self, line: usize, starts_too: bool) -> Option<(Arrival, Part)> {
        let [plain, starts, ready] = self.parts(line);
        let head = |line: Option<usize>| self.open.head(line?);
        let ready = ready.and_then(|line| self.ready[line].front()).map(|arrival| (*arrival, Part::Ready));
        let plain = head(plain).map(|arrival| (arrival, Part::Plain));
        let starts = head(starts.filter(|_| starts_too)).map(|arrival| (arrival, Part::Starts));
        [plain, starts, ready].into_iter().flatten().min_by_key(|(arrival, _)| arrival.intended)
    }

    fn take(&mut self, line: usize, part: Part) {
        let [plain, starts, ready] = self.parts(line);
        match part {
            Part::Plain => plain.into_iter().for_each(|line| self.open.pop(line)),
            Part::Starts => starts.into_iter().for_each(|line| self.open.pop(line)),
            Part::Ready => ready.into_iter().for_each(|line| _ = self.ready[line].pop_front()),
        }
    }

    /// A journey that has just been taken gets a slot, if there is one.
    fn begin(&mut self, start: &Arrival) {
        let Some(number) = self.slots.take() else { return };
        let first = start.journey().and_then(|journey| self.paths.step(journey, 0));
        if start.journey().is_some_and(|journey| self.paths.last_insert(journey).is_some()) {
            self.inserting.add(number, start.intended);
        }
        let repeats = first.map_or(1, |step| self.paths.repeats(&step, 0, start.key));
        *self.slots.get_mut(number) = Slot {
            intended: start.intended,
            step: 0,
            left: repeats - 1,
            redirects: 0,
            since: start.intended,
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
        let Travelling { paths, slots, inserting, .. } = &mut *self;
        let slot = slots.get_mut(number);
        let key = Key { step: arrival.key.step + 1, ..arrival.key };
        slot.redirects = 0;
        let mut at = usize::from(slot.step);
        if slot.left > 0 {
            slot.left -= 1;
        } else {
            let exits = paths.step(journey, at).is_some_and(|step| paths.exits(&step, at, key));
            rec.at_step(slot.intended, paths.operation(journey, at), |step| {
                step.passed += 1;
                step.exited += u64::from(exits);
            });
            at += 1;
            while let Some(step) = paths.step(journey, at)
                && !exits
                && !paths.is_taken(&step, at, key)
            {
                rec.at_step(slot.intended, paths.operation(journey, at), |step| {
                    step.entered += 1;
                    step.skipped += 1;
                });
                at += 1;
            }
            let Some(step) = paths.step(journey, at).filter(|_| !exits) else {
                rec.journey_ended(journey, slot.intended, Outcome::Ok, now);
                return self.leave(number, journey, now);
            };
            (slot.step, slot.left, slot.is_fresh) = (at as u16, paths.repeats(&step, at, key) - 1, true);
            if paths.last_insert(journey).is_some_and(|last| last < at) {
                inserting.remove(number);
            }
        }
        let Some(step) = paths.step(journey, at) else { return };
        let due = now + paths.think(&step, key);
        if slot.is_fresh {
            slot.since = due;
        }
        self.ask_next(number, journey, arrival, due);
    }

    /// The next request of the journey in `number`, at the step where it is, is due at `due`.
    fn ask_next(&mut self, number: NonZeroU16, journey: usize, before: &Arrival, due: Instant) {
        let operation = self.paths.operation(journey, usize::from(self.slots.get_mut(number).step));
        self.ask_for(operation, number, before, due);
    }

    /// The next request of the journey in `number` asks for `operation`, and is due at `due`.
    fn ask_for(&mut self, operation: u32, number: NonZeroU16, before: &Arrival, due: Instant) {
        self.slots.get_mut(number).next = before.following(before.key.step + 1, operation, due);
        self.thinking.push(Reverse((due, number)));
    }

    /// What is known of the journey of an arrival that has ended. Its step has begun with it, if nothing of the step had ended.
    fn at(&mut self, arrival: &Arrival, journey: usize, rec: &mut Recorder) -> At {
        let at = match arrival.slot {
            Some(number) => {
                let slot = self.slots.get_mut(number);
                let is_fresh = std::mem::replace(&mut slot.is_fresh, false);
                At { intended: slot.intended, since: slot.since, step: usize::from(slot.step), is_fresh }
            }
            // It never got a slot.
            None => At { intended: arrival.intended, since: arrival.intended, step: 0, is_fresh: true },
        };
        let of_step = self.paths.operation(journey, at.step);
        debug_assert_eq!(self.paths.step_of(arrival.operation), of_step);
        rec.at_step(at.intended, of_step, |step| {
            step.requests += 1;
            step.entered += u64::from(at.is_fresh);
        });
        at
    }

    /// A step that asks again and again ends, at `until` or after that.
    fn wait_ended(&self, journey: usize, at: &At, outcome: Outcome, until: Instant, rec: &mut Recorder) {
        if let Some(place) = self.paths.wait(journey, at.step) {
            rec.wait_ended(place, (at.intended, at.since), outcome, until);
        }
    }

    /// A journey ends at a step that it did not pass: at `until`, or after that.
    fn end(
        &mut self,
        arrival: &Arrival,
        journey: usize,
        at: &At,
        (outcome, until): (Outcome, Instant),
        now: Instant,
        rec: &mut Recorder,
    ) {
        rec.at_step(at.intended, self.paths.operation(journey, at.step), |step| step.ends(outcome));
        rec.journey_ended(journey, at.intended, outcome, until);
        if let Some(number) = arrival.slot {
            self.leave(number, journey, now);
        }
    }

    /// When the journey has waited in vain at its step, if that asks again and again.
    fn deadline(&self, journey: usize, at: &At) -> Option<Instant> {
        let StepSpec { until, .. } = self.paths.step(journey, at.step)?;
        Some(at.since + until?.within)
    }
}

/// Where a journey is.
struct At {
    /// When it was to start.
    intended: Instant,
    /// When its step was to start.
    since: Instant,
    step: usize,
    /// None of the step's requests had ended.
    is_fresh: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
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
            let line = self.following(&arrival);
            self.ready[line].push_back(arrival);
        }
        self.open.advance(now, due);
    }

    #[inline]
    fn draw_ahead(&mut self) {
        self.open.draw_ahead();
    }

    fn head(&self, line: usize) -> Option<Arrival> {
        let (arrival, part) = self.first(line, self.may_start())?;
        let slot = self.slots.first_free().filter(|_| part == Part::Starts && !self.is_over);
        Some(Arrival { slot: slot.or(arrival.slot), ..arrival })
    }

    fn pop(&mut self, line: usize) {
        let Some((arrival, part)) = self.first(line, self.may_start()) else { return };
        self.take(line, part);
        if part == Part::Starts && !self.is_over {
            self.begin(&arrival);
        }
    }

    fn oldest(&self, line: usize) -> Option<Arrival> {
        Some(self.first(line, true)?.0)
    }

    fn pop_oldest(&mut self, line: usize) {
        if let Some((_, part)) = self.first(line, true) {
            self.take(line, part);
        }
    }

    fn waiting(&self, line: usize) -> u64 {
        let [plain, starts, ready] = self.parts(line);
        let starts = starts.filter(|_| self.may_start());
        let open: u64 = [plain, starts].into_iter().flatten().map(|line| self.open.waiting(line)).sum();
        open + ready.map_or(0, |line| self.ready[line].len() as u64)
    }

    fn take_left(&mut self, now: Instant) -> Option<NonZeroU16> {
        let number = self.left.pop()?;
        self.slots.release(number, now);
        Some(number)
    }

    fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    fn held_back(&self) -> u64 {
        if self.may_start() {
            return 0;
        }
        self.all_starts().map(|line| self.open.waiting(line)).sum()
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
        let at = self.at(arrival, journey, rec);
        let deadline = self.deadline(journey, &at);
        let (outcome, until) = match (outcome, deadline) {
            // What it waited for has come too late.
            (Outcome::Ok, Some(deadline)) if now > deadline => (Outcome::TimedOut, deadline),
            // Had the answer come later, it would have come too late.
            (Outcome::TimedOut, _) => (outcome, rec.given_up_at(arrival.intended)),
            // A journey whose first request was sent has begun, whatever became of a later one.
            (Outcome::Unsent, _) if arrival.follows() => (Outcome::Unfinished, now),
            _ => (outcome, now),
        };
        self.wait_ended(journey, &at, outcome, deadline.map_or(until, |deadline| until.min(deadline)), rec);
        match (outcome, arrival.slot) {
            (Outcome::Ok, Some(number)) => self.go_on(number, journey, arrival, now, rec),
            _ => self.end(arrival, journey, &at, (outcome, until), now, rec),
        }
    }

    fn not_yet(&mut self, arrival: &Arrival, now: Instant, rec: &mut Recorder) {
        let until = arrival.slot.and_then(|number| {
            let step = usize::from(self.slots.get_mut(number).step);
            Some((arrival.journey()?, number, self.paths.step(arrival.journey()?, step)?.until?))
        });
        let Some((journey, number, until)) = until else { return self.ended(arrival, Outcome::Ok, now, rec) };
        let at = self.at(arrival, journey, rec);
        let deadline = at.since + until.within;
        if now < deadline {
            return self.ask_next(number, journey, arrival, deadline.min(now + until.every));
        }
        self.wait_ended(journey, &at, Outcome::TimedOut, deadline, rec);
        self.end(arrival, journey, &at, (Outcome::TimedOut, deadline), now, rec);
    }

    #[inline]
    fn began(&self, arrival: &Arrival) -> Instant {
        let slot = arrival.slot.filter(|_| arrival.follows());
        slot.map_or(arrival.intended, |number| self.slots.get(number).intended)
    }

    fn may_follow(&self, arrival: &Arrival) -> bool {
        let place = arrival.slot.zip(arrival.journey());
        place.is_some_and(|(number, journey)| {
            let slot = self.slots.get(number);
            let step = self.paths.step(journey, usize::from(slot.step));
            step.is_some_and(|step| slot.redirects < step.redirects.max)
        })
    }

    fn redirected(&mut self, arrival: &Arrival, operation: u32, now: Instant, rec: &mut Recorder) {
        let (Some(journey), Some(number)) = (arrival.journey(), arrival.slot) else { return };
        self.at(arrival, journey, rec);
        self.slots.get_mut(number).redirects += 1;
        self.ask_for(operation, number, arrival, now);
    }

    fn inserting_from(&self) -> Option<Instant> {
        self.inserting.first()
    }

    fn stop(&mut self, at: Instant) {
        // Journeys that are under way go on.
        self.open.stop(at);
    }

    fn finish(&mut self, now: Instant, rec: &mut Recorder) {
        self.is_over = true;
        while let Some(Reverse((_, number))) = self.thinking.pop() {
            let Slot { intended, since, step, is_fresh, next, .. } = *self.slots.get_mut(number);
            let Some(journey) = next.journey() else { continue };
            let at = At { intended, since, step: usize::from(step), is_fresh };
            if is_fresh {
                // It thinks behind the step before.
                rec.at_step(intended, self.paths.operation(journey, at.step) - 1, |step| step.thinking += 1);
                rec.journey_ended(journey, intended, Outcome::Unfinished, now);
                self.leave(number, journey, now);
            } else {
                let until = self.deadline(journey, &at).map_or(now, |deadline| deadline.min(now));
                self.wait_ended(journey, &at, Outcome::Unfinished, until, rec);
                self.end(&next, journey, &at, (Outcome::Unfinished, now), now, rec);
            }
        }
    }

    fn end(&self) -> Instant {
        self.open.end()
    }

    fn is_exhausted(&self, now: Instant) -> bool {
        // Journeys in flight have slots, too.
        let is_nobody_under_way = self.slots.are_all_free();
        let nobody_waits = self.all_starts().all(|line| self.open.waiting(line) == 0);
        is_nobody_under_way && nobody_waits && self.open.is_exhausted(now)
    }
}

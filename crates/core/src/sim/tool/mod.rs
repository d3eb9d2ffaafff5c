//! A load tool as a client of the simulated world: the right way to load a server, and the wrong ones.
//!
//! A tool has workers, each with one connection that is always open and one request at a time. What it
//! records goes into the same recorder as a real run's; only the moment from which it counts, and which
//! requests it sends at all, are its own.

mod correct;
mod lane;
mod source;
mod spec;

pub use spec::{ClockFrom, Correct, Late, Pacing, ToolSpec};

use super::intervals::Intervals;
use super::world::{Client, Turn};
use crate::arrival::Arrival;
use crate::dispatch::{Action, Actions, ConnId, Event, FlightId};
use crate::origins::Origins;
use crate::plan::Plan;
use crate::record::{Answer, ConnectionLevels, Flight, Gauges, Interval, Recorder};
use crate::schedule::{HOLD_LENGTH_MAX, Schedule};
use crate::time::{Instant, Nanos};
use correct::Inventing;
use lane::Start;
use source::{Backlog, Source};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    generation: u32,
    is_busy: bool,
    flight: Flight,
}

pub(super) struct Tool<F> {
    spec: ToolSpec,
    inventing: Inventing,
    schedule: Arc<Schedule>,
    origins: Origins,
    source: Source,
    workers: Vec<Worker>,
    busy: u64,
    peak: u64,
    started: u64,
    answered: u64,
    backlog: Backlog,
    /// When each request in flight is given up; some may have ended.
    deadlines: BinaryHeap<Reverse<(Instant, u32, u32)>>,
    timeout: Nanos,
    zero: Instant,
    /// Then everything that is left is cut off.
    end: Instant,
    now: Instant,
    has_ended: bool,
    pub(super) intervals: Intervals<F>,
}

impl<F: FnMut(&Interval)> Tool<F> {
    /// A tool that keeps `schedule`, the plan's own; `interval` is what a correction goes by.
    pub(super) fn new(
        spec: ToolSpec,
        plan: &Plan,
        schedule: &Arc<Schedule>,
        interval: Option<Nanos>,
        zero: Instant,
        mut intervals: Intervals<F>,
    ) -> Tool<F> {
        let load_length = if spec.by_count { HOLD_LENGTH_MAX } else { plan.load_length() };
        let recorder = intervals.recorder();
        recorder.begin(zero, plan.measured_from() + spec.discard, load_length);
        // What it sends is not the plan's process, and nobody says so.
        recorder.sample_arrivals(Vec::new());
        note_opened(recorder, u64::from(spec.workers.unwrap_or(0)));
        Tool {
            inventing: match (spec.correct, interval) {
                (Correct::ExpectedInterval(interval), _) => Inventing::ExpectedInterval(interval),
                (Correct::Backfill, Some(interval)) => Inventing::Backfill(interval),
                _ => Inventing::Nothing,
            },
            source: Source::new(&spec, plan, schedule, zero),
            workers: vec![Worker::default(); spec.workers.unwrap_or(0) as usize],
            busy: 0,
            peak: u64::from(spec.workers.unwrap_or(0)),
            started: 0,
            answered: 0,
            backlog: Backlog::new(&spec, schedule),
            deadlines: BinaryHeap::new(),
            timeout: plan.spec().timeout,
            zero,
            end: zero + load_length + plan.drain(),
            now: zero,
            has_ended: false,
            schedule: schedule.clone(),
            origins: plan.spec().origins.clone(),
            intervals,
            spec,
        }
    }

    /// Whole answers, warm-up included.
    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    pub(super) fn gauges(&mut self, at: Instant) -> Gauges {
        let backlog = self.backlog.at(at.since(self.zero), &self.schedule, self.started);
        let levels = ConnectionLevels { connections: self.workers.len() as u64, connections_peak: self.peak };
        Gauges::of_one_origin(self.busy, backlog, levels)
    }

    fn begin(&mut self, start: Start, now: Instant, out: &mut Actions) {
        let place = start.worker as usize;
        if place >= self.workers.len() {
            note_opened(self.intervals.recorder(), (place + 1 - self.workers.len()) as u64);
            self.workers.resize(place + 1, Worker::default());
            self.peak = self.peak.max(self.workers.len() as u64);
        }
        let worker = &mut self.workers[place];
        worker.is_busy = true;
        worker.flight = Flight {
            arrival: start.arrival,
            noticed: start.arrival.intended,
            ready: start.ready,
            sent: None,
            resent: false,
            pool_full: true,
            ..Flight::default()
        };
        self.busy += 1;
        self.started += 1;
        self.now = now;
        // A worker has one connection, and one request on it.
        let (slot, generation) = (start.worker, worker.generation);
        let origin = self.origins.of(start.arrival.operation) as u8;
        let (conn, flight) = (ConnId { origin, slot, generation }, FlightId { slot, generation });
        let Arrival { operation, index, .. } = start.arrival;
        out.push(Action::Send { conn, flight, operation, arrival: index });
    }

    fn sent(&mut self, id: FlightId, now: Instant) {
        let flight = &mut self.workers[id.slot as usize].flight;
        (flight.sent, flight.attempt) = (Some(now), Some(now));
        if self.spec.clock == ClockFrom::Sent {
            (flight.arrival.intended, flight.noticed, flight.ready) = (now, now, now);
        }
        let flight = *flight;
        self.intervals.recorder().due(&flight.arrival);
        self.intervals.recorder().sent(&flight);
        self.deadlines.push(Reverse((now + self.timeout, id.slot, id.generation)));
    }

    fn answered_at(&mut self, id: FlightId, answer: &Answer, now: Instant) {
        let Some(flight) = self.release(id.slot, id.generation) else { return };
        self.answered += 1;
        let recorder = self.intervals.recorder();
        let outcome = recorder.answered(&flight, id.slot, answer, now);
        self.source.free(id.slot, &flight.arrival, outcome, now, self.intervals.recorder());
        let response = now.since(flight.arrival.intended);
        if answer.failure.is_none() && response <= self.timeout {
            for value in self.inventing.beside(response) {
                self.intervals.recorder().invented(&flight, value, now);
            }
        }
    }

    /// A request ends. Nothing, if it was given up before.
    fn release(&mut self, slot: u32, generation: u32) -> Option<Flight> {
        let worker = &mut self.workers[slot as usize];
        if !worker.is_busy || worker.generation != generation {
            return None;
        }
        worker.is_busy = false;
        worker.generation += 1;
        let flight = worker.flight;
        self.busy -= 1;
        while self.deadlines.peek().is_some_and(|&Reverse(entry)| !self.is_live(entry)) {
            self.deadlines.pop();
        }
        Some(flight)
    }

    fn is_live(&self, (_, slot, generation): (Instant, u32, u32)) -> bool {
        let worker = &self.workers[slot as usize];
        worker.is_busy && worker.generation == generation
    }

    fn give_up_late(&mut self, now: Instant) {
        while let Some(&Reverse((deadline, slot, generation))) = self.deadlines.peek() {
            if deadline > now {
                return;
            }
            self.deadlines.pop();
            if let Some(flight) = self.release(slot, generation) {
                let outcome = self.intervals.recorder().timed_out(&flight, slot, now);
                self.source.free(slot, &flight.arrival, outcome, now, self.intervals.recorder());
            }
        }
    }

    /// What is in flight ends unfinished; what is queued ends unsent, if the tool knows of it.
    fn cut_off(&mut self, now: Instant) {
        self.has_ended = true;
        for (slot, worker) in self.workers.iter().enumerate().filter(|(_, worker)| worker.is_busy) {
            self.intervals.recorder().cut_off(&worker.flight, slot as u32, now);
        }
        self.busy = 0;
        if self.spec.clock == ClockFrom::Sent || self.spec.late != Late::Queue {
            return;
        }
        while let Some(arrival) = self.source.left_over(now) {
            self.started += 1;
            let flight = Flight { arrival, pool_full: true, ..Flight::default() };
            self.intervals.recorder().due(&flight.arrival);
            self.intervals.recorder().cut_off(&flight, 0, now);
        }
    }
}

/// Connections are there when they are needed; opening them takes no time.
fn note_opened(recorder: &mut Recorder, n: u64) {
    let counts = recorder.connections(0);
    counts.attempted += n;
    counts.opened += n;
}

impl<F: FnMut(&Interval)> Client for Tool<F> {
    fn wake(&mut self) -> Option<Instant> {
        let deadline = self.deadlines.peek().map(|&Reverse((at, ..))| at);
        let next = [self.source.wake(), deadline].into_iter().flatten().min()?;
        Some(next.min(self.end))
    }

    fn handle(&mut self, now: Instant, event: Event, out: &mut Actions) {
        self.now = now;
        match event {
            Event::Sent(id) => return self.sent(id, now),
            Event::Answered(id, answer) => self.answered_at(id, &answer, now),
            Event::Closed(conn, closing) => {
                if let Some(flight) = self.release(conn.slot, conn.generation) {
                    let outcome =
                        self.intervals.recorder().failed(&flight, conn.slot, closing.kind, None, now);
                    self.source.free(conn.slot, &flight.arrival, outcome, now, self.intervals.recorder());
                }
            }
            // Answers of the same moment come first.
            Event::Tick if now >= self.end => {
                self.give_up_late(self.end);
                return self.cut_off(now);
            }
            Event::Tick => self.give_up_late(now),
            Event::Connected(..)
            | Event::ConnectFailed(..)
            | Event::Lost(..)
            | Event::Heard(..)
            | Event::Kept(_)
            | Event::Room(..)
            | Event::Retired(..)
            | Event::Unsent(_)
            | Event::Broken(..) => {}
        }
        while let Some(start) = self.source.start(now) {
            self.begin(start, now, out);
        }
    }

    fn turn(&mut self, turn: Turn) {
        self.intervals.turn(turn);
    }

    fn reach(&mut self, now: Instant) {
        while let Some(end) = self.intervals.passed(now) {
            let gauges = self.gauges(end);
            self.intervals.hand_over(end, gauges);
        }
    }

    fn is_finished(&self) -> bool {
        self.has_ended || (self.busy == 0 && self.source.is_exhausted(self.now))
    }
}

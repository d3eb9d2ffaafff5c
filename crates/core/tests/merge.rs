//! The same events, recorded by one or by several, are the same when they are merged.

use std::sync::Arc;
use unblink_core::arrival::Arrival;
use unblink_core::code::Code;
use unblink_core::failure::FailureKind;
use unblink_core::mix::Asked;
use unblink_core::record::{
    Ages, Answer, Bank, Events, Flight, Gauges, Handed, Interval, Merger, Recorder, SampleBlocks, Series,
};
use unblink_core::schedule::{Cursor, Phase, Process, Rate, Schedule};
use unblink_core::share::Share;
use unblink_core::sim::Random;
use unblink_core::time::{Instant, MILLISECOND_NS, Nanos};

const TIMEOUT: Nanos = Nanos::from_secs(1);
const OPERATIONS: usize = 3;
const SECONDS: u64 = 4;

/// What became of an arrival: the same whoever records it.
struct Fate {
    flight: Flight,
    connection: u32,
    end: Instant,
    answer: Option<Answer>,
    is_cut_off: bool,
}

fn fates(seed: u64, schedule: &Schedule) -> Vec<Fate> {
    let mut random = Random::new(seed, 3);
    let mut cursor = Cursor::new(schedule, 0, 1);
    let mut all = Vec::new();
    while let Some((index, offset)) = cursor.next(schedule) {
        let operation = Asked::all(OPERATIONS).at(schedule.place(index));
        let arrival = Arrival::single(index, operation, Instant(offset.0));
        let waits = if random.below(4) == 0 { random.below(3 * MILLISECOND_NS) } else { 0 };
        let sent = arrival.intended + Nanos(waits + random.below(2_000));
        let is_sent = random.below(50) > 0;
        let took = Nanos(1 + random.below(40 * MILLISECOND_NS));
        let end = if random.below(100) == 0 { arrival.intended + TIMEOUT + Nanos(1) } else { sent + took };
        let failure = (random.below(20) == 0).then_some(FailureKind::RESET);
        let status = if failure.is_some() { 503 } else { 200 };
        let first_byte = if random.below(2) == 0 { end } else { sent + Nanos(took.0 / 2) };
        let answer = Answer {
            failure,
            code: Code::of_status(status),
            body_bytes: took.0 % 5_000,
            ..Answer::plain(first_byte.min(end))
        };
        let flight = Flight {
            arrival,
            noticed: arrival.intended,
            ready: arrival.intended + Nanos(waits),
            sent: is_sent.then_some(sent),
            pool_full: waits > 0 && random.below(2) == 0,
            ..Flight::default()
        };
        let answer = (is_sent && random.below(30) > 0).then_some(answer);
        all.push(Fate {
            flight,
            connection: random.below(9) as u32,
            end,
            answer,
            is_cut_off: random.below(2) == 0,
        });
    }
    all
}

/// Records the fates of `worker`'s arrivals, in order of what happens, and hands over each second.
fn record(fates: &[&Fate], worker: usize, schedule: &Arc<Schedule>, merger: &mut Merger) {
    enum What {
        Due,
        Sent,
        Heard,
        Ended,
    }
    let mut events: Vec<(Instant, usize, What)> = Vec::new();
    for (place, fate) in fates.iter().enumerate() {
        events.push((fate.flight.arrival.intended, place, What::Due));
        events.extend(fate.flight.sent.map(|sent| (sent, place, What::Sent)));
        // Some answers come event by event: the first at its first byte.
        let first = fate.answer.filter(|answer| answer.first_byte < fate.end).map(|answer| answer.first_byte);
        events.extend(first.into_iter().chain(first.map(|_| fate.end)).map(|at| (at, place, What::Heard)));
        events.push((fate.end, place, What::Ended));
    }
    let mut flights: Vec<Flight> = fates.iter().map(|fate| fate.flight).collect();
    events.sort_by_key(|(at, place, what)| (*at, *place, matches!(what, What::Ended)));
    let mut recorder = Recorder::new(Box::new(Bank::new(OPERATIONS)), TIMEOUT);
    recorder.set_streams(vec![true, false, true]);
    recorder.begin(Instant(0), Nanos::from_millis(300), schedule.end());
    let end = schedule.end();
    recorder.sample_arrivals(vec![SampleBlocks::new(schedule.clone(), Nanos::from_millis(300), end)]);
    let mut boundary = Instant(0) + Nanos::from_secs(1);
    let handed = |to: Instant, bank, last| {
        let mut ages = Ages::default();
        let waiting = fates.iter().filter(|fate| fate.flight.arrival.intended < to && to <= fate.end);
        waiting.for_each(|fate| ages.add(to.since(fate.flight.arrival.intended), 1));
        let gauges = Gauges { in_flight: 1, ..Gauges::default() };
        Handed { worker, to: Nanos(to.0), bank, gauges, ages, double: false, last }
    };
    for (at, place, what) in events {
        while at >= boundary {
            let bank = recorder.swap(Box::new(Bank::new(OPERATIONS)), boundary);
            merger.push(handed(boundary, bank, false));
            boundary = boundary + Nanos::from_secs(1);
        }
        let Fate { connection, answer, is_cut_off, .. } = fates[place];
        let flight = &mut flights[place];
        match (what, answer) {
            (What::Due, _) => recorder.due(&flight.arrival),
            (What::Sent, _) => recorder.sent(flight),
            (What::Heard, _) => {
                let events = flight.arrival.index as u32 % 3;
                recorder.heard(flight, Events { events, keep_alives: 1 }, at);
            }
            (What::Ended, Some(answer)) => drop(recorder.answered(flight, *connection, answer, at)),
            (What::Ended, None) if at.since(flight.arrival.intended) > TIMEOUT => {
                recorder.timed_out(flight, *connection, at);
            }
            (What::Ended, None) if *is_cut_off => drop(recorder.cut_off(flight, *connection, at)),
            (What::Ended, None) => {
                recorder.failed(flight, *connection, FailureKind::CLOSED_EARLY, None, at);
            }
        }
    }
    // Everybody goes on until the same moment.
    let last = Instant(0) + Nanos::from_secs(SECONDS + 2);
    while boundary < last {
        let bank = recorder.swap(Box::new(Bank::new(OPERATIONS)), boundary);
        merger.push(handed(boundary, bank, false));
        boundary = boundary + Nanos::from_secs(1);
    }
    merger.push(handed(last, recorder.into_bank(last), true));
}

fn intervals(fates: &[Fate], workers: usize, backwards: bool, schedule: &Arc<Schedule>) -> Vec<Interval> {
    let mut merger = Merger::new(workers, OPERATIONS);
    let share = |worker: usize| Share { first: worker as u32, of: workers as u32 };
    let mut order: Vec<usize> = (0..workers).collect();
    if backwards {
        order.reverse();
    }
    for worker in order {
        let mut cursor = Cursor::of_share(schedule, share(worker));
        let mut mine = std::collections::BTreeSet::new();
        while let Some((index, _)) = cursor.next(schedule) {
            mine.insert(index);
        }
        let fates: Vec<&Fate> = fates.iter().filter(|f| mine.contains(&f.flight.arrival.index)).collect();
        record(&fates, worker, schedule, &mut merger);
    }
    let mut all = Vec::new();
    while merger.complete(|_, _| {}) {
        all.push(merger.interval().clone());
    }
    all
}

/// Everything but the levels: where each worker knows its own highest, the sum of them is a bound.
fn assert_same(a: &Interval, b: &Interval, of: &str) {
    assert_eq!((a.start, a.length, a.double), (b.start, b.length, b.double), "{of}");
    for series in Series::ALL {
        assert!(a.bank.track(series) == b.bank.track(series), "{of}: {}", series.name());
    }
    assert!(a.bank.operations == b.bank.operations, "{of}: operations");
    assert_eq!(a.bank.counters, b.bank.counters, "{of}");
    assert_eq!(a.ages, b.ages, "{of}");
    assert!(a.bank.heat == b.bank.heat, "{of}: heat");
    assert_eq!(a.bank.slowest, b.bank.slowest, "{of}");
    assert_eq!(a.bank.samples[0].in_order(), b.bank.samples[0].in_order(), "{of}");
    let counts = |interval: &Interval| -> Vec<_> {
        let cells = interval.bank.timeline.cells().iter();
        cells.map(|c| (c.due, c.sent, c.ok, c.failed, c.timed_out, c.ended_sent, c.ended_unsent)).collect()
    };
    assert_eq!(counts(a), counts(b), "{of}");
}

#[test]
fn any_number_of_parts_merges_to_the_same() {
    for (seed, process) in
        [(1, Process::Even), (2, Process::Poisson { seed: 2 }), (3, Process::Poisson { seed: 3 })]
    {
        let hold = [Phase::hold(Rate::per_second(1_500), Nanos::from_secs(SECONDS))];
        let schedule = Arc::new(Schedule::new(&hold, process, u64::MAX));
        let fates = fates(seed, &schedule);
        let whole = intervals(&fates, 1, false, &schedule);
        assert!(whole[1].bank.track(Series::EventGap).count() > 100);
        assert_eq!(whole.len() as u64, SECONDS + 2);
        assert!(whole[1].ages.count() > 20, "{:?}", whole[1].ages);
        for (workers, backwards) in [(2, false), (2, true), (5, true), (64, false)] {
            let parts = intervals(&fates, workers, backwards, &schedule);
            assert_eq!(parts.len(), whole.len());
            for (part, whole) in parts.iter().zip(&whole) {
                assert_same(part, whole, &format!("seed {seed}, {workers} workers, {:?}", whole.start));
            }
        }
    }
}

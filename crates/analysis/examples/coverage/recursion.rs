//! The same queues without dispatcher and recorder, four times as fast: first come, first served, so each answer
//! follows from those before it (D. V. Lindley, 1952; J. Kiefer, J. Wolfowitz, 1955).

use crate::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use unblink_core::record::Track;
use unblink_core::schedule::bursts::{Stretch, Stretches};
use unblink_core::sim::{Random, RandomWindows, Service};
use unblink_core::time::{Nanos, SECOND_NS};

/// Hands over each second in turn: its number, arrivals without an answer at its end, and what was answered in it of
/// the arrivals after the warm-up.
pub(super) fn run(cell: &Cell, seed: u64, each: impl FnMut(u64, u64, &Track<u64>)) {
    let random = |stream| Random::new(seed, stream);
    let mut arrivals = random(1);
    let mut service = random(2);
    let mut bursts = cell.bursts.map(|bursts| Clock::new(bursts.stretches(seed, 0)));
    let mut stalls = cell.server.shut_at_random.map(|spec| Stalls::new(spec, random(3)));
    let mut free: BinaryHeap<Reverse<u64>> =
        (0..cell.server.slots.unwrap_or(1)).map(|_| Reverse(0)).collect();
    let mut seconds = Seconds { each, first: 0, open: VecDeque::new(), spare: Vec::new(), waiting: 0 };
    let (from_ns, to_ns) = (cell.warmup_s * SECOND_NS, (cell.warmup_s + cell.length_s) * SECOND_NS);
    let gap = Nanos(SECOND_NS / cell.rate_per_s);
    let mut at_ns = 0;
    loop {
        let gap = if cell.poisson { arrivals.exponential(gap) } else { gap };
        at_ns = bursts.as_mut().map_or(at_ns + gap.0, |bursts| bursts.after(at_ns, gap));
        seconds.hand_over_until(at_ns.min(to_ns) / SECOND_NS);
        if at_ns >= to_ns {
            break;
        }
        let took_ns = match &cell.server.service {
            Service::Constant(time) => time.0,
            Service::Exponential { mean } => service.exponential(*mean).0,
            other => panic!("no recursion for {other:?}"),
        };
        let Some(Reverse(free_ns)) = free.pop() else { return };
        let done_ns = at_ns.max(free_ns) + took_ns;
        let done_ns = stalls.as_mut().map_or(done_ns, |stalls| stalls.opens_ns(done_ns));
        free.push(Reverse(done_ns));
        seconds.answer(done_ns / SECOND_NS, (at_ns >= from_ns).then_some(Nanos(done_ns - at_ns)));
    }
    let end = seconds.first + seconds.open.len() as u64;
    seconds.hand_over_until(end);
}

/// A clock that runs faster in bursts, and slower between them.
struct Clock {
    stretches: Stretches,
    /// The one that the clock is in.
    now: Stretch,
}

impl Clock {
    fn new(mut stretches: Stretches) -> Clock {
        let now = stretches.next().expect("a chain has no end");
        Clock { stretches, now }
    }

    /// When `gap` has passed on it since `at_ns`.
    fn after(&mut self, at_ns: u64, gap: Nanos) -> u64 {
        let (mut at_ns, mut left) = (at_ns as f64, gap.0 as f64);
        loop {
            let room = (self.now.end.0 as f64 - at_ns) * self.now.factor;
            if left < room {
                return (at_ns + left / self.now.factor) as u64;
            }
            left -= room;
            at_ns = self.now.end.0 as f64;
            self.now = self.stretches.next().expect("a chain has no end");
        }
    }
}

/// Seconds that may still be answered in.
struct Seconds<F> {
    each: F,
    /// The number of the first that is open.
    first: u64,
    open: VecDeque<(u64, Track<u64>)>,
    spare: Vec<Track<u64>>,
    /// Arrivals without an answer at the end of what was handed over; answers of open seconds are not counted yet.
    waiting: u64,
}

impl<F: FnMut(u64, u64, &Track<u64>)> Seconds<F> {
    /// An arrival and when its answer comes, with the response time if it counts.
    fn answer(&mut self, second: u64, response: Option<Nanos>) {
        let place = (second - self.first) as usize;
        while self.open.len() <= place {
            let track = self.spare.pop().unwrap_or_default();
            self.open.push_back((0, track));
        }
        self.waiting += 1;
        self.open[place].0 += 1;
        if let Some(response) = response {
            self.open[place].1.record(response);
        }
    }

    /// What came before `second` is complete.
    fn hand_over_until(&mut self, second: u64) {
        while self.first < second {
            let (answered, mut track) = self.open.pop_front().unwrap_or_default();
            self.waiting -= answered;
            (self.each)(self.first, self.waiting, &track);
            track.clear();
            self.spare.push(track);
            self.first += 1;
        }
    }
}

/// A server that is shut at random times answers when it opens.
struct Stalls {
    spec: RandomWindows,
    random: Random,
    /// The first that is not over.
    begin_ns: u64,
}

impl Stalls {
    fn new(spec: RandomWindows, mut random: Random) -> Stalls {
        let begin_ns = spec.gap_min.0 + random.exponential(spec.gap_mean).0;
        Stalls { spec, random, begin_ns }
    }

    /// When an answer that would come at `at_ns` comes; asked in ascending order.
    fn opens_ns(&mut self, at_ns: u64) -> u64 {
        while self.begin_ns + self.spec.length.0 <= at_ns {
            let gap_ns = self.spec.gap_min.0 + self.random.exponential(self.spec.gap_mean).0;
            self.begin_ns += self.spec.length.0 + gap_ns;
        }
        if self.begin_ns <= at_ns { self.begin_ns + self.spec.length.0 } else { at_ns }
    }
}

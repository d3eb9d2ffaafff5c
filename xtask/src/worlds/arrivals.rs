//! When arrivals should start, from the definition of the schedule and from the rules of a closed population.

use super::hold;
use std::collections::{BTreeMap, VecDeque};
use unblink_core::arrival::Key;
use unblink_core::plan::{LoadSpec, OpenPart, Plan};
use unblink_core::schedule::{Cursor, Phase, Process, Rate, STREAMS, Schedule};
use unblink_core::share::Share;
use unblink_core::sim::{SimPart, ZERO};
use unblink_core::time::{Instant, Nanos};

/// Λ is compared in halves of a millionth of a millionth of a request, times the phase's length.
const UNITS_PER_REQUEST: i128 = 2_000_000_000_000;

/// An arrival that falls due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) key: Key,
    pub(super) index: u64,
    pub(super) operation: u32,
    pub(super) intended: Instant,
    /// It is its user's first.
    pub(super) begins: bool,
}

/// The arrivals of one worker, in order.
pub(super) struct Arrivals {
    source: Source,
    operations: u64,
    /// Nothing falls due then or later.
    pub(super) end: Instant,
    /// What is intended before is warm-up.
    pub(super) measured_from: Instant,
}

enum Source {
    Open {
        left: std::iter::Peekable<std::vec::IntoIter<Due>>,
        /// By rank, since they are even and of one load.
        have_places: bool,
    },
    Closed {
        /// By when they begin, and come again: (user, number of the request).
        beginners: BTreeMap<Instant, VecDeque<(u64, u64)>>,
        thinking: BTreeMap<Instant, VecDeque<(u64, u64)>>,
        think: Nanos,
        users: u64,
        measured_left: u64,
    },
}

impl Arrivals {
    pub(super) fn new(plan: &Plan, part: SimPart) -> Result<Arrivals, String> {
        let mut measured_from = ZERO + plan.spec().warmup;
        let (worker, workers) = (u64::from(part.worker), u64::from(plan.threads()));
        let (source, end) = match &plan.spec().load {
            LoadSpec::Open { .. } | LoadSpec::Several(_) | LoadSpec::Recorded(_) => {
                let mine = open(plan, part.worker)?;
                let [schedules @ .., last] = &plan.schedules().collect::<Vec<_>>()[..] else {
                    return Err("an open load has no schedule".to_string());
                };
                let have_places = schedules.is_empty() && last.process() == Process::Even;
                let end = schedules.iter().map(|schedule| schedule.end()).fold(last.end(), Nanos::max);
                (Source::Open { left: mine.into_iter().peekable(), have_places }, ZERO + end)
            }
            LoadSpec::RecordedUsers(_) => return Err("no world has recorded users".to_string()),
            LoadSpec::Closed { users, think, ramp_up, duration } => {
                measured_from = measured_from + *ramp_up;
                let mine = (0..u64::from(*users)).filter(|user| user % workers == worker);
                let begin = |user| {
                    let at = u128::from(ramp_up.0) * u128::from(user) / u128::from(*users);
                    ZERO + Nanos(at as u64)
                };
                let limit = plan.spec().limit.unwrap_or(u64::MAX);
                let mut beginners = BTreeMap::<_, VecDeque<_>>::new();
                mine.for_each(|user| beginners.entry(begin(user)).or_default().push_back((user, 0)));
                let source = Source::Closed {
                    beginners,
                    thinking: BTreeMap::new(),
                    think: *think,
                    users: u64::from(*users),
                    measured_left: limit / workers + u64::from(worker < limit % workers),
                };
                (source, measured_from + *duration)
            }
        };
        let end = part.stop.map_or(end, |stop| end.min(ZERO + stop));
        let operations = plan.spec().idempotent.len() as u64;
        Ok(Arrivals { source, operations, end, measured_from })
    }

    /// Each that waits is known by its rank in one of so many lines; of arrivals by schedule, even ones in one line are.
    pub(super) fn have_places(&self, lines: usize) -> bool {
        match self.source {
            Source::Open { have_places, .. } => have_places && lines == 1,
            Source::Closed { .. } => true,
        }
    }

    pub(super) fn is_measured(&self, intended: Instant) -> bool {
        intended >= self.measured_from
    }

    /// The next arrival if it falls due at `until` or before.
    pub(super) fn next_due(&mut self, until: Instant) -> Option<Due> {
        let operations = self.operations;
        let in_turn = |n: u64| (n % operations) as u32;
        match &mut self.source {
            Source::Open { left, .. } => left.next_if(|due| due.intended <= until && due.intended < self.end),
            Source::Closed { beginners, thinking, users, measured_left, .. } => {
                let earliest =
                    |users: &BTreeMap<Instant, _>| users.keys().next().map_or(Instant(u64::MAX), |&at| at);
                let begins = earliest(beginners) <= earliest(thinking);
                let mut first = if begins { beginners } else { thinking }.first_entry()?;
                let intended = *first.key();
                if *measured_left == 0 || intended > until || intended >= self.end {
                    return None;
                }
                let (user, step) = first.get_mut().pop_front()?;
                if first.get().is_empty() {
                    first.remove();
                }
                *measured_left -= u64::from(intended >= self.measured_from);
                Some(Due {
                    key: Key { load: 0, unit: user, step: step as u32 },
                    index: step * *users + user,
                    operation: in_turn(user * operations / *users + step),
                    intended,
                    begins,
                })
            }
        }
    }

    /// The user of an arrival has its answer, or has given up.
    pub(super) fn ended(&mut self, index: u64, now: Instant) {
        if let Source::Closed { thinking, think, users, .. } = &mut self.source {
            let next = (index % *users, index / *users + 1);
            thinking.entry(now + *think).or_default().push_back(next);
        }
    }
}

/// The arrivals of a worker of an open plan: those of each load, in order of time; of one time, in the order of the loads.
fn open(plan: &Plan, worker: u32) -> Result<Vec<Due>, String> {
    let parts = plan.spec().load.open_parts();
    let (workers, operations) = (plan.threads(), plan.spec().idempotent.len() as u32);
    let loads = parts.len() as u64;
    let share = Share { first: worker, of: workers };
    let mut mine = Vec::new();
    for ((load, part), schedule) in (0u32..).zip(&parts).zip(plan.schedules()) {
        let phases = shape(part, plan.spec().warmup);
        hold!(schedule.phases().eq(phases.iter().copied()), "load {load} is {phases:?}, its schedule is not");
        let asked = part.only.clone().unwrap_or_else(|| (0..operations).collect());
        let turns = asked.len() as u64;
        for (number, offset) in intended_times(plan, schedule).map_err(|e| format!("load {load}: {e}"))? {
            let (is_mine, turn) = match schedule.process() {
                Process::Even | Process::Recorded => {
                    (share.in_group(number / u64::from(workers)) == number, number)
                }
                Process::Poisson { .. } | Process::Bursty { .. } => {
                    let stream = number % STREAMS;
                    let is_mine = stream % u64::from(workers) == u64::from(worker);
                    (is_mine, stream * turns / STREAMS + number / STREAMS)
                }
            };
            if is_mine {
                let operation = asked[(turn % turns) as usize];
                let index = number * loads + u64::from(load);
                let key = Key { load, unit: number, step: 0 };
                mine.push(Due { key, index, operation, intended: ZERO + offset, begins: false });
            }
        }
    }
    // Stable: what one load has at one time stays in its order.
    mine.sort_by_key(|due| (due.intended, due.key.load));
    Ok(mine)
}

/// From the zero of the run on: the warm-up, or silence until the load begins, and then what was asked for.
fn shape(part: &OpenPart, warmup: Nanos) -> Vec<Phase> {
    let before = warmup + part.start;
    let rate = if part.start == Nanos::ZERO { part.phases[0].from } else { Rate::default() };
    let first = (before > Nanos::ZERO).then_some(Phase { from: rate, to: rate, duration: before });
    first.into_iter().chain(part.phases.iter().copied()).collect()
}

/// Every arrival of an open load, each held against the definition: d(k) is the largest t with Λ(t) ≤ u(k).
fn intended_times(plan: &Plan, schedule: &Schedule) -> Result<Vec<(u64, Nanos)>, String> {
    let mut cursor = Cursor::new(schedule, 0, 1);
    let all: Vec<(u64, Nanos)> = std::iter::from_fn(|| cursor.next(schedule)).collect();
    // Even arrivals are one stream, and Poisson's 1,024; the arrivals of each have their numbers in order.
    let streams = if schedule.process() == Process::Even { 1 } else { STREAMS };
    let mut ordinals = vec![0; streams as usize];
    for (index, _) in &all {
        let ordinal = &mut ordinals[(index % streams) as usize];
        hold!(index / streams == *ordinal, "{index} comes as number {ordinal} of its stream");
        *ordinal += 1;
    }
    hold!(all.is_sorted_by_key(|(_, d)| *d), "intended times go back");
    let spec = plan.spec();
    let warm = all.partition_point(|(_, d)| *d < spec.warmup) as u64;
    let room = spec.limit.map_or(u64::MAX, |limit| warm.saturating_add(limit));
    hold!(all.len() as u64 <= room, "{} arrivals, {room} allowed", all.len());
    let phases: Vec<Phase> = schedule.phases().collect();
    if schedule.process() == Process::Even {
        for &(k, d) in &all {
            let u = i128::from(k) * UNITS_PER_REQUEST;
            let after = Nanos(d.0 + 1);
            hold!(reaches(&phases, d) <= u, "arrival {k} is before its time, at {d:?}");
            hold!(is_past(&phases, after, u), "arrival {k} could be later than {d:?}");
        }
        let one_more = all.len() as i128 * UNITS_PER_REQUEST;
        let complete = all.len() as u64 == room || reaches(&phases, schedule.end()) <= one_more;
        hold!(complete, "the schedule ends after {} arrivals, too early", all.len());
    }
    for stop in [spec.warmup, Nanos(schedule.end().0 / 3), schedule.end()] {
        let expected = all.partition_point(|(_, d)| *d < stop) as u64;
        let counted = schedule.count_before(stop);
        hold!(counted == expected, "count_before({stop:?}) says {counted}, there are {expected}");
    }
    Ok(all)
}

/// ⌈Λ(at)⌉ in units: Λ(at) ≤ u for a whole u just if this is.
fn reaches(phases: &[Phase], at: Nanos) -> i128 {
    let (whole, part, span) = cumulative(phases, at);
    whole + part.div_euclid(span) + i128::from(part.rem_euclid(span) != 0)
}

/// Λ(at) > u.
fn is_past(phases: &[Phase], at: Nanos, u: i128) -> bool {
    let (whole, part, span) = cumulative(phases, at);
    whole * span + part > u * span
}

/// Λ(at) = whole + part/span, in units: areas of trapeziums, without any rounding.
fn cumulative(phases: &[Phase], at: Nanos) -> (i128, i128, i128) {
    let (mut whole, mut begin) = (0, 0);
    for phase in phases {
        let (from, to) = (i128::from(phase.from.milli_per_s()), i128::from(phase.to.milli_per_s()));
        let (t, span) = (i128::from(at.0 - begin), i128::from(phase.duration.0));
        if t < span {
            return (whole, 2 * from * t * span + (to - from) * t * t, span);
        }
        whole += (from + to) * span;
        begin += phase.duration.0;
    }
    (whole, 0, 1)
}

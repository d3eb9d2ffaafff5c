//! Stress: the rate climbs beyond what the target carries, and comes down again. How does it fail, and is it as before
//! once the load is?
//!
//! | mode | when |
//! |---|---|
//! | [`Mode::Held`] | it never broke |
//! | [`Mode::Stalls`] | for [`WINDOW`] or longer it delivered less than [`STALLED_SHARE`] of what was offered, or of its best where that is less, though arrivals waited |
//! | [`Mode::Queues`] | at most [`LOST_SHARE`] more of the arrivals were lost than failed before: everybody waits instead |
//! | [`Mode::Sheds`] | of the lost, [`SHED_SHARE`] were turned away on purpose (429, 503), and it never delivered less than [`DELIVERED_SHARE`] of its best while at least as much was offered |
//! | [`Mode::TimesOut`] | most of the lost timed out |
//! | [`Mode::Errors`] | most of them failed otherwise |
//!
//! What failed before is not how it fails under stress: so many of the lost are left aside. The first that holds, from the moment in which it broke until it was as before, or to the end of the record.

use super::{Before, Limit, Recovery, Row, Seen, Stretch, limit_of, steps::Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::time::Nanos;

/// What is said of a target holds for this long, or it is chance.
pub const WINDOW: Nanos = Nanos::from_secs(3);
/// Below this share of what could be delivered, it stalls.
pub const STALLED_SHARE: f64 = 0.10;
/// Up to this share of lost arrivals, they are not how it fails.
pub const LOST_SHARE: f64 = 0.01;
/// Of the arrivals lost by a target that sheds cleanly, so many are turned away on purpose.
pub const SHED_SHARE: f64 = 0.95;
/// And it goes on delivering this share of its best.
pub const DELIVERED_SHARE: f64 = 0.80;
/// It is broken when this many of the steps within [`WINDOW`] are too slow or lose too much.
const BROKEN_SHARE: f64 = 0.9;

/// How a target fails. `docs/shapes.md` says what each means exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "FailureMode")]
pub enum Mode {
    /// Not at all.
    Held,
    /// Hardly anything is answered for a while.
    Stalls,
    /// Nothing is lost, and everybody waits.
    Queues,
    /// What is too much is turned away at once, and the rest is served.
    Sheds,
    /// Arrivals time out.
    TimesOut,
    /// Arrivals fail.
    Errors,
}

/// What a target did from the moment in which it broke.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Broken {
    /// When, after t = 0.
    pub at: Nanos,
    /// The offered rate then.
    pub per_s: f64,
    /// Arrivals that ended from then until it was as before, or to the end of the record.
    pub ended: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Those of `failed` that were turned away on purpose.
    pub shed: u64,
    /// Those that timed out.
    pub timed_out: u64,
    /// The least that it delivered while at least its best was offered, as a share of its best.
    pub delivered_least_share: f64,
    /// The longest time in which hardly anything was answered.
    pub stalled: Nanos,
    /// When the offered rate was below `per_s` again, after t = 0: recovery counts from here.
    pub relieved_at: Nanos,
}

/// How a target took stress.
#[derive(Clone, PartialEq, Debug)]
pub struct Stress {
    /// How it did before.
    pub before: Before,
    /// What is too long.
    pub limit: Limit,
    /// How it fails.
    pub mode: Mode,
    /// The most that it delivered within [`WINDOW`], per second.
    pub delivered_best_per_s: f64,
    /// What it did when it broke; `None`: it never did.
    pub broken: Option<Broken>,
    /// The most that had no answer at the end of any row, and when that was.
    pub unanswered_max: (u64, Nanos),
    /// When it was back at the level before; `None`: not as long as it was watched, or it never broke.
    pub recovery: Option<Recovery>,
    /// Recovery is known to this much.
    pub resolution: Nanos,
}

/// Looks at a run of five stretches: before, up, top, down, after. `None` when nothing was answered before.
pub fn stress(seen: &Seen<'_>, shape: &[Stretch; 5], asked: Option<Limit>) -> Option<Stress> {
    let [base, up, ..] = shape;
    let before = seen.before(base)?;
    let limit = limit_of(asked, &before);
    // As fine as the rates beyond the base allow: on its way up the rate is another in each moment.
    let steps = seen.steps(up.from, seen.load_to, (up.from_per_s + up.to_per_s) / 2.0);
    let rows: Vec<Row> = seen.rows.iter().filter(|row| row.end() > base.from).copied().collect();
    let in_load = rows.iter().filter(|row| row.end() <= seen.load_to).copied().collect::<Vec<_>>();
    let best = windows(&in_load).map(|w| per_s(w, |row| row.ok)).fold(0.0, f64::max);
    let most = rows.iter().max_by_key(|row| (row.level, std::cmp::Reverse(row.start)))?;
    let mut found = Stress {
        before,
        limit,
        mode: Mode::Held,
        delivered_best_per_s: best,
        broken: None,
        unanswered_max: (most.level, most.end()),
        recovery: None,
        resolution: Nanos::ZERO,
    };
    let Some(at) = broken_at(&steps, &before, &limit) else { return Some(found) };
    let rate = rate_at(shape, at);
    let relieved_at = relieved_at(shape, at, rate);
    let after = seen.steps(relieved_at, seen.load_to, base.to_per_s);
    found.resolution = after.first().map_or(Nanos::ZERO, |step| step.end - step.start);
    found.recovery = before.recovery(&after, seen.rows, relieved_at);
    let until = found.recovery.map_or(Nanos(u64::MAX), |recovery| recovery.at);
    let failing: Vec<Row> = rows.iter().filter(|row| row.end() > at && row.start < until).copied().collect();
    let failing_in_load: Vec<Row> = failing.iter().filter(|row| row.end() <= seen.load_to).copied().collect();
    let sum = |of: fn(&Row) -> u64| failing.iter().map(of).sum::<u64>();
    let overload = windows(&failing_in_load).filter(|w| per_s(w, |row| row.due) >= best);
    let least = overload.map(|w| per_s(w, |row| row.ok)).fold(best, f64::min);
    let broken = Broken {
        at,
        per_s: rate,
        ended: sum(|row| row.ok + row.failed + row.timed_out),
        failed: sum(|row| row.failed),
        shed: sum(|row| row.shed),
        timed_out: sum(|row| row.timed_out),
        delivered_least_share: if best > 0.0 { least / best } else { 1.0 },
        stalled: stalled(&failing_in_load, best),
        relieved_at,
    };
    found.mode = mode(&broken, &before);
    found.broken = Some(broken);
    Some(found)
}

fn mode(broken: &Broken, before: &Before) -> Mode {
    // By a step's usual share: that of all before rests on few arrivals, and may be low by chance.
    let as_before = before.usual_failed_share * broken.ended as f64;
    let failed = (broken.failed as f64 - as_before).max(0.0);
    let lost = (broken.failed + broken.timed_out) as f64 - as_before;
    if broken.stalled >= WINDOW {
        Mode::Stalls
    } else if lost <= LOST_SHARE * broken.ended as f64 {
        Mode::Queues
    } else if broken.shed as f64 >= SHED_SHARE * lost && broken.delivered_least_share >= DELIVERED_SHARE {
        Mode::Sheds
    } else if broken.timed_out as f64 > failed {
        Mode::TimesOut
    } else {
        Mode::Errors
    }
}

/// The first moment from which on arrivals take too long, or are lost.
fn broken_at(steps: &[Step], before: &Before, limit: &Limit) -> Option<Nanos> {
    let is_bad = |step: &Step| {
        step.exceeds(limit.ns, limit.quantile) || step.lost_share() > before.usual_failed_share + LOST_SHARE
    };
    let bad: Vec<bool> = steps.iter().map(is_bad).collect();
    let width = steps.first().map(|step| step.end - step.start)?;
    let window = WINDOW.0.div_ceil(width.0.max(1)) as usize;
    let is_broken = |i: usize| {
        let within = &bad[i..bad.len().min(i + window)];
        bad[i] && within.iter().filter(|bad| **bad).count() as f64 >= BROKEN_SHARE * window as f64
    };
    (0..bad.len()).find(|&i| is_broken(i)).map(|i| steps[i].start)
}

fn rate_at(shape: &[Stretch], at: Nanos) -> f64 {
    let Some(stretch) = shape.iter().find(|stretch| at < stretch.to) else { return 0.0 };
    let share = (at - stretch.from).as_secs_f64() / stretch.length().as_secs_f64();
    stretch.from_per_s + share * (stretch.to_per_s - stretch.from_per_s)
}

/// When the rate is back at what broke the target: on its way down, or, where it broke later than that, at once.
fn relieved_at(shape: &[Stretch; 5], broken: Nanos, rate: f64) -> Nanos {
    let [.., down, _] = shape;
    let share = ((down.from_per_s - rate) / (down.from_per_s - down.to_per_s).max(1e-9)).clamp(0.0, 1.0);
    (down.from + Nanos((down.length().0 as f64 * share) as u64)).max(broken)
}

/// Every stretch of neighbouring rows that is just as long as [`WINDOW`], or longer by less than its last row.
fn windows(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    (0..rows.len()).filter_map(|begin| {
        let mut length = Nanos::ZERO;
        let is_enough = |row: &Row| {
            length += row.length;
            length >= WINDOW
        };
        let end = rows[begin..].iter().position(is_enough)?;
        Some(&rows[begin..=begin + end])
    })
}

fn per_s(rows: &[Row], of: impl Fn(&Row) -> u64) -> f64 {
    let seconds: f64 = rows.iter().map(|row| row.length.as_secs_f64()).sum();
    rows.iter().map(of).sum::<u64>() as f64 / seconds.max(1e-9)
}

/// The longest time in which arrivals waited and hardly any was answered.
fn stalled(rows: &[Row], best: f64) -> Nanos {
    let (mut longest, mut now) = (Nanos::ZERO, Nanos::ZERO);
    for row in rows {
        let one = std::slice::from_ref(row);
        let could = per_s(one, |row| row.due).min(best);
        let is_stalled = row.level > 0 && per_s(one, |row| row.ok) < STALLED_SHARE * could;
        now = if is_stalled { now + row.length } else { Nanos::ZERO };
        longest = longest.max(now);
    }
    longest
}

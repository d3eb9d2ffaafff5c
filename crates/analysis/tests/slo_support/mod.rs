//! Runs whose truth is known.
#![allow(dead_code)] // each test binary uses its part

use unblink_analysis::interval::{EndedBy, History};
use unblink_analysis::moves::Moves;
use unblink_analysis::slo::*;
use unblink_core::record::Track;
use unblink_core::time::Nanos;

/// A run of one interval a second, each of which holds `per_second(second)` response times in ms.
pub(crate) struct World {
    pub(crate) completed: Track<u64>,
    pub(crate) censored: Track<u64>,
    pub(crate) history: History,
    pub(crate) errors: RatioHistory,
    pub(crate) mean: RatioHistory,
    pub(crate) counts: Counts,
    pub(crate) hindered: Track<u64>,
    pub(crate) unhindered: Track<u64>,
    pub(crate) failed_hindered: u64,
    pub(crate) unseen: u64,
    pub(crate) subject: Subject,
    pub(crate) seconds: u64,
}

impl World {
    pub(crate) fn new(seconds: u64, per_second: impl Fn(u64) -> Vec<u64>) -> World {
        World::with_errors(seconds, per_second, |_| 0)
    }

    pub(crate) fn with_errors(
        seconds: u64,
        per_second: impl Fn(u64) -> Vec<u64>,
        errors: impl Fn(u64) -> u64,
    ) -> World {
        let mut world = World {
            completed: Track::default(),
            censored: Track::default(),
            history: History::default(),
            errors: RatioHistory::default(),
            mean: RatioHistory::default(),
            counts: Counts::default(),
            hindered: Track::default(),
            unhindered: Track::default(),
            failed_hindered: 0,
            unseen: 0,
            subject: Subject::Arrivals,
            seconds,
        };
        for second in 0..seconds {
            let mut track: Track<u64> = Track::default();
            per_second(second).into_iter().for_each(|ms| track.record(Nanos::from_millis(ms)));
            let failed = errors(second);
            let (start, length) = (Nanos::from_secs(second), Nanos::from_secs(1));
            world.history.add(start, length, 0, &track, &Track::default());
            world.mean.add(track.sum_ns as f64, track.count() as f64);
            world.errors.add(failed as f64, (track.count() + failed) as f64);
            world.counts.arrivals += track.count() + failed;
            world.counts.errors += failed;
            world.counts.failed += failed;
            world.completed.add(&track);
        }
        world
    }

    pub(crate) fn judge_in(&self, text: &str, run: impl FnOnce(&mut Run)) -> Judgement {
        let slo = Slo::parse(text).expect(text);
        let rate = self.completed.count() as f64 / self.seconds as f64;
        let mut facts = Run {
            is_accounted: true,
            moves: Moves::default(),
            errors_are_judged: false,
            is_steady: true,
            from: Nanos::ZERO,
            to: Nanos::from_secs(self.seconds),
            ended: EndedBy::Plan,
            offered_per_s: Some(self.counts.arrivals as f64 / self.seconds as f64),
            achieved_per_s: rate * 0.999,
            users: None,
            bursts: None,
            lost: 0,
            loss_is_unbounded: false,
            achieved_in_load_per_s: rate,
        };
        run(&mut facts);
        let population = Population {
            completed: &self.completed,
            censored: &self.censored,
            open: 0,
            history: &self.history,
            counts: self.counts,
            relief: Relief {
                of: self.subject,
                hindered: &self.hindered,
                unhindered: Some(&self.unhindered),
                failed: self.failed_hindered,
                timed_out_own: 0,
                timed_out: self.counts.errors - self.counts.failed,
                unseen: self.unseen,
            },
            errors: &self.errors,
            mean: &self.mean,
        };
        judge::judge(&slo.objective, &population, &facts)
    }

    pub(crate) fn verdict(&self, text: &str) -> (VerdictStatus, Reason) {
        let judgement = self.judge_in(text, |_| ());
        (judgement.verdict, judgement.reason)
    }
}

/// 1 to 100 ms in each second, ten times: p99 is 99 ms.
pub(crate) fn uniform(_: u64) -> Vec<u64> {
    (0..1_000).map(|i| i % 100 + 1).collect()
}

//! Clocks, and when processes live.

use super::EPOCH;
use unblink_cluster::message::Time;

/// A clock that is off, and drifts. It was set once, when its process started: how the wall clock of its machine is stepped after
/// that is another matter.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) ahead: i64,
    pub(super) drift_ppm: i64,
}

impl Clock {
    /// What it reads at `now` in true time.
    pub(super) fn at(self, now: u64) -> Time {
        let drift = i128::from(now) * i128::from(self.drift_ppm) / 1_000_000;
        EPOCH.saturating_add_signed(self.ahead).saturating_add_signed(drift as i64) + now
    }

    /// The first moment in true time at which it reads `time` or more.
    pub(super) fn when(self, time: Time) -> u64 {
        if time == Time::MAX {
            return u64::MAX;
        }
        let passed = time.saturating_sub(EPOCH.saturating_add_signed(self.ahead));
        let near = i128::from(passed) * 1_000_000 / i128::from(1_000_000 + self.drift_ppm);
        let mut now = (near as u64).saturating_sub(3);
        while self.at(now) < time {
            now += 1;
        }
        now
    }
}

/// When a process does not live or not run.
#[derive(Clone, Copy, Default)]
pub(super) struct Life {
    pub(super) dies_at: Option<u64>,
    /// Another one takes its place.
    pub(super) back_at: Option<u64>,
    pub(super) stands_still: Option<(u64, u64)>,
}

impl Life {
    pub(super) fn is_dead(self, now: u64) -> bool {
        self.dies_at.is_some_and(|at| now >= at) && self.back_at.is_none_or(|at| now < at)
    }

    pub(super) fn is_dead_for_good(self, now: u64) -> bool {
        self.is_dead(now) && self.back_at.is_none()
    }

    pub(super) fn runs(self, now: u64) -> bool {
        !self.is_dead(now) && self.stands_still.is_none_or(|(from, to)| now < from || now >= to)
    }
}

/// When the wall clock of a machine is set to another time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stepped {
    /// While agents gather.
    AtJoin,
    /// Between the word of the start and the start itself.
    WhenArmed,
    /// While load goes on.
    InRun,
}

/// A machine's wall clock less the clock that its agent set once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wall {
    pub(super) ahead: i64,
    /// By how much it is yet to be stepped, and when.
    pub(super) step: Option<(Stepped, i64)>,
}

impl Wall {
    /// That moment has come.
    pub(super) fn reach(&mut self, moment: Stepped) {
        if let Some((_, by)) = self.step.take_if(|(at, _)| *at == moment) {
            self.ahead += by;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_read_when_it_says() {
        for drift_ppm in [-50, -1, 0, 7, 50] {
            let clock = Clock { ahead: -77, drift_ppm };
            for now in [0, 1, 999, 1_000_000_007, 399_123_456_789] {
                let time = clock.at(now);
                let when = clock.when(time);
                assert!(clock.at(when) >= time && when <= now, "{drift_ppm} {now} {when}");
                assert!(when == 0 || clock.at(when - 1) < time);
            }
        }
    }
}

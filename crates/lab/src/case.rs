//! A scenario with the load that goes with it, and what users feel of it.

use std::time::Duration;

use unblink_artifact::lab::{LabBand, LabEvent, LabScenario, LabTruth};

use crate::fault::Ending;
use crate::{Scenario, oracle};

const S: u64 = 1_000_000_000;
/// Users of a tool whose users wait for their answer.
const USERS: u32 = 10;
/// The truth may lie this many ranks off: a run begins within an interval of the schedule, not on it.
const RANKS_OFF_MIN: usize = 2;
/// As a share of the arrivals.
const RANKS_OFF: f64 = 1e-4;

/// One scenario as every tool meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What the server does.
    pub scenario: Scenario,
    /// Arrivals per second.
    pub rate_per_s: u64,
    /// Of a closed loop.
    pub users: u32,
    /// Length of the load.
    pub duration: Duration,
    /// What each tool is told to wait at most, in whole seconds: not every tool knows less.
    pub timeout_s: u64,
}

impl Case {
    /// A preset for a run of so long, at the published profile: 1,000/s and 10 users, but for the trickle and for the one
    /// server, which has its own.
    pub fn preset(name: &str, duration: Duration) -> Option<Case> {
        let scenario = Scenario::preset(name)?.for_length(duration.as_nanos() as u64);
        let scale = |full_s: f64| (full_s * duration.as_secs_f64() / 60.0).round().max(1.0) as u64;
        let (rate_per_s, users) = match name {
            "trickle" => (10, USERS),
            Scenario::ONE_SERVER => (450, 1),
            _ => (1_000, USERS),
        };
        Some(Case {
            scenario,
            rate_per_s,
            users,
            duration,
            timeout_s: if name == "timeouts" { scale(2.0) } else { scale(30.0).max(5) },
        })
    }

    /// The timeout in ns.
    pub fn timeout_ns(&self) -> u64 {
        self.timeout_s * S
    }

    /// Arrivals that fall due before the end.
    pub fn planned(&self) -> u64 {
        (self.duration.as_nanos() * u128::from(self.rate_per_s)).div_ceil(u128::from(S)) as u64
    }

    /// As a document has it.
    pub fn describe(&self) -> LabScenario {
        let events = self.scenario.events().into_iter();
        LabScenario {
            name: self.scenario.name.clone(),
            description: self.scenario.describe(),
            rate_per_s: self.rate_per_s,
            duration_ns: self.duration.as_nanos() as u64,
            users: self.users,
            timeout_ns: self.timeout_ns(),
            events: events.map(|(from_ns, to_ns)| LabEvent { from_ns, to_ns }).collect(),
        }
    }

    /// What users feel who come at the rate, whatever the server does, each with a connection of its own.
    pub fn truth(&self) -> Truth {
        let all = oracle::open_population(&self.scenario, self.rate_per_s, self.duration, None);
        let failed = all.iter().filter(|(_, ending)| *ending != Ending::Ok).count();
        let in_time = all.iter().filter(|(ns, ending)| *ending == Ending::Ok && *ns <= self.timeout_ns());
        let mut ok_ns: Vec<u64> = in_time.map(|(ns, _)| *ns).collect();
        ok_ns.sort_unstable();
        let timed_out = all.len() - failed - ok_ns.len();
        Truth { arrivals: all.len(), failed, timed_out, timeout_ns: self.timeout_ns(), ok_ns }
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Felt {
    /// After so many ns.
    Answered(u64),
    /// With an error.
    Failed,
    /// Nobody saw an answer.
    TooLong,
}

/// Response times of an open population.
#[derive(Clone, Debug)]
pub struct Truth {
    arrivals: usize,
    failed: usize,
    timed_out: usize,
    timeout_ns: u64,
    /// Ascending.
    ok_ns: Vec<u64>,
}

impl Truth {
    /// Of arrivals whose fate was seen.
    pub(crate) fn of_felt(felt: impl Iterator<Item = Felt>, timeout_ns: u64) -> Truth {
        let mut truth = Truth { arrivals: 0, failed: 0, timed_out: 0, timeout_ns, ok_ns: Vec::new() };
        for felt in felt {
            truth.arrivals += 1;
            match felt {
                Felt::Answered(ns) if ns <= timeout_ns => truth.ok_ns.push(ns),
                Felt::Failed => truth.failed += 1,
                Felt::Answered(_) | Felt::TooLong => truth.timed_out += 1,
            }
        }
        truth.ok_ns.sort_unstable();
        truth
    }

    /// The value at `q` of what did not fail, from a few ranks below to a few above. `None` above: longer than the
    /// timeout. `None` in all: nothing is there, or it is longer than the timeout for certain.
    pub fn at(&self, q: f64) -> (Option<u64>, Option<u64>) {
        let count = self.ok_ns.len() + self.timed_out;
        if count == 0 {
            return (None, None);
        }
        let rank = ((q * count as f64 - 1e-9).ceil() as usize).clamp(1, count) - 1;
        let off = RANKS_OFF_MIN.max((count as f64 * RANKS_OFF).ceil() as usize);
        let low = self.ok_ns.get(rank.saturating_sub(off)).copied();
        let high = self.ok_ns.get((rank + off).min(count - 1)).copied();
        // All that is known of what timed out is that it took longer.
        (low.or(Some(self.timeout_ns)), high)
    }

    /// As a document has it; the band ends where the arrivals do.
    pub fn describe(&self) -> LabTruth {
        let count = self.ok_ns.len() + self.timed_out;
        let band = shares(count as u64).into_iter().map(|q| {
            let (low, high) = self.at(q);
            let low_ns = low.unwrap_or(self.timeout_ns);
            LabBand { q, low_ns, high_ns: high.unwrap_or(self.timeout_ns).max(low_ns) }
        });
        LabTruth {
            arrivals: self.arrivals as u64,
            ok: self.ok_ns.len() as u64,
            failed: self.failed as u64,
            timed_out: self.timed_out as u64,
            band: if count == 0 { Vec::new() } else { band.collect() },
            mean_ns: if self.timed_out == 0 { oracle::mean(&self.ok_ns) } else { None },
        }
    }
}

/// Shares at which a spectrum of this many samples is drawn: ten for each halving of the tail, as long as ten samples
/// lie beyond.
pub(crate) fn shares(samples: u64) -> Vec<f64> {
    let all = (0..).map(|i| 1.0 - 0.5_f64.powf(f64::from(i) / 8.0));
    all.take_while(|q| (1.0 - q) * samples as f64 >= 10.0 || *q == 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn truth(name: &str) -> Truth {
        Case::preset(name, Duration::from_secs(60)).expect("a preset").truth()
    }

    #[test]
    fn the_stall_is_the_one_that_is_published() {
        let (low, high) = truth("stall").at(0.99);
        assert!(low < Some(410 * MS) && high > Some(410 * MS), "{low:?} {high:?}");
        assert!(low > Some(400 * MS) && high < Some(420 * MS), "{low:?} {high:?}");
    }

    #[test]
    fn what_times_out_counts_as_longer() {
        let timeouts = truth("timeouts");
        assert_eq!((timeouts.timed_out, timeouts.failed), (1_000, 0));
        assert_eq!(timeouts.at(0.5), (Some(10 * MS), Some(10 * MS)));
        assert_eq!(timeouts.at(0.99), (Some(2_000 * MS), None));
        assert_eq!(timeouts.describe().band.last().map(|b| b.high_ns), Some(2_000 * MS));
    }

    #[test]
    fn failures_do_not_improve_a_percentile() {
        let errors = truth("errors");
        assert_eq!(errors.failed, 36_000);
        assert_eq!(errors.at(0.5), (Some(10 * MS), Some(10 * MS)));
    }

    #[test]
    fn a_percentile_at_a_step_is_both() {
        assert_eq!(truth("one-in-100").at(0.99), (Some(10 * MS), Some(200 * MS)));
    }

    #[test]
    fn spectra_end_where_the_samples_do() {
        let shares = shares(1_000);
        assert_eq!(shares[0], 0.0);
        assert!(shares.last().is_some_and(|q| *q <= 0.99 && *q > 0.98), "{shares:?}");
        assert_eq!(super::shares(3).len(), 1);
    }
}

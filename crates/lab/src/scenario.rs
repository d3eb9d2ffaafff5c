//! What the server does to its requests: pure arithmetic in integer nanoseconds.

mod describe;

use self::describe::show;
use crate::fault::{Ending, Fault, Harm, Slow};
use crate::gate::{Gate, scaled};
use crate::{Database, LabError};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// No number of a scenario may exceed this: one day. It keeps every sum far from overflow.
const LONGEST_NS: u64 = 86_400 * S;

/// A pathology with known numbers. All times are offsets in ns from the start of the event clock.
///
/// A request takes a slot if [`max_concurrency`](Self::max_concurrency) is set (first come, first served), sleeps
/// the baseline *sampled at the moment when it took the slot*, waits while a gate is shut, and is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The preset it came from, or the caller's own name.
    pub name: String,
    /// What each answer takes.
    pub baseline: Baseline,
    /// When nothing is answered at all.
    pub gates: Vec<Gate>,
    /// The number of requests served at once; the others wait in arrival order. `None`: unlimited parallelism.
    pub max_concurrency: Option<u32>,
    /// Some requests are slow by their number.
    pub slow: Option<Slow>,
    /// Worse than slow.
    pub faults: Vec<Fault>,
    /// It is a database that others wrote. What its answers take without an event is not known beforehand, and no server of
    /// ours plays it.
    pub database: Option<Database>,
}

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// What it would take with every gate open, in ns.
    pub delay_ns: u64,
    /// When it is over, in ns on the event clock.
    pub end_ns: u64,
    /// How it ends.
    pub ending: Ending,
}

/// The delay of an answer, by the time when the request took its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Always the same.
    Constant {
        /// The delay in ns.
        delay_ns: u64,
    },
    /// `from_ns` until `start_ns`, then linear, `to_ns` from `end_ns` on.
    Ramp {
        /// The delay before the ramp, in ns.
        from_ns: u64,
        /// The delay after the ramp, in ns.
        to_ns: u64,
        /// Where the ramp begins, in ns on the event clock.
        start_ns: u64,
        /// Where the ramp ends, in ns on the event clock.
        end_ns: u64,
    },
}

impl Scenario {
    /// The length of the run that the presets are made for, in ns.
    pub const MADE_FOR_NS: u64 = 60 * S;

    /// The published scenarios: slow in one way or another.
    pub const NAMES: &[&str] = &["healthy", "stall", "ramp", "pauses", "saturation"];

    /// Those of our own.
    pub const MORE_NAMES: &[&str] = &[
        "headroom",
        "early",
        "late",
        "frozen",
        "accept",
        "one-in-100",
        "timeouts",
        "resets",
        "errors",
        "trickle",
        "fast",
    ];

    /// One at a time, with a pause every 500th request: made for 450/s over 30 s, and so not run with the others.
    pub const ONE_SERVER: &str = "one-server";

    /// Those of databases: a stall of a second after a sixth of the run, however long that is.
    pub fn databases() -> impl Iterator<Item = &'static str> {
        Database::ALL.into_iter().map(Database::scenario)
    }

    /// All that are run at the same profile.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().chain(Self::MORE_NAMES).copied()
    }

    /// A scenario of the coordinated omission lab, with its published numbers (made for 60 s at 1,000 requests/s).
    pub fn preset(name: &str) -> Option<Self> {
        let mut scenario = Self {
            name: name.to_owned(),
            baseline: Baseline::Constant { delay_ns: 10 * MS },
            gates: Vec::new(),
            max_concurrency: None,
            slow: None,
            faults: Vec::new(),
            database: Database::of_scenario(name),
        };
        let mut second_at_30 = |harm| scenario.faults.push(Fault { when: Gate::once(30 * S, S), harm });
        match name {
            "healthy" => {}
            "stall" => scenario.gates.push(Gate::once(30 * S, S)),
            "ramp" => {
                scenario.baseline =
                    Baseline::Ramp { from_ns: 10 * MS, to_ns: 100 * MS, start_ns: 20 * S, end_ns: 50 * S };
            }
            "pauses" => scenario.gates.push(Gate {
                first_at_ns: 9_500 * MS,
                duration_ns: 200 * MS,
                period_ns: 10 * S,
                count: 6,
            }),
            "saturation" => scenario.max_concurrency = Some(5),
            // Binds nothing: 10 are in use at 1,000/s.
            "headroom" => scenario.max_concurrency = Some(50),
            "early" => scenario.gates.push(Gate::once(5 * S, S)),
            "late" => scenario.gates.push(Gate::once(59_500 * MS, S)),
            "frozen" => second_at_30(Harm::Freeze),
            "accept" => second_at_30(Harm::NoAccept),
            "one-in-100" => scenario.slow = Some(Slow { every: 100, delay_ns: 200 * MS }),
            "timeouts" => second_at_30(Harm::Hang { delay_ns: 10 * S }),
            "resets" => second_at_30(Harm::Reset),
            "errors" => scenario.faults.push(Fault {
                when: Gate { first_at_ns: 2 * S, duration_ns: 3 * S, period_ns: 5 * S, count: 12 },
                harm: Harm::Error { delay_ns: 0 },
            }),
            "trickle" => scenario.baseline = Baseline::Constant { delay_ns: 50 * MS },
            "fast" => scenario.baseline = Baseline::Constant { delay_ns: 200_000 },
            Self::ONE_SERVER => {
                scenario.baseline = Baseline::Constant { delay_ns: MS };
                scenario.slow = Some(Slow { every: 500, delay_ns: 200 * MS });
                scenario.max_concurrency = Some(1);
            }
            name => {
                scenario.baseline = Baseline::Constant { delay_ns: 0 };
                let second_at_10 = Gate::once(10 * S, S);
                match Database::of_scenario(name)? {
                    Database::Redis | Database::Cassandra => {
                        scenario.faults.push(Fault { when: second_at_10, harm: Harm::Freeze });
                    }
                    Database::Postgres => scenario.gates.push(second_at_10),
                }
            }
        }
        Some(scenario)
    }

    /// The delay of a request that takes its slot at `at_ns` on the event clock, in ns.
    pub fn baseline_ns(&self, at_ns: u64) -> u64 {
        match self.baseline {
            Baseline::Constant { delay_ns } => delay_ns,
            Baseline::Ramp { from_ns, start_ns, .. } if at_ns <= start_ns => from_ns,
            Baseline::Ramp { to_ns, end_ns, .. } if at_ns >= end_ns => to_ns,
            Baseline::Ramp { from_ns, to_ns, start_ns, end_ns } => {
                let risen = u128::from(from_ns.abs_diff(to_ns)) * u128::from(at_ns - start_ns)
                    / u128::from(end_ns - start_ns);
                // Between 0 and |to − from|, so it fits.
                let risen = risen as u64;
                if to_ns >= from_ns { from_ns + risen } else { from_ns - risen }
            }
        }
    }

    /// When a gate shut at `at_ns` opens, both in ns on the event clock; `None` when it is open at `at_ns`.
    /// Gates that touch or overlap act as one.
    pub fn gate_end_ns(&self, at_ns: u64) -> Option<u64> {
        let covering = |at_ns| self.gates.iter().filter_map(|gate| gate.end_ns(at_ns)).max();
        let mut end_ns = covering(at_ns)?;
        while let Some(later_ns) = covering(end_ns) {
            end_ns = later_ns;
        }
        Some(end_ns)
    }

    /// What happens to the request with this number that takes its slot at `slot_ns` on the event clock. What the
    /// process can't see while it is frozen is not in it.
    pub fn treat(&self, number: u64, slot_ns: u64) -> Treatment {
        let slow = self.slow.filter(|slow| number % u64::from(slow.every) == u64::from(slow.every) - 1);
        let (mut delay_ns, mut ending) =
            (slow.map_or_else(|| self.baseline_ns(slot_ns), |slow| slow.delay_ns), Ending::Ok);
        for fault in self.faults.iter().filter(|fault| fault.when.end_ns(slot_ns).is_some()) {
            match fault.harm {
                Harm::Freeze | Harm::NoAccept => {}
                Harm::Hang { delay_ns: hang_ns } => delay_ns = hang_ns,
                Harm::Reset => ending = Ending::Reset,
                Harm::Error { delay_ns: error_ns } => (delay_ns, ending) = (error_ns, Ending::Error),
            }
        }
        let slept_ns = slot_ns + delay_ns;
        Treatment { delay_ns, end_ns: self.gate_end_ns(slept_ns).unwrap_or(slept_ns), ending }
    }

    /// Each answer ends its connection.
    pub fn ends_connections(&self) -> bool {
        self.faults.iter().any(|fault| fault.harm == Harm::NoAccept)
    }

    /// The server can't see requests come while it misbehaves.
    pub fn is_blind(&self) -> bool {
        // Of a database, the wire tells.
        self.database.is_none()
            && self.faults.iter().any(|fault| matches!(fault.harm, Harm::Freeze | Harm::NoAccept))
    }

    /// When the stretch of such a harm that covers `at_ns` ends, both in ns on the event clock.
    pub(crate) fn harm_end_ns(&self, harm: Harm, at_ns: u64) -> Option<u64> {
        self.faults.iter().filter(|f| f.harm == harm).filter_map(|f| f.when.end_ns(at_ns)).max()
    }

    /// When the server misbehaves, from and to in ns on the event clock, in order. A ramp is not an event.
    pub fn events(&self) -> Vec<(u64, u64)> {
        let gates = self.gates.iter().chain(self.faults.iter().map(|fault| &fault.when));
        let mut events: Vec<_> = gates.flat_map(Gate::stretches).collect();
        events.sort_unstable();
        events
    }

    /// The same for a run of another length than [`Scenario::MADE_FOR_NS`]: its events move and shrink with it, what
    /// each answer takes without them stays.
    pub fn for_length(mut self, length_ns: u64) -> Self {
        let of = Self::MADE_FOR_NS;
        if length_ns == of {
            return self;
        }
        // A database's stall is a second long in any run that has room for it.
        let lasts_ns = self.database.map(|_| S.min(length_ns / 4));
        let scale = |gate: &Gate| {
            let scaled = gate.scaled(length_ns, of);
            Gate { duration_ns: lasts_ns.unwrap_or(scaled.duration_ns), ..scaled }
        };
        for gate in &mut self.gates {
            *gate = scale(gate);
        }
        for fault in &mut self.faults {
            fault.when = scale(&fault.when);
            if let Harm::Hang { delay_ns } = &mut fault.harm {
                // No tool's timeout is shorter than a second.
                *delay_ns = scaled(*delay_ns, length_ns, of).max(2 * S);
            }
        }
        if let Baseline::Ramp { start_ns, end_ns, .. } = &mut self.baseline {
            *start_ns = scaled(*start_ns, length_ns, of);
            *end_ns = scaled(*end_ns, length_ns, of).max(*start_ns + 1);
        }
        self
    }

    /// Rejects numbers that contradict each other, with the reason.
    pub fn validate(&self) -> Result<(), LabError> {
        let fail = |reason: String| Err(LabError::Scenario { name: self.name.clone(), reason });
        let (delays_ns, times_ns) = match self.baseline {
            Baseline::Constant { delay_ns } => ([delay_ns, delay_ns], [0, 0]),
            Baseline::Ramp { from_ns, to_ns, start_ns, end_ns } => ([from_ns, to_ns], [start_ns, end_ns]),
        };
        if delays_ns.iter().chain(&times_ns).any(|&ns| ns > LONGEST_NS) {
            return fail(format!("a time is longer than {}", show(LONGEST_NS)));
        }
        if matches!(self.baseline, Baseline::Ramp { start_ns, end_ns, .. } if start_ns >= end_ns) {
            return fail("the ramp must end after it starts".to_owned());
        }
        if self.max_concurrency == Some(0) {
            return fail("a concurrency of 0 would answer nothing; leave it out for no limit".to_owned());
        }
        if self.slow.is_some_and(|slow| slow.every == 0 || slow.delay_ns > LONGEST_NS) {
            return fail("one in 0 is not a share, and no answer takes longer than a day".to_owned());
        }
        let harms = self.faults.iter().map(|fault| fault.harm);
        if harms.clone().any(|harm| matches!(harm, Harm::Hang { delay_ns } | Harm::Error { delay_ns } if delay_ns > LONGEST_NS)) {
            return fail(format!("a time is longer than {}", show(LONGEST_NS)));
        }
        if harms.filter(|harm| *harm == Harm::Freeze).count() > 1 {
            return fail("it freezes in one way only: give one freeze a count".to_owned());
        }
        for gate in self.gates.iter().chain(self.faults.iter().map(|fault| &fault.when)) {
            if gate.first_at_ns.max(gate.duration_ns).max(gate.period_ns) > LONGEST_NS {
                return fail(format!("a time is longer than {}", show(LONGEST_NS)));
            }
            if gate.duration_ns == 0 || gate.count == 0 {
                return fail(
                    "a pause needs a duration and a count above 0; leave it out for none".to_owned(),
                );
            }
            if gate.count > 1 && gate.period_ns <= gate.duration_ns {
                return fail(format!(
                    "pauses of {} every {} would never end",
                    show(gate.duration_ns),
                    show(gate.period_ns)
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(name: &str) -> Scenario {
        Scenario::preset(name).expect("a preset")
    }

    #[test]
    fn every_name_is_a_valid_preset() {
        for name in Scenario::names().chain([Scenario::ONE_SERVER]).chain(Scenario::databases()) {
            preset(name).validate().expect(name);
            for seconds in [2, 15, 60, 600] {
                preset(name).for_length(seconds * S).validate().expect(name);
            }
        }
        assert_eq!(Scenario::preset("unknown"), None);
    }

    #[test]
    fn ramp_is_linear_between_its_ends() {
        let ramp = preset("ramp");
        let at = |ms: u64| ramp.baseline_ns(ms * MS);
        assert_eq!(
            [at(0), at(20_000), at(35_000), at(50_000), at(60_000)],
            [10, 10, 55, 100, 100].map(|ms| ms * MS)
        );
        assert_eq!(at(20_001), 10 * MS + 3_000);
        let falling = Scenario {
            baseline: Baseline::Ramp { from_ns: 100, to_ns: 10, start_ns: 0, end_ns: 90 },
            ..ramp
        };
        assert_eq!(falling.baseline_ns(30), 70);
    }

    #[test]
    fn gate_is_half_open() {
        let stall = preset("stall");
        assert_eq!(stall.gate_end_ns(30 * S - 1), None);
        assert_eq!(stall.gate_end_ns(30 * S), Some(31 * S));
        assert_eq!(stall.gate_end_ns(31 * S - 1), Some(31 * S));
        assert_eq!(stall.gate_end_ns(31 * S), None);
    }

    #[test]
    fn pauses_recur_and_end() {
        let pauses = preset("pauses");
        assert_eq!(pauses.gate_end_ns(9_499 * MS), None);
        assert_eq!(pauses.gate_end_ns(19_600 * MS), Some(19_700 * MS));
        assert_eq!(pauses.gate_end_ns(59_699 * MS), Some(59_700 * MS));
        assert_eq!(pauses.gate_end_ns(69_600 * MS), None);
    }

    #[test]
    fn touching_gates_act_as_one() {
        let mut scenario = preset("healthy");
        scenario.gates = vec![Gate::once(10, 5), Gate::once(15, 5), Gate::once(18, 10)];
        assert_eq!(scenario.gate_end_ns(12), Some(28));
    }

    #[test]
    fn a_shorter_run_meets_the_same_events_earlier() {
        let short = |name: &str| preset(name).for_length(15 * S);
        assert_eq!(short("stall").gates, [Gate::once(7_500 * MS, 250 * MS)]);
        assert_eq!(short("pauses").gates[0].period_ns, 2_500 * MS);
        assert_eq!(short("healthy").baseline_ns(0), 10 * MS);
        assert_eq!(short("redis-stall").events(), [(2_500 * MS, 3_500 * MS)]);
        assert_eq!(preset("postgres-stall").for_length(2 * S).events()[0], (333_333_333, 833_333_333));
        assert_eq!(short("ramp").baseline_ns(12_500 * MS), 100 * MS);
        assert_eq!(short("timeouts").treat(0, 7_600 * MS).delay_ns, 2_500 * MS);
    }

    #[test]
    fn faults_touch_what_comes_while_they_last() {
        let ending = |name: &str, ms: u64| preset(name).treat(0, ms * MS).ending;
        assert_eq!(
            [29_999, 30_000, 31_000].map(|ms| ending("resets", ms)),
            [Ending::Ok, Ending::Reset, Ending::Ok]
        );
        assert_eq!(
            [1_999, 2_000, 5_000, 7_000].map(|ms| ending("errors", ms)),
            [Ending::Ok, Ending::Error, Ending::Ok, Ending::Error]
        );
        let slow = preset("one-in-100");
        let delays: Vec<u64> = (0..200).map(|k| slow.treat(k, 0).delay_ns).collect();
        assert_eq!(delays.iter().filter(|&&ns| ns == 200 * MS).count(), 2);
        assert_eq!(delays[99], 200 * MS);
        assert!(preset("accept").ends_connections() && preset("frozen").is_blind());
        assert_eq!(preset("frozen").events(), [(30 * S, 31 * S)]);
    }

    #[test]
    fn contradictions_are_rejected() {
        let mut scenario = preset("saturation");
        scenario.max_concurrency = Some(0);
        assert!(scenario.validate().is_err());
        let mut scenario = preset("pauses");
        scenario.gates[0].period_ns = 200 * MS;
        assert!(scenario.validate().is_err());
        let mut scenario = preset("stall");
        scenario.gates[0].duration_ns = 0;
        assert!(scenario.validate().is_err());
        let mut scenario = preset("ramp");
        scenario.baseline = Baseline::Ramp { from_ns: 1, to_ns: 2, start_ns: 5, end_ns: 5 };
        assert!(scenario.validate().is_err());
        scenario.baseline = Baseline::Constant { delay_ns: u64::MAX };
        assert!(scenario.validate().is_err());
    }
}

//! When the event clock starts: the zero of every gate and ramp.

/// What starts the event clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockStart {
    /// The first request of a run, probes excepted; see [`CLOCK_HELP`].
    #[default]
    FirstRequest,
    /// The moment when the server was bound.
    ProcessStart,
    /// `POST /_lab/arm`, each time again. Before it, no gate shuts and a ramp has not begun.
    /// Requests that already have their slot keep the times they were given.
    Arm,
}

/// How [`ClockStart::FirstRequest`] finds the start of a run, ready for `--help`. The numbers are defaults.
pub const CLOCK_HELP: &str = "\
The clock starts at the first request of a run. Load testers often probe the server first, so: if the first few \
requests (at most 16) come strictly one at a time and 20 ms then pass with nothing in flight, they were probes, and \
the clock starts anew, once and for good, at the next request. After 5 s with nothing in flight the next request \
starts a new run. /healthy and /_lab/ never start it.";

/// More requests than this in a row are no probe, even one at a time.
const MOST_PROBES: u32 = 16;

/// The event clock, as a pure state machine. All times are ns since the server was bound.
#[derive(Debug)]
pub(crate) struct EventClock {
    start: ClockStart,
    /// Nothing in flight for so long after probes: the next request is the run's first. In ns.
    probe_gap_ns: u64,
    /// Nothing in flight for so long: the next request starts a new run. In ns.
    rearm_after_ns: u64,
    started_ns: Option<u64>,
    /// Requests that may all have been probes; `None` once it is a run.
    probes: Option<u32>,
}

impl EventClock {
    pub(crate) fn new(start: ClockStart, probe_gap_ns: u64, rearm_after_ns: u64) -> Self {
        let started_ns = (start == ClockStart::ProcessStart).then_some(0);
        Self { start, probe_gap_ns, rearm_after_ns, started_ns, probes: None }
    }

    /// Where the clock's zero lies; `None` while it stands still.
    pub(crate) fn started_ns(&self) -> Option<u64> {
        self.started_ns
    }

    /// A request arrives at `now_ns`. `idle_since_ns` is when the last one ended, `None` with any in flight.
    pub(crate) fn arrive(&mut self, now_ns: u64, idle_since_ns: Option<u64>) {
        if self.start != ClockStart::FirstRequest {
            return;
        }
        let idle_ns = idle_since_ns.map(|since_ns| now_ns.saturating_sub(since_ns));
        if self.started_ns.is_none() || idle_ns.is_some_and(|ns| ns >= self.rearm_after_ns) {
            self.started_ns = Some(now_ns);
            self.probes = Some(1);
            return;
        }
        let Some(probes) = self.probes else { return };
        match idle_ns {
            Some(ns) if ns >= self.probe_gap_ns => {
                self.started_ns = Some(now_ns);
                self.probes = None;
            }
            Some(_) if probes < MOST_PROBES => self.probes = Some(probes + 1),
            _ => self.probes = None,
        }
    }

    /// Somebody asked for the clock to start at `now_ns`; false when it is not started that way.
    pub(crate) fn arm(&mut self, now_ns: u64) -> bool {
        let armed = self.start == ClockStart::Arm;
        if armed {
            self.started_ns = Some(now_ns);
        }
        armed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn first() -> EventClock {
        EventClock::new(ClockStart::FirstRequest, 20 * MS, 5_000 * MS)
    }

    /// Feeds (arrival, idle since) in ms, gives the clock's start in ms.
    fn after(arrivals: &[(u64, Option<u64>)]) -> u64 {
        let mut clock = first();
        for &(at, idle) in arrivals {
            clock.arrive(at * MS, idle.map(|at| at * MS));
        }
        clock.started_ns().expect("a start") / MS
    }

    #[test]
    fn starts_at_the_first_request() {
        assert_eq!(first().started_ns(), None);
        assert_eq!(after(&[(100, Some(0))]), 100);
        assert_eq!(after(&[(100, Some(0)), (101, None), (102, None), (200, Some(112))]), 100);
    }

    #[test]
    fn a_lone_request_and_a_pause_is_a_probe() {
        assert_eq!(after(&[(100, Some(0)), (129, Some(110))]), 100);
        assert_eq!(after(&[(100, Some(0)), (130, Some(110))]), 130);
    }

    #[test]
    fn several_probes_one_at_a_time() {
        assert_eq!(after(&[(100, Some(0)), (111, Some(110)), (122, Some(121)), (200, Some(132))]), 200);
    }

    #[test]
    fn the_clock_restarts_once_only() {
        assert_eq!(after(&[(100, Some(0)), (200, Some(110)), (300, Some(210)), (400, Some(310))]), 200);
    }

    #[test]
    fn a_long_run_of_one_at_a_time_is_no_probe() {
        let mut arrivals: Vec<_> = (0..17).map(|k| (100 + 11 * k, Some(99 + 11 * k))).collect();
        arrivals.push((1_000, Some(300)));
        assert_eq!(after(&arrivals), 100);
    }

    #[test]
    fn a_long_idle_starts_a_new_run_with_probes_of_its_own() {
        let run = [(100, Some(0)), (101, None), (5_111, Some(111))];
        assert_eq!(after(&run), 5_111);
        assert_eq!(after(&[run[0], run[1], run[2], (5_200, Some(5_121))]), 5_200);
        assert_eq!(after(&[run[0], run[1], (5_110, Some(111))]), 100);
    }

    #[test]
    fn process_start_and_arm_ignore_requests() {
        let mut clock = EventClock::new(ClockStart::ProcessStart, 20 * MS, 5_000 * MS);
        clock.arrive(100, Some(0));
        assert_eq!(clock.started_ns(), Some(0));
        assert!(!clock.arm(200));
        let mut clock = EventClock::new(ClockStart::Arm, 20 * MS, 5_000 * MS);
        clock.arrive(100, Some(0));
        assert_eq!(clock.started_ns(), None);
        assert!(clock.arm(200));
        assert_eq!(clock.started_ns(), Some(200));
        assert!(clock.arm(300));
        assert_eq!(clock.started_ns(), Some(300));
    }
}

//! Who looks on while a run is recorded, and may end its load.

use unblink_artifact::document::{Aborted, GuardKind};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Tally;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;

/// Sees each finished interval of a run.
pub(crate) trait Observer {
    /// Looks at `interval`, the last one that has come into `tally`. Gives why the load should end, if it should.
    fn look(&mut self, interval: &Interval, tally: &mut Tally) -> Option<End>;
}

impl<O: Observer> Observer for Option<O> {
    fn look(&mut self, interval: &Interval, tally: &mut Tally) -> Option<End> {
        self.as_mut()?.look(interval, tally)
    }
}

/// Why a load ends before its time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum End {
    /// Enough is known: the run is complete.
    Enough,
    /// A rule of `--abort-on` has held for its time, or a guard has stopped it.
    Aborted(Aborted),
}

impl End {
    /// A guard ended it `at` this time after the schedule's zero.
    pub(crate) fn by_guard(guard: GuardKind, rule: String, at: Nanos) -> End {
        Why::Guard(guard).end(rule, at)
    }

    /// A guard ended it, and not a rule that the target has broken.
    pub(crate) fn is_guard(&self) -> bool {
        matches!(self, End::Aborted(Aborted { guard: Some(_), .. }))
    }
}

/// What ends a load from elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// A guard.
    Guard(GuardKind),
    /// A rule of `--abort-on` that is held against more than this process has seen.
    Rule,
    /// Enough is known.
    Enough,
}

impl Why {
    /// The end that it makes, `at` this time after the schedule's zero.
    pub(crate) fn end(self, rule: String, at: Nanos) -> End {
        let aborted = |guard| End::Aborted(Aborted { rule, at_ns: at.0, guard });
        match self {
            Why::Guard(guard) => aborted(Some(guard)),
            Why::Rule => aborted(None),
            Why::Enough => End::Enough,
        }
    }
}

/// What a run has added up to, and those who look on, in the order in which they see each interval.
pub(crate) struct Observed<'a> {
    tally: Tally,
    observers: Vec<&'a mut dyn Observer>,
    ended: Option<End>,
    is_guarded: bool,
}

impl<'a> Observed<'a> {
    /// Nothing has been recorded yet of the run that `header` describes.
    pub(crate) fn new(header: RunHeader, observers: Vec<&'a mut dyn Observer>) -> Observed<'a> {
        Observed { tally: Tally::new(header), observers, ended: None, is_guarded: false }
    }

    /// Takes the next interval in and shows it to everybody. `stop` lets nothing fall due any more and says whether it was
    /// the first to: whoever ends the load first has ended it.
    pub(crate) fn take(&mut self, interval: &Interval, mut stop: impl FnMut() -> bool) {
        self.tally.add(interval);
        for observer in &mut self.observers {
            let end = observer.look(interval, &mut self.tally);
            self.is_guarded |= end.as_ref().is_some_and(End::is_guard);
            if end.is_some() && self.ended.is_none() && stop() {
                self.ended = end;
            }
        }
    }

    /// A guard calls for the end of the load, whatever has ended it before.
    pub(crate) fn is_guarded(&self) -> bool {
        self.is_guarded
    }

    /// All that was recorded, and why the load ended if an observer ended it.
    pub(crate) fn finish(self) -> (Tally, Option<End>) {
        (self.tally, self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends the load in each interval.
    struct Ends(End, u32);

    impl Observer for Ends {
        fn look(&mut self, _: &Interval, tally: &mut Tally) -> Option<End> {
            self.1 += 1;
            assert_eq!(tally.intervals(), u64::from(self.1), "the interval is in the tally");
            Some(self.0.clone())
        }
    }

    fn header() -> RunHeader {
        let json = r#"{
            "tool": {"name": "unblink", "version": "0.1.0"}, "started_at": "2026-11-20T09:15:00Z", "command": [],
            "environment": {"kernel": "", "cpu": "", "cores": 1, "file_descriptors_max": 1, "local_ports": 1},
            "plan": {"summary": "", "phases": [], "warmup_ns": 0, "duration_ns": 1000000000, "timeout_ns": 1,
                "drain_ns": 1, "threads": 1},
            "loads": [{"model": "closed", "users": 1, "think_ns": 0}],
            "origins": [{"scheme": "http", "host": "h", "port": 80, "connections": {"mode": "fixed", "limit": 1}}],
            "targets": [], "protocol_failures": [], "operations": []
        }"#;
        serde_json::from_str(json).expect("a header")
    }

    /// Two intervals before two who would both end the load. Gives why it ended, and how often it was asked to.
    fn ended(goes_on: bool) -> (Option<End>, u32) {
        let aborted = End::Aborted(Aborted { rule: "p99 > 1s for 1s".into(), at_ns: 1, guard: None });
        let (mut nobody, mut rule, mut enough) = (None::<Ends>, Ends(aborted, 0), Ends(End::Enough, 0));
        let mut observed = Observed::new(header(), vec![&mut nobody, &mut rule, &mut enough]);
        let mut asked = 0;
        for _ in 0..2 {
            observed.take(&Interval::empty(1), || {
                asked += 1;
                goes_on
            });
        }
        let (tally, ended) = observed.finish();
        assert_eq!(tally.intervals(), 2);
        assert_eq!((rule.1, enough.1), (2, 2), "everybody sees all of them");
        (ended, asked)
    }

    #[test]
    fn whoever_ends_the_load_first_has_ended_it() {
        assert!(matches!(ended(true), (Some(End::Aborted(_)), 1)));
    }

    /// The user has stopped it already.
    #[test]
    fn a_load_that_has_ended_is_not_ended_again() {
        assert!(matches!(ended(false), (None, 4)));
    }
}

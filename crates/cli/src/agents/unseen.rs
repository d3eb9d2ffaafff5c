//! Load that goes on while whoever leads it sees nothing of it.

use std::time::Duration;
use unblink_core::time::Nanos;

/// Nobody offers load for longer than this without being seen: no rule or budget would end it. An agent whose record no bus keeps has
/// ended it by itself before, and of one that is silent no figures are waited for any more.
const UNSEEN_MAX: Duration = Duration::from_secs(15);
/// What fell due so long after the last figures may be in them, or in the next ones.
const SETTLED_AFTER: Duration = Duration::from_secs(3);
/// From one look to the next at the most, as far as it counts: while this process stood still, nobody looked.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// For how long no figures have come.
#[derive(Default)]
pub(super) struct Unseen {
    until: Option<Nanos>,
    looked_at: Option<Duration>,
    unseen: Duration,
    /// What had fallen due when figures came last, and what could be in them.
    due: u64,
    again: u64,
}

impl Unseen {
    /// Looks at `now`, by a clock that goes on: figures go so far, and agents say that so much has fallen `due`. Is it too long that
    /// load has gone on unseen? Nothing counts while no figures are waited for, nor while records come `again` that were here already:
    /// those of a long run take their time, and what is new comes behind them.
    pub(super) fn look(
        &mut self,
        now: Duration,
        is_awaited: bool,
        until: Option<Nanos>,
        due: u64,
        again: u64,
    ) -> bool {
        let since = self.looked_at.replace(now).map_or(Duration::ZERO, |before| now.saturating_sub(before));
        if std::mem::replace(&mut self.again, again) == again {
            self.unseen += since.min(LOOK_MAX);
        }
        if std::mem::replace(&mut self.until, until) != until || !is_awaited {
            self.unseen = Duration::ZERO;
        }
        if self.unseen <= SETTLED_AFTER {
            self.due = due;
        }
        self.unseen >= UNSEEN_MAX && due > self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks each second, while so much falls due in each; when it is too long.
    fn seconds(
        unseen: &mut Unseen,
        from: u64,
        each: u64,
        figures: impl Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        (from..from + 60).find(|&second| {
            let until = figures(second).map(Nanos::from_secs);
            unseen.look(Duration::from_secs(second), true, until, second * each, 0)
        })
    }

    #[test]
    fn load_that_nobody_sees_is_found_out() {
        assert_eq!(
            seconds(&mut Unseen::default(), 0, 40, |second| Some(second / 5)),
            None,
            "late, but they come"
        );
        assert_eq!(seconds(&mut Unseen::default(), 0, 40, |second| Some(second.min(20))), Some(35));
        assert_eq!(seconds(&mut Unseen::default(), 0, 40, |_| None), Some(15), "none has ever come");
    }

    #[test]
    fn without_load_there_is_nothing_to_see() {
        let mut unseen = Unseen::default();
        assert_eq!(seconds(&mut unseen, 0, 0, |_| Some(5)), None);
        assert!(
            unseen.look(Duration::from_secs(60), true, Some(Nanos::from_secs(5)), 1, 0),
            "and now there is"
        );
    }

    #[test]
    fn time_in_which_nobody_looked_or_waited_does_not_count() {
        let mut unseen = Unseen::default();
        for second in [0, 1, 2, 300, 600] {
            assert!(!unseen.look(Duration::from_secs(second), true, None, second, 0), "it stood still");
        }
        for second in 601..700 {
            assert!(
                !unseen.look(Duration::from_secs(second), second % 10 != 0, None, second, 0),
                "all are silent"
            );
        }
    }

    #[test]
    fn records_that_come_again_are_waited_for() {
        let mut unseen = Unseen::default();
        for second in 0..60 {
            let again = second * 1_000;
            assert!(!unseen.look(Duration::from_secs(second), true, None, second, again), "they still come");
        }
        let found =
            (60..90).find(|&second| unseen.look(Duration::from_secs(second), true, None, second, 59_000));
        assert_eq!(found, Some(74));
    }
}

//! Who looks on while a run is recorded, and may end its load.

use unblink_artifact::document::Aborted;
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Tally;
use unblink_core::record::Interval;

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
    /// A rule of `--abort-on` has held for its time.
    Aborted(Aborted),
}

/// What a run has added up to, and those who look on, in the order in which they see each interval.
pub(crate) struct Observed<'a> {
    tally: Tally,
    observers: Vec<&'a mut dyn Observer>,
    ended: Option<End>,
}

impl<'a> Observed<'a> {
    /// Nothing has been recorded yet of the run that `header` describes.
    pub(crate) fn new(header: RunHeader, observers: Vec<&'a mut dyn Observer>) -> Observed<'a> {
        Observed { tally: Tally::new(header), observers, ended: None }
    }

    /// Takes the next interval in and shows it to everybody. `stop` lets nothing fall due any more and says whether it was
    /// the first to: whoever ends the load first has ended it.
    pub(crate) fn take(&mut self, interval: &Interval, mut stop: impl FnMut() -> bool) {
        self.tally.add(interval);
        for observer in &mut self.observers {
            let end = observer.look(interval, &mut self.tally);
            if end.is_some() && self.ended.is_none() && stop() {
                self.ended = end;
            }
        }
    }

    /// All that was recorded, and why the load ended if an observer ended it.
    pub(crate) fn finish(self) -> (Tally, Option<End>) {
        (self.tally, self.ended)
    }
}

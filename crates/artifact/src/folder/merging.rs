//! Intervals of several machines, put together where all of them have a border.

use super::reader::Intervals;
use super::{FolderError, RecordedRun};
use unblink_core::record::{Ages, Gauges, Interval, Layout};
use unblink_core::time::Nanos;

/// Intervals of several runs as those of one. What comes out depends on the runs alone, not on their order or on which of
/// them were merged before.
pub(super) struct Merging {
    sources: Vec<Source>,
    /// What is read of one machine at a time, whose files alone are open then: a thousand of them take no more room for it than one.
    read: Interval,
    merged: Interval,
    /// Some of them have given to `merged`, and others have not come so far.
    is_open: bool,
}

/// What has come of one machine.
struct Source {
    intervals: Intervals,
    /// Where the last one that came ends.
    end: Nanos,
    /// Levels there.
    gauges: Gauges,
    /// Who waits there.
    ages: Ages,
    /// Measured requests that no schedule knows, since they follow others.
    followed: u64,
    /// It has given to the interval that is open.
    has_given: bool,
    /// It was read to its end.
    is_over: bool,
}

impl Merging {
    pub(super) fn open(runs: &[RecordedRun], layout: Layout) -> Result<Merging, FolderError> {
        let open = |run: &RecordedRun| {
            let mut intervals = Intervals::open(run)?;
            intervals.rest();
            Ok(Source {
                intervals,
                end: Nanos::ZERO,
                gauges: Gauges::default(),
                ages: Ages::default(),
                followed: 0,
                has_given: false,
                is_over: false,
            })
        };
        let sources = runs.iter().map(open).collect::<Result<_, FolderError>>()?;
        Ok(Merging {
            sources,
            read: Interval::empty(layout),
            merged: Interval::empty(layout),
            is_open: false,
        })
    }

    /// All of them have files from which intervals can come, but for those of which no more is waited for. They are called by their
    /// places.
    pub(super) fn is_begun(&self, is_over: impl Fn(usize) -> bool) -> bool {
        self.sources.iter().enumerate().all(|(place, source)| source.intervals.is_begun() || is_over(place))
    }

    /// One of them has not been read to its end.
    pub(super) fn goes_on(&self) -> bool {
        self.sources.iter().any(|source| !source.is_over)
    }

    /// How far each of them has come, in the order in which they were given.
    pub(super) fn ends(&self) -> impl Iterator<Item = Nanos> {
        self.sources.iter().map(|source| source.end)
    }

    /// The last one that came.
    pub(super) fn last(&self) -> &Interval {
        &self.merged
    }

    /// All of them have recorded what the last one that came covers: nobody had ended before, or broken off.
    pub(super) fn is_whole(&self) -> bool {
        let end = self.merged.start + self.merged.length;
        self.ends().all(|its_end| its_end >= end)
    }

    /// How many requests of each followed others, in that order.
    pub(super) fn followed(&self) -> impl Iterator<Item = u64> {
        self.sources.iter().map(|source| source.followed)
    }

    /// The next interval; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<&Interval>, FolderError> {
        self.next_of(|_| false)
    }

    /// The same of runs that go on: `None`, too, where something of one is missing from which more `may_come`. They are
    /// called by their places.
    pub(super) fn next_of(
        &mut self,
        may_come: impl Fn(usize) -> bool,
    ) -> Result<Option<&Interval>, FolderError> {
        if !self.is_open {
            let begin = self.merged.start + self.merged.length;
            self.merged.bank.clear();
            self.merged.bank.timeline.begin(begin);
            (self.merged.start, self.merged.length, self.merged.double) = (begin, Nanos::ZERO, false);
            self.sources.iter_mut().for_each(|source| source.has_given = false);
            self.is_open = true;
        }
        // One that covers more than the others draws them along, until all have a border in the same place.
        loop {
            let end = self.merged.start + self.merged.length;
            let (mut has_moved, mut is_waiting) = (false, false);
            for (place, source) in self.sources.iter_mut().enumerate() {
                if source.is_over || source.has_given && source.end >= end {
                    continue;
                }
                if source.take(&mut self.read, &mut self.merged)? {
                    has_moved = true;
                } else if may_come(place) {
                    is_waiting = true;
                } else {
                    source.end_here();
                    has_moved = true;
                }
            }
            match (has_moved, is_waiting) {
                (true, _) => {}
                (false, true) => return Ok(None),
                (false, false) => break,
            }
        }
        self.is_open = false;
        if self.merged.length == Nanos::ZERO {
            return Ok(None);
        }
        self.merged.bank.samples.iter_mut().for_each(|sample| sample.sort());
        self.merged.gauges = Gauges::default();
        self.merged.ages.clear();
        for source in &self.sources {
            self.merged.gauges.add(&source.gauges);
            self.merged.ages.merge(&source.ages);
        }
        Ok(Some(&self.merged))
    }
}

impl Source {
    /// Adds its next interval to `merged`, if there is one; `interval` is room to read it into.
    fn take(&mut self, interval: &mut Interval, merged: &mut Interval) -> Result<bool, FolderError> {
        let has_come = self.intervals.read_into(interval)?;
        self.intervals.rest();
        if !has_come {
            return Ok(false);
        }
        merged.bank.add(&interval.bank);
        merged.bank.timeline.beside(&interval.bank.timeline);
        merged.double |= interval.double;
        self.end = interval.start + interval.length;
        self.gauges = interval.gauges;
        self.followed += interval.bank.counters.measured.followed;
        std::mem::swap(&mut self.ages, &mut interval.ages);
        self.has_given = true;
        merged.length = merged.length.max(Nanos(self.end.0.saturating_sub(merged.start.0)));
        Ok(true)
    }

    /// Whoever has ended has nothing under way; whoever broke off is not known to have. How many connections it once had stays true.
    fn end_here(&mut self) {
        let peaks = self.gauges.origins.map(|levels| levels.connections_peak);
        (self.is_over, self.gauges) = (true, Gauges::default());
        for (levels, peak) in self.gauges.origins.iter_mut().zip(peaks) {
            levels.connections_peak = peak;
        }
        self.ages.clear();
    }
}

//! Intervals of several machines, put together where all of them have a border.

use super::reader::Intervals;
use super::{FolderError, RecordedRun};
use unblink_core::record::{Gauges, Interval, Layout};
use unblink_core::time::Nanos;

/// Intervals of several runs as those of one. What comes out depends on the runs alone, not on their order or on which of
/// them were merged before.
pub(super) struct Merging<'a> {
    sources: Vec<Source<'a>>,
    /// What is read of one machine at a time: a thousand of them take no more memory than one.
    read: Interval,
    merged: Interval,
}

/// What has come of one machine.
struct Source<'a> {
    intervals: Intervals<'a>,
    /// Where the last one that came ends.
    end: Nanos,
    /// Levels there.
    gauges: Gauges,
    /// It was read to its end.
    is_over: bool,
}

impl<'a> Merging<'a> {
    pub(super) fn open(runs: &'a [RecordedRun], layout: Layout) -> Result<Merging<'a>, FolderError> {
        let open = |run: &'a RecordedRun| {
            let intervals = Intervals::open(run)?;
            Ok(Source { intervals, end: Nanos::ZERO, gauges: Gauges::default(), is_over: false })
        };
        let sources = runs.iter().map(open).collect::<Result<_, FolderError>>()?;
        Ok(Merging { sources, read: Interval::empty(layout), merged: Interval::empty(layout) })
    }

    /// The next interval; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<&Interval>, FolderError> {
        let begin = self.merged.start + self.merged.length;
        self.merged.bank.clear();
        self.merged.bank.timeline.begin(begin);
        self.merged.double = false;
        let mut end = begin;
        for source in self.sources.iter_mut().filter(|source| !source.is_over) {
            source.take(&mut self.read, &mut self.merged)?;
            end = end.max(source.end);
        }
        // One that covers more than the others draws them along, until all have a border in the same place.
        while let Some(behind) = self.sources.iter_mut().find(|source| !source.is_over && source.end < end) {
            behind.take(&mut self.read, &mut self.merged)?;
            end = end.max(behind.end);
        }
        if end == begin {
            return Ok(None);
        }
        self.merged.bank.samples.iter_mut().for_each(|sample| sample.sort());
        self.merged.start = begin;
        self.merged.length = end - begin;
        self.merged.gauges = Gauges::default();
        self.sources.iter().for_each(|source| self.merged.gauges.add(&source.gauges));
        Ok(Some(&self.merged))
    }
}

impl Source<'_> {
    /// Adds its next interval to `merged`, if there is one; `interval` is room to read it into.
    fn take(&mut self, interval: &mut Interval, merged: &mut Interval) -> Result<(), FolderError> {
        if !self.intervals.read_into(interval)? {
            self.is_over = true;
            // Whoever has ended has nothing under way; whoever broke off is not known to have.
            self.gauges = Gauges::default();
            return Ok(());
        }
        merged.bank.add(&interval.bank);
        merged.bank.timeline.beside(&interval.bank.timeline);
        merged.double |= interval.double;
        self.end = interval.start + interval.length;
        self.gauges = interval.gauges;
        Ok(())
    }
}

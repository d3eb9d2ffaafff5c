//! From a run folder back to the run document.

use super::failures::read_failures;
use super::values::read_values;
use super::watch::read_watch;
use super::{FolderError, RecordedRun, read_folder};
use crate::document::{Part, RunDocument};
use crate::tally::{Ending, Tally};
use std::path::Path;
use unblink_analysis::steady::NotSteady;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;

/// Adds a recorded run up again, or the part between `from` and `to` after t = 0.
///
/// A part consists of whole intervals, by the time at which things were recorded: an interval belongs to
/// it when its middle lies in it. The tally's document then names the borders that came out.
pub fn replay(dir: &Path, from: Option<Nanos>, to: Option<Nanos>) -> Result<(Tally, Ending), FolderError> {
    replay_as(&read_folder(dir)?, from, to)
}

/// The same of a run that was opened, with what its header says by now: other objectives, say.
pub fn replay_as(
    run: &RecordedRun,
    from: Option<Nanos>,
    to: Option<Nanos>,
) -> Result<(Tally, Ending), FolderError> {
    let mut tally = Tally::new(run.header.clone());
    let (mut recorded, mut chosen) = (None, None);
    run.for_each_interval(|interval| {
        widen(&mut recorded, interval);
        let middle = interval.start + Nanos(interval.length.0 / 2);
        if from.is_none_or(|from| middle >= from) && to.is_none_or(|to| middle < to) {
            widen(&mut chosen, interval);
            tally.add(interval);
        }
    })?;
    read_watch(run.dir()).iter().for_each(|sample| tally.watch(sample));
    read_failures(run.dir()).into_iter().for_each(|failure| tally.keep_failure(failure));
    let recorded = recorded.unwrap_or_default();
    if from.is_some() || to.is_some() {
        let Some((part_from, part_to)) = chosen else {
            return Err(FolderError::EmptyPart {
                from_s: from.unwrap_or(recorded.0).as_secs_f64(),
                to_s: to.unwrap_or(recorded.1).as_secs_f64(),
                first_s: recorded.0.as_secs_f64(),
                last_s: recorded.1.as_secs_f64(),
            });
        };
        tally.set_part(Part { from_ns: part_from.0, to_ns: part_to.0 });
    }
    let is_whole = from.is_none() && to.is_none();
    let ending = match &run.final_document {
        Some(document) => Ending::of(document),
        None => {
            let mut unknown = Ending::unknown(&run.header, recorded.1);
            if is_whole {
                unknown.values_sent = read_values(run.dir());
            }
            unknown
        }
    };
    if is_whole {
        tally = leave_out_transient(run.dir(), tally, &ending);
    }
    Ok((tally, ending))
}

/// Finds where the transient of a whole run ends and adds the run up again from there, when the run asked for
/// that (`--warmup auto`); otherwise, and when nothing is left out, gives `tally` back.
///
/// Intervals are cut by their middle, as those of a part are; an arrival belongs to where it ended.
pub fn leave_out_transient(dir: &Path, mut tally: Tally, ending: &Ending) -> Tally {
    if !tally.header().plan.warmup_auto {
        return tally;
    }
    let cut = match tally.find_cut(ending) {
        Ok(cut) if cut.at > Nanos::ZERO => cut,
        nothing => {
            tally.settle_whole(nothing);
            return tally;
        }
    };
    let mut rest = Tally::from_cut(tally.header().clone(), cut);
    read_watch(dir).iter().for_each(|sample| rest.watch(sample));
    read_failures(dir).into_iter().for_each(|failure| rest.keep_failure(failure));
    let read = read_folder(dir).and_then(|run| run.for_each_interval(|interval| rest.add(interval)));
    if read.is_ok_and(|read| read.intervals == tally.intervals()) {
        return rest;
    }
    tally.settle_whole(Err(NotSteady::RecordIncomplete));
    tally
}

/// The document of a recorded run, or of the part between `from` and `to` after t = 0, rebuilt from the
/// folder. See [`replay`] for where a part is cut.
pub fn report_part(dir: &Path, from: Option<Nanos>, to: Option<Nanos>) -> Result<RunDocument, FolderError> {
    let (tally, ending) = replay(dir, from, to)?;
    Ok(tally.document(&ending))
}

fn widen(range: &mut Option<(Nanos, Nanos)>, interval: &Interval) {
    let end = interval.start + interval.length;
    *range = Some(match *range {
        None => (interval.start, end),
        Some((from, to)) => (from.min(interval.start), to.max(end)),
    });
}

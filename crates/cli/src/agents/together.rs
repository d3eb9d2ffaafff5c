//! What all agents have recorded together, while they do: it is shown, and it may end the load.

use crate::live::LiveLine;
use crate::observe::{End, Observer};
use crate::run::abort::{self, PassedOver};
use crate::run::guards::Spending;
use crate::{output, precision};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{Aborted, GuardKind};
use unblink_artifact::folder::{Followed, Following, MergeError};
use unblink_artifact::tally::Tally;
use unblink_cluster::bus::Record;
use unblink_core::time::Nanos;

/// The records of all agents, as far as they have come.
pub(super) struct Together<'a> {
    live: LiveLine,
    spending: Spending,
    /// What the run is a trial of.
    experiment: Option<&'a mut dyn Observer>,
    begun: Option<Begun>,
    /// When the load ends, if it was stopped from elsewhere, after t = 0.
    ends_at: Option<Nanos>,
    /// What has called for the end of the load was a guard, if anything has.
    ended_by_guard: Option<bool>,
    /// Records can't be read or put together, so that no rule would see the load.
    is_broken: bool,
}

/// Once all of them have begun.
struct Begun {
    following: Following,
    tally: Tally,
    abort: abort::Watch,
    precision: Option<precision::Watch>,
}

impl<'a> Together<'a> {
    /// Of a load that lasts for `load`.
    pub(super) fn new(
        quiet: bool,
        load: Nanos,
        spending: Spending,
        experiment: Option<&'a mut dyn Observer>,
    ) -> Together<'a> {
        let live = LiveLine::new(quiet, Some(load));
        Together {
            live,
            spending,
            experiment,
            begun: None,
            ends_at: None,
            ended_by_guard: None,
            is_broken: false,
        }
    }

    /// Takes in what is new of `records`. Gives once why the load should end, if it should.
    pub(super) fn look(&mut self, records: &[Record]) -> Option<End> {
        if self.is_broken {
            return None;
        }
        let over: BTreeSet<&Path> = records
            .iter()
            .filter(|record| record.is_over)
            .filter_map(|record| record.dir.as_deref())
            .collect();
        if self.begun.is_none() {
            match begin(records, &over) {
                Ok(begun) => self.begun = begun,
                Err(error) => return self.broken(&error),
            }
        }
        let Begun { following, tally, abort, precision } = self.begun.as_mut()?;
        self.ends_at.into_iter().for_each(|at| abort.ends_at(at));
        let mut ended = None;
        loop {
            let Followed { interval, is_whole } = match following.next(|dir| over.contains(dir)) {
                Ok(Some(followed)) => followed,
                Ok(None) => break,
                Err(error) => return ended.or_else(|| self.broken(&error)).filter(|end| self.is_news(end)),
            };
            tally.add(interval);
            if !is_whole {
                abort.lacks_a_machine(interval);
                precision.iter_mut().for_each(precision::Watch::lacks_a_machine);
            }
            let all: [&mut dyn Observer; 4] = [&mut self.live, abort, &mut self.spending, precision];
            let experiment =
                self.experiment.as_mut().map(|experiment| &mut **experiment as &mut dyn Observer);
            for observer in all.into_iter().chain(experiment) {
                let end = observer.look(interval, tally);
                ended = ended.or(end);
            }
            if let Some(PassedOver { rule, lacking_from }) = abort.passed_over() {
                output::clear_live();
                output::note(format_args!(
                    "warning: {rule:?} has held and stops nothing: from {:.0} s after the start a machine is missing, and without it all of \
                     them do less, whatever the target does",
                    lacking_from.as_secs_f64()
                ));
            }
            if precision.as_mut().is_some_and(precision::Watch::passed_over) {
                output::clear_live();
                output::note(format_args!(
                    "warning: --precision is reached and ends nothing: a machine is missing, and its arrivals may be the slowest"
                ));
            }
        }
        ended.filter(|end| self.is_news(end))
    }

    /// Load ends then, and no rule looks at what comes later.
    pub(super) fn ends_at(&mut self, at: Option<Nanos>) {
        self.ends_at = self.ends_at.or(at);
    }

    /// Nothing has called for the end of the load before; or what did lets retries and journeys go on, and this is a guard, which
    /// ends them.
    fn is_news(&mut self, end: &End) -> bool {
        let is_guard = matches!(end, End::Aborted(Aborted { guard: Some(_), .. }));
        let before = self.ended_by_guard;
        self.ended_by_guard = Some(is_guard || before == Some(true));
        before.is_none() || (is_guard && before == Some(false))
    }

    /// Load of which nobody sees what becomes of it is not to go on.
    fn broken(&mut self, error: &dyn std::error::Error) -> Option<End> {
        self.is_broken = true;
        let why =
            format!("what agents record can't be followed, so no rule or budget sees the load: {error}");
        output::clear_live();
        output::note(format_args!("warning: {why}"));
        Some(End::by_guard(GuardKind::Record, why, self.until().unwrap_or_default()))
    }

    /// What is known of the whole load goes so far.
    pub(super) fn until(&self) -> Option<Nanos> {
        self.begun.as_ref().map(|begun| begun.tally.end())
    }

    /// More figures are waited for.
    pub(super) fn waits(&self) -> bool {
        !self.is_broken && self.begun.as_ref().is_none_or(|begun| begun.following.goes_on())
    }

    /// Something has come of it.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.tally.intervals() > 0)
    }
}

/// Nothing while the record of somebody is still to come.
fn begin(records: &[Record], over: &BTreeSet<&Path>) -> Result<Option<Begun>, MergeError> {
    if records.iter().any(|record| record.dir.is_none() && !record.is_over) {
        return Ok(None);
    }
    let dirs: Vec<PathBuf> = records.iter().filter_map(|record| record.dir.clone()).collect();
    let Some(following) = Following::open(&dirs, |dir| over.contains(dir))? else { return Ok(None) };
    let header = following.header().clone();
    Ok(Some(Begun {
        abort: abort::Watch::new(&header),
        precision: precision::Watch::new(header.plan.precision.as_ref()),
        tally: Tally::new(header),
        following,
    }))
}

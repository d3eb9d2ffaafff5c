//! What all agents have recorded together, while they do: it is shown, and it may end the load.

use crate::live::LiveLine;
use crate::observe::{End, Observer};
use crate::run::abort;
use crate::run::guards::Spending;
use crate::{output, precision};
use std::path::PathBuf;
use unblink_artifact::folder::Following;
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
    has_ended: bool,
    /// Records can't be read, which the merge in the end will say.
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
        Together { live, spending, experiment, begun: None, has_ended: false, is_broken: false }
    }

    /// Takes in what is new of `records`. Gives once why the load should end, if it should.
    pub(super) fn look(&mut self, records: &[Record]) -> Option<End> {
        if self.begun.is_none() {
            self.begun = begin(records);
        }
        let Begun { following, tally, abort, precision } = self.begun.as_mut()?;
        let over: Vec<&PathBuf> =
            records.iter().filter(|record| record.is_over).filter_map(|record| record.dir.as_ref()).collect();
        let mut ended = None;
        while !self.is_broken {
            let interval = match following.next(|dir| over.iter().any(|over| *over == dir)) {
                Ok(Some(interval)) => interval,
                Ok(None) => break,
                Err(error) => {
                    output::clear_live();
                    output::note(format_args!(
                        "warning: what agents record can't be followed, so no rule ends the load: {error}"
                    ));
                    self.is_broken = true;
                    break;
                }
            };
            tally.add(interval);
            let all: [&mut dyn Observer; 4] = [&mut self.live, abort, &mut self.spending, precision];
            let experiment =
                self.experiment.as_mut().map(|experiment| &mut **experiment as &mut dyn Observer);
            for observer in all.into_iter().chain(experiment) {
                let end = observer.look(interval, tally);
                ended = ended.or(end);
            }
        }
        ended.filter(|_| !std::mem::replace(&mut self.has_ended, true))
    }

    /// What is known of the whole load goes so far.
    pub(super) fn until(&self) -> Option<Nanos> {
        self.begun.as_ref().map(|begun| begun.tally.end())
    }

    /// Something has come of it.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.tally.intervals() > 0)
    }
}

/// Nothing while the record of somebody is still to come.
fn begin(records: &[Record]) -> Option<Begun> {
    if records.iter().any(|record| record.dir.is_none() && !record.is_over) {
        return None;
    }
    let dirs: Vec<PathBuf> = records.iter().filter_map(|record| record.dir.clone()).collect();
    let following = Following::open(&dirs)?;
    let header = following.header().clone();
    Some(Begun {
        abort: abort::Watch::new(&header),
        precision: precision::Watch::new(header.plan.precision.as_ref()),
        tally: Tally::new(header),
        following,
    })
}

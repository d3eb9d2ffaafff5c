//! The transient at a run's beginning, as `--warmup auto` leaves it out.

use super::distribution::distribution;
use super::objectives::Objectives;
use super::{Ending, Tally, arrivals};
use crate::document::{RunStatus, Transient, TransientStatus, ValidityStatus};
use crate::header::RunHeader;
use unblink_analysis::steady::{self, Cut, IntervalLevel, NotSteady};
use unblink_core::record::{Bank, Counters, Interval, Outcomes, Series, Track};
use unblink_core::time::Nanos;

/// What is known of the transient of a run that asked for its end to be found.
#[derive(Clone, Debug)]
pub(super) enum Settled {
    /// Nothing is left out: there is no transient (or it is held back by an event), or none was found.
    Whole(Result<Cut, NotSteady>),
    /// Intervals whose middle lies before the cut are left out.
    From(Box<LeftOut>),
}

/// What was left out.
#[derive(Clone, Debug)]
pub(super) struct LeftOut {
    cut: Cut,
    outcomes: Outcomes,
    response: Track<u64>,
    censored: Track<u64>,
}

impl LeftOut {
    /// Arrivals that fell due in it.
    pub(super) fn due(&self) -> u64 {
        self.outcomes.due
    }
}

impl Tally {
    /// Nothing yet, for a run of which what lies before `cut` is left out.
    pub(crate) fn from_cut(header: RunHeader, cut: Cut) -> Tally {
        let mut tally = Tally::new(header);
        tally.objectives = Objectives::new(&tally.header, cut.at.max(Nanos(tally.header.plan.warmup_ns)));
        tally.settled = Some(Settled::From(Box::new(LeftOut {
            cut,
            outcomes: Outcomes::default(),
            response: Track::default(),
            censored: Track::default(),
        })));
        tally
    }

    /// The cut could not be made, or there is nothing to cut.
    pub(crate) fn settle_whole(&mut self, outcome: Result<Cut, NotSteady>) {
        self.settled = Some(Settled::Whole(outcome));
    }

    /// Where the transient of the whole run ends. Only a run that has ended and can be believed as a whole is
    /// cut: what is left out must not rescue it.
    pub(crate) fn find_cut(&self, ending: &Ending) -> Result<Cut, NotSteady> {
        let is_believable = ending.status != RunStatus::Running
            && self.document(ending).validity.status != ValidityStatus::Invalid;
        if !is_believable {
            return Err(NotSteady::NotBelievable);
        }
        steady::find_cut(&self.rows.levels(ending.ended_after))
    }

    /// Where the measured part begins because of the cut.
    pub(super) fn cut_at(&self) -> Option<Nanos> {
        match &self.settled {
            Some(Settled::From(left_out)) => Some(left_out.cut.at),
            _ => None,
        }
    }

    /// Why nothing was left out though it was asked for.
    pub(super) fn not_steady(&self) -> Option<NotSteady> {
        match &self.settled {
            Some(Settled::Whole(Err(why))) => Some(*why),
            _ => None,
        }
    }

    /// Takes `interval` as a part of the transient, if it is one: its pictures and what belongs to the whole run
    /// are kept, its arrivals are left out.
    pub(super) fn leave_out(&mut self, interval: &Interval) -> bool {
        let Some(Settled::From(left_out)) = &mut self.settled else { return false };
        if interval.start + Nanos(interval.length.0 / 2) >= left_out.cut.at {
            return false;
        }
        let bank = &interval.bank;
        left_out.outcomes.add(&bank.counters.measured);
        left_out.response.add(bank.track(Series::Response));
        left_out.censored.add(bank.track(Series::ResponseCensored));
        self.totals.heat.merge(&bank.heat);
        self.totals.counters.add(&of_whole_run(bank));
        for series in [Series::Connect, Series::Tls] {
            self.totals.track_mut(series).add(bank.track(series));
        }
        true
    }

    /// For the document.
    pub(super) fn transient(&self) -> Option<Transient> {
        let event = |cut: &Cut| {
            let recorded = cut.held_back_by.map(|at| (at, at + Nanos::from_secs(1)))?;
            Some(self.event_at_ns(recorded).unwrap_or(recorded.0.0))
        };
        Some(match self.settled.as_ref()? {
            Settled::Whole(Err(_)) => Transient::nothing(TransientStatus::NotFound, None),
            Settled::Whole(Ok(cut)) => Transient::nothing(TransientStatus::None, event(cut)),
            Settled::From(left_out) => Transient {
                status: TransientStatus::LeftOut,
                to_ns: left_out.cut.at.0,
                event_at_ns: event(&left_out.cut),
                arrivals: Some(arrivals(&left_out.outcomes, left_out.outcomes.ended())),
                response_time: Some(distribution(&left_out.response, &left_out.censored)),
            },
        })
    }
}

impl Transient {
    fn nothing(status: TransientStatus, event_at_ns: Option<u64>) -> Transient {
        Transient { status, to_ns: 0, event_at_ns, arrivals: None, response_time: None }
    }
}

/// The counts that belong to no part of a run.
fn of_whole_run(bank: &Bank<u64>) -> Counters {
    let counters = &bank.counters;
    Counters {
        origins: counters.origins,
        bytes_received: counters.bytes_received,
        users_begun: counters.users_begun,
        own: counters.own,
        ..Counters::default()
    }
}

/// A row's means and percentiles, for finding the cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowSums {
    count: u64,
    sum_ns: u128,
}

impl RowSums {
    /// Of everything that ended in `interval`, the censored at their ages.
    pub(super) fn of(interval: &Interval) -> RowSums {
        let tracks = [Series::Response, Series::ResponseCensored].map(|s| interval.bank.track(s));
        RowSums {
            count: tracks.iter().map(|t| t.count()).sum(),
            sum_ns: tracks.iter().map(|t| t.sum_ns).sum(),
        }
    }

    pub(super) fn add(&mut self, other: &RowSums) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    pub(super) fn level(&self, row: &crate::document::SeriesRow) -> IntervalLevel {
        IntervalLevel {
            start: Nanos(row.start_ns),
            due: row.due,
            lost: row.failed + row.timed_out,
            mean_ns: (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64),
            p99_ns: row.response_p99_ns,
        }
    }
}

//! What is asked of a run: service level objectives, and rules by which a run that hurts is stopped.
//!
//! ```text
//! SLO    = [NAME ":"] ["first" | "gap"] FIGURE RELATION LIMIT ["in" SHARE "of" TIME]
//! ABORT  = [NAME ":"] ["first" | "gap"] FIGURE RELATION LIMIT "for" TIME
//! FIGURE = "p50" … "p99.999" | "mean" | "max" | "errors" | "achieved"
//! ```
//!
//! An objective says what is good (`p99 < 200ms`), a rule what hurts (`p99 > 2s for 5s`). [`judge`] decides whether
//! an objective is met, missed, or can't be told; `docs/slo.md` has the reasons.

mod evidence;
pub mod judge;
mod judgement;
mod lost;
mod message;
mod needed;
mod outstanding;
mod parse;
mod ratio;
mod relief;
mod text;
mod window;

pub use evidence::{Counts, Population, Relief, Run, Subject};
pub use judgement::{Judgement, Reason, VerdictStatus};
pub use outstanding::Outstanding;
pub use parse::SloError;
pub use ratio::RatioHistory;
pub use window::{AbortWatch, Failures, Stretch, WindowCounts, WindowWatch};

use unblink_core::record::{Series, Track};
use unblink_core::time::Nanos;

/// A figure of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Figure {
    /// A percentile of response time, 0 to 1 (both excluded); in ns.
    Quantile(f64),
    /// Mean response time, in ns.
    Mean,
    /// Longest response time of this run, in ns.
    Max,
    /// Share of arrivals that failed or timed out.
    Errors,
    /// `ok` per second, as a share of what was offered.
    AchievedShare,
    /// `ok` per second.
    AchievedRate,
}

/// Which times a figure is of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Measure {
    /// From the intended start to the last byte.
    #[default]
    Response,
    /// From the intended start to the first event, of answers that come event by event.
    First,
    /// From one event of an answer to the next.
    Gap,
}

impl Measure {
    /// Its times, the ages of those that are known only to be longer, and those of the first that the generator touched.
    pub fn series(self) -> [Series; 3] {
        match self {
            Measure::Response => [Series::Response, Series::ResponseCensored, Series::Hindered],
            Measure::First => [Series::FirstEvent, Series::FirstEventCensored, Series::FirstEventHindered],
            Measure::Gap => [Series::EventGap, Series::EventGapCensored, Series::EventGapHindered],
        }
    }
}

/// In which unit a figure and its limit are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// 0 to 1.
    Share,
    /// Per second.
    Rate,
}

impl Figure {
    /// Of its value and its limit.
    pub fn unit(self) -> Unit {
        match self {
            Figure::Quantile(_) | Figure::Mean | Figure::Max => Unit::Time,
            Figure::Errors | Figure::AchievedShare => Unit::Share,
            Figure::AchievedRate => Unit::Rate,
        }
    }

    /// A smaller value is a better one.
    pub fn is_better_small(self) -> bool {
        !matches!(self, Figure::AchievedShare | Figure::AchievedRate)
    }
}

/// How a figure is to lie to its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// A figure and its limit: `p99 < 200ms`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Objective {
    /// What is looked at.
    pub figure: Figure,
    /// How it is to lie.
    pub relation: Relation,
    /// In the figure's unit.
    pub limit: f64,
}

impl Objective {
    /// Does `value`, in the figure's unit, lie as it is to?
    pub fn holds(&self, value: f64) -> bool {
        match self.relation {
            Relation::Below => value < self.limit,
            Relation::AtMost => value <= self.limit,
            Relation::Above => value > self.limit,
            Relation::AtLeast => value >= self.limit,
        }
    }

    /// How many durations of `track` do not lie so.
    pub(crate) fn beyond(&self, track: &Track<u64>) -> u64 {
        track.bins().filter(|&(ns, _)| !self.holds(ns as f64)).map(|(_, n)| n).sum()
    }

    /// A smaller value fulfils it sooner.
    pub fn is_upper_limit(&self) -> bool {
        matches!(self.relation, Relation::Below | Relation::AtMost)
    }

    /// The opposite: it holds where this one does not.
    pub fn opposite(&self) -> Objective {
        let relation = match self.relation {
            Relation::Below => Relation::AtLeast,
            Relation::AtMost => Relation::Above,
            Relation::Above => Relation::AtMost,
            Relation::AtLeast => Relation::Below,
        };
        Objective { relation, ..*self }
    }
}

/// An objective in most of many windows of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Windows {
    /// The share of windows in which the objective is to hold, above 0 up to 1.
    pub share: f64,
    /// Length of a window.
    pub length: Nanos,
}

/// What a run is to fulfil.
#[derive(Clone, PartialEq, Debug)]
pub struct Slo {
    /// The request, journey, load or origin that it speaks of, by its name; `None`: all requests.
    pub name: Option<String>,
    /// Which times it is about.
    pub measure: Measure,
    /// What is to hold.
    pub objective: Objective,
    /// In windows rather than over the whole run.
    pub windows: Option<Windows>,
}

/// When a run is to be stopped because it hurts.
#[derive(Clone, PartialEq, Debug)]
pub struct AbortRule {
    /// The request that it speaks of, by its name; `None`: all.
    pub name: Option<String>,
    /// Which times it is about.
    pub measure: Measure,
    /// What hurts.
    pub condition: Objective,
    /// For how long it must hurt without a break.
    pub hold: Nanos,
}

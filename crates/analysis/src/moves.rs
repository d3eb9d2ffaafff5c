//! In which direction what was found can have moved each figure, so that a verdict is withheld where that can reverse
//! it, and only there.

use crate::finding::{Finding, FindingCode, Severity};
use crate::thresholds::{BUSY_SHARE_INVALIDATES, BUSY_TIME_MIN};
use unblink_core::record::LoopCounts;

/// Where a figure may lie, seen from what the target would have shown without the fault.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Moved {
    /// It is the target's own.
    #[default]
    Not,
    /// The fault can only have made it worse: what is met is met.
    Worse,
    /// The fault can only have made it look better: what is missed is missed.
    Better,
    /// Nobody knows.
    Either,
}

impl Moved {
    /// The figure may look better than it is.
    pub fn may_flatter(self) -> bool {
        matches!(self, Moved::Better | Moved::Either)
    }

    /// The figure may look worse than it is.
    pub fn may_blame(self) -> bool {
        matches!(self, Moved::Worse | Moved::Either)
    }

    /// Two faults together.
    fn and(self, other: Moved) -> Moved {
        match (self.may_flatter() || other.may_flatter(), self.may_blame() || other.may_blame()) {
            (true, true) => Moved::Either,
            (true, false) => Moved::Better,
            (false, true) => Moved::Worse,
            (false, false) => Moved::Not,
        }
    }
}

/// The same for each kind of figure.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moves {
    /// Percentiles, mean and maximum of response time.
    pub times: Moved,
    /// The share of errors.
    pub errors: Moved,
    /// The rate of good answers.
    pub achieved: Moved,
}

/// In the evidence of [`FindingCode::ClientShedLoad`]: 1 where the number of connections was asked for, 0 elsewhere.
pub(crate) const POOL_IS_FIXED: &str = "pool_is_fixed";
/// In the evidence of [`FindingCode::Saturated`]: 1 where the arrivals pile up in the generator, 0 elsewhere.
pub const GENERATOR_IS_NARROWEST: &str = "generator_is_narrowest";
/// In the evidence of [`FindingCode::Saturated`]: 1 where the arrivals pile up before connections whose number is our default, and the
/// target has enough to do with those.
pub(crate) const TARGET_IS_NARROWEST: &str = "target_is_narrowest";

impl Moves {
    const NOTHING: Moves = Moves::all(Moved::Not);

    const fn all(moved: Moved) -> Moves {
        Moves { times: moved, errors: moved, achieved: moved }
    }

    /// What `findings` together can have done.
    pub fn of_all(findings: &[Finding]) -> Moves {
        findings.iter().map(Moves::of).fold(Moves::NOTHING, |a, b| Moves {
            times: a.times.and(b.times),
            errors: a.errors.and(b.errors),
            achieved: a.achieved.and(b.achieved),
        })
    }

    /// What `finding` can have done. One that does not invalidate the run has moved no figure by as much as matters;
    /// but a target that was sent less than was offered has not been tried.
    pub fn of(finding: &Finding) -> Moves {
        use FindingCode::*;
        let is = |name: &str| finding.number(name).is_some_and(|value| value > 0.0);
        if finding.severity != Severity::Invalidates && finding.code != SentBelowOffered {
            return Moves::NOTHING;
        }
        match finding.code {
            // The record itself is in doubt.
            Accounting | NothingMeasured | AgentsLost => Moves::all(Moved::Either),
            // Its own lateness is part of what is printed, and is never less than nothing.
            GeneratorLate | GeneratorPaused | GeneratorBusy | CpuSteal => Moves::all(Moved::Worse),
            SentBelowOffered | LocalLimit => Moves::all(Moved::Either),
            ClientShedLoad if !is(POOL_IS_FIXED) => Moves::all(Moved::Either),
            Saturated if is(GENERATOR_IS_NARROWEST) => Moves::all(Moved::Either),
            // The longer the run, the longer the wait, until it times out.
            Saturated => Moves { times: Moved::Better, errors: Moved::Better, achieved: Moved::Not },
            // Those who were answered do not speak for those who were not.
            FailuresShapePercentile | NoAnswers | NeverConnected | PreflightFailed => {
                Moves { times: Moved::Better, ..Moves::NOTHING }
            }
            // The steps behind were asked for less than planned.
            JourneysFailed => Moves::all(Moved::Better),
            // What was under way counts as slow and as an error or none; when it would have ended is not known.
            Killed => Moves { times: Moved::Better, errors: Moved::Better, achieved: Moved::Either },
            _ => Moves::NOTHING,
        }
    }
}

/// In the evidence of [`FindingCode::GeneratorPaused`]: the share of time in which the generator was ready and had no
/// processor, where nobody knows which arrivals that touched.
pub(crate) const UNSEEN_SHARE: &str = "unseen_share";

/// The share of the arrivals, 0 to 1, that the generator may have touched without being seen to. Its lateness and its
/// pauses are known arrival by arrival ([`Series::Unhindered`]); of a full loop, a stolen processor and a machine
/// without ports only the share of time is known, or nothing.
///
/// [`Series::Unhindered`]: unblink_core::record::Series::Unhindered
pub fn unseen_share(findings: &[Finding]) -> f64 {
    use FindingCode::*;
    let share = |finding: &Finding| match finding.code {
        CpuSteal => finding.number("steal_share").unwrap_or(1.0),
        GeneratorPaused => finding.number(UNSEEN_SHARE).unwrap_or(0.0),
        GeneratorLate | SentBelowOffered => 0.0,
        _ => f64::from(u8::from(Moves::of(finding).times.may_blame())),
    };
    findings.iter().map(share).fold(0.0, f64::max)
}

/// Was a worker's loop, or that of all, so full that it may have touched whatever ended meanwhile without being seen to?
pub fn is_full(own: &LoopCounts) -> bool {
    own.total >= BUSY_TIME_MIN && own.busy.0 as f64 > BUSY_SHARE_INVALIDATES * own.total.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: FindingCode, severity: Severity, evidence: Vec<(&'static str, f64)>) -> Finding {
        Finding { code, severity, message: String::new(), remedy: String::new(), evidence }
    }

    #[test]
    fn a_late_generator_leaves_what_is_met_and_one_that_did_not_send_does_not() {
        let late = finding(FindingCode::GeneratorLate, Severity::Invalidates, vec![]);
        assert_eq!(Moves::of(&late), Moves::all(Moved::Worse));
        assert!(!Moved::Worse.may_flatter() && Moved::Worse.may_blame());
        let unsent = finding(FindingCode::SentBelowOffered, Severity::Degrades, vec![]);
        assert_eq!(Moves::of_all(&[late.clone(), unsent]), Moves::all(Moved::Either));
        let noted = finding(FindingCode::GeneratorPaused, Severity::Degrades, vec![]);
        assert_eq!(Moves::of(&noted), Moves::NOTHING);
        let busy = finding(FindingCode::GeneratorBusy, Severity::Invalidates, vec![]);
        let stolen = finding(FindingCode::CpuSteal, Severity::Degrades, vec![("steal_share", 0.02)]);
        assert_eq!(unseen_share(&[late.clone(), stolen.clone()]), 0.02);
        assert_eq!(unseen_share(&[late, stolen, busy]), 1.0);
    }

    #[test]
    fn what_the_target_did_can_only_flatter_it() {
        for code in
            [FindingCode::NoAnswers, FindingCode::NeverConnected, FindingCode::FailuresShapePercentile]
        {
            let moves = Moves::of(&finding(code, Severity::Invalidates, vec![]));
            assert_eq!((moves.times, moves.errors, moves.achieved), (Moved::Better, Moved::Not, Moved::Not));
        }
        let saturated = |own: f64| {
            let evidence = vec![(GENERATOR_IS_NARROWEST, own)];
            Moves::of(&finding(FindingCode::Saturated, Severity::Invalidates, evidence)).times
        };
        assert_eq!((saturated(0.0), saturated(1.0)), (Moved::Better, Moved::Either));
        let shed = |fixed: f64| {
            Moves::of(&finding(
                FindingCode::ClientShedLoad,
                Severity::Invalidates,
                vec![(POOL_IS_FIXED, fixed)],
            ))
        };
        assert_eq!((shed(1.0), shed(0.0)), (Moves::NOTHING, Moves::all(Moved::Either)));
    }
}

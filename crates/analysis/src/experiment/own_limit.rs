//! Whether it was our own limits that a trial came to, and not the target's.

use crate::evidence::Pool;
use crate::finding::{Finding, FindingCode, Severity};
use crate::moves::TARGET_IS_NARROWEST;

/// What was found that says so. Where the target piles requests up that were sent, a generator that is late with some of them has not
/// caused it. At the end, `sent` had no answer yet and `unsent` still waited.
pub(super) fn own_limit(
    found: &[Finding],
    pool: Pool,
    piles_up: bool,
    (sent, unsent): (u64, u64),
) -> Option<&Finding> {
    use FindingCode::*;
    // What piles up before connections whose number is ours piles up before the target, if that has enough to do with them.
    let is_target = found.iter().any(|finding| finding.number(TARGET_IS_NARROWEST).is_some());
    let is_limit = |finding: &&Finding| match finding.code {
        // A knee at which arrivals wait for connections of which nobody has limited the number would be that of our number.
        PoolLimitReached => {
            matches!(pool, Pool::Default { .. }) && !is_target && finding.severity == Severity::Degrades
        }
        _ if finding.severity != Severity::Invalidates => false,
        SentBelowOffered | GeneratorBusy | CpuSteal | LocalLimit => true,
        ClientShedLoad => !is_target,
        GeneratorLate | GeneratorPaused => !(piles_up && sent >= unsent),
        Saturated => unsent > sent && !is_target,
        _ => false,
    };
    found.iter().find(is_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: FindingCode, severity: Severity, evidence: Vec<(&'static str, f64)>) -> Finding {
        Finding { code, severity, message: String::new(), remedy: String::new(), evidence }
    }

    #[test]
    fn a_pool_of_our_making_is_our_limit_unless_the_target_has_enough_to_do() {
        let (ours, theirs) = (Pool::Default { n: 20, of: "PostgreSQL" }, Pool::Fixed { n: 20 });
        let saturated = |evidence| finding(FindingCode::Saturated, Severity::Invalidates, evidence);
        let waited = |severity| finding(FindingCode::PoolLimitReached, severity, vec![]);
        let is_own = |found: &[Finding], pool| own_limit(found, pool, true, (20, 5_000)).is_some();
        assert!(is_own(&[saturated(vec![])], ours) && is_own(&[saturated(vec![])], theirs));
        let by_target = saturated(vec![(TARGET_IS_NARROWEST, 1.0)]);
        assert!(!is_own(&[by_target.clone(), waited(Severity::Degrades)], ours));
        let shed = finding(FindingCode::ClientShedLoad, Severity::Invalidates, vec![]);
        assert!(is_own(std::slice::from_ref(&shed), ours) && !is_own(&[by_target, shed], ours));
        // Somebody asked for these: their queue belongs to what is looked for.
        assert!(
            is_own(&[waited(Severity::Degrades)], ours) && !is_own(&[waited(Severity::Degrades)], theirs)
        );
        assert!(!is_own(&[waited(Severity::Note)], ours));
    }
}

//! Replays: was all of it asked, and for what it was asked for?

use super::{Case, found, share};
use crate::evidence::End;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// Users who wait longer for their answers than the recorded ones ask less in the same time.
pub(super) fn not_reached(case: &Case<'_>) -> Option<Finding> {
    let all = case.evidence.replayed?.by_user?;
    let due = case.measured().due;
    let missing = all.saturating_sub(due);
    if missing == 0 || case.evidence.is_part || case.evidence.end != End::Complete {
        return None;
    }
    found(
        FindingCode::RecordedNotReached,
        Severity::Note,
        format!(
            "{} of {} recorded requests did not come due before the end: their users were still waiting for answers, or pausing.",
            text::count(missing),
            text::count(all)
        ),
        "Compare the durations then and now. A replay without --per-user-order sends all of them, when they were recorded.",
        vec![
            ("recorded", all as f64),
            ("not_reached", missing as f64),
            ("not_reached_share", share(missing, all)),
        ],
    )
}

/// A target does not know the numbers that stand for ids.
pub(super) fn ids_replaced(case: &Case<'_>) -> Option<Finding> {
    let replayed = case.evidence.replayed?;
    let (requests, is_certain) = replayed.made_up_ids?;
    let unless = if is_certain { "" } else { ", unless it kept paths" };
    found(
        FindingCode::RecordedIdsReplaced,
        Severity::Note,
        format!(
            "{} of the recorded requests have ids in their paths, and the import made numbers of them{unless}: the target may not know \
             these.",
            text::count(requests)
        ),
        "Say what is there instead, as in --path-template '/items/{id} = /items/{{item}}' with --let 'item = uniform(1000)', or import \
         the log with --keep path.",
        vec![("requests", requests as f64), ("recorded", replayed.recorded as f64)],
    )
}

//! Closed populations: did every user take part, and could every user ask?

use super::pool::waited_share;
use super::{Case, found, severity, share};
use crate::evidence::Pool;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::POOL_WAITED_SHARE_DEGRADES;

/// Each user that had not begun when measuring did is missing from the load for a while.
pub(super) fn not_begun(case: &Case<'_>) -> Option<Finding> {
    let users = case.evidence.users?;
    let missing = users.all.saturating_sub(users.begun?);
    if missing == 0 || case.evidence.is_part {
        return None;
    }
    found(
        FindingCode::UsersNotBegun,
        Severity::Degrades,
        format!(
            "{} of {} users had not begun when measuring did: at first the load was that of fewer users.",
            text::count(missing),
            text::count(users.all)
        ),
        "Give them more time to begin (--ramp-up) or a warm-up (--warmup); see also the findings about connections and \
         the generator.",
        vec![
            ("users", users.all as f64),
            ("users_begun", (users.all - missing) as f64),
            ("not_begun_share", share(missing, users.all)),
        ],
    )
}

/// A user without a connection waits in the client: the target never sees this many at once.
pub(super) fn outnumber_connections(case: &Case<'_>) -> Option<Finding> {
    // Recorded users come and go, and few of them are there at once.
    if case.evidence.replayed.is_some_and(|replayed| replayed.by_user.is_some()) {
        return None;
    }
    let users = case.evidence.users?.all;
    let (n, is_asked_for) = match case.evidence.pool {
        Pool::Auto { max } => (max, false),
        Pool::Default { n, .. } => (n, false),
        Pool::Fixed { n } => (n, true),
    };
    let places = case.evidence.places;
    if users <= n.saturating_mul(places) {
        return None;
    }
    let (has, remedy) = match is_asked_for {
        true => ("have", "Nothing, if that is what you want to test. Otherwise raise -c, or leave it out."),
        false => (
            "have no more than",
            "Allow more connections (-c auto:N; file descriptors, `ulimit -n`, and local ports bound it), or lower the \
             number of users.",
        ),
    };
    let is_felt = waited_share(case) > POOL_WAITED_SHARE_DEGRADES;
    found(
        FindingCode::UsersOutnumberConnections,
        severity(is_felt && !is_asked_for, Severity::Degrades, Severity::Note),
        format!(
            "{} users {has} {}: the target never sees more of them at once, and the others wait in the client.",
            text::count(users),
            match places {
                1 => case.connections(),
                _ => format!(
                    "{} with at most {} requests at once on each",
                    case.connections(),
                    text::count(places)
                ),
            }
        ),
        remedy,
        vec![
            ("users", users as f64),
            ("connections", n as f64),
            ("places", places as f64),
            ("waited_share", waited_share(case)),
        ],
    )
}

//! Connections: were there any, and did the client's own limits shape the result?

use super::{Case, found, refusals, saturation, severity, share};
use crate::evidence::{Evidence, Pool};
use crate::finding::{Finding, FindingCode, Severity};
use crate::moves::POOL_IS_FIXED;
use crate::text;
use crate::thresholds::{LOCAL_LIMIT_SHARE_INVALIDATES, POOL_WAITED_SHARE_DEGRADES, SHED_SHARE_INVALIDATES};
use unblink_core::failure::FailureKind;
use unblink_core::record::ConnectionCounts;
use unblink_core::time::Nanos;

pub(super) fn never_connected(case: &Case<'_>) -> Option<Finding> {
    let Evidence { totals, origins, .. } = case.evidence;
    let is_never = |(_, counts): &(usize, &ConnectionCounts)| counts.opened == 0 && counts.attempted > 0;
    let never: Vec<_> = totals.counters.origins.iter().enumerate().filter(is_never).collect();
    // In a part, connections may have been opened before.
    if case.evidence.is_part || never.is_empty() {
        return None;
    }
    let names: Vec<&str> =
        never.iter().filter_map(|(number, _)| Some(origins.get(*number)?.as_str())).collect();
    let to = if origins.len() > 1 { format!(" to {}", names.join(", ")) } else { String::new() };
    let sum = |of: fn(&ConnectionCounts) -> u64| never.iter().map(|(_, counts)| of(counts)).sum::<u64>();
    let (attempted, refused) = (sum(|counts| counts.attempted), sum(|counts| counts.refused));
    let full = sum(|counts| counts.full);
    let heard = || refusals::heard(case, &refusals::failed(case, never.iter().map(|(number, _)| *number)));
    let (why, remedy) = match (full, heard()) {
        // Something listens there, and nothing need stand between.
        (0, Some(code)) => (
            format!("the target was reached and let none in: {code}."),
            "See what it says with unblink try: user, password, database, statements, and TLS must be as it wants them.",
        ),
        (0, None) => (
            format!("{} refused by the target.", text::plural(refused, "was", "were")),
            "Check that the target listens on this address and port, and that nothing between blocks it.",
        ),
        _ => (
            format!(
                "the target refused {} because it had as many connections as it takes.",
                text::of(full, attempted)
            ),
            "Let go of connections that others hold there, ask for fewer (-c), or raise the limit (maxclients of Redis, \
             max_connections of PostgreSQL).",
        ),
    };
    found(
        FindingCode::NeverConnected,
        Severity::Invalidates,
        format!(
            "No connection{to} could be opened in {}; {why}",
            text::plural(attempted, "attempt", "attempts")
        ),
        remedy,
        vec![("attempted", attempted as f64), ("refused", refused as f64), ("full", full as f64)],
    )
}

pub(super) fn client_shed_load(case: &Case<'_>) -> Option<Finding> {
    let shed = case.measured().timed_out_pool_full;
    if shed == 0 {
        return None;
    }
    let shed_share = share(shed, case.evidence.scheduled);
    let is_much = shed_share > SHED_SHARE_INVALIDATES;
    found(
        FindingCode::ClientShedLoad,
        severity(is_much && !case.evidence.by_phase, Severity::Invalidates, Severity::Degrades),
        format!(
            "{} arrivals timed out while {}: the target never saw them, or with less than half of their time \
             left.",
            text::of(shed, case.evidence.scheduled),
            in_use(case)
        ),
        match allowed_none(case) {
            false => "Allow more connections, or lower the rate to what these can carry.",
            true => ALLOWED_NONE_REMEDY,
        },
        vec![
            ("timed_out_pool_full", shed as f64),
            ("share", shed_share),
            (POOL_IS_FIXED, f64::from(u8::from(matches!(case.evidence.pool, Pool::Fixed { .. })))),
        ],
    )
}

pub(super) fn local_limit(case: &Case<'_>) -> Option<Finding> {
    let attempts = case.evidence.totals.counters.connections().local_limit;
    if attempts == 0 {
        return None;
    }
    let measured = case.measured();
    let failed = measured.failed[FailureKind::NO_LOCAL_PORT.index()]
        + measured.failed[FailureKind::NO_FILE_DESCRIPTOR.index()];
    let failed_share = share(failed, case.evidence.scheduled);
    found(
        FindingCode::LocalLimit,
        severity(failed_share > LOCAL_LIMIT_SHARE_INVALIDATES, Severity::Invalidates, Severity::Degrades),
        format!(
            "This machine had no port or file descriptor left for {}; {} arrivals failed because of it.",
            text::plural(attempts, "connection", "connections"),
            text::of(failed, case.evidence.scheduled)
        ),
        "Raise `ulimit -n`, widen `net.ipv4.ip_local_port_range`, let the target keep connections open, or use \
         fewer connections (-c).",
        vec![("attempts", attempts as f64), ("failed", failed as f64), ("share", failed_share)],
    )
}

pub(super) fn limit_reached(case: &Case<'_>) -> Option<Finding> {
    let lag = case.evidence.totals.counters.lag;
    if lag.pool() == 0 {
        return None;
    }
    let sent = case.measured().sent;
    let waited_share = waited_share(case);
    let mean = Nanos(lag.pool_ns() / lag.pool());
    let is_much = waited_share > POOL_WAITED_SHARE_DEGRADES;
    let (is_worse, remedy) = match case.evidence.pool {
        _ if allowed_none(case) => (is_much, ALLOWED_NONE_REMEDY),
        // More would only have had more requests waiting in the target.
        Pool::Default { .. } if saturation::pool_is_enough(case) => (
            false,
            "Nothing: the target works on far fewer requests at once than these connections carry, and more of them would wait \
             there. -c says how many there are.",
        ),
        Pool::Default { .. } => (
            is_much,
            "Say how many connections there are to be (-c): as many as the clients of the database hold together, or auto, which \
             opens one for each arrival that finds none. This number is our default.",
        ),
        Pool::Fixed { .. } if lag.no_room > 0 => (
            false,
            "Nothing, if this many requests on this many connections are what you want to test: their queue belongs \
             to the result. Otherwise raise -c, or let each connection carry more (--streams of HTTP/2 and CQL, \
             --depth of Redis and PostgreSQL).",
        ),
        Pool::Fixed { .. } => (
            false,
            "Nothing, if this number of connections is what you want to test: their queue belongs to the result. \
             Otherwise raise -c, or leave it out.",
        ),
        Pool::Auto { .. } => (
            is_much,
            "Allow more connections (-c auto:N; file descriptors, `ulimit -n`, and local ports bound it), so that \
             every arrival is sent when it is due, or find out why the target needs so many.",
        ),
    };
    found(
        FindingCode::PoolLimitReached,
        severity(is_worse, Severity::Degrades, Severity::Note),
        format!(
            "{} sent arrivals waited because {}, {} on average; response time includes it.",
            text::of(lag.pool(), sent),
            in_use(case),
            text::duration(mean)
        ),
        remedy,
        vec![
            ("waited", lag.pool() as f64),
            ("waited_share", waited_share),
            ("waited_mean_ns", mean.0 as f64),
        ],
    )
}

/// Of the sent arrivals, those that waited because the pool was full.
pub(super) fn waited_share(case: &Case<'_>) -> f64 {
    share(case.evidence.totals.counters.lag.pool(), case.measured().sent)
}

/// What to do where the target lets connections be opened and allows no request on them.
pub(super) const ALLOWED_NONE_REMEDY: &str =
    "Find out why the target allows no requests on its connections (MAX_CONCURRENT_STREAMS 0).";

/// The target said of connections that they take no requests at once.
pub(super) fn allowed_none(case: &Case<'_>) -> bool {
    case.evidence.totals.counters.connections().allowed_none > 0
}

fn in_use(case: &Case<'_>) -> String {
    if allowed_none(case) {
        return "the target allowed no requests on its connections, or all were full".to_string();
    }
    let how = if case.evidence.totals.counters.lag.no_room > 0 { "full" } else { "in use" };
    let all = match case.evidence.pool {
        Pool::Auto { max: 1 } | Pool::Fixed { n: 1 } if case.evidence.origins.len() > 1 => {
            "the only connection to an origin was".to_string()
        }
        Pool::Auto { max: 1 } | Pool::Fixed { n: 1 } => "the only connection was".to_string(),
        _ if case.evidence.origins.len() > 1 => format!("all {} to an origin were", case.connections()),
        _ => format!("all {} were", case.connections()),
    };
    format!("{all} {how}")
}

//! What the report says about connections.

use crate::format;
use unblink_artifact::document::{Origin, RunDocument};

/// Counters of connections to an origin that are worth a line: (name, count).
pub(crate) fn connections(origin: &Origin) -> Vec<(&'static str, u64)> {
    let c = &origin.connections;
    [
        ("opened", c.opened),
        ("peak", c.peak),
        ("limit", c.limit),
        ("failed to open", c.failed),
        ("refused", c.refused),
        ("reopened", c.reconnects),
        ("closed by the target", c.closed_by_target),
        ("closed on timeout", c.closed_on_timeout),
        ("closed as no longer needed", c.closed_unneeded),
        ("closed by age", c.closed_by_age),
        ("opened for one journey each", c.own),
        ("closed with their journey", c.closed_with_journey),
        ("held by a journey", c.held),
        ("closed with an open transaction", c.closed_open),
        ("closed because of what came on them", c.closed_broken),
        ("names not resolved again", c.resolving_failed),
        (if c.resent == 1 { "request sent again" } else { "requests sent again" }, c.resent),
        ("messages that answer nothing", c.unsolicited),
        ("pings answered", c.pinged),
        ("answers with Retry-After", c.asked_to_wait),
        ("refused by a full target", c.full),
        ("allowed no requests by the target", c.allowed_none),
        ("requests to a node that has their row", c.routed),
        ("requests to another node, for want of room", c.missed),
        ("requests without a partition key", c.without_key),
        ("closed to spread over the nodes", c.closed_to_spread),
        ("requests that followed another of their arrival", c.followed),
        ("requests whose statement was prepared again", c.prepared_again),
        ("stopped by a limit of this machine", c.local_limit),
    ]
    .into_iter()
    .enumerate()
    .filter(|(i, (_, n))| *i < 3 || *n > 0)
    .map(|(_, row)| row)
    .collect()
}

/// The ring by which requests went to nodes that have their rows, and what changed of it.
pub(crate) fn ring(origin: &Origin) -> Option<String> {
    let c = &origin.connections;
    let ring = c.ring.as_ref()?;
    let share = match c.routed + c.missed {
        0 => String::new(),
        all => format!("; {} missed", format::percent(c.missed as f64 / all as f64)),
    };
    let listed = ring.changes.iter().take(CHANGES_MAX);
    let listed =
        listed.map(|change| format!("; {} after {}", change.what.name(), format::moment(change.at_ns)));
    let more = (ring.changes.len().saturating_sub(CHANGES_MAX)) as u64 + ring.changes_beyond;
    let more = if more > 0 { format!("; {} more changes", format::count(more)) } else { String::new() };
    let lost = match ring.connections_lost {
        0 => String::new(),
        n => format!("; the connection that tells of changes was lost {} times", format::count(n)),
    };
    Some(format!(
        "ring: {} nodes of {}, replicas {}{share}{}{more}{lost}",
        format::count(ring.nodes),
        ring.data_center,
        ring.replication,
        listed.collect::<String>()
    ))
}

/// Answered requests per second over all of the run, its warm-up included, where some arrivals are several: a read-modify-write, a
/// scan of Redis.
pub(crate) fn in_requests(doc: &RunDocument) -> Option<f64> {
    let followed: u64 = doc.origins.iter().map(|origin| origin.connections.followed).sum();
    let answered: u64 = doc.series.rows.iter().map(|row| row.ok).sum();
    let length_s = doc.series.last_completion_ns.unwrap_or(0) as f64 / 1e9;
    (followed > 0 && length_s > 0.0).then(|| (answered + followed) as f64 / length_s)
}

/// Changes of a ring that are listed; the rest is counted.
const CHANGES_MAX: usize = 6;

/// Addresses that are listed; the rest is counted.
const ADDRESSES_MAX: usize = 8;

/// Where connections to an origin went, with their numbers where there are several addresses. `None` where that is the
/// address in the URL itself.
pub(crate) fn addresses(doc: &RunDocument, origin: &Origin) -> Option<String> {
    let to = &origin.connections.by_address;
    if to.is_empty() {
        return None;
    }
    let (one, only) = (to.len() == 1, to.keys().next()?);
    let mut literals = doc.targets.iter().map(|target| host_and_port(&target.url));
    let is_told = match doc.origins.len() {
        1 => !doc.targets.is_empty() && literals.all(|literal| literal.as_deref() == Some(only)),
        _ => literals.any(|literal| literal.as_deref() == Some(only)),
    };
    if one && is_told {
        return None;
    }
    let listed: Vec<String> = to
        .iter()
        .take(ADDRESSES_MAX)
        .map(|(address, n)| if one { address.clone() } else { format!("{address} ({})", format::count(*n)) })
        .collect();
    let more = match to.len().saturating_sub(ADDRESSES_MAX) {
        0 => String::new(),
        n => format!(" and {} more", format::count(n as u64)),
    };
    Some(format!("to {}{more}", listed.join(", ")))
}

/// What bounded requests at once on a connection, where the target allowed fewer than were asked for.
pub(crate) fn allowed(origin: &Origin) -> Option<String> {
    let c = &origin.connections;
    let (allowed, asked) = (c.allowed?, c.streams?);
    let [least, most, asked] = [allowed.least, allowed.most, asked].map(|n| format::count(u64::from(n)));
    let between = if least == most { least } else { format!("{least} to {most}") };
    (allowed.least < c.streams?)
        .then(|| format!("the target allows a connection {between} requests at once ({asked} asked for)"))
}

/// How requests spread over connections, where there was more than one, or one that carried several requests at once.
pub(crate) fn spread(origin: &Origin) -> Option<String> {
    let c = &origin.connections;
    let spread = c.spread.filter(|spread| c.opened > 1 || spread.at_once_max > 1)?;
    let at_once = match spread.at_once_max {
        0 | 1 => String::new(),
        n => format!("at most {} at once on one", format::count(u64::from(n))),
    };
    if c.opened == 1 {
        return Some(format!("requests: {at_once} connection"));
    }
    let [min, median, max] =
        [spread.requests_min, spread.requests_median, spread.requests_max].map(format::count);
    let at_once = if at_once.is_empty() { at_once } else { format!("; {at_once}") };
    Some(format!("requests of a connection: {min} to {max}, median {median}{at_once}"))
}

/// `127.0.0.1:80` of `http://127.0.0.1/path`.
fn host_and_port(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    Some(match scheme {
        _ if has_port => host.to_string(),
        "https" | "wss" | "grpcs" => format!("{host}:443"),
        _ => format!("{host}:80"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::{AllowedAtOnce, Spread};

    #[test]
    fn an_address_is_told_where_the_url_does_not() {
        let mut doc = fixture::all_failed();
        assert_eq!(addresses(&doc, doc.origin()), None, "127.0.0.1:8080 stands in the URL");
        doc.targets[0].url = "http://localhost:8080/".into();
        assert_eq!(addresses(&doc, doc.origin()).as_deref(), Some("to 127.0.0.1:8080"));
        assert_eq!(
            addresses(&fixture::one_arrival(), fixture::one_arrival().origin()).as_deref(),
            Some("to unix:/run/x.sock")
        );
        let several = addresses(&fixture::two_pauses(), fixture::two_pauses().origin())
            .map(|text| format::plain(&text));
        assert_eq!(several.as_deref(), Some("to 127.0.0.1:8080 (1 002), [::1]:8080 (0)"));
        assert_eq!(addresses(&fixture::empty(), fixture::empty().origin()), None);
    }

    #[test]
    fn the_spread_is_told_where_there_is_one() {
        let mut origin = fixture::all_failed().origin().clone();
        let mut told = |opened, at_once_max| {
            origin.connections.opened = opened;
            origin.connections.spread =
                Some(Spread { requests_min: 0, requests_median: 1_001, requests_max: 20_000, at_once_max });
            spread(&origin).map(|line| format::plain(&line))
        };
        assert_eq!(told(1, 1), None);
        assert_eq!(told(1, 40).as_deref(), Some("requests: at most 40 at once on one connection"));
        assert_eq!(told(3, 1).as_deref(), Some("requests of a connection: 0 to 20 000, median 1 001"));
        assert_eq!(
            told(3, 40).as_deref(),
            Some("requests of a connection: 0 to 20 000, median 1 001; at most 40 at once on one")
        );
        origin.connections.spread = None;
        assert_eq!(spread(&origin), None);
    }

    #[test]
    fn what_the_target_allows_is_told_where_it_is_less_than_was_asked_for() {
        let mut origin = fixture::all_failed().origin().clone();
        let mut told = |least, most| {
            origin.connections.streams = Some(100);
            origin.connections.allowed = Some(AllowedAtOnce { least, most });
            allowed(&origin)
        };
        assert_eq!(told(100, 100), None);
        let with =
            |n: &str| Some(format!("the target allows a connection {n} requests at once (100 asked for)"));
        assert_eq!(told(20, 20), with("20"));
        assert_eq!(told(1, 100), with("1 to 100"));
        origin.connections.allowed = None;
        assert_eq!(allowed(&origin), None);
    }

    #[test]
    fn the_port_is_that_of_the_scheme() {
        for (url, expected) in [
            ("http://[::1]/a:b", Some("[::1]:80")),
            ("https://u:p@10.0.0.1?x", Some("10.0.0.1:443")),
            ("http://[::1]:81", Some("[::1]:81")),
            ("nothing", None),
        ] {
            assert_eq!(host_and_port(url).as_deref(), expected);
        }
    }
}

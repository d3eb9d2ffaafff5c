//! Addresses of the target: does each of them take connections, and its share of the load?

use super::{Case, called, found, severity};
use crate::evidence::Address;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

/// So many standard deviations from an even share are no chance. Of random addresses, one is off so far once in 16,000 times.
const DEVIATIONS: f64 = 4.0;
/// Less of an address's even share is not worth a word, however certain it is.
const OFF_MIN: f64 = 0.25;

/// Whether `address` takes no connections.
fn is_dead(address: &Address<'_>) -> bool {
    failed(address) > address.usable
}

fn failed(address: &Address<'_>) -> u64 {
    address.refused + address.unanswered + address.unreachable
}

/// By how many standard deviations `n` of `all` arrivals are off an even share of one of `addresses`, and by which part of that
/// share. Both are negative if they are too few.
pub(super) fn off_even(n: u64, all: u64, addresses: usize) -> (f64, f64) {
    let share = 1.0 / addresses as f64;
    let even = all as f64 * share;
    let off = n as f64 - even;
    (off / (even * (1.0 - share)).sqrt(), off / even)
}

/// Connections are opened to all addresses in turn, but requests go to whichever connection is free. So few connections, or a
/// slow address, leave it with another share than its users would give it. The address that is furthest off is named.
pub(super) fn uneven(case: &Case<'_>) -> Option<Finding> {
    if case.evidence.is_part {
        return None;
    }
    let living: Vec<_> = case.evidence.addresses.iter().filter(|address| !is_dead(address)).collect();
    let of_origin = |origin| {
        let arrivals = living.iter().filter(move |address| address.origin == origin).map(|one| one.arrivals);
        let arrivals: Option<Vec<u64>> = arrivals.collect();
        arrivals.map_or((0, 0), |each| (each.len(), each.iter().sum::<u64>()))
    };
    let judged = living.iter().filter_map(|address| {
        let (addresses, all) = of_origin(address.origin);
        let n = address.arrivals.filter(|_| addresses > 1 && all > 0)?;
        let (deviations, part) = off_even(n, all, addresses);
        let is_far = deviations.abs() > DEVIATIONS && part.abs() > OFF_MIN;
        is_far.then_some((address, addresses, n, all, deviations))
    });
    let (address, addresses, n, all, deviations) =
        judged.max_by(|(.., one), (.., other)| one.abs().total_cmp(&other.abs()))?;
    let share = n as f64 / all as f64;
    found(
        FindingCode::AddressesUneven,
        Severity::Note,
        format!(
            "{}, one of {addresses} addresses of {} that take connections, got {} of the requests; an even share is {}. \
             Connections are spread evenly over the addresses, and requests go to whichever connection is free.",
            address.name,
            called(case, address.origin),
            text::percent(share),
            text::percent(1.0 / addresses as f64),
        ),
        "Percentiles of all requests are mostly those of the addresses that got more of them: see the response times by address. More \
         connections (-c), and new ones from time to time (--connection-age), spread requests further.",
        vec![
            ("addresses", addresses as f64),
            ("requests", n as f64),
            ("requests_of_all", all as f64),
            ("share", share),
            ("standard_deviations", deviations),
        ],
    )
}

/// Attempts go on to the next address when one fails, so that nothing else tells of it: what the others carried is all
/// that was measured. Of several such addresses the worst is named.
pub(super) fn dead(case: &Case<'_>) -> Option<Finding> {
    let all = case.evidence.addresses;
    // Where none of an origin's addresses takes connections, other findings tell of the origin as a whole.
    let lives = |origin: usize| all.iter().any(|a| a.origin == origin && !is_dead(a));
    let worst = all.iter().filter(|a| is_dead(a) && lives(a.origin)).max_by_key(|a| failed(a))?;
    if case.evidence.is_part {
        return None;
    }
    let addresses: Vec<_> = all.iter().filter(|a| a.origin == worst.origin).collect();
    let dead: Vec<_> = addresses.iter().copied().filter(|a| is_dead(a)).collect();
    let of = called(case, worst.origin);
    let others = match dead.len() - 1 {
        0 => String::new(),
        n => format!(" The same holds for {}.", text::plural(n as u64, "other", "others")),
    };
    let kinds = [
        (worst.refused, "refused"),
        (worst.unanswered, "left without an answer"),
        (worst.unreachable, "not let through"),
    ];
    let kinds: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, how)| format!("{} {how}", text::count(*n))).collect();
    found(
        FindingCode::AddressDead,
        // A refusal costs an attempt microseconds; one without an answer may cost its user the timeout.
        severity(dead.iter().any(|a| a.unanswered > 0), Severity::Degrades, Severity::Note),
        format!(
            "{}, one of {} addresses of {of}, took {}; attempts to connect to it failed ({}).{others} The \
             rest of the addresses carried the load.",
            worst.name,
            addresses.len(),
            text::plural(worst.usable, "connection", "connections"),
            kinds.join(", ")
        ),
        "Find out why nobody listens there, or whether its users meet it too; to measure the others alone, connect to them \
         (--connect-to).",
        vec![
            ("addresses", addresses.len() as f64),
            ("addresses_dead", dead.len() as f64),
            ("opened", worst.usable as f64),
            ("refused", worst.refused as f64),
            ("unanswered", worst.unanswered as f64),
            ("unreachable", worst.unreachable as f64),
        ],
    )
}

//! What an interval must say, counted from the log; its slowest arrivals too.

use super::books::Books;
use super::entry::Entry;
use super::hold;
use super::recording::Snapshot;
use super::tally::Tally;
use unblink_core::record::{Ages, Counters, SLOWEST_KEPT};
use unblink_core::sim::ZERO;
use unblink_core::time::{Instant, Nanos};

/// So many of a line are held, and known one by one.
const HELD_MAX: usize = 256;
/// Length of every interval but the last.
const LENGTH: Nanos = Nanos::from_secs(1);

/// Holds `snapshot`, which begins where the last one ended, against the books, and begins a new tally.
pub(super) fn check(
    books: &mut Books<'_>,
    snapshot: &Snapshot,
    start: Nanos,
    last: bool,
) -> Result<(), String> {
    hold!(snapshot.start == start, "it begins at {:?}, the one before ended at {start:?}", snapshot.start);
    hold!(last || snapshot.length == LENGTH, "it is {:?} long", snapshot.length);
    hold!(!snapshot.double, "it is marked as double");
    let end = ZERO + snapshot.start + snapshot.length;
    if last {
        hold!(end >= books.now(), "it ends at {end:?}, before the run");
        books.end_run()?;
    } else {
        books.end_turn()?;
        books.take_note_of_due(Instant(end.0 - 1));
    }
    let mut expected = books.tally.counters.clone();
    // How busy the client's machine was is its own affair; it must add up.
    let own = snapshot.counters.own;
    hold!(own.total == snapshot.length && own.busy <= own.total, "{own:?} of {:?}", snapshot.length);
    hold!(own.paused == Nanos::ZERO || own.pause_max <= own.paused, "{own:?}");
    expected.own = own;
    // Whose fault a wait was is checked over the whole run.
    expected.lag = snapshot.counters.lag;
    expected.measured.timed_out_pool_full = snapshot.counters.measured.timed_out_pool_full;
    expected.warmup.timed_out_pool_full = snapshot.counters.warmup.timed_out_pool_full;
    for (expected, known) in [
        (&mut expected.measured, &snapshot.counters.measured),
        (&mut expected.warmup, &snapshot.counters.warmup),
    ] {
        expected.timed_out_never_sent_own = known.timed_out_never_sent_own;
        expected.unsent_own = known.unsent_own;
        expected.timed_out_hindered = known.timed_out_hindered;
        expected.failed_hindered = known.failed_hindered;
    }
    if expected != snapshot.counters {
        return Err(difference(&expected, &snapshot.counters));
    }
    for outcomes in [&snapshot.counters.measured, &snapshot.counters.warmup] {
        hold!(outcomes.timed_out_pool_full <= outcomes.timed_out, "{outcomes:?}");
        hold!(outcomes.unsent_own <= outcomes.unsent, "{outcomes:?}");
        hold!(outcomes.timed_out_never_sent_own <= outcomes.timed_out_never_sent, "{outcomes:?}");
        hold!(outcomes.timed_out_hindered <= outcomes.timed_out, "{outcomes:?}");
        hold!(outcomes.failed_hindered <= outcomes.failed_total(), "{outcomes:?}");
    }
    let (known, expected) = (snapshot.gauges, books.gauges());
    hold!(known == expected, "levels are {known:?} and should be {expected:?}");
    ages(books, snapshot, end)?;
    slowest(books, snapshot)?;
    let rest = books.tally.moments.check(snapshot)?;
    books.tally = Tally::new(books.tally.load_end, books.tally.measured_from, rest);
    Ok(())
}

fn difference(expected: &Counters, counters: &Counters) -> String {
    let parts = [
        ("measured", format!("{:?}", expected.measured), format!("{:?}", counters.measured)),
        ("warm-up", format!("{:?}", expected.warmup), format!("{:?}", counters.warmup)),
        ("users begun", expected.users_begun.to_string(), counters.users_begun.to_string()),
        ("connections", format!("{:?}", expected.origins), format!("{:?}", counters.origins)),
    ];
    let parts = parts.iter().filter(|(_, expected, counted)| expected != counted);
    let lines: Vec<_> = parts.map(|(n, e, c)| format!("{n} should be\n  {e}\nand is\n  {c}")).collect();
    if lines.is_empty() { "codes or bytes differ".to_string() } else { lines.join("\n") }
}

/// Everyone who has not ended is told, at their age. Of many a part is looked at, so that only their number must be right;
/// where a line has been longer than what of it is held, the oldest alone is known, unless each has its place.
fn ages(books: &Books<'_>, snapshot: &Snapshot, end: Instant) -> Result<(), String> {
    let [in_flight, again, waiting] = books.without_end();
    let mut exact = Ages::default();
    for place in in_flight.iter().chain(&again).chain(&waiting) {
        exact.add(end.since(books.entries[*place].intended), 1);
    }
    let told = &snapshot.ages;
    hold!(told.count() == exact.count(), "{} wait, it says {}", exact.count(), told.count());
    if in_flight.len() > 1024 || again.len() > 256 || waiting.len() > 256 {
        return Ok(());
    }
    let oldest = |ages: &Ages| ages.bins().last().map(|(age, _)| age);
    let are_held = books.lanes.iter().all(|lane| lane.longest <= HELD_MAX);
    let have_places = books.arrivals.have_places(books.lanes.len());
    let is_known = waiting.len() < 2 || are_held || have_places;
    let is_right = if is_known { *told == exact } else { oldest(told) == oldest(&exact) };
    hold!(is_right, "ages are {exact:?}, it says {told:?}");
    Ok(())
}

/// The five slowest of the interval, each as it is in the books.
fn slowest(books: &Books<'_>, snapshot: &Snapshot) -> Result<(), String> {
    let response = |entry: &Entry| entry.end.map_or(Nanos::ZERO, |end| end.at.since(entry.intended));
    let ended = books.tally.ended.iter().map(|&place| &books.entries[place]);
    let mut expected: Vec<Nanos> = ended.clone().map(response).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    expected.truncate(SLOWEST_KEPT);
    let kept = snapshot.slowest.as_slice();
    let times: Vec<Nanos> = kept.iter().map(|arrival| arrival.response()).collect();
    hold!(times == expected, "the slowest took {expected:?}, it says {times:?}");
    let offset = |at: Instant| Instant(at.since(ZERO).0);
    for slow in kept {
        let same = |entry: &&Entry| {
            entry.index == slow.index
                && offset(entry.intended) == slow.intended
                && entry.sent.map(offset) == slow.sent
                && entry.operation == slow.operation
                && entry.end.is_some_and(|end| {
                    (offset(end.at), end.outcome, end.code, end.slot)
                        == (slow.ended, slow.outcome, slow.code, slow.connection)
                })
        };
        hold!(ended.clone().any(|entry| same(&entry)), "{slow:?} is not in the books");
    }
    Ok(())
}

//! Attempts after the first are made, and one too many, too early or uncounted is seen.

use super::*;
use crate::worlds::entry::GIVEN_UP_MAX;
use unblink_core::dispatch::{Jitter, Retry};
use unblink_core::record::RetryCounts;

/// Worlds with retries, each with what its first worker did.
fn retrying() -> impl Iterator<Item = (u64, Case, Recording)> {
    let cases = (0..400).map(|seed| (seed, generate::case(seed)));
    let cases = cases.filter(|(_, case)| case.plan.retry.is_some());
    cases.filter_map(|(seed, case)| {
        let recording = record(&generate::plan(&case).ok()?, &case, 0);
        Some((seed, case, recording))
    })
}

#[test]
fn every_way_to_try_again_is_met() {
    let (mut all, mut given_up, mut worlds) = (RetryCounts::default(), 0, 0);
    for (_, _, recording) in retrying() {
        let counters = &recording.total.counters;
        let RetryCounts { recovered, exhausted, refused_by_budget, sent_again, .. } =
            counters.measured.retries;
        all.recovered += recovered;
        all.exhausted += exhausted;
        all.refused_by_budget += refused_by_budget;
        worlds += u64::from(sent_again > 0);
        given_up += u64::from(counters.retry_causes.try_timeout > 0);
    }
    assert!(worlds >= 15 && given_up >= 10, "tried again in {worlds} worlds, given up in {given_up}");
    let least = all.recovered.min(all.exhausted).min(all.refused_by_budget);
    assert!(least > 20, "{all:?}");
}

/// Holds what was done by one rule against another one: in how many worlds that was tried, and in how many it was seen.
fn by_another_rule(change: impl Fn(&mut Retry, &RetryCounts) -> bool) -> (usize, usize) {
    let (mut tried, mut seen) = (0, 0);
    for (_, mut case, recording) in retrying() {
        let Some(retry) = &mut case.plan.retry else { continue };
        let mut counts = recording.total.counters.measured;
        counts.add(&recording.total.counters.warmup);
        if change(retry, &counts.retries)
            && let Ok(plan) = generate::plan(&case)
        {
            tried += 1;
            seen += usize::from(check(&case, &plan, 0, &recording).is_err());
        }
    }
    assert!(tried >= 3, "only {tried} worlds had the place for it");
    (tried, seen)
}

#[track_caller]
fn another_rule_is_seen(change: impl Fn(&mut Retry, &RetryCounts) -> bool) {
    let (tried, seen) = by_another_rule(change);
    assert_eq!(seen, tried);
}

#[test]
fn attempts_against_the_rule_are_seen() {
    // One too many.
    another_rule_is_seen(|retry, counts| {
        retry.attempts -= 1;
        retry.attempts > 1 && counts.exhausted > 0
    });
    // One that should have been made.
    another_rule_is_seen(|retry, counts| {
        retry.attempts += 1;
        retry.attempts as usize <= 1 + GIVEN_UP_MAX && counts.exhausted > 0
    });
    // None could have been in time.
    another_rule_is_seen(|retry, counts| {
        retry.wait = Nanos::from_secs(100);
        counts.sent_again > 0
    });
    another_rule_is_seen(|retry, counts| {
        retry.budget_percent = Some(0);
        counts.sent_again > 0
    });
    another_rule_is_seen(|retry, counts| {
        retry.budget_percent = None;
        counts.refused_by_budget > 0
    });
}

/// Where an attempt had to wait for a connection as well, or the generator was late, it makes no difference.
#[test]
fn attempts_that_are_a_nanosecond_early_are_seen() {
    let (tried, seen) = by_another_rule(|retry, counts| {
        retry.wait.0 += 1;
        retry.jitter == Jitter::None && counts.sent_again > 0
    });
    assert!(seen > 0, "seen in none of {tried} worlds");
}

#[test]
fn a_count_of_attempts_that_is_one_off_is_seen() {
    let any = |_: &Snapshot| true;
    must_be_seen(in_an_interval(any, |s| s.counters.measured.retries.sent_again += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.measured.retries.recovered += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.warmup.retries.exhausted += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.retry_causes.try_timeout += 1));
}

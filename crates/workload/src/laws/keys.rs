//! Keys.

use std::collections::HashMap;

use unblink_core::arrival::Key;

use super::{assert_fits, binned, drawing, drawn, many, source};
use crate::draws::{Drawing, Draws};

/// Σ k⁻ˢ over a < k ≤ b, written down a second time: term by term at first, then the integral by midpoints, whose error at
/// k > 1,000 is below one part in 10^6.
fn sum(s: f64, a: u64, b: u64) -> f64 {
    let middle = b.min(a.max(1_000));
    let head: f64 = (a + 1..=middle).map(|k| (k as f64).powf(-s)).sum();
    let [from, to] = [middle as f64 + 0.5, b as f64 + 0.5];
    let tail = if s == 1.0 { (to / from).ln() } else { (to.powf(1.0 - s) - from.powf(1.0 - s)) / (1.0 - s) };
    head + if b > middle { tail } else { 0.0 }
}

/// Where the ranks of a law over `n` keys lie: the key of each rank, from the most frequent one on.
fn ranked(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut counts = HashMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0u64) += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(key, _)| key).collect()
}

/// `latest` has the ranks of zipf in plain sight: the newest key minus the rank.
#[test]
fn zipf_has_its_exact_probabilities() {
    for s in ["0.5", "0.99", "1", "1.5", "3"] {
        let exponent: f64 = s.parse().expect("a number");
        for n in [1u64, 2, 3, 10, 1_000] {
            let text = format!("latest({n}, s={s})");
            let edges: Vec<u64> = (0..n).collect();
            let draws = if n == 1_000 { many(200_000) } else { 50_000 };
            let counts = binned(drawn(&text, draws).map(|key| n - 1 - key), &edges);
            let all = sum(exponent, 0, n);
            let shares: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent) / all).collect();
            if n == 1 {
                assert_eq!(counts, [draws]);
            } else {
                assert_fits(&counts, &shares, &text);
            }
        }
    }
}

#[test]
fn zipf_has_its_tail_over_up_to_a_million_million_keys() {
    for n in [1_000_000_000u64, 1_000_000_000_000] {
        for s in ["0.5", "0.99", "1", "1.5", "3"] {
            let exponent: f64 = s.parse().expect("a number");
            let text = format!("latest({n}, s={s})");
            let edges: Vec<u64> = (0..10)
                .chain((1..).map(|power| 10u64 << power).take_while(|edge| *edge < n))
                .chain([n - n / 10, n - n / 100])
                .collect();
            let mut edges = edges;
            edges.sort_unstable();
            let counts = binned(drawn(&text, many(200_000)).map(|key| n - 1 - key), &edges);
            let all = sum(exponent, 0, n);
            let ends = edges[1..].iter().copied().chain([n]);
            let shares: Vec<f64> =
                edges.iter().zip(ends).map(|(&from, to)| sum(exponent, from, to) / all).collect();
            assert_fits(&counts, &shares, &text);
        }
    }
}

#[test]
fn the_keys_of_zipf_are_its_ranks_scattered() {
    let text = "zipf(1000, s=1.5)";
    let keys = ranked(drawn(text, 300_000));
    let key_of: HashMap<u64, usize> = keys.iter().enumerate().map(|(rank, key)| (*key, rank)).collect();
    assert!(keys.iter().all(|key| *key < 1_000));
    // The most frequent ones are in no order and are not neighbours.
    let neighbours = keys[..20].windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
    assert!(neighbours <= 1, "{:?}", &keys[..20]);
    let top = drawn(text, 100_000).filter(|key| key_of[key] < 10).count() as f64 / 100_000.0;
    let expected = source(text).share_of_top(10).expect("a closed form");
    assert!((top - expected).abs() < 0.006, "{top} for {expected}");
    let other = Draws::seed_of(2, text);
    let of_another_seed =
        ranked((0..100_000).map(|unit| source(text).draw(other, &drawing(unit)).expect("a number")));
    assert_ne!(keys[..5], of_another_seed[..5]);
}

/// Each rank has a key of its own: over all ranks, all keys come.
#[test]
fn every_key_of_a_small_zipf_comes_up() {
    for n in [1u64, 2, 3, 10, 33, 100] {
        let text = format!("zipf({n}, s=0.1, from=1000)");
        let mut keys = ranked(drawn(&text, n * 100));
        keys.sort_unstable();
        assert_eq!(keys, (1_000..1_000 + n).collect::<Vec<_>>(), "{n}");
    }
}

#[test]
fn uniform_keys_are_as_likely() {
    let edges: Vec<u64> = (0..1_000).collect();
    assert_fits(&binned(drawn("uniform(1000)", many(500_000)), &edges), &[0.001; 1_000], "uniform(1000)");
    let edges: Vec<u64> = (1..=100).collect();
    let counts = binned(drawn("uniform(1, 100)", 100_000), &edges);
    assert_fits(&counts, &[0.01; 100], "uniform(1, 100)");
    assert!(drawn("uniform(5, 5)", 100).all(|key| key == 5));
    assert!(drawn("uniform(0, 18446744073709551614)", 100).any(|key| key > 1 << 63));
}

#[test]
fn a_hot_spot_has_its_share() {
    let text = "hotspot(1000, keys=5%, draws=80%)";
    let (draws, mut counts) = (many(500_000), vec![0; 1_000]);
    drawn(text, draws).for_each(|key| counts[key as usize] += 1);
    let mut keys: Vec<usize> = (0..1_000).collect();
    keys.sort_unstable_by_key(|key| std::cmp::Reverse(counts[*key]));
    // Of 500,000, 8,000 are expected of a hot key and 105 of a cold one: no doubt which is which.
    let (hot, cold) = keys.split_at(50);
    assert!(counts[hot[49]] > draws / 500_000 * 7_000 && counts[cold[0]] < draws / 500_000 * 200);
    assert!(hot.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count() < 10, "scattered");
    let (mut hot, mut cold) = (hot.to_vec(), cold.to_vec());
    // Back in the order of keys: that of the counts would be no sample.
    hot.sort_unstable();
    cold.sort_unstable();
    let order: Vec<u64> = hot.iter().chain(&cold).map(|key| counts[*key]).collect();
    let shares: Vec<f64> = (0..1_000).map(|at| if at < 50 { 0.8 / 50.0 } else { 0.2 / 950.0 }).collect();
    assert_fits(&order, &shares, text);
    let share = |top| source(text).share_of_top(top).expect("a closed form");
    assert!(
        (share(50) - 0.8).abs() < 1e-12
            && (share(25) - 0.4).abs() < 1e-12
            && (share(1_000) - 1.0).abs() < 1e-12
    );
    let turned = source("hotspot(10, keys=90%, draws=10%)");
    assert!((turned.share_of_top(1).expect("a closed form") - 0.9).abs() < 1e-12);
}

#[test]
fn sequential_counts_and_latest_follows_the_inserts() {
    let at = |text: &str, ordinal, inserted| {
        source(text).draw(1, &Drawing { key: Key::single(0), ordinal, inserted }).expect("a number")
    };
    assert_eq!([0, 1, 9, 10, 25].map(|ordinal| at("sequential(10, from=5)", ordinal, 0)), [5, 6, 14, 5, 10]);
    assert_eq!([0, 1_000].map(|ordinal| at("sequential(from=1M)", ordinal, 0)), [1_000_000, 1_001_000]);
    // The same rank with more inserts is as far behind the newest.
    let behind = |inserted| 99 + inserted - at("latest(100, s=3)", 0, inserted);
    assert_eq!(behind(0), behind(50));
    let source = source("latest(10, s=1)");
    let counts = binned(
        (0..many(50_000)).map(|unit| {
            let drawing = Drawing { key: Key::single(unit), ordinal: 0, inserted: 10 };
            19 - source.draw(7, &drawing).expect("a number")
        }),
        &(0..20).collect::<Vec<_>>(),
    );
    let shares: Vec<f64> = (1..=20).map(|k| 1.0 / f64::from(k) / sum(1.0, 0, 20)).collect();
    assert_fits(&counts, &shares, "20 keys after 10 inserts");
}

#[test]
fn shares_of_the_top_are_those_of_the_law() {
    let share = |text: &str, top| source(text).share_of_top(top).expect("a closed form");
    // Σ k^-0.99 over 1, and over 1 to 100, by Σ over 1 to 1,000.
    assert!((share("zipf(1000)", 1) - 0.129_383_626_978_571_84).abs() < 1e-12);
    assert!((share("zipf(1000)", 100) - 0.685_030_518_691_276_1).abs() < 1e-12);
    assert!((share("uniform(1000)", 10) - 0.01).abs() < 1e-12);
    for text in ["zipf(1T)", "uniform(10)", "hotspot(100)", "sequential(10)", "exponential(5)"] {
        assert!((share(text, u64::MAX) - 1.0).abs() < 1e-9 && share(text, 0) == 0.0, "{text}");
    }
}

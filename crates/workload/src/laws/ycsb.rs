//! YCSB's laws, against their formulas and the figures of YCSB's own generators.

use unblink_core::arrival::Key;

use super::{assert_fits, binned, drawing, drawn, many, source};
use crate::draws::Drawing;
use crate::source::Source;
use crate::ycsb::hashed;

/// The share of ranks below `rank` by Gray's formula, with ζ summed term by term.
fn below(rank: u64, n: u64, theta: f64) -> f64 {
    let zeta: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
    let zeta_2 = 1.0 + 0.5f64.powf(theta);
    let eta = (1.0 - (2.0 / n as f64).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta);
    match rank {
        0 => 0.0,
        1 => 1.0 / zeta,
        _ if rank == n => 1.0,
        _ => (((rank as f64 / n as f64).powf(1.0 - theta) - 1.0 + eta) / eta).max(zeta_2 / zeta),
    }
}

#[test]
fn zipfian_has_the_law_of_gray() {
    for (n, theta) in [(1_000u64, "0.99"), (100, "0.5"), (3, "0.99")] {
        let text = format!("ycsb_zipfian({n}, theta={theta})");
        let theta: f64 = theta.parse().expect("a number");
        let shares: Vec<f64> = (0..n).map(|k| below(k + 1, n, theta) - below(k, n, theta)).collect();
        let counts = binned(drawn(&text, many(300_000)), &(0..n).collect::<Vec<_>>());
        assert_fits(&counts, &shares, &text);
        let top = source(&text).share_of_top(10).expect("a closed form");
        assert!((top - below(10.min(n), n, theta)).abs() < 1e-9);
    }
}

/// YCSB's zipfian over 1,000 items gives the hottest tenth 69.6 %, by 10^7 draws of YCSB 0.17.0. Zipf's law itself: 68.5 %.
#[test]
fn zipfian_has_the_figures_of_ycsb() {
    let draws: Vec<u64> = drawn("ycsb_zipfian(1000)", 500_000).collect();
    let share = |top: u64| draws.iter().filter(|key| **key < top).count() as f64 / 500_000.0;
    assert!((share(1) - 0.1295).abs() < 0.002, "{}", share(1));
    assert!((share(100) - 0.696).abs() < 0.003, "{}", share(100));
}

/// By 10^7 draws of YCSB 0.17.0 over 1,000 items: 3.88 % and 29.6 %. Here, 10^6 where the build is not optimised.
#[test]
fn scrambled_has_the_figures_of_ycsb() {
    let (draws, mut counts) = (many(1_000_000), vec![0u64; 1_000]);
    drawn("ycsb_scrambled(1000)", draws).for_each(|key| counts[key as usize] += 1);
    let hottest = counts.iter().enumerate().max_by_key(|(_, count)| **count).map(|(key, _)| key as u64);
    assert_eq!(hottest, Some(hashed(0) % 1_000));
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let share = |top: usize| counts[..top].iter().sum::<u64>() as f64 / draws as f64;
    assert!((share(1) - 0.0388).abs() < 0.001, "{}", share(1));
    assert!((share(100) - 0.296).abs() < 0.003, "{}", share(100));
}

/// The hottest records of CoreWorkload 0.17.0 over 1,000 records, by 10^6 draws of its `nextKeynum`: it hashes to one more than there are,
/// and with 5 % inserts in 1,000 operations to 100 more again.
#[test]
fn the_hottest_records_are_those_of_the_core_workload() {
    for (text, hottest) in [
        ("ycsb_scrambled(1000, modulo=1001)", [144, 610, 213, 679]),
        ("ycsb_scrambled(1000, coming=101)", [903, 403, 802, 302]),
    ] {
        let (draws, mut counts) = (many(200_000), vec![0u64; 1_000]);
        drawn(text, draws).for_each(|key| counts[key as usize] += 1);
        let mut keys: Vec<usize> = (0..1_000).collect();
        keys.sort_by_key(|key| std::cmp::Reverse(counts[*key]));
        assert_eq!(keys[..4], hottest, "{text}");
        let part = counts[hottest[0]] as f64 / draws as f64;
        assert!(text.contains("coming") || (part - 0.0387).abs() < 0.002, "{text}: {part}");
    }
    assert!(!source("ycsb_scrambled(1000, modulo=1001)").needs().inserted);
    for text in [
        "ycsb_scrambled(10, modulo=9)",
        "ycsb_scrambled(10, coming=5, modulo=14)",
        "ycsb_scrambled(10, modulo=1001)",
    ] {
        let error = Source::parse(text, &mut |_| Err(std::io::ErrorKind::NotFound.into())).unwrap_err();
        assert!(error.message.contains("`modulo` must be"), "{text}: {error}");
    }
}

#[test]
fn scrambled_leaves_out_what_is_not_there_yet() {
    let source = source("ycsb_scrambled(100, coming=100)");
    assert!(source.needs().inserted);
    for inserted in [0, 20, 100] {
        let draw = |unit| source.draw(1, &Drawing { key: Key::single(unit), ordinal: 0, inserted });
        let keys: Vec<u64> = (0..20_000).map(|unit| draw(unit).expect("a number")).collect();
        assert_eq!(keys.iter().max(), Some(&(99 + inserted)));
    }
}

#[test]
fn latest_never_draws_key_0_and_grows() {
    let at = |text: &str, unit, inserted| {
        source(text).draw(1, &Drawing { key: Key::single(unit), ordinal: 0, inserted }).expect("a number")
    };
    let counts =
        binned(drawn("ycsb_latest(1000)", many(300_000)).map(|key| 999 - key), &(0..999).collect::<Vec<_>>());
    let shares: Vec<f64> = (0..999).map(|k| below(k + 1, 999, 0.99) - below(k, 999, 0.99)).collect();
    assert_fits(&counts, &shares, "ycsb_latest(1000)");
    let keys: Vec<u64> = (0..20_000).map(|unit| at("ycsb_latest(4)", unit, 4)).collect();
    assert_eq!((keys.iter().min(), keys.iter().max()), (Some(&1), Some(&7)));
}

#[test]
fn a_hot_spot_is_the_first_keys() {
    let shares: Vec<f64> = (0..100).map(|key| if key < 20 { 0.8 / 20.0 } else { 0.2 / 80.0 }).collect();
    let counts = binned(drawn("ycsb_hotspot(100)", many(200_000)), &(0..100).collect::<Vec<_>>());
    assert_fits(&counts, &shares, "ycsb_hotspot(100)");
}

#[test]
fn exponential_is_behind_the_newest() {
    let rate = -(0.05f64.ln()) / (1_000.0 * 0.857_142_857_1);
    let below = |keys: u64| (1.0 - (-rate * keys as f64).exp()) / (1.0 - (-rate * 1_000.0).exp());
    let shares: Vec<f64> = (0..1_000).map(|back| below(back + 1) - below(back)).collect();
    let counts = binned(
        drawn("ycsb_exponential(1000)", many(300_000)).map(|key| 999 - key),
        &(0..1_000).collect::<Vec<_>>(),
    );
    assert_fits(&counts, &shares, "ycsb_exponential(1000)");
    let share = source("ycsb_exponential(1000)").share_of_top(100).expect("a closed form");
    assert!((share - below(100)).abs() < 1e-9);
    assert!(source("ycsb_exponential(1000)").draw(1, &drawing(0)).is_some());
}

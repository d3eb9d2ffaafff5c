//! What is drawn, against the law that it claims: χ² over ten million draws of each law in an optimised build, and over fewer in
//! another, where they would take minutes. A test with another seed would raise a false alarm once in 100,000 times; with its own,
//! each draws the same each time.

mod keys;
mod sizes;
mod ycsb;

use unblink_core::arrival::Key;

use crate::draws::{Drawing, Draws};
use crate::source::Source;

/// Of one draw of a value that looks at its key alone.
fn drawing(unit: u64) -> Drawing {
    Drawing { key: Key::single(unit), ordinal: unit, inserted: 0 }
}

fn source(text: &str) -> Source {
    Source::parse(text, &mut |_| Err(std::io::ErrorKind::NotFound.into())).expect(text)
}

/// So many draws, with a seed of its own for each text.
fn drawn(text: &str, draws: u64) -> impl Iterator<Item = u64> {
    let (source, seed) = (source(text), Draws::seed_of(1, text));
    (0..draws).map(move |unit| source.draw(seed, &drawing(unit)).expect("a number"))
}

/// Draws of a law: so many in a build that is not optimised.
fn many(few: u64) -> u64 {
    if cfg!(debug_assertions) { few } else { 10_000_000 }
}

/// How many of `values` each of the bins [edge, next edge) has; the last one has no end.
fn binned(values: impl Iterator<Item = u64>, edges: &[u64]) -> Vec<u64> {
    let mut counts = vec![0; edges.len()];
    for value in values {
        let bin = edges.partition_point(|edge| *edge <= value);
        assert!(bin > 0, "{value} is below all bins");
        counts[bin - 1] += 1;
    }
    counts
}

/// χ² is below what one in 100,000 exceeds, by the approximation of Wilson and Hilferty. Neighbouring bins are joined until
/// ten are expected.
#[track_caller]
fn assert_fits(counts: &[u64], shares: &[f64], what: &str) {
    assert_eq!(counts.len(), shares.len(), "{what}");
    let (total, all) = (counts.iter().sum::<u64>() as f64, shares.iter().sum::<f64>());
    assert!((all - 1.0).abs() < 1e-6, "{what}: the shares add up to {all}");
    let (mut chi2, mut bins) = (0.0, 0);
    let (mut seen, mut expected, mut left) = (0.0, 0.0, total);
    for (count, share) in counts.iter().zip(shares) {
        seen += *count as f64;
        expected += share * total;
        if expected >= 10.0 && left - expected >= 10.0 {
            chi2 += (seen - expected).powi(2) / expected;
            left -= expected;
            bins += 1;
            (seen, expected) = (0.0, 0.0);
        }
    }
    if expected > 0.0 {
        chi2 += (seen - expected).powi(2) / expected;
        bins += 1;
    }
    assert!(bins > 1, "{what}: too few draws to tell");
    let free = f64::from(bins - 1);
    let limit = free * (1.0 - 2.0 / (9.0 * free) + 4.265 * (2.0 / (9.0 * free)).sqrt()).powi(3);
    assert!(chi2 < limit, "{what}: χ² is {chi2}, its limit {limit} with {free} degrees of freedom");
}

/// The test itself finds a law that is 1 % off.
#[test]
#[should_panic(expected = "χ²")]
fn a_wrong_law_is_found() {
    let counts = binned(drawn("uniform(10)", 1_000_000), &[0, 5]);
    assert_fits(&counts, &[0.505, 0.495], "not uniform");
}

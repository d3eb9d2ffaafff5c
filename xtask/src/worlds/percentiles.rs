//! The estimate of Kaplan and Meier, computed from sorted lists as the textbook has it, against the product's.

use super::bins::top_of_bin;
use super::hold;
use unblink_analysis::quantile::{QUANTILES, Survival};
use unblink_core::record::Track;

/// Shares beside those that are printed.
const MORE: [f64; 5] = [0.0, 0.1, 0.3, 0.6, 1.0];
/// What floating-point sums may be off, in samples.
const SLACK: f64 = 1e-6;

/// `known` and `ages` are what the tracks hold, one by one.
pub(super) fn check(
    completed: &Track<u64>,
    censored: &Track<u64>,
    known: &[u64],
    ages: &[u64],
) -> Result<(), String> {
    let survival = Survival::new(completed, censored);
    let count = known.len() + ages.len();
    hold!(survival.count() == count as u64, "{} samples of {count}", survival.count());
    hold!(survival.censored() == ages.len() as u64, "{} censored of {}", survival.censored(), ages.len());
    let reached = textbook(known, ages);
    let mut together: Vec<u64> = known.iter().chain(ages).copied().collect();
    together.sort_unstable();
    let longest = known.iter().copied().max().unwrap_or(0);
    for q in QUANTILES.into_iter().chain(MORE) {
        let Some(quantile) = survival.quantile(q) else {
            hold!(count == 0, "no p{} of {count} samples", q * 100.0);
            continue;
        };
        let (value, needed) = (quantile.value_ns, q * count as f64);
        let at = |place: usize| reached.get(place).map_or(count as f64, |&(_, share)| share * count as f64);
        let context = format!("p{} is {quantile:?} of {count}, {} of them censored", q * 100.0, ages.len());
        if quantile.censored {
            let all = reached.last().map_or(0.0, |&(_, share)| share * count as f64);
            hold!(all < needed + SLACK, "{context}: it is known");
            // As if everything open had been answered at its age.
            let rank = (needed - SLACK).ceil().clamp(1.0, count as f64) as usize;
            let exact = together[rank - 1].max(longest);
            let bounds = exact - exact / 1024..=top_of_bin(exact);
            hold!(bounds.contains(&value), "{context}: the bound should lie in {bounds:?}");
        } else {
            let place = reached.iter().position(|&(top, _)| top.min(longest) == value);
            let Some(place) = place else { return Err(format!("{context}: no such value was recorded")) };
            hold!(at(place) > needed - SLACK, "{context}: too low");
            hold!(place == 0 || at(place - 1) < needed + SLACK, "{context}: too high");
        }
        let above = count - (needed - SLACK).ceil().clamp(1.0, count as f64) as usize;
        hold!(quantile.few_samples == (above < 10), "{context}: {above} samples lie above");
    }
    Ok(())
}

/// (end of a bin, share of all that is at most that), for every bin in which something was completed: of those
/// that have lasted so long, completed or not, the share that goes on is multiplied up.
fn textbook(known: &[u64], ages: &[u64]) -> Vec<(u64, f64)> {
    let binned = |list: &[u64]| {
        let mut tops: Vec<u64> = list.iter().map(|&ns| top_of_bin(ns)).collect();
        tops.sort_unstable();
        tops
    };
    let (known, ages) = (binned(known), binned(ages));
    let lasting = |list: &[u64], top: u64| list.len() - list.partition_point(|&other| other < top);
    let mut bins = known.clone();
    bins.dedup();
    let mut goes_on = 1.0;
    let share = |top: u64| {
        let at_risk = (lasting(&known, top) + lasting(&ages, top)) as f64;
        let completed = (lasting(&known, top) - lasting(&known, top + 1)) as f64;
        goes_on *= (at_risk - completed) / at_risk;
        (top, 1.0 - goes_on)
    };
    bins.into_iter().map(share).collect()
}

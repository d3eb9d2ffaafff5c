//! What a plan's requests come to, on a screen: their shares, what their values are like, and the first of them.

use super::first;
use super::picture::{EIGHTHS, cut, wrapped};
use crate::run::Planned;
use unblink_core::arrival::Key;
use unblink_report::format;
use unblink_workload::{Drawing, Draws, Source, Values};

/// Requests, and values, that are shown at the most.
const SHOWN_MAX: usize = 20;
/// Draws of a size that are looked at.
const DRAWS: u64 = 10_000;
/// Columns of a small curve.
const CURVE: usize = 24;
/// Columns of a bar at the most.
const BAR_MAX: usize = 40;

/// On a screen of so many columns.
pub(super) fn of(planned: &Planned, columns: usize) -> String {
    let mut out = shares(&planned.shares, columns);
    if let Some(values) = &planned.values {
        out += &laws(values, planned.seed, columns);
    }
    out + &first::of(planned, columns)
}

/// A bar for each request and each journey.
fn shares(shares: &[(String, f64)], columns: usize) -> String {
    if shares.len() < 2 {
        return String::new();
    }
    let said: Vec<String> = shares.iter().map(|(_, share)| format::plain(&format::percent(*share))).collect();
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
    let number = widest(&mut said.iter().map(|text| text.chars().count()));
    let name = widest(&mut shares.iter().map(|(name, _)| name.chars().count())).min(columns / 2);
    let bar = columns.saturating_sub(name + number + 7).clamp(8, BAR_MAX);
    let most = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let mut out = String::from("\nShares of the load\n");
    for ((label, share), said) in shares.iter().zip(&said).take(SHOWN_MAX) {
        let eighths = ((share / most * (bar * 8) as f64).round() as usize).max(1);
        let cells = "█".repeat(eighths / 8) + BEGUN[eighths % 8];
        out += &format!("  {:<name$}  {said:>number$} {cells}\n", cut(label, name));
    }
    if shares.len() > SHOWN_MAX {
        out += &format!("  and {} more\n", shares.len() - SHOWN_MAX);
    }
    out
}

/// A cell, filled by eighths from the left.
const BEGUN: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// What each named value is drawn from.
fn laws(values: &Values, seed: u64, columns: usize) -> String {
    let used: Vec<(&str, &Source)> = (0..)
        .zip(values.lets().iter())
        .filter(|(number, _)| values.uses(*number))
        .map(|(_, one)| one)
        .collect();
    let mut out = String::new();
    for (name, source) in used.iter().take(SHOWN_MAX) {
        out += if out.is_empty() { "\nValues\n" } else { "" };
        let mut said = format!("{name}: {}", source.describe());
        let curve = match () {
            () if source.is_key() => popularity(source).map(|(curve, words)| {
                said += &format!("; {words}");
                curve
            }),
            () if source.is_number() => {
                let (curve, words) = sizes(source, Draws::seed_of(seed, name));
                said += &format!("; {words}");
                Some(curve)
            }
            () => None,
        };
        for line in wrapped(&format::plain(&said), columns.saturating_sub(4)).lines() {
            out += &format!("  {line}\n");
        }
        out += &curve.map(|curve| format!("  {curve}\n")).unwrap_or_default();
    }
    if used.len() > SHOWN_MAX {
        out += &format!("  and {} more\n", used.len() - SHOWN_MAX);
    }
    out
}

/// What the hottest keys get: in words, and as a curve over more and more of them, each column so many times as many as the
/// one before. None where that is not known, or where there is one key.
fn popularity(source: &Source) -> Option<(String, String)> {
    let hottest = source.share_of_top(1).filter(|share| *share < 1.0)?;
    let percent = format::percent;
    let Some(keys) = source.distinct() else {
        let more = source.share_of_top(1_000)?;
        let words = format!(
            "at first, the newest key gets {} and the newest 1000 get {}",
            percent(hottest),
            percent(more)
        );
        return Some((curve(source, 1_000, "the newest key", "1000"), words));
    };
    if hottest * keys as f64 <= 1.000_001 {
        // They are all alike.
        return None;
    }
    let mut words = format!("the hottest key gets {}", percent(hottest));
    for (part, said) in [(100, "1 % of keys"), (10, "10 %")].into_iter().filter(|(part, _)| keys >= 10 * part)
    {
        words += &format!(", the hottest {said} get {}", percent(source.share_of_top(keys / part)?));
    }
    Some((curve(source, keys, "1 key", &format::plain(&format::count(keys))), words))
}

fn curve(source: &Source, keys: u64, from: &str, to: &str) -> String {
    let of_column = |column: usize| {
        let top = (keys as f64).powf(column as f64 / (CURVE - 1) as f64).round() as u64;
        source.share_of_top(top.clamp(1, keys)).unwrap_or_default()
    };
    let cells: String =
        (0..CURVE).map(|column| EIGHTHS[((of_column(column) * 8.0).round() as usize).clamp(1, 8)]).collect();
    format!("{from} {cells} {to}")
}

/// Some draws of a size: in words, and how many there are of each, each column as many times as large as the one before.
fn sizes(source: &Source, seed: u64) -> (String, String) {
    let draw = |n: u64| source.draw(seed, &Drawing { key: Key::single(n), ordinal: n, inserted: 0 });
    let mut drawn: Vec<u64> = (0..DRAWS).filter_map(draw).collect();
    drawn.sort_unstable();
    let at =
        |share: f64| drawn[(((drawn.len() as f64 * share).ceil() as usize).max(1) - 1).min(drawn.len() - 1)];
    let (least, most) = (drawn[0], at(1.0));
    let [said_least, median, high, said_most] =
        [least, at(0.5), at(0.99), most].map(|size| format::plain(&format::count(size)));
    let words = format!(
        "of {} draws the median is {median}, p99 {high}, the largest {said_most}",
        format::plain(&format::count(DRAWS))
    );
    let span = ((most as f64 + 1.0) / (least as f64 + 1.0)).ln().max(f64::MIN_POSITIVE);
    let mut counts = [0u64; CURVE];
    for size in &drawn {
        let share = ((*size as f64 + 1.0) / (least as f64 + 1.0)).ln() / span;
        counts[((share * CURVE as f64) as usize).min(CURVE - 1)] += 1;
    }
    let top = counts.iter().copied().max().unwrap_or(1) as f64;
    let height = |count: u64| match count {
        0 => 0,
        count => ((count as f64 / top * 8.0).round() as usize).clamp(1, 8),
    };
    let cells: String = counts.iter().map(|&count| EIGHTHS[height(count)]).collect();
    (format!("{said_least} {cells} {said_most}"), words)
}

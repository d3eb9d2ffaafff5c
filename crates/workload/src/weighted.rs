//! Values with weights from a file: a histogram that was measured elsewhere.

use std::collections::HashMap;
use std::io::Read;

use crate::draws::{Drawing, Draws};
use crate::error::Fault;
use crate::expression::number::{grouped, whole};
use crate::lines::Lines;

/// Weights add up to this at the most, so that a draw errs by less than 2^-11 of the smallest weight.
const TOTAL_MAX: u64 = 1 << 53;
/// Of a line. What stands in it may be nobody's business.
const NO_PAIR: &str = "this is not `value,weight`";

/// Each value with a probability of its weight over all weights, exactly, by the alias method (Walker 1977; Vose 1991) in
/// whole numbers: a value is picked evenly, and a second number says whether its alias is drawn instead.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Weighted {
    file: String,
    picks: Vec<Pick>,
    total: u64,
}

/// 24 bytes per value.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pick {
    value: u64,
    /// The value itself when the second number, below the total, is below this.
    own: u64,
    /// Whose turn it is otherwise.
    alias: u32,
}

impl Weighted {
    /// Reads lines of `value,weight`.
    pub(crate) fn read(file: &str, reader: Box<dyn Read + '_>) -> Result<Weighted, Fault> {
        let mut lines = Lines::of(reader);
        let mut values = Vec::new();
        let mut known = HashMap::new();
        let mut total = 0u64;
        while let Some((line, text)) = lines.next()? {
            let (value, weight) = text.split_once(',').ok_or_else(|| Fault::at(line, NO_PAIR))?;
            let number = |name: &str, text: &str| {
                whole(text.trim()).map_err(|_| {
                    let message =
                        format!("the {name} is not a whole number from 0 on, such as 1000, 10k or 4KiB");
                    Fault::at(line, message)
                })
            };
            let (value, weight) = (number("value", value)?, number("weight", weight)?);
            if let Some(before) = known.insert(value, line) {
                let message = format!("this value stands in line {before} already; add up the weights");
                return Err(Fault::at(line, message));
            }
            total = match total.checked_add(weight).filter(|total| *total <= TOTAL_MAX) {
                Some(total) if values.len() < u32::MAX as usize => total,
                _ => return Err(Fault::at(line, "too large: all weights together are at most 2^53")),
            };
            values.push((value, weight));
        }
        if values.is_empty() {
            return Err(Fault::of_file("has no lines; write `value,weight` in each"));
        }
        if total == 0 {
            return Err(Fault::of_file("has no weight above 0, so nothing can be drawn"));
        }
        Ok(Weighted { file: file.to_string(), picks: aliased(&values, total), total })
    }

    #[inline]
    pub(crate) fn draw(&self, seed: u64, drawing: &Drawing) -> u64 {
        let mut draws = Draws::new(seed, drawing.key);
        let pick = self.picks[draws.below(self.picks.len() as u64) as usize];
        let own = draws.below(self.total) < pick.own;
        if own { pick.value } else { self.picks[pick.alias as usize].value }
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} values by the weights of {}", grouped(self.values()), self.file)
    }

    pub(crate) fn values(&self) -> u64 {
        self.picks.len() as u64
    }

    /// The share of the draws that the `top` heaviest values get.
    pub(crate) fn share_of_top(&self, top: u64) -> f64 {
        let mut shares: Vec<u128> = self.picks.iter().map(|pick| u128::from(pick.own)).collect();
        for pick in &self.picks {
            shares[pick.alias as usize] += u128::from(self.total - pick.own);
        }
        shares.sort_unstable_by(|a, b| b.cmp(a));
        let top: u128 = shares.iter().take(usize::try_from(top).unwrap_or(usize::MAX)).sum();
        top as f64 / (self.total as f64 * self.picks.len() as f64)
    }
}

/// Each value is given a column of height `total`; `weight` times the number of values is what all columns hold of it. The
/// columns of values that don't fill theirs are filled up by those that have too much.
fn aliased(values: &[(u64, u64)], total: u64) -> Vec<Pick> {
    let n = values.len() as u128;
    let mut left: Vec<u128> = values.iter().map(|(_, weight)| u128::from(*weight) * n).collect();
    let full = u128::from(total);
    let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..values.len()).partition(|&at| left[at] < full);
    let mut picks: Vec<Pick> =
        (0..).zip(values).map(|(at, (value, _))| Pick { value: *value, own: total, alias: at }).collect();
    while let Some((&filled, &filling)) = low.last().zip(high.last()) {
        low.pop();
        picks[filled].own = left[filled] as u64;
        picks[filled].alias = filling as u32;
        left[filling] -= full - left[filled];
        if left[filling] < full {
            high.pop();
            low.push(filling);
        }
    }
    picks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Weighted, String> {
        Weighted::read("w.csv", Box::new(text.as_bytes())).map_err(|fault| format!("{fault:?}"))
    }

    /// What the columns hold of each value is its weight times the number of values: no rounding anywhere.
    #[test]
    fn the_columns_hold_exactly_the_weights() {
        for weights in
            [vec![1], vec![1, 2, 3, 4], vec![0, 7, 0, 1], vec![5; 9], vec![1, 1_000_000_007, 3, 0, 9]]
        {
            let text: String =
                (0..).zip(&weights).map(|(value, weight)| format!("{value},{weight}\n")).collect();
            let weighted = read(&text).expect("a histogram");
            let mut held = vec![0u128; weights.len()];
            for pick in &weighted.picks {
                held[pick.value as usize] += u128::from(pick.own);
                held[pick.alias as usize] += u128::from(weighted.total - pick.own);
            }
            let wanted: Vec<u128> = weights.iter().map(|w| *w as u128 * weights.len() as u128).collect();
            assert_eq!(held, wanted);
            let heaviest = *weights.iter().max().expect("some") as f64 / weighted.total as f64;
            assert!((weighted.share_of_top(1) - heaviest).abs() < 1e-12);
            assert!((weighted.share_of_top(u64::MAX) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn faulty_files_say_where() {
        for (text, line, why) in [
            ("", "None", "has no lines"),
            ("\n \n", "None", "has no lines"),
            ("1,0\n", "None", "no weight above 0"),
            ("1,2\nx\n", "Some(2)", "this is not `value,weight`"),
            ("1,2\n\n2,-1\n", "Some(3)", "the weight is not a whole number from 0 on"),
            ("value,weight\n1,2", "Some(1)", "the value is not a whole number"),
            ("4KiB,2\n4096,1\n", "Some(2)", "this value stands in line 1 already"),
            ("1,9007199254740993", "Some(1)", "at most 2^53"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(line) && error.contains(why), "{text}: {error}");
        }
    }
}

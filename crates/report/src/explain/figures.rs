//! What stands in a row of the table, with its numbers.

use super::{Explain, Row};
use crate::facts;
use crate::format::{self, Bound};

/// Quantiles of the table; 1 is the maximum.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];
/// Their names.
pub(super) const NAMES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];
const P99: usize = 2;

/// A figure is right that is off by no more than this share of what users feel …
const RIGHT_WITHIN: f64 = 0.05;
/// … or by no more than this.
const RIGHT_WITHIN_NS: u64 = 1_000_000;

/// A response time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Time {
    /// In ns.
    pub ns: u64,
    /// It is longer than this, and nobody waited to see by how much.
    pub is_bound: bool,
}

impl Time {
    /// `1.01 s`, `> 5 s`.
    pub(super) fn words(self) -> String {
        if self.is_bound { format::above(self.ns) } else { format::duration(self.ns) }
    }

    fn is_near(self, truth: Time) -> bool {
        let off = self.ns.abs_diff(truth.ns);
        match (self.is_bound, truth.is_bound) {
            (false, false) => off <= RIGHT_WITHIN_NS || off as f64 <= RIGHT_WITHIN * truth.ns as f64,
            // Both say that it is longer than anybody waited for.
            (is_bound, truth_is_bound) => is_bound && truth_is_bound,
        }
    }
}

/// How many times as long as a tool reports its users wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ratio {
    /// As both are known.
    Exact(f64),
    /// More than this: the users waited for longer than is known.
    Above(f64),
    /// Less than this: the tool did.
    Below(f64),
}

impl Ratio {
    fn of(users: Time, tool: Time) -> Option<Ratio> {
        let ratio = (tool.ns > 0).then(|| users.ns as f64 / tool.ns as f64)?;
        match (users.is_bound, tool.is_bound) {
            (false, false) => Some(Ratio::Exact(ratio)),
            (true, false) => Some(Ratio::Above(ratio)),
            (false, true) => Some(Ratio::Below(ratio)),
            (true, true) => None,
        }
    }

    /// For certain.
    pub(super) fn is_above(self, limit: f64) -> bool {
        matches!(self, Ratio::Exact(ratio) | Ratio::Above(ratio) if ratio > limit)
    }

    /// `194×`, `0.78×`, `> 100×`.
    fn words(self) -> String {
        let (sign, ratio) = match self {
            Ratio::Exact(ratio) => ("", ratio),
            Ratio::Above(ratio) => (">\u{a0}", Bound::Lower.to_digits(ratio, 2)),
            Ratio::Below(ratio) => ("<\u{a0}", Bound::Upper.to_digits(ratio, 2)),
        };
        let decimals = match ratio {
            _ if ratio >= 99.95 => return format!("{sign}{}×", format::count(ratio.round() as u64)),
            _ if ratio >= 9.95 => 1,
            _ => 2,
        };
        format!("{sign}{ratio:.decimals$}×")
    }
}

/// What stands in a row, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// In a word or two.
    pub name: String,
    /// In the words of `--client`.
    pub client: String,
    /// What it does.
    pub does: String,
    /// Does it count what its users feel? The queue of its own connections may still stand in front of them.
    pub is_felt: bool,
    /// Users who behave differently rather than a tool.
    pub is_other_users: bool,
    /// At p50, p90, p99, p99.9 and the maximum.
    pub times: [Option<Time>; 5],
    /// Which of them are right: those of users, and of other users, about whom there is no other truth.
    pub right: [bool; 5],
    /// Values that it recorded.
    pub samples: u64,
    /// Arrivals of users that it did not send; of users who wait, also those that would have come while they waited for
    /// longer than usual, even if they caught up with them later.
    pub omitted: u64,
    /// Values among the samples that it made up.
    pub invented: u64,
    /// p99 against that of users: −0.9 is 90 % too low. `None` for other users, who are right about themselves, and
    /// where one of the two is not known.
    pub p99_error: Option<f64>,
    /// The users' p99 over its own.
    pub ratio: Option<Ratio>,
}

impl Explain {
    /// What users feel, then every client.
    pub fn figures(&self) -> Vec<Figures> {
        let truth = self.of_truth();
        let rows = self.rows.iter().map(|row| figures(row, Some(&truth.times)));
        std::iter::once(truth.clone()).chain(rows).collect()
    }

    fn of_truth(&self) -> Figures {
        let row = Row {
            name: "users".into(),
            client: "ideal".into(),
            does: "come when they come, whatever the server does, and wait from then on. This is the truth."
                .into(),
            is_other_users: false,
            run: self.truth.clone(),
        };
        let mut figures = figures(&row, None);
        // Nearest rank; 1e-9 takes back what the product of two floats may have added.
        let exact = |q: f64| {
            let rank = (q * self.exact_ns.len() as f64 - 1e-9).ceil().max(1.0) as usize;
            self.exact_ns.get(rank - 1).map(|&ns| Time { ns, is_bound: false })
        };
        if !self.exact_ns.is_empty() {
            figures.times = QUANTILES.map(exact);
        }
        figures
    }
}

/// Of a client beside the times of users.
fn figures(row: &Row, truth: Option<&[Option<Time>; 5]>) -> Figures {
    let d = &row.run.response_time;
    let quantile = |q| facts::quantile(d, q).map(|at| Time { ns: at.value, is_bound: at.censored });
    // Whoever was given up waited for as long as the timeout, and for as long as the greatest of what is known.
    let least = d.quantiles.iter().filter(|at| at.censored).map(|at| at.value).max();
    let longest = match d.censored {
        0 => d.max.map(|ns| Time { ns, is_bound: false }),
        _ => least.max(Some(row.run.plan.timeout_ns)).map(|ns| Time { ns, is_bound: true }),
    };
    let times = QUANTILES.map(|q| if q < 1.0 { quantile(q) } else { longest });
    let simulated = row.run.simulated.as_ref();
    let waiting = simulated.and_then(|simulated| simulated.waiting.as_ref());
    let truth = truth.filter(|_| !row.is_other_users);
    let p99 = times[P99].zip(truth.and_then(|truth| truth[P99]));
    let is_right = |i: usize| match (times[i], truth) {
        (_, None) => true,
        (time, Some(truth)) => time.zip(truth[i]).is_some_and(|(time, truth)| time.is_near(truth)),
    };
    Figures {
        name: row.name.clone(),
        client: row.client.clone(),
        does: row.does.clone(),
        is_felt: simulated.is_some_and(|simulated| simulated.world.is_felt),
        is_other_users: row.is_other_users,
        right: std::array::from_fn(is_right),
        times,
        samples: d.count,
        omitted: simulated
            .and_then(|simulated| simulated.omitted)
            .max(waiting.map(|waiting| waiting.omitted))
            .unwrap_or(0),
        invented: simulated.map_or(0, |simulated| simulated.invented),
        p99_error: p99.and_then(|(tool, truth)| {
            let is_known = !tool.is_bound && !truth.is_bound && truth.ns > 0;
            is_known.then(|| tool.ns as f64 / truth.ns as f64 - 1.0)
        }),
        ratio: p99.and_then(|(tool, truth)| Ratio::of(truth, tool)),
    }
}

impl Figures {
    pub(super) fn p99(&self) -> Option<Time> {
        self.times[P99]
    }

    /// In one sort, wherever it has a colour: right at every percentile that is shown, and it left nobody out.
    pub(super) fn is_to_be_believed(&self) -> bool {
        self.is_right() && self.omitted == 0
    }

    /// At every percentile that is shown.
    pub fn is_right(&self) -> bool {
        self.right.iter().all(|&right| right)
    }

    /// `−98 %`, `0 %`, `+28 %`.
    pub(super) fn error(&self) -> String {
        match self.p99_error.map(|error| (error * 100.0).round()) {
            _ if self.is_other_users => "others".into(),
            None => "–".into(),
            Some(percent) if percent < 0.0 => format!("−{}\u{a0}%", -percent),
            Some(0.0) => "0\u{a0}%".into(),
            Some(percent) => format!("+{}\u{a0}%", format::number(percent)),
        }
    }

    /// The users' p99 ÷ its own: `194×`.
    pub(super) fn ratio(&self) -> String {
        match self.ratio {
            _ if self.is_other_users => "others".into(),
            None => "–".into(),
            Some(ratio) => ratio.words(),
        }
    }
}

/// A time in ms with four digits where the model is exact, three where a histogram has it; `> 5 s` where no more is known.
pub(super) fn milliseconds(time: Option<Time>, is_exact: bool) -> String {
    let Some(time) = time else { return "–".into() };
    if time.is_bound {
        return time.words();
    }
    let ms = time.ns as f64 / 1e6;
    let digits = if is_exact { 1 } else { 0 };
    let decimals = if ms >= 99.95 {
        digits
    } else if ms >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{ms:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => {
            format!("{}.{rest}", whole.parse().map_or(whole.into(), format::count))
        }
        None => text.parse().map_or(text.clone(), format::count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn time(ms: u64) -> Time {
        Time { ns: ms * 1_000_000, is_bound: false }
    }

    const fn over(ms: u64) -> Time {
        Time { ns: ms * 1_000_000, is_bound: true }
    }

    #[test]
    fn right_is_within_five_percent_or_a_millisecond() {
        for (tool, truth, is_near) in [
            (time(410), time(410), true),
            (time(430), time(410), true),
            (time(431), time(410), false),
            (time(390), time(410), true),
            (time(389), time(410), false),
            (time(525), time(410), false),
            (time(2), time(1), true),
            (time(3), time(1), false),
            (over(5_000), over(5_000), true),
            (over(31_000), over(5_000), true),
            (over(5_000), time(5_000), false),
            (time(5_000), over(5_000), false),
        ] {
            assert_eq!(tool.is_near(truth), is_near, "{tool:?} {truth:?}");
        }
    }

    #[test]
    fn ratios_say_what_is_known() {
        let said = |users, tool| Ratio::of(users, tool).map(Ratio::words);
        let some = |text: &str| Some(text.to_string());
        assert_eq!(said(time(194), time(1)), some("194×"));
        assert_eq!(said(time(410), time(525)), some("0.78×"));
        assert_eq!(said(time(393), time(10)), some("39.3×"));
        assert_eq!(said(over(5_000), time(20)), some(">\u{a0}250×"));
        assert_eq!(said(time(20), over(5_000)), some("<\u{a0}0.01×"));
        assert_eq!(said(over(5_000), over(5_000)), None);
        assert_eq!(said(time(5), time(0)), None);
        let above = |ratio: Option<Ratio>| ratio.is_some_and(|ratio| ratio.is_above(2.0));
        assert!(above(Ratio::of(over(5_000), time(20))) && !above(Ratio::of(over(5_000), time(3_000))));
        assert!(!above(Ratio::of(time(5_000), over(20))), "the tool may have waited for as long");
    }

    #[test]
    fn what_nobody_waited_for_is_longer_than_that() {
        assert_eq!(milliseconds(Some(over(5_000)), false), ">\u{a0}5\u{a0}s");
        assert_eq!(milliseconds(Some(time(194)), true), "194.0");
        assert_eq!(milliseconds(None, true), "–");
    }
}

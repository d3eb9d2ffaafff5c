//! Shares of the load: of all requests or of none, and out of which the order of the requests follows.

use anyhow::anyhow;
use unblink_core::mix::{Mix, Order};

/// Hundredths of a percent in the whole.
const WHOLE: u32 = 10_000;

/// Which request comes when.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OrderArg {
    /// In blocks with the exact shares, each in a random order of its own; the default where requests have shares
    Shuffled,
    /// Each by itself, so that each request's arrivals are independent, too
    Random,
    /// One after the other; the default where requests have no shares
    Turn,
}

/// What of the load a request has.
#[derive(serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// In hundredths of a percent.
    Percent(u32),
    /// Beside the weights of the others.
    Weight(u32),
}

/// What is wrong with the shares, and with which request's.
#[derive(PartialEq, Debug)]
pub(crate) struct WrongShare {
    pub request: usize,
    pub message: String,
}

impl From<WrongShare> for anyhow::Error {
    fn from(wrong: WrongShare) -> anyhow::Error {
        anyhow!("{}", wrong.message)
    }
}

impl Share {
    /// Reads `80%` or `0.25%`.
    pub(crate) fn percent(text: &str) -> Result<Share, String> {
        let wrong = |why: &str| format!("{text:?} is not a share: {why}");
        let number =
            text.strip_suffix('%').ok_or_else(|| wrong("expected a percentage, such as 80%"))?.trim();
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) {
            return Err(wrong("expected a percentage, such as 80%"));
        }
        if decimals.len() > 2 {
            return Err(wrong("it has more than two decimals; give each request a weight instead"));
        }
        let hundredths = format!("{whole}{decimals:0<2}").parse::<u32>().ok();
        match hundredths.filter(|hundredths| (1..=WHOLE).contains(hundredths)) {
            Some(hundredths) => Ok(Share::Percent(hundredths)),
            None => Err(wrong("expected more than 0% and at most 100%")),
        }
    }

    /// Reads `4`.
    pub(crate) fn weight(text: &str) -> Result<Share, String> {
        match text.parse::<u32>() {
            Ok(0) => {
                Err("a request with the weight 0 is never sent: leave it out, or give it 1 or more".into())
            }
            Ok(weight) => Ok(Share::Weight(weight)),
            Err(_) => {
                Err(format!("{text:?} is not a weight: expected a whole number from 1 to {}", u32::MAX))
            }
        }
    }
}

/// The weights that the requests of a run have; none where no request has a share.
pub(crate) fn weights(shares: &[Option<Share>]) -> Result<Option<Vec<u32>>, WrongShare> {
    let Some(first) = shares.iter().flatten().next() else { return Ok(None) };
    let mut weights = Vec::with_capacity(shares.len());
    for (request, share) in shares.iter().enumerate() {
        weights.push(match (first, share) {
            (Share::Percent(_), Some(Share::Percent(n))) | (Share::Weight(_), Some(Share::Weight(n))) => *n,
            (_, None) => {
                let message =
                    "this request has no share, and others have: give all of them one, or none".into();
                return Err(WrongShare { request, message });
            }
            (_, Some(_)) => {
                let message =
                    "some requests have a share and some a weight: give all of them the same".into();
                return Err(WrongShare { request, message });
            }
        });
    }
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    if matches!(first, Share::Percent(_)) && sum != u64::from(WHOLE) {
        let message = format!(
            "the shares of all requests sum to {}, not to 100%: change them, or give weights, which need no sum",
            in_percent(sum)
        );
        return Err(WrongShare { request: shares.len() - 1, message });
    }
    Ok(Some(weights))
}

fn in_percent(hundredths: u64) -> String {
    match (hundredths / 100, hundredths % 100) {
        (whole, 0) => format!("{whole}%"),
        (whole, rest) => format!("{}%", format!("{whole}.{rest:02}").trim_end_matches('0')),
    }
}

/// How the requests follow each other.
pub(crate) fn mix(weights: Option<&[u32]>, order: Option<OrderArg>, seed: u64) -> Mix {
    let order = match (order, weights) {
        (Some(OrderArg::Shuffled), _) | (None, Some(_)) => Order::Shuffled { seed },
        (Some(OrderArg::Random), _) => Order::Random { seed },
        (Some(OrderArg::Turn), _) | (None, None) => Order::Turn,
    };
    Mix { weights: weights.map(<[u32]>::to_vec), order, ..Mix::default() }
}

/// Of each request, from 0 to 1.
pub(crate) fn parts(weights: &[u32]) -> impl Iterator<Item = f64> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    weights.iter().map(move |&weight| f64::from(weight) / sum as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_exactly() {
        for (text, hundredths) in [("80%", 8_000), ("0.25%", 25), ("33.3%", 3_330), ("100 %", 10_000)] {
            assert_eq!(Share::percent(text), Ok(Share::Percent(hundredths)), "{text}");
        }
        for bad in ["80", "0%", "0.00%", "101%", "-1%", "1e1%", ".5%", "5.%", "%", "99999999999%", "NaN%"] {
            assert!(Share::percent(bad).is_err(), "{bad}");
        }
        assert!(Share::percent("0.125%").unwrap_err().contains("two decimals"));
        assert_eq!(Share::weight("4"), Ok(Share::Weight(4)));
        assert!(Share::weight("0").unwrap_err().contains("never sent"));
        for bad in ["", "-1", "1.5", "4294967296"] {
            assert!(Share::weight(bad).unwrap_err().contains("not a weight"), "{bad}");
        }
    }

    #[test]
    fn all_requests_have_a_share_or_none() {
        let (percent, weight) = (|n| Some(Share::Percent(n)), |n| Some(Share::Weight(n)));
        assert_eq!(weights(&[None, None]), Ok(None));
        assert_eq!(weights(&[percent(8_000), percent(2_000)]), Ok(Some(vec![8_000, 2_000])));
        assert_eq!(weights(&[weight(4), weight(1)]), Ok(Some(vec![4, 1])));
        for (shares, request, part) in [
            ([percent(8_000), percent(1_550)], 1, "sum to 95.5%"),
            ([percent(8_000), percent(3_000)], 1, "sum to 110%"),
            ([percent(8_000), None], 1, "has no share"),
            ([None, weight(1)], 0, "has no share"),
            ([percent(8_000), weight(1)], 1, "the same"),
        ] {
            let wrong = weights(&shares).unwrap_err();
            assert!(wrong.request == request && wrong.message.contains(part), "{wrong:?}");
        }
    }
}

//! A share of a load that several machines offer together: `run --share`.

use clap::Args;
use jiff::Timestamp;
use unblink_core::plan::SHARES_MAX;

/// What one of several machines does of a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Many machines")]
pub(crate) struct ShareArgs {
    /// Offer only this share of the load, such as 2/4, or several, such as 3-4/8, each with a thread of its own; other machines
    /// offer the others, from the same plan, --seed and --start-at, and unblink merge makes one run of all
    #[arg(long, value_name = "K/N", requires = "start_at", conflicts_with_all = ["threads", "agents"], value_parser = share)]
    pub share: Option<ShareOf>,

    /// Begin at this time (RFC 3339, such as 2030-01-01T12:00:00Z), by the clock of this machine
    #[arg(long, value_name = "TIME", conflicts_with = "agents", value_parser = start_at)]
    pub start_at: Option<Timestamp>,

    /// What makes requests of this run unlike those of all others, where a coordinator says so
    #[arg(skip)]
    pub run_seed: Option<u64>,
}

/// Some of the shares of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShareOf {
    /// From 1.
    pub first: u32,
    pub last: u32,
    pub of: u32,
}

impl ShareOf {
    /// Each of them has a thread.
    pub(crate) fn threads(self) -> u32 {
        self.last - self.first + 1
    }
}

fn share(text: &str) -> Result<ShareOf, String> {
    let wrong = |why: String| {
        format!("{why}; expected which share of how many, such as 2/4, or several, such as 3-4/8")
    };
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong(format!("{text:?} is not a number")));
    let (which, of) = text.split_once('/').ok_or_else(|| wrong("there is no slash".into()))?;
    let (first, last) = which.split_once('-').unwrap_or((which, which));
    let found = ShareOf { first: number(first)?, last: number(last)?, of: number(of)? };
    let ShareOf { first, last, of } = found;
    if of > SHARES_MAX {
        return Err(wrong(format!("a load has at most {SHARES_MAX} shares")));
    }
    if first == 0 {
        return Err(wrong("shares are counted from 1".into()));
    }
    if last < first {
        return Err(wrong(format!("{first}-{last} is not a range")));
    }
    if last > of {
        return Err(wrong(format!("there is no share {last} of {of}")));
    }
    Ok(found)
}

fn start_at(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| {
        format!(
            "{text:?} is not a time as in RFC 3339, with its date and its zone, such as 2030-01-01T12:00:00Z"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_share_or_several() {
        assert_eq!(share("2/4"), Ok(ShareOf { first: 2, last: 2, of: 4 }));
        assert_eq!(share("3-4/8").map(ShareOf::threads), Ok(2));
        assert_eq!(share("1-1024/1024").map(ShareOf::threads), Ok(1024));
        for bad in
            ["", "2", "/", "0/4", "5/4", "2-1/4", "-1/4", "1/4/2", "1/1025", "a/b", "1/99999999999", "1/0"]
        {
            assert!(share(bad).unwrap_err().contains("expected which share of how many"), "{bad}");
        }
    }

    #[test]
    fn the_start_has_a_date_and_a_zone() {
        assert!(start_at("2026-11-27T12:00:00Z").is_ok());
        assert_eq!(start_at("2026-11-27T13:00:00+01:00"), start_at("2026-11-27T12:00:00Z"));
        for bad in ["", "12:00", "2026-11-27T12:00:00", "in 5s"] {
            assert!(start_at(bad).is_err(), "{bad}");
        }
    }
}

//! Which part of a run counts, and how long it goes on: values of `--warmup` and the flags of `--precision`.

use crate::value;
use clap::Args;
use unblink_analysis::quantile::QUANTILES;
use unblink_core::time::Nanos;

/// `--warmup`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Warmup {
    /// Load before the measured part.
    Time(Nanos),
    /// The end of the transient is found when the run has ended.
    Auto,
}

impl Warmup {
    /// What is known before the run.
    pub(crate) fn planned(self) -> Nanos {
        match self {
            Warmup::Time(time) => time,
            Warmup::Auto => Nanos::ZERO,
        }
    }
}

/// `auto`, or a time.
pub(crate) fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "auto" => Ok(Warmup::Auto),
        text => value::duration(text).map(Warmup::Time).map_err(|error| format!("{error}, or auto")),
    }
}

/// How well a percentile is to be known; by default the run lasts as long as it is told to.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PrecisionArgs {
    /// Run until a percentile is known this precisely: its 95 % interval lies within this percentage of it
    #[arg(long, value_name = "PERCENT", help_heading = "Load", allow_hyphen_values = true, value_parser = share,
          conflicts_with_all = ["duration", "requests", "closed"])]
    pub precision: Option<f64>,

    /// The percentile that --precision is about [default: p99]
    #[arg(long, value_name = "PERCENTILE", help_heading = "Load", value_parser = percentile)]
    pub precision_of: Option<f64>,

    /// With --precision: end the load after this time at the latest [default: 10m]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub max_duration: Option<Nanos>,
}

impl PrecisionArgs {
    /// The percentile that is to be known well.
    pub(crate) fn quantile(&self) -> f64 {
        self.precision_of.unwrap_or(0.99)
    }

    /// The load ends then in any case.
    pub(crate) fn max_duration(&self) -> Nanos {
        self.max_duration.unwrap_or(Nanos::from_secs(600))
    }
}

/// `5%`, as a share of 1; more than 0 and less than 100 %.
fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end();
    let percent = number.parse::<f64>().ok().filter(|percent| percent.is_finite());
    match percent {
        Some(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        Some(_) => Err(format!("{text:?} is out of range: more than 0% and less than 100%, such as 5%")),
        None => Err(format!("{text:?} is not a share: expected a percentage, such as 5%")),
    }
}

/// `p99` as 0.99; one of those that every table prints.
pub(super) fn percentile(text: &str) -> Result<f64, String> {
    let names = QUANTILES.map(unblink_report::format::quantile_label);
    let place = names.iter().position(|name| name == text);
    place.map(|i| QUANTILES[i]).ok_or_else(|| {
        format!("{text:?} is not one of the printed percentiles: expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_times() {
        assert_eq!(warmup("auto"), Ok(Warmup::Auto));
        assert_eq!(warmup("2s"), Ok(Warmup::Time(Nanos::from_secs(2))));
        assert!(warmup("automatic").unwrap_err().ends_with(", or auto"));
    }

    #[test]
    fn shares_and_percentiles() {
        assert_eq!((share("5%"), share("2.5 %"), share("10")), (Ok(0.05), Ok(0.025), Ok(0.1)));
        for bad in ["0%", "100%", "-1%", "101", "five", "%", "", "inf%", "NaN"] {
            assert!(share(bad).is_err(), "{bad}");
        }
        assert_eq!((percentile("p99"), percentile("p99.9")), (Ok(0.99), Ok(0.999)));
        assert!(percentile("99").unwrap_err().contains("p50, p75, p90"));
        assert!(percentile("p42").is_err() && percentile("p100").is_err() && percentile("max").is_err());
    }
}

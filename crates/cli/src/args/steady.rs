//! Which part of a run counts: values of `--warmup`.

use super::value;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_times() {
        assert_eq!(warmup("auto"), Ok(Warmup::Auto));
        assert_eq!(warmup("2s"), Ok(Warmup::Time(Nanos::from_secs(2))));
        assert!(warmup("automatic").unwrap_err().ends_with(", or auto"));
    }
}

//! What is tried again: flags that every command with a load has in common.

use crate::{expect, value};
use clap::Args;
use unblink_core::code::Code;
use unblink_core::dispatch::{ATTEMPTS_MAX, RetryOn};
use unblink_core::failure::FailureKind;
use unblink_core::time::Nanos;

/// Retries; none unless there may be more than one attempt.
#[derive(Args, Clone, Debug)]
pub(crate) struct RetryArgs {
    /// Try a request that fails again, up to this many attempts in all; its response time covers all of them
    #[arg(long, value_name = "COUNT", default_value = "1", help_heading = "Retry", allow_hyphen_values = true,
          value_parser = attempts)]
    pub attempts: u32,

    /// Failures after which a request is tried again: statuses (503, 5xx), codes (UNAVAILABLE of gRPC, LOADING of Redis), connect, reset
    /// [default: 429,5xx,connect,reset]
    #[arg(long, value_name = "LIST", help_heading = "Retry", value_parser = on)]
    pub retry_on: Option<OnFailures>,

    /// Give up an attempt that takes longer and try again; the last attempt is waited for until --timeout
    #[arg(long, value_name = "TIME", help_heading = "Retry", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub try_timeout: Option<Nanos>,

    /// Wait this long after the first attempt, and twice as long after each further one [default: 100ms]
    #[arg(long, value_name = "TIME", help_heading = "Retry", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub retry_wait: Option<Nanos>,

    /// Shorten these waits at random: `equal` by up to a half, `full` down to nothing [default: none]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Retry")]
    pub retry_jitter: Option<JitterArg>,

    /// Allow no more retries than this percentage of the requests so far; each thread keeps to it for its share
    #[arg(long, value_name = "PERCENT", help_heading = "Retry", allow_hyphen_values = true, value_parser = budget)]
    pub retry_budget: Option<u32>,

    /// Also retry requests that are not safe to send twice, such as POST
    #[arg(long, help_heading = "Retry", value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, action = clap::ArgAction::Set)]
    pub retry_unsafe: bool,
}

impl RetryArgs {
    /// Failures after which a request is tried again.
    pub(crate) fn on(&self) -> OnFailures {
        self.retry_on.clone().unwrap_or_else(|| on("429,5xx,connect,reset").expect("these are failures"))
    }

    /// From the first attempt to the second.
    pub(crate) fn wait(&self) -> Nanos {
        self.retry_wait.unwrap_or(Nanos::from_millis(100))
    }

    /// What is taken away from each wait.
    pub(crate) fn jitter(&self) -> JitterArg {
        self.retry_jitter.unwrap_or(JitterArg::None)
    }
}

/// How much of a wait chance takes away.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JitterArg {
    /// The waits are as long as they are
    None,
    /// Up to half of each wait
    Equal,
    /// Up to all of it
    Full,
}

/// A set of failures, and how it was written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OnFailures {
    pub text: String,
    pub set: RetryOn,
    /// Some are statuses of HTTP.
    pub has_statuses: bool,
    /// Those whose codes some of them name.
    pub protocols: Vec<&'static str>,
}

fn attempts(text: &str) -> Result<u32, String> {
    value::at_most(ATTEMPTS_MAX, "attempts", text)
}

/// `429,5xx,connect,reset`.
fn on(text: &str) -> Result<OnFailures, String> {
    let (mut set, mut has_statuses, mut protocols) = (RetryOn::default(), false, Vec::new());
    for word in text.split(',').map(str::trim) {
        let kinds: &[FailureKind] = match word {
            "connect" => {
                &[FailureKind::CONNECT_REFUSED, FailureKind::CONNECT_TIMEOUT, FailureKind::CONNECT_FAILED]
            }
            "reset" => &[FailureKind::RESET, FailureKind::CLOSED_EARLY],
            word => {
                if let Some(named) = expect::code(word) {
                    Code::at(named.place).into_iter().for_each(|code| set.add_code(code));
                    protocols.push(named.protocol);
                    continue;
                }
                let statuses = expect::status_range(word).ok_or_else(|| {
                    format!("{word:?} is not a failure: expected a status (503), a class of them (5xx), connect, \
                             reset, or a code such as UNAVAILABLE (gRPC), LOADING (Redis), deadlock_detected (PostgreSQL) or \
                             overloaded (CQL)")
                })?;
                statuses.filter_map(Code::of_status).for_each(|code| set.add_code(code));
                has_statuses = true;
                &[]
            }
        };
        kinds.iter().for_each(|&kind| set.add_kind(kind));
    }
    Ok(OnFailures {
        text: text.split(',').map(str::trim).collect::<Vec<_>>().join(","),
        set,
        has_statuses,
        protocols,
    })
}

/// `20%`, in percent.
fn budget(text: &str) -> Result<u32, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim_end().parse::<u32>().ok());
    percent.filter(|&percent| percent > 0).ok_or_else(|| {
        format!(
            "{text:?} is not a valid budget: expected a whole percentage of the requests so far, such as 20%"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_by_name() {
        let of = |text| on(text).unwrap().set;
        assert!(of("429, 5xx").includes(&of("503")) && of("5xx").includes(&of("500,599")));
        assert!(!of("5xx").includes(&of("429")) && !of("reset").includes(&of("connect")));
        assert_eq!(on("503, reset").unwrap().text, "503,reset");
        for bad in ["", "503,", "timeout", "6xx", "99", "5x"] {
            assert!(on(bad).unwrap_err().contains("5xx"), "{bad}");
        }
        // What is written as no protocol writes it is told how each does.
        let said = on("LOADING,loading").unwrap_err();
        assert!(said.starts_with("\"loading\" is not"), "{said}");
        for code in ["UNAVAILABLE", "LOADING", "deadlock_detected", "overloaded"] {
            assert!(
                said.contains(code) && on(code).is_ok_and(|on| on.protocols.len() == 1),
                "{code}: {said}"
            );
        }
    }

    #[test]
    fn budgets_and_attempts() {
        assert_eq!((budget("20%"), budget("100 %")), (Ok(20), Ok(100)));
        for bad in ["20", "0%", "-1%", "1.5%", "%", ""] {
            assert!(budget(bad).is_err(), "{bad}");
        }
        assert_eq!((attempts("1"), attempts("100")), (Ok(1), Ok(100)));
        assert!(attempts("0").is_err() && attempts("101").is_err());
    }
}

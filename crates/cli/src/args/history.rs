//! The history of runs: its commands and their flags, and those by which a run is kept in it.

use crate::value;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::path::PathBuf;
use unblink_artifact::harmless::is_harmful;
use unblink_core::time::{Nanos, SECOND_NS};
use unblink_store::Location;

/// Where the history is.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreArgs {
    /// Where the history is: a SQLite file, or postgres://USER@HOST/DATABASE [default: $UNBLINK_STORE, or
    /// unblink/history.db in the user's data folder]
    #[arg(long, value_name = "PATH|URL", help_heading = "History", value_parser = Location::parse)]
    pub store: Option<Location>,
}

/// How a run is kept in it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    pub store: StoreArgs,

    /// Don't add this to the history
    #[arg(long, conflicts_with = "store", help_heading = "History")]
    pub no_store: bool,

    /// Tag this in the history, such as commit=3f2a91c; may be given several times
    #[arg(long, value_name = "KEY=VALUE", help_heading = "History", value_parser = tag)]
    pub tag: Vec<Tag>,
}

/// Runs from when on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Since {
    Moment(Timestamp),
    /// So long before now.
    Ago(Nanos),
}

/// A key and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tag {
    pub key: String,
    pub value: String,
}

/// A key, with its value or with any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TagFilter {
    pub key: String,
    pub value: Option<String>,
}

const HISTORY_HELP: &str = "\
EXAMPLES
  unblink history
  unblink history --target checkout --since 7d --verdict fail
  unblink history --tag branch=main --json | jq '.runs[].response_time'

EXIT STATUS
  0 shown   2 wrong usage";

/// List the runs that were recorded on this machine or added with `unblink index`, newest first.
#[derive(Args, Debug)]
#[command(after_help = HISTORY_HELP)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub which: WhichArgs,

    /// Only runs with this validity
    #[arg(long, value_name = "STATUS", value_parser = ["valid", "degraded", "invalid"])]
    pub validity: Option<String>,

    /// Only runs with this verdict
    #[arg(long, value_name = "STATUS", value_parser = ["pass", "fail", "inconclusive"])]
    pub verdict: Option<String>,

    /// List at most this many runs
    #[arg(long, value_name = "COUNT", default_value_t = 20, allow_hyphen_values = true,
          value_parser = value::positive)]
    pub limit: u32,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Print the list as JSON instead of the text
    #[arg(long)]
    pub json: bool,
}

/// Which runs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WhichArgs {
    /// Only runs that have this text in the URL of a request
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,

    /// Only runs with this tag; may be given several times
    #[arg(long, value_name = "KEY[=VALUE]", value_parser = tag_filter)]
    pub tag: Vec<TagFilter>,

    /// Only runs that started since then: an age (7d, 12h), a day (UTC), or a time as in RFC 3339
    #[arg(long, value_name = "TIME|DATE", value_parser = since)]
    pub since: Option<Since>,
}

const TREND_HELP: &str = "\
EXAMPLES
  unblink trend                            the series of the newest run
  unblink trend 3f9a1c2e --percentile p95  the series of this run
  unblink trend --target checkout --tag branch=main --svg trend.svg
  unblink trend nightly/                   the highest rates found by unblink knee, from the searches in a folder

Runs with the same load and target form a series; so do searches for the same objective from the same machine. A change
is reported when runs in random order would show one as clear in at most 1 of 100 cases. Each side of a change has at
least three runs.

EXIT STATUS
  0 shown   2 wrong usage, or the runs don't exist";

/// Draw a percentile of response time over the runs of a series, or the highest rate over the searches of
/// `unblink knee`, and find where its level changed.
#[derive(Args, Debug)]
#[command(after_help = TREND_HELP)]
pub(crate) struct TrendArgs {
    /// A run of the series [default: the newest match], or folders of `unblink knee`
    #[arg(value_name = "RUN|FOLDER")]
    pub runs: Vec<String>,

    /// The percentile of response time [default: p99]
    #[arg(long, value_name = "PERCENTILE", value_parser = super::steady::percentile)]
    pub percentile: Option<f64>,

    #[command(flatten)]
    pub which: WhichArgs,

    /// Look at this many of the newest runs, at most 500 [default: 200]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=500))]
    pub last: Option<u32>,

    /// The tag that labels the runs [default: commit, or else label]
    #[arg(long, value_name = "KEY", value_parser = name)]
    pub label: Option<String>,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Write the picture to this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Print the series as JSON instead of the text
    #[arg(long)]
    pub json: bool,
}

const SHOW_HELP: &str = "\
EXAMPLES
  unblink show 3f9a1c2e      the first digits are enough
  unblink show latest
  unblink show latest --arrival 83694          what this arrival sent
  unblink show latest --arrival 83694 --curl   the same as a command
  unblink show latest --failures     what failed and how, if --keep-failures was given

EXIT STATUS
  0 shown   2 wrong usage, or the run doesn't exist";

/// Show a run: the report from its folder, or the figures in the history if the folder is gone. With --arrival, draw the
/// request of an arrival again: from the run's command, its plan and its files, in the folder in which it was started.
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct ShowArgs {
    /// The run's name in `unblink history`, `latest`, or its folder
    #[arg(value_name = "RUN")]
    pub run: String,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Show what the arrival with this number sent, and send nothing
    #[arg(long, value_name = "NUMBER")]
    pub arrival: Option<u64>,

    /// Show the requests that failed, with their answers, if the run kept some (--keep-failures)
    #[arg(long, conflicts_with = "arrival")]
    pub failures: bool,

    /// With --arrival: print it as a command of curl
    #[arg(long, requires = "arrival", conflicts_with = "json")]
    pub curl: bool,

    /// Print the run's entry in the history as JSON instead of the text; with --arrival, the request; with --failures,
    /// those that failed
    #[arg(long)]
    pub json: bool,
}

const INDEX_HELP: &str = "\
EXAMPLES
  unblink index unblink-runs
  unblink index /archive/runs --store postgres://me@db.test/unblink

EXIT STATUS
  0 added   2 wrong usage, or nothing could be added";

/// Add run folders to the history. Adding a run again is safe: its tags and baselines stay. Use this to rebuild a lost
/// history.
#[derive(Args, Debug)]
#[command(after_help = INDEX_HELP)]
pub(crate) struct IndexArgs {
    /// Run folders, or folders that contain run folders at any depth
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Print the runs that were added as JSON instead of the text
    #[arg(long)]
    pub json: bool,
}

const TAG_HELP: &str = "\
EXAMPLES
  unblink tag latest commit=3f2a91c branch=main
  unblink tag 3f9a1c2e branch=          removes the tag

EXIT STATUS
  0 tagged   2 wrong usage, or the run doesn't exist";

/// Tag a run. Tags are also saved in the run's folder (labels.json), so they are kept when the run is indexed elsewhere.
#[derive(Args, Debug)]
#[command(after_help = TAG_HELP)]
pub(crate) struct TagArgs {
    /// The run's name in `unblink history`, or `latest`
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Tags to set; an empty value removes the tag
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = tag)]
    pub tags: Vec<Tag>,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Print the run as JSON instead of the text
    #[arg(long)]
    pub json: bool,
}

/// Named sets of runs to compare against.
#[derive(Subcommand, Debug)]
pub(crate) enum BaselineCommand {
    /// Make these runs a baseline, replacing the runs it had
    Set(BaselineSetArgs),
    /// List the runs of a baseline
    Show(BaselineShowArgs),
}

const BASELINE_HELP: &str = "\
EXAMPLES
  unblink baseline set 3f9a1c2e 91d0aa42 5be07f11 0c44e2b9 77f1d3c8
  unblink compare baseline:main branch-runs/

EXIT STATUS
  0 done   2 wrong usage, or the run doesn't exist";

/// Make these runs a baseline, replacing the runs it had.
#[derive(Args, Debug)]
#[command(after_help = BASELINE_HELP)]
pub(crate) struct BaselineSetArgs {
    /// The runs' names in `unblink history`; a comparison needs five or more for a verdict
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// The baseline's name
    #[arg(long, value_name = "NAME", default_value = "main", value_parser = name)]
    pub name: String,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Print its runs as JSON instead of the text
    #[arg(long)]
    pub json: bool,
}

/// List the runs of a baseline.
#[derive(Args, Debug)]
#[command(after_help = BASELINE_HELP)]
pub(crate) struct BaselineShowArgs {
    /// The baseline's name
    #[arg(value_name = "NAME", default_value = "main", value_parser = name)]
    pub name: String,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Print its runs as JSON instead of the text
    #[arg(long)]
    pub json: bool,
}

/// A longer value is no tag but a text.
const VALUE_MAX: usize = 200;

fn tag(text: &str) -> Result<Tag, String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(format!("{text:?} is not a tag: expected KEY=VALUE, such as commit=3f2a91c"));
    };
    if value.chars().count() > VALUE_MAX || value.contains(is_harmful) {
        return Err(format!("the value of {key:?} must be one line of at most {VALUE_MAX} characters"));
    }
    Ok(Tag { key: name(key)?, value: value.into() })
}

fn tag_filter(text: &str) -> Result<TagFilter, String> {
    match text.split_once('=') {
        Some(_) => tag(text).map(|Tag { key, value }| TagFilter { key, value: Some(value) }),
        None => Ok(TagFilter { key: name(text)?, value: None }),
    }
}

fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    match !text.is_empty() && text.chars().count() <= 60 && text.chars().all(is_plain) {
        true => Ok(text.into()),
        false => Err(format!("{text:?} is not a name: expected letters, digits and - _ . /")),
    }
}

/// `7d`, `2026-01-31` or `2026-01-31T12:00:00Z`. A number alone would be taken for days, or for seconds, or for a year.
fn since(text: &str) -> Result<Since, String> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let moment = text.parse::<Timestamp>().ok().or_else(day).map(Since::Moment);
    moment.or_else(|| ago(text).map(Since::Ago)).ok_or_else(|| {
        format!(
            "{text:?} is not a time: expected an age such as 7d or 12h, 2026-01-31, or 2026-01-31T12:00:00Z"
        )
    })
}

/// Weeks, or a time as everywhere; a number alone is none.
fn ago(text: &str) -> Option<Nanos> {
    match text.strip_suffix('w') {
        Some(weeks) => weeks.parse::<u64>().ok()?.checked_mul(7 * 24 * 60 * 60 * SECOND_NS).map(Nanos),
        None => value::duration(text).ok().filter(|_| text.ends_with(char::is_alphabetic)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        assert_eq!(tag("a/b=c=d"), Ok(Tag { key: "a/b".into(), value: "c=d".into() }));
        assert_eq!(tag("a=").map(|tag| tag.value), Ok(String::new()));
        for bad in ["", "a", "=x", "a b=c", "a=\n"] {
            assert!(tag(bad).is_err(), "{bad}");
        }
        assert_eq!(tag_filter("a"), Ok(TagFilter { key: "a".into(), value: None }));
    }

    #[test]
    fn days_and_times() {
        assert_eq!(since("2026-01-31"), since("2026-01-31T00:00:00Z"));
        let days = |days: u64| Ok(Since::Ago(Nanos(days * 86_400_000_000_000)));
        assert_eq!(
            (since("7d"), since("2w"), since("36h")),
            (days(7), days(14), Ok(Since::Ago(Nanos::from_secs(36 * 3600))))
        );
        for bad in ["", "yesterday", "2026-02-30", "12:00", "7", "-7d", "d", "7 days", "99999999999d"] {
            assert!(since(bad).is_err(), "{bad}");
        }
    }
}

//! `unblink import` and `unblink trace`: their flags.

use crate::value;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use unblink_core::time::Nanos;

/// Kinds of logs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// nginx: --log-format is its log_format, by default combined
    Nginx,
    /// Apache: --log-format is its LogFormat, by default combined
    Apache,
    /// The common log with referer and user agent, of any server
    Combined,
    /// The common log, of any server
    Common,
    /// An object in each line; --map says what its fields are
    Json,
    /// Envoy's default
    Envoy,
    /// AWS Application Load Balancer
    Alb,
    /// HTTP archive, as browsers save it
    Har,
    /// GoReplay's files
    Gor,
}

const IMPORT_HELP: &str = "\
EXAMPLES
  unblink import access.log --format nginx -o hour.trace
  unblink import access.log.gz --format nginx -o hour.trace --log-format \\
    '$remote_addr [$msec] \"$request\" $status $body_bytes_sent $request_time'
  unblink import app.jsonl --format json -o hour.trace --map end=ts,duration=took:ms,path=url,method=verb,user=account
  kubectl logs gateway | unblink import - --format envoy -o hour.trace

EXIT STATUS
  0 imported   2 wrong usage, or no request could be read   130 interrupted";

/// Make a trace of access logs: when each request started, and what it asked. Ids in paths and users become keyed
/// numbers; query values, headers and bodies are left out. docs/traces.md has the format and all fields.
#[derive(Args, Debug)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArgs {
    /// Logs, the oldest first; .gz and .zst are unpacked, `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What wrote them
    #[arg(long, value_enum)]
    pub format: LogFormat,
    /// The trace to write; it takes the place of a file of this name once it is whole
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub log: LogArgs,
    /// Keep what is otherwise left out or numbered: path, query, query.FIELD, user, header.NAME
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Number users and ids with the secret in this file, so that two imports agree [default: a new secret each time]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// How a log is read.
#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// The log_format or LogFormat, as it stands in the server's configuration
    #[arg(long, value_name = "TEXT")]
    pub log_format: Option<String>,
    /// Which field of the log is what, such as start=ts: time, start, end, duration (with its unit, duration=took:ms),
    /// request, method, path, query, status, bytes, request_bytes, user
    #[arg(long, value_name = "ROLE=FIELD", value_delimiter = ',')]
    pub map: Vec<String>,
    /// How many requests are held while they are sorted by their start
    #[arg(long, value_name = "REQUESTS", default_value = "131072", value_parser = window)]
    pub window: u32,
}

impl LogArgs {
    /// Any of them is given.
    pub(crate) fn are_given(&self) -> bool {
        self.log_format.is_some() || !self.map.is_empty() || self.window != WINDOW
    }
}

/// Requests that are held unless more are asked for.
const WINDOW: u32 = 131_072;
/// More would take several GiB.
const WINDOW_MAX: u64 = 10_000_000;

fn window(text: &str) -> Result<u32, String> {
    match value::count(text)? {
        n if n > WINDOW_MAX => Err(format!("at most {WINDOW_MAX} requests can be held")),
        n => Ok(n as u32),
    }
}

/// Traces.
#[derive(Subcommand, Debug)]
pub(crate) enum TraceCommand {
    /// Show what is in a trace: rate, mix, sizes, users, burstiness
    Show(TraceShowArgs),
    /// Write a part of a trace
    Cut(CutArgs),
    /// Write a share of the users of a trace
    Sample(SampleArgs),
    /// Write several traces as one, by the clock
    Merge(MergeArgs),
}

const SHOW_HELP: &str = "\
EXAMPLES
  unblink trace show hour.trace
  unblink trace show hour.trace --json | jq .routes

EXIT STATUS
  0 shown   2 wrong usage";

/// Read a trace to its end and show what is in it.
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct TraceShowArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Print it as JSON (`unblink schema trace-summary` prints the schema)
    #[arg(long)]
    pub json: bool,
}

const CUT_HELP: &str = "\
EXAMPLES
  unblink trace cut day.trace --from 12h --to 13h -o noon.trace

EXIT STATUS
  0 written   2 wrong usage, or no request would be left";

/// Write the requests that started in a part of a trace. The part begins at --from.
#[derive(Args, Debug)]
#[command(after_help = CUT_HELP)]
pub(crate) struct CutArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Where the part begins, counted from the start of the trace
    #[arg(long, value_name = "TIME", value_parser = value::duration, default_value = "0")]
    pub from: Nanos,
    /// Where it ends [default: at the end of the trace]
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub to: Option<Nanos>,
    /// The trace to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// What a sample is drawn of.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SampleBy {
    /// Users, each with all requests
    User,
    /// Requests
    Request,
}

const SAMPLE_HELP: &str = "\
EXAMPLES
  unblink trace sample hour.trace 10% -o tenth.trace

EXIT STATUS
  0 written   2 wrong usage, or no request would be left";

/// Write the requests of a share of the users. The same share always draws the same users, and a larger one draws these
/// users, too.
#[derive(Args, Debug)]
#[command(after_help = SAMPLE_HELP)]
pub(crate) struct SampleArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// How much of it: 10%, 0.5%
    #[arg(value_name = "SHARE", value_parser = millionths)]
    pub share: u32,
    /// What is drawn
    #[arg(long, value_enum, default_value_t = SampleBy::User)]
    pub by: SampleBy,
    /// The trace to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

const MERGE_HELP: &str = "\
EXAMPLES
  unblink trace merge web1.trace web2.trace -o both.trace

EXIT STATUS
  0 written   2 wrong usage";

/// Write the requests of several traces in the order in which they started.
#[derive(Args, Debug)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// The traces
    #[arg(value_name = "TRACE", required = true, num_args = 2..)]
    pub traces: Vec<PathBuf>,
    /// The trace to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// A share in percent, as millionths.
fn millionths(text: &str) -> Result<u32, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    match percent {
        Some(percent) if percent > 0.0 && percent <= 100.0 => {
            Ok(((percent * 10_000.0).round() as u32).max(1))
        }
        _ => Err(format!("{text:?} is not a share: expected a percentage above 0%, such as 10%")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(["10%", "0.5%", "100%"].map(millionths), [Ok(100_000), Ok(5_000), Ok(1_000_000)]);
        for wrong in ["10", "0%", "-5%", "101%", "%", "NaN%", "inf%"] {
            assert!(millionths(wrong).is_err(), "{wrong}");
        }
        assert!(window("20m").is_err() && window("0").is_err() && window("1k") == Ok(1000));
    }
}

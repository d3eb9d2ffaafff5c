//! `unblink fill`: its flags.

use super::tls::TlsArgs;
use crate::request::workload::WorkloadArgs;
use crate::value;
use clap::Args;
use std::path::PathBuf;

const HELP: &str = "\
EXAMPLES
  unblink fill redis://127.0.0.1:6379/0 --workload ycsb-a --set recordcount=1M
  unblink fill postgres://bench@127.0.0.1/shop --workload ycsb-a --create --set recordcount=1M
  unblink fill postgres://bench@127.0.0.1/shop -P workloada --create
  unblink fill cql://127.0.0.1/ycsb --workload ycsb-a --create --set recordcount=1M
  unblink fill redis://127.0.0.1:6379/0 --workload ycsb-a --set recordcount=1M --resume

EXIT STATUS
  0 filled, and what was read again is right   1 what was read again is wrong
  2 wrong usage, or the store can't be filled   130 interrupted: --resume goes on";

/// The records of a workload of YCSB are written as fast as the store takes them. Then their number is asked for, and the contents of
/// 1,000 of them. A store that has something in it is refused.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct FillArgs {
    /// The store, as in `unblink run`
    #[arg(value_name = "URL")]
    pub url: String,

    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// Create the workload's table first, and the keyspace of Cassandra, if they are not there; Redis needs none
    #[arg(long, help_heading = "Filling")]
    pub create: bool,

    /// Go on where a fill was interrupted, by its file of progress
    #[arg(long, help_heading = "Filling")]
    pub resume: bool,

    /// File that says how far it is; removed once all is written
    #[arg(long, value_name = "FILE", default_value = "unblink-fill.json", help_heading = "Filling")]
    pub progress: PathBuf,

    /// Seed of the records' contents
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Filling")]
    pub seed: u64,

    /// Connections
    #[arg(short, long, value_name = "COUNT", default_value = "8", help_heading = "Connections",
          allow_hyphen_values = true, value_parser = value::fill_connections)]
    pub connections: u32,

    /// Requests under way at once on a connection [default: 32 of a record, or 4 of 100 rows for PostgreSQL]
    #[arg(long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::fill_depth)]
    pub depth: Option<u32>,

    /// Connect to this Unix-domain socket instead of the URL's host
    #[arg(long, value_name = "PATH", help_heading = "Connections")]
    pub unix_socket: Option<PathBuf>,

    #[command(flatten)]
    pub tls: TlsArgs,

    /// Print what was done as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Do not show progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

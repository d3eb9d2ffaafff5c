//! Which of YCSB's workloads is asked: `--workload`, `-P`, `--set`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// A workload in the place of requests.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WorkloadArgs {
    /// Ask Redis, PostgreSQL or Cassandra what a workload of YCSB asks, of records that `unblink fill` has written
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Request")]
    pub workload: Option<WorkloadName>,

    /// Read YCSB's own properties from this file, over those of --workload if that is given; may be given several times
    #[arg(short = 'P', long, value_name = "FILE", help_heading = "Request")]
    pub properties: Vec<PathBuf>,

    /// Set a property of YCSB's, such as recordcount=1M, over those of --workload and of files; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "Request")]
    pub set: Vec<String>,
}

impl WorkloadArgs {
    /// A workload is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.workload.is_some() || !self.properties.is_empty() || !self.set.is_empty()
    }
}

/// The core workloads of YCSB.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkloadName {
    /// Half reads, half updates, zipfian
    #[value(name = "ycsb-a")]
    A,
    /// 95 % reads, 5 % updates, zipfian
    #[value(name = "ycsb-b")]
    B,
    /// Reads alone, zipfian
    #[value(name = "ycsb-c")]
    C,
    /// 95 % reads of the latest records, 5 % inserts
    #[value(name = "ycsb-d")]
    D,
    /// 95 % scans of 1 to 100 records, 5 % inserts, zipfian
    #[value(name = "ycsb-e")]
    E,
    /// Half reads, half read-modify-writes, zipfian
    #[value(name = "ycsb-f")]
    F,
}

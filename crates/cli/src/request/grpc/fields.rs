//! Flags that say where the types of calls come from.

use clap::Args;
use std::path::PathBuf;

/// Where the types of calls come from, if not from the target.
#[derive(Args, serde::Serialize, Clone, PartialEq, Debug, Default)]
pub(crate) struct GrpcArgs {
    /// Read the types of gRPC calls from this .proto file, and do not ask the target for them; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proto: Vec<PathBuf>,

    /// Look for the files that these import in this folder; may be given several times [default: the folder of each]
    #[arg(long, value_name = "DIR", help_heading = "Request")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub import_path: Vec<PathBuf>,

    /// Read the types from this file, which protoc --descriptor_set_out --include_imports has written; may be given several
    /// times
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptor_set: Vec<PathBuf>,
}

impl GrpcArgs {
    /// The first of these flags that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("proto", !self.proto.is_empty()),
            ("import-path", !self.import_path.is_empty()),
            ("descriptor-set", !self.descriptor_set.is_empty()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

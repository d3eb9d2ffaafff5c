//! What was requested: listed, or only counted.

use crate::fingerprint::fingerprint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method of what a script makes, which alone knows it.
pub const SCRIPT: &str = "script";

/// One request of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Target")]
pub struct Requested {
    /// How it is called in the report.
    pub name: String,
    /// HTTP method.
    pub method: String,
    /// URL, secrets masked.
    pub url: String,
}

/// Requests that a document counts and does not list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetsBeyond {
    /// How many there are.
    pub count: u64,
    /// 16 hexadecimal digits that are the same for the same requests in the same order, as far as they may be seen.
    pub fingerprint: String,
}

impl TargetsBeyond {
    /// Counts one more.
    pub fn add(beyond: Option<TargetsBeyond>, target: &Requested) -> TargetsBeyond {
        let (count, before) = beyond.map_or((0, String::new()), |beyond| (beyond.count, beyond.fingerprint));
        let text = format!("{before} {} {} {}", target.method, target.url, target.name);
        TargetsBeyond { count: count + 1, fingerprint: fingerprint(&text) }
    }

    /// How many that is.
    pub fn count_of(beyond: Option<&TargetsBeyond>) -> u64 {
        beyond.map_or(0, |beyond| beyond.count)
    }
}

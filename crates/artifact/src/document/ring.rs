//! The ring of a cluster, by which requests went to the nodes that have what they ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was seen of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RingSeen {
    /// Nodes of the data centre whose nodes were asked, when the load began.
    pub nodes: u64,
    /// That data centre: the one of the node that the URL leads to.
    pub data_center: String,
    /// Replicas of a row, as `3`, or by data centre.
    pub replication: String,
    /// What changed while the load went on, as nodes told; at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RingChange>,
    /// Changes beyond these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes_beyond: u64,
    /// How often the connection was lost on which a node tells of changes. Another was opened then, and everything asked again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections_lost: u64,
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RingChange {
    /// When it was heard of, after the schedule's zero; 0 if that was before.
    pub at_ns: u64,
    /// What has changed.
    pub what: WhatChanged,
}

/// What can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhatChanged {
    /// Which nodes have what.
    Ring,
    /// Tables or keyspaces.
    Schema,
    /// A node is up.
    NodeUp,
    /// A node is down.
    NodeDown,
}

impl WhatChanged {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            WhatChanged::Ring => "the ring changed",
            WhatChanged::Schema => "the schema changed",
            WhatChanged::NodeUp => "a node was up",
            WhatChanged::NodeDown => "a node was down",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde has it.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

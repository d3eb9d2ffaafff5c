//! How an open load comes.

use serde::Deserialize;

/// As its definition says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At k/rate.
    #[default]
    Even,
    /// At times that chance decides.
    Poisson,
}

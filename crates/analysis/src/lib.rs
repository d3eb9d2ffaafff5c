//! Percentiles over censored samples, and what a run can be trusted with.
//!
//! [`quantile`] estimates percentiles when some durations are only known to be longer than their age.
//! [`validity`] looks at a whole run ([`evidence::Evidence`]) and says, as [`finding`]s with cause and
//! remedy, what a reader must know before believing its figures; where the lines lie is in
//! [`thresholds`] and, as a table, in `docs/validity.md`. [`slo`] says whether a run that can be believed met
//! what was asked of it.

pub mod arrivals;
pub mod censoring;
pub mod change_points;
mod checks;
pub mod compare;
pub mod cross_check;
pub mod evidence;
pub mod experiment;
pub mod finding;
pub mod fleet;
pub mod interval;
pub mod moves;
pub mod paired;
pub mod precision;
pub mod quantile;
pub mod shapes;
pub mod slo;
pub mod steady;
mod text;
pub mod thresholds;
pub mod validity;
pub mod waiting;

//! Percentiles over censored samples, and what a run can be trusted with.

//! What is where in a pod.

use unblink_core::time::Nanos;

/// Where containers find things.
pub(super) const PLAN: &str = "/plan";
pub(super) const RUNS: &str = "/runs";
pub(super) const KEYS: &str = "/etc/unblink";
pub(super) const BUS_CA: &str = "/etc/unblink-bus";
pub(super) const CA_FILE: &str = "ca.pem";
/// A folder of its own for each pod, also where several share a volume.
pub(super) const FOLDER: &str = "/runs/$(POD_NAME)";

/// For pods that measure themselves: ten seconds, and more where their processor is a part of one.
pub(super) const CALIBRATED_WITHIN: Nanos = Nanos::from_secs(60);

//! Did retries make an overload worse?

use super::{Case, found, share};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{AMPLIFIED_FAILED_SHARE, AMPLIFIED_MIN};

/// Where arrivals fail in spite of many further attempts, these are load that the target must carry as well.
pub(super) fn amplified(case: &Case<'_>) -> Option<Finding> {
    let of = case.measured();
    let attempts = of.sent + of.retries.sent_again;
    let amplification = if of.sent > 0 { attempts as f64 / of.sent as f64 } else { 0.0 };
    let failed = of.failed_total() + of.timed_out;
    let failed_share = share(failed, of.due);
    if amplification < AMPLIFIED_MIN || failed_share <= AMPLIFIED_FAILED_SHARE {
        return None;
    }
    found(
        FindingCode::RetriesAmplified,
        Severity::Note,
        format!(
            "Retries multiplied the load by {amplification:.1}: {} attempts were sent for {}, and {} failed or timed out \
             all the same.",
            text::count(attempts),
            text::arrivals(of.sent),
            text::count(failed)
        ),
        "Give retries a budget (--retry-budget 20%) or fewer --attempts, here and in the clients that this load stands \
         for: under overload they are load of their own.",
        vec![
            ("attempts", attempts as f64),
            ("sent", of.sent as f64),
            ("amplification", amplification),
            ("failed_share", failed_share),
        ],
    )
}

//! Are these the figures of a client that gets them wrong?

use super::{Case, found};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;

pub(super) fn client(case: &Case<'_>) -> Option<Finding> {
    let client = case.evidence.client?;
    let mut message =
        format!("These are the figures that the client {:?} would report, not what users feel.", client.name);
    if client.omitted > 0 {
        message += &format!(" It never sent {} of the plan.", text::arrivals(client.omitted));
    }
    if client.waiting_omitted > client.omitted {
        message += &format!(
            " While its users waited for longer than usual, {} would have come that it does not know of.",
            text::arrivals(client.waiting_omitted)
        );
    }
    if client.invented > 0 {
        message += &format!(
            " {} made up by its correction.",
            text::plural(client.invented, "value was", "values were")
        );
    }
    found(
        FindingCode::SimulatedClient,
        Severity::Degrades,
        message,
        "Leave --client out to see what users feel, or compare the two with `unblink explain`.",
        vec![
            ("omitted", client.omitted as f64),
            ("omitted_waiting", client.waiting_omitted as f64),
            ("invented", client.invented as f64),
        ],
    )
}

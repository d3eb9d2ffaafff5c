//! Whether the percentile that a run went on for came to be known well enough.

use crate::format::{self, Bound};
use unblink_artifact::document::RunDocument;

/// How long it took, or that it was not reached; nothing for a run of a fixed length.
pub(crate) fn precision(doc: &RunDocument) -> Option<String> {
    let precision = doc.precision.as_ref()?;
    let (name, after) = (format::quantile_label(precision.quantile), format::moment(precision.after_ns));
    let asked = format::percent(precision.share);
    let found = match precision.share_found {
        Some(share) => format!("its 95\u{a0}% interval lies within {}", Bound::Upper.percent(share)),
        None => "it has no interval".to_string(),
    };
    let is_narrow = precision.share_found.is_some_and(|found| found <= precision.share);
    Some(match precision.reached {
        true => format!("The load ended after {after}, when {name} was known within {asked}: {found}."),
        // Narrow once may be luck.
        false if is_narrow => format!(
            "The load ended after {after}, before a second look could confirm that {name} is known within {asked}: {found}."
        ),
        false => format!("After {after} of load {name} was not known within {asked}: {found}."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::Precision;

    #[test]
    fn how_long_it_took_or_that_it_was_not_reached() {
        let mut doc = fixture::stall();
        assert_eq!(precision(&doc), None);
        let mut goal = Precision {
            quantile: 0.99,
            share: 0.05,
            share_found: Some(0.042),
            reached: true,
            after_ns: 84_000_000_000,
        };
        doc.precision = Some(goal.clone());
        let text = |doc: &RunDocument| format::plain(&precision(doc).unwrap_or_default());
        assert_eq!(
            text(&doc),
            "The load ended after 84 s, when p99 was known within 5 %: its 95 % interval lies within 4.2 %."
        );
        goal.reached = false;
        doc.precision = Some(goal.clone());
        assert_eq!(
            text(&doc),
            "The load ended after 84 s, before a second look could confirm that p99 is known within 5 %: its 95 % \
             interval lies within 4.2 %."
        );
        goal.share_found = None;
        doc.precision = Some(goal);
        assert_eq!(text(&doc), "After 84 s of load p99 was not known within 5 %: it has no interval.");
    }
}

//! What was requested, and the rows of a table of operations.

use crate::format;
use unblink_artifact::document::{Operation, Requested, RunDocument, TargetsBeyond};

/// What was requested, in one line.
pub(crate) fn target(doc: &RunDocument) -> String {
    first_and_more(&doc.targets, doc.targets_beyond.as_ref())
}

/// The first target, and how many more there are.
pub(crate) fn first_and_more(targets: &[Requested], beyond: Option<&TargetsBeyond>) -> String {
    let beyond = TargetsBeyond::count_of(beyond);
    match targets {
        [] => "no target".into(),
        [one] if beyond == 0 => format!("{} {}", one.method, one.url),
        [first, rest @ ..] => {
            let more = format::count(rest.len() as u64 + beyond);
            format!("{} {} and {more} more", first.method, first.url)
        }
    }
}

/// The first targets, one a line; below them how many more there are.
pub(crate) fn first_targets(targets: &[Requested], beyond: Option<&TargetsBeyond>) -> Vec<String> {
    const LINES_MAX: usize = 10;
    let mut lines: Vec<String> =
        targets.iter().take(LINES_MAX).map(|target| format!("{} {}", target.method, target.url)).collect();
    match targets.len().saturating_sub(LINES_MAX) as u64 + TargetsBeyond::count_of(beyond) {
        0 => {}
        more => lines.push(format!("and {} more", format::count(more))),
    }
    lines
}

/// How many arrivals of an operation there were; of those that had no answer, where no more is known, those that ended.
pub(crate) fn arrivals_of(operation: &Operation) -> u64 {
    let ended = operation.response_time.count.saturating_add(operation.arrivals.failed);
    operation.arrivals.scheduled.unwrap_or(ended)
}

/// The operations of a table of at most `rows_max` rows, each with its name, and how many are left out. The row of all
/// that are not kept apart is never one of these.
pub(crate) fn operations(doc: &RunDocument, rows_max: usize) -> (Vec<(String, &Operation)>, usize) {
    let all = &doc.operations;
    let targets = doc.targets.len() as u64 + TargetsBeyond::count_of(doc.targets_beyond.as_ref());
    let together = (targets + 1).saturating_sub(all.len() as u64);
    let has_others = together > 1 && !all.is_empty();
    let (apart, others) = all.split_at(all.len() - usize::from(has_others));
    let shown = apart.len().min(rows_max - others.len());
    let mut rows: Vec<_> = apart[..shown].iter().map(|one| (one.plan.name.clone(), one)).collect();
    rows.extend(others.iter().map(|one| (format!("({} others)", format::count(together)), one)));
    (rows, apart.len() - shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_others_have_their_row() {
        let mut doc = fixture::hostile();
        // Thirty that are kept apart, and nothing else.
        let (rows, left_out) = operations(&doc, 20);
        assert_eq!((rows.len(), left_out), (20, 10));
        doc.operations[29].plan.name = "(others)".into();
        doc.targets_beyond = Some(TargetsBeyond { count: 970, fingerprint: "0".repeat(16) });
        let (rows, left_out) = operations(&doc, 20);
        assert_eq!((rows.len(), left_out), (20, 10));
        assert_eq!(rows[19].0, format!("({} others)", 971));
        assert_eq!(rows[19].1, &doc.operations[29]);
        assert!(target(&doc).ends_with(" and 999 more"), "{}", target(&doc));
        let lines = first_targets(&doc.targets, doc.targets_beyond.as_ref());
        assert_eq!((lines.len(), lines[10].as_str()), (11, "and 990 more"));
        let (rows, left_out) = operations(&doc, 60);
        assert_eq!((rows.len(), left_out), (30, 0));
    }
}

//! Percentiles over time: of what ended in each recorded interval, exact to three digits.

use unblink_artifact::document::{EndedQuantile, RunDocument, SeriesRow};

/// The percentile of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowPercentile {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Nothing where too little ended in it.
    pub(crate) value: Option<EndedQuantile>,
}

/// Fewest arrivals in a row whose p99 is drawn: below it, p99 is no more than the maximum.
const P99_ARRIVALS_MIN: u64 = 100;
/// The same for the median.
const P50_ARRIVALS_MIN: u64 = 5;

/// Medians of all rows.
pub(crate) fn p50_over_time(doc: &RunDocument) -> Vec<RowPercentile> {
    over_time(doc, P50_ARRIVALS_MIN, |row| row.ended_p50.or(of_completed(row, row.response_p50_ns)))
}

/// 99th percentiles of all rows.
pub(crate) fn p99_over_time(doc: &RunDocument) -> Vec<RowPercentile> {
    over_time(doc, P99_ARRIVALS_MIN, |row| row.ended_p99.or(of_completed(row, row.response_p99_ns)))
}

/// Those of `rows`, which are those of the document, in which the schedule went on, and that are as long as most. What
/// ends after the schedule's end, in a short row, is another load and no course of this one.
pub(super) fn under_load(doc: &RunDocument, rows: Vec<RowPercentile>) -> Vec<RowPercentile> {
    let usual_ns = super::usual_row_ns(doc);
    let is_after = |row: &SeriesRow| doc.series.load_to_ns > 0 && row.start_ns >= doc.series.load_to_ns;
    let counts = |row: &SeriesRow| row.due > 0 && !is_after(row) && row.length_ns >= usual_ns / 2;
    rows.into_iter().zip(&doc.series.rows).filter(|(_, row)| counts(row)).map(|(of, _)| of).collect()
}

/// Documents of earlier versions know that of the answered alone, which is that of all where nothing timed out.
fn of_completed(row: &SeriesRow, ns: Option<u64>) -> Option<EndedQuantile> {
    ns.filter(|_| row.timed_out == 0).map(|ns| EndedQuantile { ns, censored: false })
}

fn over_time(
    doc: &RunDocument,
    ended_min: u64,
    of: impl Fn(&SeriesRow) -> Option<EndedQuantile>,
) -> Vec<RowPercentile> {
    let row = |row: &SeriesRow| RowPercentile {
        from_ns: row.start_ns,
        to_ns: row.start_ns.saturating_add(row.length_ns),
        value: of(row).filter(|_| row.ok.saturating_add(row.timed_out) >= ended_min),
    };
    doc.series.rows.iter().map(row).collect()
}

/// By which time the percentiles count, in words.
pub(crate) fn counted_by(doc: &RunDocument) -> String {
    let each = |length_ns: u64| match length_ns {
        900_000_000..1_100_000_000 => "second".to_string(),
        length_ns => crate::format::duration(length_ns),
    };
    match (super::usual_row_ns(doc), u64::from(doc.series.intervals_per_row)) {
        (row_ns, intervals @ 2..) => {
            let interval = each(row_ns / intervals).replace("1\u{a0}s", "second");
            format!("the worst {interval} of each {}", crate::format::duration(row_ns))
        }
        (row_ns, _) => format!("each {}", each(row_ns)),
    }
}

/// `of the worst second of each 4 s`, where a row is not the time for which its percentiles count.
pub(crate) fn folded(doc: &RunDocument) -> Option<String> {
    (doc.series.intervals_per_row > 1).then(|| format!("of {}", counted_by(doc)))
}

#[cfg(test)]
mod tests {
    use crate::fixture;
    use crate::{format, svg};

    #[test]
    fn a_folded_row_is_said_to_be_one() {
        for (mut doc, stems) in [
            (fixture::two_hours(), &["heatmap", "lateness"][..]),
            (fixture::soak(), &["heatmap", "shape"][..]),
        ] {
            doc.series.intervals_per_row = 4;
            let row = super::super::usual_row_ns(&doc);
            let of = format::plain(&super::folded(&doc).expect("folded"));
            assert!(of.starts_with("of the worst ") && of.contains(" of each "), "{of} {row}");
            for picture in svg::pictures(&doc, "", None).iter().filter(|p| stems.contains(&p.stem)) {
                let file = format::plain(&picture.file());
                assert!(file.contains(&of), "{}: {of}", picture.stem);
                assert!(!file.contains(">median<") && !file.contains("of each interval"), "{}", picture.stem);
            }
        }
        let lines = super::super::shape(&fixture::soak()).expect("a soak").lines;
        assert_eq!(lines[0].what, "p50 by interval");
        let mut folded = fixture::soak();
        folded.series.intervals_per_row = 4;
        let lines = super::super::shape(&folded).expect("a soak").lines;
        assert!(lines[0].what.starts_with("p50 of the worst "), "{}", lines[0].what);
    }
}

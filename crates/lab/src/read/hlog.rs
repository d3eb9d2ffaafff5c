//! An HdrHistogram log, its intervals added up.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use unblink_artifact::lab::{LabPoint, LabReported};

use super::{COMPARED, ReadError, Unit};
use crate::case::shares;

pub(super) fn read(text: &str, unit: Unit, tag: Option<&str>) -> Result<LabReported, ReadError> {
    let mut sum: Option<Histogram<u64>> = None;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let fail = |reason: &str| ReadError::line(number, line, reason);
        // One line at a time, so that the one which is not understood can be quoted.
        for entry in IntervalLogIterator::new(line.as_bytes()) {
            let Ok(LogEntry::Interval(interval)) = entry else {
                // The line of names is not an entry of the format's own grammar for a line alone.
                match line.starts_with(['#', '"']) || line.trim().is_empty() {
                    true => break,
                    false if entry.is_ok() => break,
                    false => return Err(fail("no line of an HdrHistogram log")),
                }
            };
            if interval.tag().map(|tag| tag.as_str()) != tag {
                continue;
            }
            let bytes = STANDARD.decode(interval.encoded_histogram()).map_err(|_| fail("no base64"))?;
            let histogram: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|_| fail("no histogram"))?;
            match &mut sum {
                Some(sum) => {
                    sum.auto(true);
                    sum.add(&histogram).map_err(|_| fail("a histogram of another range"))?;
                }
                None => sum = Some(histogram),
            }
        }
    }
    let Some(sum) = sum.filter(|sum| !sum.is_empty()) else {
        let of = tag.map_or("without a tag".to_owned(), |tag| format!("with the tag {tag:?}"));
        return Err(ReadError::text(text, format!("there is no interval {of}")));
    };
    let mut all = shares(sum.len());
    all.extend(COMPARED);
    all.push(1.0);
    let point = |q: f64| {
        let value_ns = unit.to_ns(sum.value_at_quantile(q) as f64)?;
        Some(LabPoint { q, value_ns })
    };
    Ok(LabReported {
        points: all.into_iter().filter_map(point).collect(),
        samples: Some(sum.len()),
        mean_ns: unit.to_ns(sum.mean()),
        ..Default::default()
    })
}

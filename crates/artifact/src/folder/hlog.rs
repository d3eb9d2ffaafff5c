//! `intervals.hlog`: an HdrHistogram log, version 1.3, as the Java tools write and read it.
//!
//! A line is `Tag=NAME,start,length,max,payload`: start and length in seconds with three decimals, start
//! counted from the log's base time (t = 0), the maximum in ms (Java's usual divisor, 10⁶), the payload a
//! V2 histogram, deflated, in base64. Its unit is the nanosecond. Exact times, sums and maxima stand in
//! `intervals.jsonl`.

use super::{FolderError, tracks};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::fmt::Write as _;
use unblink_core::record::{Interval, RECORDABLE_MAX, SIGNIFICANT_DIGITS};

const MAX_DIVISOR: f64 = 1e6;

/// The lines before the first histogram.
pub(super) fn preamble(started_at: &str, tool_version: &str) -> Result<String, FolderError> {
    let started: jiff::Timestamp = started_at.parse().map_err(|e: jiff::Error| FolderError::StartedAt {
        found: started_at.to_string(),
        why: e.to_string(),
    })?;
    let seconds = started.as_millisecond() as f64 / 1000.0;
    Ok(format!(
        "#[unblink {tool_version}: tagged histograms of durations in ns, by interval; times count from BaseTime]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {seconds:.3} (seconds since epoch), {started}]\n\
         #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    ))
}

/// Turns intervals into lines, in buffers that are used again.
pub(super) struct Encoder {
    serializer: V2DeflateSerializer,
    payload: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder { serializer: V2DeflateSerializer::new(), payload: Vec::new() }
    }

    /// Appends the lines of `interval`: each track that holds something, and response time always, so
    /// that a second in which nothing was answered has its line.
    pub(super) fn append(&mut self, interval: &Interval, out: &mut String) -> Result<(), String> {
        let (start, length) = (interval.start.as_secs_f64(), interval.length.as_secs_f64());
        tracks::for_each(&interval.bank, |tag, track| {
            self.payload.clear();
            self.serializer.serialize(&track.histogram, &mut self.payload).map_err(|e| e.to_string())?;
            let max = track.max_ns as f64 / MAX_DIVISOR;
            // Writing to a string can't fail.
            let _ = write!(out, "Tag={tag},{start:.3},{length:.3},{max:.3},");
            STANDARD.encode_string(&self.payload, out);
            out.push('\n');
            Ok(())
        })
    }
}

/// A line's tag and histogram; `None` for comments and the legend.
pub(super) fn parse(text: &str) -> Result<Option<(&str, Histogram<u64>)>, String> {
    if text.is_empty() || text.starts_with('#') || text.starts_with('"') {
        return Ok(None);
    }
    let fields = text.strip_prefix("Tag=").ok_or("a histogram without a tag")?;
    let mut fields = fields.split(',');
    let tag = fields.next().unwrap_or_default();
    let payload = fields.nth(3).ok_or("fewer fields than a histogram has")?;
    let payload = STANDARD.decode(payload).map_err(|e| format!("not base64: {e}"))?;
    let decoded: Histogram<u64> = Deserializer::new()
        .deserialize(&mut payload.as_slice())
        .map_err(|e| format!("not a V2 histogram: {e}"))?;
    if (decoded.low(), decoded.high(), decoded.sigfig()) != (1, RECORDABLE_MAX.0, SIGNIFICANT_DIGITS) {
        return Err("a histogram with other bounds than 1 ns to 1 h at 3 digits".to_string());
    }
    Ok(Some((tag, decoded)))
}

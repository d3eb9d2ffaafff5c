//! `intervals.hlog`: an HdrHistogram log, version 1.3, as the Java tools write and read it.
//!
//! A line is `Tag=NAME,start,length,max,payload`: start and length in seconds with three decimals, start
//! counted from the log's base time (t = 0), the maximum in ms (Java's usual divisor, 10⁶), the payload a
//! V2 histogram, deflated, in base64. Its unit is the nanosecond. Exact times, sums and maxima stand in
//! `intervals.jsonl`.

use super::{FolderError, tracks};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress, Status};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use std::fmt::Write as _;
use unblink_core::record::{Interval, RECORDABLE_MAX, SIGNIFICANT_DIGITS};

const MAX_DIVISOR: f64 = 1e6;
/// Before the length of a deflated histogram: HdrHistogram's sign for the V2 encoding.
const COOKIE: u32 = 0x1c84_9314;
/// What deflating may add to bytes that can't be made fewer.
const DEFLATED_MORE: usize = 64;

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

/// Turns intervals into lines, with what takes memory used again: a new compressor for each histogram takes longer than what it
/// compresses.
pub(super) struct Encoder {
    serializer: V2Serializer,
    compress: Compress,
    plain: Vec<u8>,
    payload: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        let compress = Compress::new(Compression::default(), true);
        Encoder { serializer: V2Serializer::new(), compress, plain: Vec::new(), payload: Vec::new() }
    }

    /// Puts a histogram into `payload`.
    fn encode(&mut self, histogram: &Histogram<u64>) -> Result<(), String> {
        self.plain.clear();
        self.serializer.serialize(histogram, &mut self.plain).map_err(|e| e.to_string())?;
        self.payload.clear();
        self.payload.extend(COOKIE.to_be_bytes());
        self.payload.extend([0; 4]);
        self.compress.reset();
        let mut status = Status::Ok;
        while status != Status::StreamEnd {
            self.payload.reserve(self.plain.len() + DEFLATED_MORE);
            let rest = &self.plain[self.compress.total_in() as usize..];
            let compressed = self.compress.compress_vec(rest, &mut self.payload, FlushCompress::Finish);
            status = compressed.map_err(|e| e.to_string())?;
        }
        let length = self.compress.total_out() as u32;
        self.payload[4..8].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// Appends the lines of `interval`: each track that holds something, and response time always, so
    /// that a second in which nothing was answered has its line.
    pub(super) fn append(&mut self, interval: &Interval, out: &mut String) -> Result<(), String> {
        let (start, length) = (interval.start.as_secs_f64(), interval.length.as_secs_f64());
        tracks::for_each(&interval.bank, |tag, track| {
            self.encode(&track.histogram)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::V2DeflateSerializer;
    use unblink_core::record::Track;
    use unblink_core::time::Nanos;

    /// As the library's own reader has them, one after the other, and not longer than its writer's.
    #[test]
    fn histograms_are_deflated_as_the_library_does() {
        let (mut encoder, mut theirs) = (Encoder::new(), V2DeflateSerializer::new());
        for many in [0, 1, 100, 20_000] {
            let mut track = Track::<u64>::default();
            (0..many).for_each(|i: u64| track.record(Nanos(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 26)));
            encoder.encode(&track.histogram).expect("encoded");
            let read: Histogram<u64> =
                Deserializer::new().deserialize(&mut encoder.payload.as_slice()).expect("a V2 histogram");
            assert_eq!(read, track.histogram);
            let mut expected = Vec::new();
            theirs.serialize(&track.histogram, &mut expected).expect("encoded");
            assert!(encoder.payload.len() <= expected.len() + 16, "{many}");
            assert_eq!(encoder.payload[..4], expected[..4]);
        }
    }
}

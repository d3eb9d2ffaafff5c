//! Figures over time: rows, a timeline in finer steps, the heat map.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures over time. A long run has wider rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Series {
    /// Where the measured load begins, after t = 0.
    pub load_from_ns: u64,
    /// Where it ends, after t = 0: `rate.offered` and `rate.sent` are taken over the time between.
    pub load_to_ns: u64,
    /// Last `ok` answer, after t = 0: `rate.achieved` is taken from `load_from_ns` to here.
    pub last_completion_ns: Option<u64>,
    /// Recorded intervals that a row holds; the last row may hold fewer.
    pub intervals_per_row: u32,
    /// Rows in order of time, warm-up and drain included.
    pub rows: Vec<SeriesRow>,
    /// The same time in finer steps; missing in a run that was recorded without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// What happened when, in cells of 100 ms; at most 720 cells, which double their width when a run is longer. Cell `i`
/// begins at `start_ns + i · cell_ns`. Counts are by the moment at which something happened, warm-up and drain included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// Start of the first cell, after t = 0.
    pub start_ns: u64,
    /// End of the last cell, which may be shorter than the others.
    pub end_ns: u64,
    /// Width of a cell.
    pub cell_ns: u64,
    /// Fell due, by cell.
    pub due: Vec<u64>,
    /// Sent, by cell.
    pub sent: Vec<u64>,
    /// Ended as `ok`, by cell.
    pub ok: Vec<u64>,
    /// Failed, by cell.
    pub failed: Vec<u64>,
    /// Timed out, by cell, at the moment in which that was noticed.
    pub timed_out: Vec<u64>,
    /// Highest number that was sent and had not ended, by cell. Exact with one thread. With several it is the sum of each
    /// thread's highest, and as these may have been at different moments of a cell, no less than the true highest.
    pub in_flight_max: Vec<u64>,
    /// Highest number that was due and not yet sent, by cell; with several threads a sum as above. An arrival counts from
    /// its intended time on, whenever the generator noticed it.
    pub backlog_max: Vec<u64>,
}

/// A percentile, or what it is known to exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndedQuantile {
    /// Value, to three digits.
    pub ns: u64,
    /// The percentile is longer than `ns`, by an unknown time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub censored: bool,
}

/// One stretch of time: what happened in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRow {
    /// Start, after t = 0.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
    /// Wholly or partly warm-up.
    pub warmup: bool,
    /// Fell due.
    pub due: u64,
    /// Sent.
    pub sent: u64,
    /// Ended as `ok`.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Sent and not yet ended, at the end of the row.
    pub in_flight: u64,
    /// Due and not yet sent, at the end of the row.
    pub backlog: u64,
    /// Usable connections at the end of the row.
    pub connections: u64,
    /// Median response time of what was completed in it; `null` when nothing was. Of a row that holds
    /// several intervals, this and the other percentiles are those of its worst interval.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the same.
    pub response_p99_ns: Option<u64>,
    /// Exact maximum of the same.
    pub response_max_ns: Option<u64>,
    /// Median response time of all that ended in it without failing: what was completed, and as lower bounds what timed
    /// out or was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_p50: Option<EndedQuantile>,
    /// 99th percentile of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_p99: Option<EndedQuantile>,
    /// 99th percentile of service time.
    pub service_p99_ns: Option<u64>,
    /// 99th percentile of the generator's own lateness.
    pub generator_late_p99_ns: Option<u64>,
    /// Events of answers that come event by event, of the measured part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// p99 from the intended start to the first event, of first events that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_p99_ns: Option<u64>,
    /// p99 from one event of an answer to the next, of those that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_gap_p99_ns: Option<u64>,
    /// Share of the time in which the loops worked, 0 to 1.
    pub busy_share: f64,
}

/// Response times by intended time: a stall shows as a wedge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heatmap {
    /// Width of a column of intended time.
    pub column_ns: u64,
    /// Lower edges of the latency bins, ascending; the first and the last bin are open-ended.
    pub bin_edges_ns: Vec<u64>,
    /// Columns that hold anything, ascending.
    pub columns: Vec<HeatColumn>,
}

/// One column of the heat map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeatColumn {
    /// Start of its intended times, after t = 0.
    pub start_ns: u64,
    /// (bin, count) of `ok` arrivals, ascending by bin.
    pub cells: Vec<(u32, u32)>,
    /// Arrivals known only to be longer than their age.
    pub censored: u32,
    /// Failed arrivals.
    pub failed: u32,
    /// Median, to the width of a bin; `null` when unknown.
    pub p50_ns: Option<u64>,
    /// 99th percentile, to the width of a bin; `null` when unknown.
    pub p99_ns: Option<u64>,
}

/// Percentile spectra, for drawing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spectra {
    /// Of response time.
    pub response_time: Vec<SpectrumPoint>,
    /// Of service time.
    pub service_time: Vec<SpectrumPoint>,
}

/// A point of a percentile spectrum: the share `q` took at most `value_ns`. A spectrum ends where the
/// known data end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpectrumPoint {
    /// 0 to 1.
    pub q: f64,
    /// Duration.
    pub value_ns: u64,
}

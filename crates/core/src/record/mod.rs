//! What is recorded about a run: distributions, counts, the heat grid, the slowest arrivals.
//!
//! A worker fills a [`Bank`] of 32-bit counts and hands it over once per interval; the receiver adds it
//! to banks of 64-bit counts. Recording allocates nothing.

mod absence;
mod ages;
mod allowed;
mod answer;
mod answered;
mod at_address;
mod bank;
mod bins;
mod breach;
mod by_address;
mod counted;
mod counters;
mod counts;
mod events;
mod failed;
mod failing;
mod flight;
mod hindered;
mod interval;
mod journeys;
mod layout;
mod merge;
mod operations;
mod pages;
mod places;
mod progress;
mod recorder;
mod retries;
mod retry_counts;
mod sample;
mod sampling;
mod series;
mod slow;
mod slowest;
mod steps;
mod timeline;
mod track;

pub use ages::Ages;
pub use allowed::Allowed;
pub use answer::{Answer, Then};
pub use bank::Bank;
pub use bins::RECORDABLE_MAX;
pub use breach::{Breach, Breaches};
pub use by_address::AddressRecord;
pub use counted::Counted;
pub use counters::{
    ConnectionCounts, ConnectionLevels, Counters, Gauges, LagCauses, LaneLevels, LoopCounts, Outcomes,
    PAUSE_FROM,
};
pub use failed::FailedArrival;
pub use flight::Flight;
pub use interval::Interval;
pub use layout::{Apart, Layout};
pub use merge::{Handed, Merger};
pub use operations::{OperationRecord, Operations, Sums};
pub use progress::{EventCounts, Events, Progress};
pub use recorder::{BEGUN_GRACE, Recorder};
pub use retry_counts::{RetryCause, RetryCauses, RetryCounts};
pub use sample::{ArrivalSample, BLOCK_ARRIVALS, BLOCK_EXPECTED, BLOCKS_MAX, SampleBlocks, SampledArrival};
pub use series::Series;
pub use slowest::{SLOWEST_KEPT, SlowArrival, Slowest};
pub use steps::StepCounts;
pub use timeline::{CELL_WIDTH, CELLS_MAX, Cell, Timeline};
pub use track::{SIGNIFICANT_DIGITS, Track, histogram};

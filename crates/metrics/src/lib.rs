//! What a service says about itself, as Prometheus writes it: a page of text ([`text`]) or of protobuf ([`proto`]), or what a
//! Prometheus server has stored ([`api`]). Pure functions of bytes.
//!
//! Counters only grow, and start again with their process. [`growth`] adds up by how much they grew between samples, as
//! they are: nothing is extrapolated. Histograms give bounds of a quantile, never a number within a bucket
//! ([`histogram`]).

pub mod api;
pub mod growth;
pub mod histogram;
pub mod level;
pub mod near;
pub mod proto;
mod sample;
pub mod selector;
pub mod text;

pub use sample::{Kind, Labels, Page, PageError, Sample, Value};

/// A page above this is not read.
pub const PAGE_BYTES_MAX: usize = 10 << 20;
/// Nor one with more samples.
pub const SAMPLES_MAX: usize = 500_000;
/// What is asked of a page: protobuf, which alone has native histograms; then OpenMetrics, then the older text.
pub const ACCEPT: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
application/openmetrics-text;version=1.0.0;q=0.7,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

/// Reads a page in the format that its `Content-Type` says; text where it says nothing.
///
/// # Errors
/// Where the page is not as the format has it.
pub fn page(content_type: &str, bytes: &[u8]) -> Result<Page, PageError> {
    if bytes.len() > PAGE_BYTES_MAX {
        return Err(PageError::TooLong);
    }
    let is_protobuf = content_type.trim_start().starts_with("application/vnd.google.protobuf");
    if is_protobuf { proto::page(bytes) } else { text::page(bytes) }
}

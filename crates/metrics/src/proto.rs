//! The protobuf of `io.prometheus.client`, each family behind its length: the only page that has native histograms.

use crate::SAMPLES_MAX;
use crate::histogram::{Histogram, Native};
use crate::sample::{Kind, Labels, Page, PageError, Sample, Value};
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct Family {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    /// 0 counter, 1 gauge, 2 summary, 3 untyped, 4 histogram, 5 gauge histogram.
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Plain>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Plain>,
    #[prost(message, optional, tag = "5")]
    untyped: Option<Plain>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Buckets>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Plain {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Buckets {
    #[prost(uint64, optional, tag = "1")]
    count: Option<u64>,
    #[prost(double, optional, tag = "4")]
    count_float: Option<f64>,
    #[prost(double, optional, tag = "2")]
    sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    classic: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(double, optional, tag = "8")]
    zero_count_float: Option<f64>,
    #[prost(message, repeated, tag = "9")]
    negative_spans: Vec<Span>,
    #[prost(sint64, repeated, tag = "10")]
    negative_deltas: Vec<i64>,
    #[prost(double, repeated, tag = "11")]
    negative_counts: Vec<f64>,
    #[prost(message, repeated, tag = "12")]
    positive_spans: Vec<Span>,
    #[prost(sint64, repeated, tag = "13")]
    positive_deltas: Vec<i64>,
    #[prost(double, repeated, tag = "14")]
    positive_counts: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative: Option<u64>,
    #[prost(double, optional, tag = "4")]
    cumulative_float: Option<f64>,
    #[prost(double, optional, tag = "2")]
    upper: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// Reads a page.
///
/// # Errors
/// The bytes are no such families, or a histogram is none.
pub fn page(mut bytes: &[u8]) -> Result<Page, PageError> {
    let mut page = Page::default();
    while !bytes.is_empty() {
        let family = Family::decode_length_delimited(&mut bytes).map_err(|error| wrong(error.to_string()))?;
        let name = family.name.clone().unwrap_or_default();
        page.kinds.insert(name.clone(), kind(&family));
        for metric in family.metrics {
            take(&mut page, &name, metric)?;
            if page.samples.len() > SAMPLES_MAX {
                return Err(PageError::TooMany);
            }
        }
    }
    Ok(page)
}

fn wrong(what: String) -> PageError {
    PageError::Protobuf(what)
}

fn kind(family: &Family) -> Kind {
    match family.kind.unwrap_or_default() {
        0 => Kind::Counter,
        1 => Kind::Gauge,
        4 => Kind::Histogram,
        _ => Kind::Other,
    }
}

fn take(page: &mut Page, name: &str, metric: Metric) -> Result<(), PageError> {
    let label = |label: Label| (label.name.unwrap_or_default(), label.value.unwrap_or_default());
    let mut labels: Labels = metric.labels.into_iter().map(label).collect();
    labels.sort_unstable();
    let mut add = |name: String, labels: Labels, value: Value| {
        page.samples.push(Sample { name, labels, value });
    };
    let plain = metric.counter.or(metric.gauge).or(metric.untyped);
    if let Some(value) = plain {
        add(name.into(), labels.clone(), Value::Number(value.value.unwrap_or_default()));
    }
    let Some(buckets) = metric.histogram else { return Ok(()) };
    let count = buckets.count_float.unwrap_or(buckets.count.unwrap_or_default() as f64);
    let sum = buckets.sum.unwrap_or_default();
    if let Some(native) = native(&buckets, count, sum).map_err(|why| wrong(format!("{name}: {why}")))? {
        add(name.into(), labels.clone(), Value::Histogram(native));
    }
    for bucket in &buckets.classic {
        let count = bucket.cumulative_float.unwrap_or(bucket.cumulative.unwrap_or_default() as f64);
        let mut labels = labels.clone();
        labels.push(("le".into(), bucket.upper.unwrap_or(f64::INFINITY).to_string()));
        labels.sort_unstable();
        add(format!("{name}_bucket"), labels, Value::Number(count));
    }
    if !buckets.classic.is_empty() {
        add(format!("{name}_count"), labels.clone(), Value::Number(count));
        add(format!("{name}_sum"), labels, Value::Number(sum));
    }
    Ok(())
}

/// The native form, if the histogram has it: it says how fine its buckets are, or has a bucket around zero.
fn native(buckets: &Buckets, count: f64, sum: f64) -> Result<Option<Histogram>, String> {
    let has_spans = !(buckets.positive_spans.is_empty() && buckets.negative_spans.is_empty());
    let is_native = has_spans || buckets.schema.is_some() && buckets.zero_threshold.is_some();
    if !is_native {
        return Ok(None);
    }
    let spans = |spans: &[Span]| -> Vec<(i32, u32)> {
        spans.iter().map(|s| (s.offset.unwrap_or_default(), s.length.unwrap_or_default())).collect()
    };
    let counts = |deltas: &[i64], counts: &[f64]| -> Vec<f64> {
        let mut last = 0i64;
        let added = deltas.iter().map(|delta| {
            last = last.saturating_add(*delta);
            last as f64
        });
        if counts.is_empty() { added.collect() } else { counts.to_vec() }
    };
    Native {
        schema: buckets.schema.unwrap_or_default(),
        zero_threshold: buckets.zero_threshold.unwrap_or_default(),
        zero_count: buckets.zero_count_float.unwrap_or(buckets.zero_count.unwrap_or_default() as f64),
        positive: (
            spans(&buckets.positive_spans),
            counts(&buckets.positive_deltas, &buckets.positive_counts),
        ),
        negative: (
            spans(&buckets.negative_spans),
            counts(&buckets.negative_deltas, &buckets.negative_counts),
        ),
        count,
        sum,
    }
    .histogram()
    .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(histogram: Buckets) -> Vec<u8> {
        let label = Label { name: Some("job".into()), value: Some("a".into()) };
        let metric = Metric {
            labels: vec![label],
            gauge: None,
            counter: None,
            untyped: None,
            histogram: Some(histogram),
        };
        let family = Family { name: Some("x_seconds".into()), kind: Some(4), metrics: vec![metric] };
        family.encode_length_delimited_to_vec()
    }

    #[test]
    fn both_forms_of_a_histogram_are_read() {
        let bytes = family(Buckets {
            count: Some(6),
            sum: Some(9.0),
            classic: vec![
                Bucket { cumulative: Some(4), upper: Some(1.0), ..Bucket::default() },
                Bucket { cumulative: Some(6), upper: Some(f64::INFINITY), ..Bucket::default() },
            ],
            schema: Some(0),
            zero_threshold: Some(0.001),
            zero_count: Some(1),
            // (1, 2] holds 3, (8, 16] holds 2.
            positive_spans: vec![
                Span { offset: Some(1), length: Some(1) },
                Span { offset: Some(2), length: Some(1) },
            ],
            positive_deltas: vec![3, -1],
            ..Buckets::default()
        });
        let page = page(&bytes).expect("a page");
        assert_eq!(page.kinds["x_seconds"], Kind::Histogram);
        assert_eq!(page.names(), ["x_seconds", "x_seconds_bucket", "x_seconds_count", "x_seconds_sum"]);
        let Value::Histogram(native) = &page.samples[0].value else { panic!("a native one") };
        let bins: Vec<_> = native.bins.iter().map(|bin| (bin.lower, bin.upper, bin.count)).collect();
        assert_eq!(bins, [(-0.001, 0.001, 1.0), (1.0, 2.0, 3.0), (8.0, 16.0, 2.0)]);
        assert_eq!(page.samples[2].labels[1], ("le".to_string(), "inf".to_string()));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(matches!(page(b"# TYPE x counter\nx 1\n"), Err(PageError::Protobuf(_))));
        let wrong = |spans: Vec<Span>, schema| {
            page(&family(Buckets {
                schema: Some(schema),
                positive_spans: spans,
                positive_deltas: vec![1],
                ..Buckets::default()
            }))
        };
        let long = Span { offset: Some(0), length: Some(u32::MAX) };
        assert!(wrong(vec![long.clone()], 0).is_err(), "it has fewer counts than places");
        assert!(wrong(vec![Span { offset: Some(i32::MAX), length: Some(1) }, long], 0).is_err());
        assert!(wrong(vec![Span { offset: Some(0), length: Some(1) }], 77).is_err());
    }
}

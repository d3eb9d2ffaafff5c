//! What the HTTP API of a Prometheus server answers to a query.

use crate::histogram::{Bin, Histogram};
use crate::sample::{Labels, Sample, Value};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Samples by time, in seconds, the oldest first.
pub type ByTime = Vec<(f64, Vec<Sample>)>;

#[derive(Deserialize)]
struct Answer {
    status: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    data: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Matrix(Vec<Series>),
    Vector(Vec<Series>),
    Scalar((f64, String)),
    String((f64, String)),
}

#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    value: Option<(f64, String)>,
    #[serde(default)]
    values: Vec<(f64, String)>,
    #[serde(default)]
    histogram: Option<(f64, Buckets)>,
    #[serde(default)]
    histograms: Vec<(f64, Buckets)>,
}

#[derive(Deserialize)]
struct Buckets {
    count: String,
    sum: String,
    /// (which ends belong to it, lower, upper, count).
    #[serde(default)]
    buckets: Vec<(u8, String, String, String)>,
}

/// Samples of the answer to a query, by their time.
///
/// # Errors
/// What the server objects to, or what is wrong with its answer.
pub fn samples(body: &[u8]) -> Result<ByTime, String> {
    let series = match data(body)? {
        Data::Matrix(series) | Data::Vector(series) => series,
        Data::Scalar((at, value)) | Data::String((at, value)) => {
            let sample =
                Sample { name: String::new(), labels: Labels::new(), value: Value::Number(number(&value)?) };
            return Ok(vec![(at, vec![sample])]);
        }
    };
    let mut by_time: BTreeMap<u64, Vec<Sample>> = BTreeMap::new();
    for Series { metric, value, values, histogram, histograms } in series {
        let name = metric.get("__name__").cloned().unwrap_or_default();
        let labels: Labels = metric.into_iter().filter(|(name, _)| name != "__name__").collect();
        let numbers = value.into_iter().chain(values);
        let numbers = numbers.map(|(at, text)| Ok((at, Value::Number(number(&text)?))));
        let histograms = histogram.into_iter().chain(histograms);
        let histograms = histograms.map(|(at, buckets)| Ok((at, Value::Histogram(of_buckets(&buckets)?))));
        for one in numbers.chain(histograms) {
            let (at, value): (f64, Value) = one.map_err(|why: String| format!("{name}: {why}"))?;
            if !at.is_finite() || at < 0.0 {
                return Err(format!("{name}: {at} is not a time"));
            }
            let sample = Sample { name: name.clone(), labels: labels.clone(), value };
            // The bits of a float that is not negative are in its order.
            by_time.entry(at.to_bits()).or_default().push(sample);
        }
    }
    Ok(by_time.into_iter().map(|(at, samples)| (f64::from_bits(at), samples)).collect())
}

/// The names in the answer to a question for the values of a label.
///
/// # Errors
/// As [`samples`].
pub fn names(body: &[u8]) -> Result<Vec<String>, String> {
    serde_json::from_value(whole(body)?.data)
        .map_err(|why| format!("its answer is not a list of names: {why}"))
}

fn whole(body: &[u8]) -> Result<Answer, String> {
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|why| format!("its answer is not that of a Prometheus server: {why}"))?;
    match answer.status.as_str() {
        "success" => Ok(answer),
        _ if answer.error.is_empty() => Err(format!("it answers with the status {:?}", answer.status)),
        _ => Err(answer.error),
    }
}

fn data(body: &[u8]) -> Result<Data, String> {
    serde_json::from_value(whole(body)?.data)
        .map_err(|why| format!("its answer is not that of a Prometheus server: {why}"))
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

fn of_buckets(buckets: &Buckets) -> Result<Histogram, String> {
    let bin = |(_, lower, upper, count): &(u8, String, String, String)| {
        Ok(Bin { lower: number(lower)?, upper: number(upper)?, count: number(count)? })
    };
    let mut bins = buckets.buckets.iter().map(bin).collect::<Result<Vec<Bin>, String>>()?;
    if bins
        .iter()
        .any(|bin| !bin.count.is_finite() || bin.count < 0.0 || bin.lower.is_nan() || bin.upper.is_nan())
    {
        return Err("a native histogram with a count that is not a number, or is negative".into());
    }
    bins.retain(|bin| bin.count > 0.0);
    bins.sort_by(|a, b| a.lower.total_cmp(&b.lower).then(a.upper.total_cmp(&b.upper)));
    Ok(Histogram { bins, count: number(&buckets.count)?, sum: number(&buckets.sum)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_samples_are_sorted_by_their_time() {
        let body = br#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"x_total","code":"200"},"values":[[10.5,"1"],[11.5,"3"]]},
            {"metric":{"__name__":"x_total","code":"500"},"values":[[10.5,"0"]]},
            {"metric":{"__name__":"t_seconds"},"histograms":[[11.5,{"count":"3","sum":"6","buckets":[
                [0,"1","2","2"],[3,"-0.001","0.001","1"]]}]]}]}}"#;
        let all = samples(body).expect("samples");
        assert_eq!(
            all.iter().map(|(at, samples)| (*at, samples.len())).collect::<Vec<_>>(),
            [(10.5, 2), (11.5, 2)]
        );
        assert_eq!(all[0].1[0].labels, [("code".to_string(), "200".to_string())]);
        let Value::Histogram(histogram) = &all[1].1[1].value else { panic!("a histogram") };
        assert_eq!((histogram.count, histogram.bins.len(), histogram.bins[0].lower), (3.0, 2, -0.001));
    }

    #[test]
    fn a_vector_a_scalar_and_an_objection() {
        let vector = br#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[5,"NaN"]}]}}"#;
        assert!(matches!(samples(vector).expect("one")[0].1[0].value, Value::Number(n) if n.is_nan()));
        let scalar = br#"{"status":"success","data":{"resultType":"scalar","result":[5.25,"7"]}}"#;
        assert_eq!(samples(scalar).expect("one")[0].0, 5.25);
        let error = br#"{"status":"error","errorType":"bad_data","error":"1:3: parse error"}"#;
        assert_eq!(samples(error), Err("1:3: parse error".into()));
        for body in [
            &b"<html>"[..],
            b"{}",
            br#"{"status":"success"}"#,
            br#"{"status":"success","data":{"resultType":"x","result":[]}}"#,
        ] {
            assert!(samples(body).is_err());
        }
        let names_body = br#"{"status":"success","data":["up","x"]}"#;
        assert_eq!(names(names_body), Ok(vec!["up".into(), "x".into()]));
    }
}

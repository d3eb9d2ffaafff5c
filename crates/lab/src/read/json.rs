//! JSON, by pointers (RFC 6901).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use unblink_artifact::lab::{LabPoint, LabReported};

use super::{ReadError, Source, Unit, of_samples};

/// More samples than this of one value are no count of requests.
const COUNT_MAX: u64 = 100_000_000;

/// `format = "json"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonFormat {
    /// Where it is.
    #[serde(default)]
    pub file: Source,
    /// Of the values.
    pub unit: Unit,
    /// The pointer of each percentile, by its share from 0 to 1.
    #[serde(default)]
    points: BTreeMap<String, String>,
    /// Percentiles in arrays of objects.
    #[serde(default)]
    arrays: Vec<Array>,
    /// The pointer of an object of counts by value: a histogram.
    counts: Option<String>,
    /// How many samples; several are added up.
    #[serde(default)]
    samples: Vec<String>,
    /// How many requests failed; several are added up, and one that is missing counts 0.
    #[serde(default)]
    errors: Vec<String>,
    /// The pointer of the mean.
    mean: Option<String>,
    /// How many requests it left unsent; one that is missing counts 0.
    #[serde(default)]
    dropped: Vec<String>,
}

/// An array of percentiles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Array {
    /// Its pointer.
    at: String,
    /// The key of the share.
    q: String,
    /// What the share is divided by: 100 where it is in percent.
    #[serde(default = "one")]
    of: f64,
    /// The key of the value.
    value: String,
    /// The key of a flag: the value is only a bound, and is left out.
    censored: Option<String>,
}

fn one() -> f64 {
    1.0
}

pub(super) fn read(text: &str, format: &JsonFormat) -> Result<LabReported, ReadError> {
    // Some tools print a line or two before.
    let from = text.find(['{', '[']).unwrap_or(0);
    let document = serde_json::Deserializer::from_str(&text[from..])
        .into_iter::<Value>()
        .next()
        .and_then(Result::ok)
        .filter(|document| document.is_object() || document.is_array())
        .ok_or_else(|| ReadError::text(text, "it is not a JSON document"))?;
    let fail = |reason: String| ReadError::text(text, reason);
    let number = |pointer: &str| match document.pointer(pointer) {
        Some(value) => value.as_f64().ok_or_else(|| fail(format!("{pointer} is not a number: {value}"))),
        None => Err(fail(format!("there is no {pointer}"))),
    };
    let (mut points, mut longer_from) = (Vec::new(), None::<f64>);
    for (share, pointer) in &format.points {
        let q = share.parse().ok().filter(|q| (0.0..=1.0).contains(q));
        let q = q.ok_or_else(|| fail(format!("{share:?} is not a share from 0 to 1")))?;
        let value = number(pointer)?;
        let value_ns = format.unit.to_ns(value).ok_or_else(|| fail(format!("{pointer} is {value}")))?;
        points.push(LabPoint { q, value_ns });
    }
    for array in &format.arrays {
        let at = &array.at;
        let entries = document.pointer(at).and_then(Value::as_array);
        let entries = entries.filter(|entries| !entries.is_empty());
        for entry in entries.ok_or_else(|| fail(format!("there is nothing at {at}")))? {
            if array.censored.as_ref().is_some_and(|key| entry[key] == true) {
                let q = entry[&array.q].as_f64().map(|q| q / array.of);
                longer_from = longer_from.into_iter().chain(q).reduce(f64::min);
                continue;
            }
            let found = entry[&array.q].as_f64().zip(entry[&array.value].as_f64());
            let (q, value) = found.ok_or_else(|| fail(format!("at {at} is {entry}")))?;
            let q = (q / array.of * 1e9).round() / 1e9;
            let value_ns = format.unit.to_ns(value).filter(|_| (0.0..=1.0).contains(&q));
            points
                .push(LabPoint { q, value_ns: value_ns.ok_or_else(|| fail(format!("at {at} is {entry}")))? });
        }
    }
    if let Some(at) = &format.counts {
        let counts = document.pointer(at).and_then(Value::as_object);
        let counts = counts.ok_or_else(|| fail(format!("there is nothing at {at}")))?;
        let mut samples_ns = Vec::new();
        for (value, count) in counts {
            let value_ns = value.parse().ok().and_then(|value| format.unit.to_ns(value));
            let both = value_ns.zip(count.as_u64().filter(|&n| n <= COUNT_MAX));
            let (ns, count) = both.ok_or_else(|| fail(format!("at {at} is {value:?}: {count}")))?;
            samples_ns.extend(std::iter::repeat_n(ns, count as usize));
        }
        if samples_ns.is_empty() {
            return Err(fail(format!("at {at} nothing is counted")));
        }
        points.extend(of_samples(samples_ns));
    }
    if format.points.is_empty() && format.arrays.is_empty() && format.counts.is_none() {
        return Err(fail("the definition names no percentile".to_owned()));
    }
    let mut samples = (!format.samples.is_empty()).then_some(0);
    for pointer in &format.samples {
        samples = samples.map(|sum| Ok(sum + number(pointer)? as u64)).transpose()?;
    }
    let found = |pointer: &String| document.pointer(pointer).and_then(Value::as_f64);
    let sum = |pointers: &[String]| {
        (!pointers.is_empty()).then(|| pointers.iter().filter_map(found).sum::<f64>() as u64)
    };
    // `null` is an answer: of what timed out nobody knows the mean.
    let mean = format.mean.as_ref().filter(|at| document.pointer(at) != Some(&Value::Null));
    let mean_ns = mean.map(|at| {
        let value = number(at)?;
        format.unit.to_ns(value).ok_or_else(|| fail(format!("{at} is {value}")))
    });
    let mean_ns = mean_ns.transpose()?;
    let (errors, dropped) = (sum(&format.errors), sum(&format.dropped));
    Ok(LabReported { points, longer_from, samples, errors, mean_ns, dropped })
}

#[cfg(test)]
mod tests {
    use super::super::Output;

    fn format() -> Output {
        toml::from_str(
            "format = \"json\"\nunit = \"s\"\nsamples = [\"/n\"]\nerrors = [\"/bad\", \"/worse\"]\n\
             mean = \"/l/mean\"\ndropped = [\"/left\"]\n\
             [points]\n\"0.5\" = \"/l/p50\"\n\
             [[arrays]]\nat = \"/all\"\nq = \"p\"\nof = 100\nvalue = \"v\"\ncensored = \"open\"",
        )
        .expect("a format")
    }

    #[test]
    fn pointers_and_arrays() {
        let text = "Running\n{\"l\":{\"p50\":0.01,\"mean\":0.02},\"n\":7,\"bad\":2,\"all\":[{\"p\":99.9,\"v\":1.5},\
                    {\"p\":100,\"v\":9,\"open\":true}]}\ntail";
        let reported = format().read(text).expect("figures");
        let points: Vec<_> = reported.points.iter().map(|p| (p.q, p.value_ns)).collect();
        assert_eq!(points, [(0.5, 10_000_000), (0.999, 1_500_000_000)]);
        assert_eq!((reported.samples, reported.errors, reported.longer_from), (Some(7), Some(2), Some(1.0)));
        assert_eq!((reported.mean_ns, reported.dropped), (Some(20_000_000), Some(0)));
    }

    /// Of a run with timeouts nobody knows the mean; a mean that is not there at all is another format.
    #[test]
    fn a_mean_may_be_unknown_but_not_missing() {
        let text =
            |l: &str| format!("{{\"l\":{{\"p50\":1{l}}},\"n\":7,\"left\":3,\"all\":[{{\"p\":99,\"v\":1}}]}}");
        let reported = format().read(&text(",\"mean\":null")).expect("figures");
        assert_eq!((reported.mean_ns, reported.dropped), (None, Some(3)));
        let error = format().read(&text("")).expect_err("no mean").to_string();
        assert!(error.starts_with("there is no /l/mean"), "{error}");
    }

    #[test]
    fn counts_by_value() {
        let text = "format = \"json\"\nunit = \"ms\"\ncounts = \"/0/times\"";
        let output: Output = toml::from_str(text).expect("a format");
        let reported = output.read(r#"[{"times": {"20": 5, "10": 95}}]"#).expect("figures");
        assert_eq!(super::super::value_at(&reported.points, 0.95), Some(10_000_000));
        assert_eq!(super::super::value_at(&reported.points, 0.99), Some(20_000_000));
        assert!(output.read(r#"[{"times": {"20": -5}}]"#).is_err());
        assert!(output.read(r#"[{"times": {}}]"#).is_err());
    }

    #[test]
    fn a_changed_format_is_quoted() {
        let error = |text: &str| format().read(text).expect_err("changed").to_string();
        assert!(
            error("{\"l\":{\"p50\":\"10ms\"}}")
                .starts_with("/l/p50 is not a number: \"10ms\"; the output begins")
        );
        assert!(error("{\"l\":{}}").starts_with("there is no /l/p50; the output begins \"{\\\"l\\\":{}}\""));
        assert!(
            error("{\"l\":{\"p50\":1},\"n\":7,\"all\":[{\"p\":99}]}").starts_with("at /all is {\"p\":99}")
        );
        assert!(error("{\"l\":{\"p50\":-1},\"n\":7}").starts_with("/l/p50 is -1"));
    }
}

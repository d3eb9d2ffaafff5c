//! Text for people, by regular expressions.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;
use unblink_artifact::lab::{LabPoint, LabReported};

use super::{ReadError, Source, Unit};

/// `format = "pattern"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternFormat {
    /// Where it is.
    #[serde(default)]
    pub file: Source,
    /// Only what stands between a line that holds this and the next empty line; each line there must match.
    section: Option<String>,
    /// A line with a percentile: groups `q` (in percent), `value`, and `unit` where the text has one.
    #[serde(with = "required")]
    percentile: Regex,
    /// Single percentiles by their share from 0 to 1, each in the first line that matches: groups `value` and `unit`.
    #[serde(default)]
    points: BTreeMap<String, Pattern>,
    /// Where the text has none.
    unit: Option<Unit>,
    /// The maximum: groups `value` and `unit`.
    #[serde(default, with = "optional")]
    max: Option<Regex>,
    /// The mean: groups `value` and `unit`.
    #[serde(default, with = "optional")]
    mean: Option<Regex>,
    /// Samples: group `count`.
    #[serde(default, with = "optional")]
    samples: Option<Regex>,
    /// Each line that counts errors: group `count`.
    #[serde(default, with = "optional")]
    errors: Option<Regex>,
}

/// A regular expression in a table of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
struct Pattern(#[serde(with = "required")] Regex);

impl PatternFormat {
    /// Every pattern has the groups that it is read by.
    pub(super) fn check(&self) -> Result<(), String> {
        let has = |pattern: &Regex, group: &str| pattern.capture_names().flatten().any(|name| name == group);
        let needs = |pattern: Option<&Regex>, groups: &[&str]| {
            let pattern = pattern.into_iter();
            let missing = pattern.flat_map(|pattern| {
                groups.iter().filter(|group| !has(pattern, group)).map(move |group| (pattern, *group))
            });
            missing.map(|(pattern, group)| format!("the pattern {pattern} has no group (?<{group}>…)")).next()
        };
        let times = if self.unit.is_some() { &["value"][..] } else { &["value", "unit"] };
        let missing = needs(Some(&self.percentile), &["q"])
            .or_else(|| needs(Some(&self.percentile), times))
            .or_else(|| self.points.values().find_map(|point| needs(Some(&point.0), times)))
            .or_else(|| needs(self.max.as_ref(), times))
            .or_else(|| needs(self.mean.as_ref(), times))
            .or_else(|| needs(self.samples.as_ref(), &["count"]))
            .or_else(|| needs(self.errors.as_ref(), &["count"]));
        missing.map_or(Ok(()), Err)
    }
}

pub(super) fn read(text: &str, format: &PatternFormat) -> Result<LabReported, ReadError> {
    let mut points = Vec::new();
    let (mut is_within, mut is_over) = (format.section.is_none(), false);
    for (i, line) in text.lines().enumerate() {
        if let Some(section) = &format.section
            && !is_within
        {
            is_within = !is_over && line.contains(section);
            continue;
        }
        if format.section.is_some() && line.trim().is_empty() {
            (is_within, is_over) = (false, true);
            continue;
        }
        match format.percentile.captures(line) {
            Some(found) => {
                let fail = |reason: &str| ReadError::line(i + 1, line, reason);
                let percent: Option<f64> = found.name("q").and_then(|q| q.as_str().parse().ok());
                let q = percent.filter(|q| (0.0..=100.0).contains(q)).ok_or_else(|| fail("no percentage"))?;
                let value_ns = time(&found, format.unit).ok_or_else(|| fail("no time"))?;
                // Shares as people write them: 99.9 % is 0.999 and not 0.9990000000000001.
                points.push(LabPoint { q: (q * 1e7).round() / 1e9, value_ns });
            }
            None if format.section.is_some() => {
                return Err(ReadError::line(i + 1, line, format!("it is not like {}", format.percentile)));
            }
            None => {}
        }
    }
    if points.is_empty() {
        let place = format.section.as_ref().map(|s| format!(" below {s:?}")).unwrap_or_default();
        return Err(ReadError::text(text, format!("no line is like {}{place}", format.percentile)));
    }
    let single = |pattern: &Regex| {
        let (line, found) = first(text, pattern)
            .ok_or_else(|| ReadError::text(text, format!("no line is like {pattern}")))?;
        time(&found, format.unit).ok_or_else(|| ReadError::line(line, &found[0], "no time"))
    };
    for (share, Pattern(pattern)) in &format.points {
        let q = share.parse().ok().filter(|q| (0.0..=1.0).contains(q));
        let q = q.ok_or_else(|| ReadError::text(text, format!("{share:?} is not a share from 0 to 1")))?;
        points.push(LabPoint { q, value_ns: single(pattern)? });
    }
    let max_ns = format.max.as_ref().map(single).transpose()?;
    points.extend(max_ns.map(|value_ns| LabPoint { q: 1.0, value_ns }));
    let mean_ns = format.mean.as_ref().map(single).transpose()?;
    let samples = match &format.samples {
        None => None,
        Some(pattern) => {
            let (line, found) = first(text, pattern)
                .ok_or_else(|| ReadError::text(text, format!("no line is like {pattern}")))?;
            Some(count(&found).ok_or_else(|| ReadError::line(line, &found[0], "no count"))?)
        }
    };
    let mut errors = format.errors.as_ref().map(|_| 0);
    if let (Some(pattern), Some(sum)) = (&format.errors, &mut errors) {
        for (i, line) in text.lines().enumerate() {
            if let Some(found) = pattern.captures(line) {
                *sum += count(&found).ok_or_else(|| ReadError::line(i + 1, line, "no count"))?;
            }
        }
    }
    Ok(LabReported { points, samples, errors, mean_ns, ..LabReported::default() })
}

fn first<'t>(text: &'t str, pattern: &Regex) -> Option<(usize, regex::Captures<'t>)> {
    text.lines().enumerate().find_map(|(i, line)| Some((i + 1, pattern.captures(line)?)))
}

fn time(found: &regex::Captures<'_>, unit: Option<Unit>) -> Option<u64> {
    let unit = match found.name("unit") {
        Some(name) => Unit::named(name.as_str())?,
        None => unit?,
    };
    unit.to_ns(number(found.name("value")?.as_str())?)
}

/// A number, its thousands apart by commas or not; a comma anywhere else is not a number that is known.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let is_grouped = |mut rest: std::str::Split<'_, char>| rest.all(|group| group.len() == 3);
    if fraction.contains(',')
        || whole.contains(',') && (first.is_empty() || first.len() > 3 || !is_grouped(groups))
    {
        return None;
    }
    text.replace(',', "").parse().ok()
}

fn count(found: &regex::Captures<'_>) -> Option<u64> {
    found.name("count")?.as_str().replace(',', "").parse().ok()
}

/// A regular expression in a definition.
mod required {
    use regex::Regex;
    use serde::{Deserialize, Deserializer, de::Error};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Regex, D::Error> {
        Regex::new(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// One that may be missing.
pub(crate) mod optional {
    use regex::Regex;
    use serde::{Deserializer, de::Error};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
        let text: Option<String> = serde::Deserialize::deserialize(from)?;
        text.map(|text| Regex::new(&text)).transpose().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Output;

    fn table() -> Output {
        toml::from_str(
            "format = \"pattern\"\nsection = \"Latency\"\n\
             percentile = '^ *(?<q>[\\d.]+)% +(?<value>[\\d.]+)(?<unit>[a-z]+)$'",
        )
        .expect("a format")
    }

    #[test]
    fn a_section_of_percentiles() {
        let text = "1% 1ms\n  Latency\n 50.000% 10.5us\n 99.9% 1.00m\n\n 1% 5ms\n  Latency\n 7%\n";
        let reported = table().read(text).expect("figures");
        let points: Vec<_> = reported.points.iter().map(|p| (p.q, p.value_ns)).collect();
        assert_eq!(points, [(0.5, 10_500), (0.999, 60_000_000_000)]);
    }

    #[test]
    fn a_mean_and_a_maximum_beside_them() {
        let more =
            "\nunit = \"ms\"\nmean = '^mean (?<value>\\S+)$'\nmax = '^max (?<value>\\S+) (?<unit>\\S+)$'";
        let output: Output = toml::from_str(&format!(
            "format = \"pattern\"\npercentile = '^(?<q>\\d+)% (?<value>\\d+)(?<unit>us)$'{more}"
        ))
        .expect("a format");
        let reported = output.read("50% 10us\nmean 12.5\nmax 2 s\n").expect("figures");
        let points: Vec<_> = reported.points.iter().map(|p| (p.q, p.value_ns)).collect();
        assert_eq!(points, [(0.5, 10_000), (1.0, 2_000_000_000)]);
        assert_eq!(reported.mean_ns, Some(12_500_000));
        let error = output.read("50% 10us\nmax 2 s\n").expect_err("no mean").to_string();
        assert!(error.starts_with("no line is like ^mean"), "{error}");
    }

    #[test]
    fn single_percentiles_stand_in_lines_of_their_own() {
        let output: Output = toml::from_str(
            "format = \"pattern\"\npercentile = '^(?<q>\\d+)% (?<value>\\d+)$'\nunit = \"us\"\n[points]\n\"0.99\" = '^p50 \\d+ p99 (?<value>\\d+)'",
        )
        .expect("a format");
        let reported = output.read("50% 10\np50 10 p99 70\n").expect("figures");
        let points: Vec<_> = reported.points.iter().map(|p| (p.q, p.value_ns)).collect();
        assert_eq!(points, [(0.5, 10_000), (0.99, 70_000)]);
        assert!(output.read("50% 10\n").is_err(), "a percentile that is asked for is missing");
    }

    #[test]
    fn commas_are_thousands_or_nothing() {
        use super::number;
        assert_eq!((number("1,942"), number("12,345,678.5")), (Some(1942.0), Some(12_345_678.5)));
        assert_eq!([number("1,5"), number(",500"), number("1,2345"), number("1.785,0")], [None; 4]);
    }

    #[test]
    fn a_changed_format_is_quoted() {
        let error = table().read("Latency\n 50% 10ms\n p99 20ms\n").expect_err("another form").to_string();
        assert!(error.starts_with("line 3 is not understood, it is not like "), "{error}");
        assert!(error.ends_with(": \"p99 20ms\""), "{error}");
        let error = table().read("Latency\n 50% 10fortnights\n").expect_err("another unit").to_string();
        assert_eq!(error, "line 2 is not understood, no time: \"50% 10fortnights\"");
        assert!(table().read("Latency\n 150% 10ms\n").is_err());
        assert!(table().read("latency\n 50% 10ms\n").is_err());
    }
}

//! HdrHistogram's percentile distribution as text: value, share, count, 1/(1 − share).

use unblink_artifact::lab::{LabPoint, LabReported};

use super::{ReadError, Unit};

/// Reads the first table of the text. The rows begin after the line of names and end at a line with `#`.
pub(super) fn read(text: &str, unit: Unit) -> Result<LabReported, ReadError> {
    let is_names = |line: &str| line.contains("Value") && line.contains("Percentile");
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !is_names(line));
    if lines.next().is_none() {
        return Err(ReadError::text(text, "there is no line with Value and Percentile"));
    }
    let (mut points, mut samples, mut mean_ns) = (Vec::new(), None, None);
    for (i, line) in lines {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.as_slice() {
            [] if points.is_empty() => continue,
            [] => break,
            [first, ..] if first.starts_with('#') => {
                mean_ns = mean(line).and_then(|mean| unit.to_ns(mean));
                break;
            }
            [value, share, count, ..] => {
                let parsed = (value.parse::<f64>(), share.parse::<f64>(), count.parse::<u64>());
                let (Ok(value), Ok(q), Ok(count)) = parsed else {
                    return Err(ReadError::line(i + 1, line, "expected a value, a share and a count"));
                };
                let value_ns = unit.to_ns(value).filter(|_| (0.0..=1.0).contains(&q));
                let value_ns = value_ns.ok_or_else(|| ReadError::line(i + 1, line, "no time or no share"))?;
                points.push(LabPoint { q, value_ns });
                samples = Some(count);
            }
            _ => return Err(ReadError::line(i + 1, line, "expected a value, a share and a count")),
        }
    }
    if points.is_empty() {
        return Err(ReadError::text(text, "there is no row below Value and Percentile"));
    }
    Ok(LabReported { points, samples, mean_ns, ..Default::default() })
}

/// Of the line behind the rows: `#[Mean = 10.1, StdDeviation = 0.2]`.
fn mean(line: &str) -> Option<f64> {
    let (_, after) = line.split_once("Mean")?;
    let (value, _) = after.split_once('=')?.1.split_once([',', ']'])?;
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_its_end() {
        let text = "x\n       Value     Percentile TotalCount 1/(1-Percentile)\n\n  1.500 0.000000 1 1.00\n\
                    2.500 1.000000 10 inf\n#[Mean = 2]\n";
        let reported = read(text, Unit::Ms).expect("figures");
        assert_eq!((reported.samples, reported.mean_ns), (Some(10), Some(2_000_000)));
        let points: Vec<_> = reported.points.iter().map(|p| (p.q, p.value_ns)).collect();
        assert_eq!(points, [(0.0, 1_500_000), (1.0, 2_500_000)]);
        let error = read(&text.replace("2.500", "2.5ms"), Unit::Ms).expect_err("a unit").to_string();
        assert!(error.starts_with("line 5 is not understood"), "{error}");
    }
}

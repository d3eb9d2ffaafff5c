//! A row for each request, with its latency in a column.

use serde::Deserialize;
use unblink_artifact::lab::LabReported;

use super::{ReadError, Source, Unit, of_samples};
use crate::oracle;

/// `format = "csv"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvFormat {
    /// Where it is.
    #[serde(default)]
    pub file: Source,
    /// Of the latencies.
    pub unit: Unit,
    /// The column of the latency: its name in the first line, or its number from 1 where there are no names.
    pub column: Column,
    /// The column that says whether a request went well.
    ok_column: Option<Column>,
    /// What stands in it then: a regular expression.
    #[serde(default, with = "super::optional")]
    ok: Option<regex::Regex>,
    /// The tool's own report leaves out what did not go well. Else it counts as failed, and its time as any other.
    #[serde(default)]
    only_ok: bool,
    /// `,` unless another is given.
    separator: Option<char>,
}

/// A column by name or number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// Counted from 1.
    Number(usize),
    /// In the first line.
    Name(String),
}

pub(super) fn read(text: &str, format: &CsvFormat) -> Result<LabReported, ReadError> {
    let separator = format.separator.unwrap_or(',');
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let is_named = matches!(format.column, Column::Name(_));
    let head: Vec<&str> = match is_named {
        true => {
            let (_, head) = lines.next().ok_or_else(|| ReadError::text(text, "there is no line of names"))?;
            split(head, separator)
        }
        false => Vec::new(),
    };
    let place = |column: &Column| match column {
        Column::Number(number) => Ok(number.saturating_sub(1)),
        Column::Name(name) => {
            let found = head.iter().position(|field| field == name);
            found.ok_or_else(|| ReadError::line(1, &head.join(","), format!("it has no column {name:?}")))
        }
    };
    let at = place(&format.column)?;
    let ok_at = format.ok_column.as_ref().map(place).transpose()?;
    let (mut samples_ns, mut errors) = (Vec::new(), 0);
    for (i, line) in lines {
        let fields = split(line, separator);
        let field = |at: usize| {
            let missing = || ReadError::line(i + 1, line, format!("it has no column {}", at + 1));
            fields.get(at).copied().ok_or_else(missing)
        };
        let is_ok = match (ok_at, &format.ok) {
            (Some(at), Some(ok)) => ok.is_match(field(at)?),
            _ => true,
        };
        let text = field(at)?;
        let ns = text.parse().ok().and_then(|value| format.unit.to_ns(value));
        errors += u64::from(!is_ok);
        match ns {
            _ if format.only_ok && !is_ok => {}
            Some(ns) => samples_ns.push(ns),
            None => return Err(ReadError::line(i + 1, line, format!("{text:?} is not a time"))),
        }
    }
    if samples_ns.is_empty() && errors == 0 {
        return Err(ReadError::text(text, "there is no row"));
    }
    let samples = samples_ns.len() as u64;
    let mean_ns = oracle::mean(&samples_ns);
    Ok(LabReported {
        points: of_samples(samples_ns),
        samples: Some(samples),
        errors: Some(errors),
        mean_ns,
        ..Default::default()
    })
}

/// Fields; a quoted one may hold the separator. No tool doubles quotes in front of the columns that are read.
fn split(line: &str, separator: char) -> Vec<&str> {
    let (mut fields, mut from, mut quoted) = (Vec::new(), 0, false);
    for (at, c) in line.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if c == separator && !quoted {
            fields.push(&line[from..at]);
            from = at + c.len_utf8();
        }
    }
    fields.push(&line[from..]);
    fields.into_iter().map(|field| field.trim().trim_matches('"')).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Output;

    fn jtl(only_ok: bool) -> Output {
        let text =
            "format = \"csv\"\ncolumn = \"elapsed\"\nok_column = \"success\"\nok = '^true$'\nunit = \"ms\"";
        toml::from_str(&format!("{text}\nonly_ok = {only_ok}")).expect("a format")
    }

    #[test]
    fn rows_with_names_failures_and_quotes() {
        let text =
            "timeStamp,elapsed,message,success\n1,10,OK,true\n2,20,\"a, b\",true\n3,9000,\"no\",false\n";
        for (only_ok, samples, longest_ns) in [(false, 3, 9_000_000_000), (true, 2, 20_000_000)] {
            let reported = jtl(only_ok).read(text).expect("figures");
            assert_eq!((reported.samples, reported.errors), (Some(samples), Some(1)));
            assert_eq!(reported.points.last().map(|p| (p.q, p.value_ns)), Some((1.0, longest_ns)));
        }
    }

    #[test]
    fn a_changed_format_is_quoted() {
        let error =
            jtl(false).read("timeStamp,took,success\n1,10,true\n").expect_err("no column").to_string();
        assert_eq!(
            error,
            "line 1 is not understood, it has no column \"elapsed\": \"timeStamp,took,success\""
        );
        let error = jtl(false).read("elapsed,success\n10ms,true\n").expect_err("a unit").to_string();
        assert_eq!(error, "line 2 is not understood, \"10ms\" is not a time: \"10ms,true\"");
        let error = jtl(false).read("elapsed,success\n10\n").expect_err("a cut row").to_string();
        assert_eq!(error, "line 2 is not understood, it has no column 2: \"10\"");
        assert!(jtl(false).read("elapsed,success\n-1,true\n").is_err());
    }
}

//! A rate over time from a file: CSV with a header line, a row for each step of time.

use crate::args::load::TraceArgs;
use crate::errors::{refuse, refused};
use crate::inputs;
use crate::value::{self, Shape};
use anyhow::{Context, Error, Result};
use std::io::Read;
use std::path::Path;
use unblink_artifact::names::few;
use unblink_core::plan::PHASES_MAX;
use unblink_core::schedule::{Phase, Rate};
use unblink_core::time::Nanos;
use unblink_report::format;
use unblink_workload::{Balanced, Unbalanced};

/// More than any file of so few rows is long.
const BYTES_MAX: u64 = 16 << 20;
/// The column that is taken where none is named.
const COLUMN: &str = "rate";
/// Rates that are scaled are rounded to one request in so many seconds.
const SCALED_SECONDS: u64 = 1_000_000;

/// The phases that `args` ask for, each row's rate held for its step; none where no trace is asked for. `mean` is the rate
/// that they are scaled to, `length` what is asked for with -d.
pub(crate) fn phases(
    args: &TraceArgs,
    mean: Option<&Shape>,
    length: Option<Nanos>,
    usual: Nanos,
) -> Result<Option<Vec<Phase>>> {
    let Some(file) = &args.trace else {
        if args.trace_column.is_some() || args.trace_step.is_some() {
            refuse!(
                ["trace-column", "trace-step"],
                "--trace-column and --trace-step are about the file of a trace: add --trace FILE, or leave them out"
            );
        }
        return Ok(None);
    };
    let mean = match mean {
        None => None,
        Some(Shape::Hold(rate)) => Some(*rate),
        Some(_) => refuse!(
            ["rate", "trace"],
            "with --trace, -R is the mean that its rates are scaled to: give it one rate, or leave it out"
        ),
    };
    let rates = rates(file, args.trace_column.as_deref())
        .map_err(|error| refused(&["trace"], crate::explain_error(&error)))?;
    let phases = over(rates, args.trace_step, length, usual)?;
    Ok(Some(match mean {
        None => phases,
        Some(mean) => scaled(phases, mean)?,
    }))
}

/// Each rate for its step; without a step, all of them share the length equally.
fn over(rates: Vec<Rate>, step: Option<Nanos>, length: Option<Nanos>, usual: Nanos) -> Result<Vec<Phase>> {
    let Some(step) = step else { return Ok(Shape::Steps(rates).over(length.unwrap_or(usual))) };
    if step == Nanos::ZERO {
        refuse!(["trace-step"], "--trace-step is 0: give each row of the trace a time above 0, such as 1m");
    }
    let whole = Nanos(step.0.saturating_mul(rates.len() as u64));
    let length = length.unwrap_or(whole);
    if length > whole {
        let said = |ns: Nanos| format::plain(&format::moment(ns.0));
        refuse!(
            ["duration", "trace-step"],
            "the trace lasts {} ({} of {}), less than the {} of -d: leave -d out, or --trace-step for rows that fill -d",
            said(whole),
            format::plural(rates.len() as u64, "row", "rows"),
            said(step),
            said(length)
        );
    }
    let phase = |(place, rate): (usize, Rate)| {
        let left = Nanos(length.0.saturating_sub(step.0 * place as u64));
        (left > Nanos::ZERO).then(|| Phase::hold(rate, left.min(step)))
    };
    Ok(rates.into_iter().enumerate().map_while(phase).collect())
}

/// The same with another mean.
fn scaled(phases: Vec<Phase>, mean: Rate) -> Result<Vec<Phase>> {
    let seconds: f64 = phases.iter().map(|phase| phase.duration.as_secs_f64()).sum();
    let requests: f64 = phases.iter().map(|p| p.from.as_per_s() * p.duration.as_secs_f64()).sum();
    if requests <= 0.0 {
        refuse!(["trace"], "the trace's rates are 0 throughout: nothing would be sent");
    }
    let factor = mean.as_per_s() * seconds / requests;
    let rate = |rate: Rate| {
        let scaled = (rate.as_per_s() * factor * SCALED_SECONDS as f64).round();
        Rate::new(scaled as u64, SCALED_SECONDS).unwrap_or_default()
    };
    Ok(phases.into_iter().map(|phase| Phase::hold(rate(phase.from), phase.duration)).collect())
}

/// The rates in a column of `file`.
fn rates(file: &Path, column: Option<&str>) -> Result<Vec<Rate>> {
    let open = || -> std::io::Result<String> {
        let mut text = String::new();
        inputs::opened(file)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = open().with_context(|| format!("can't read the trace {file:?}"))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(Error::msg(format!("{}: a trace has at most {} MiB", file.display(), BYTES_MAX >> 20)));
    }
    in_text(&text, column).map_err(|(line, why)| Error::msg(format!("{}:{line}: {why}", file.display())))
}

/// The same of its text; or which line is wrong, and why.
fn in_text(text: &str, column: Option<&str>) -> Result<Vec<Rate>, (u64, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(Balanced::new(text.as_bytes()));
    let line = |position: Option<&csv::Position>| position.map_or(1, |position| line_of(text, position));
    let at = |error: csv::Error| match unbalanced(&error) {
        Some(unbalanced) => (unbalanced.line, unbalanced.to_string()),
        None => (line(error.position()), csv_words(&error)),
    };
    let names: Vec<String> = reader.headers().map_err(at)?.iter().map(ToString::to_string).collect();
    let place = place(&names, column).map_err(|why| (1, why))?;
    let mut rates = Vec::new();
    for record in reader.records() {
        let record = record.map_err(at)?;
        let line = line(record.position());
        if rates.len() == PHASES_MAX {
            let why = format!("a trace has at most {PHASES_MAX} rows: put several rows of this one into one");
            return Err((line, why));
        }
        let value = record.get(place).unwrap_or_default();
        rates.push(value::rate_or_none(value).map_err(|why| (line, format!("{}: {why}", names[place])))?);
    }
    if rates.is_empty() {
        return Err((1, "there is no row below the names of the columns".into()));
    }
    Ok(rates)
}

/// The line of the row at `position`, which is where the row before it ended.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let rest = text.as_bytes().get(position.byte() as usize..).unwrap_or_default();
    let between = rest.iter().take_while(|byte| b"\r\n".contains(byte));
    position.line() + between.filter(|&&byte| byte == b'\n').count() as u64
}

fn place(names: &[String], column: Option<&str>) -> Result<usize, String> {
    let there = || few(names);
    let find = |name: &str| {
        let mut so_called = names.iter().enumerate().filter(|(_, other)| *other == name);
        match (so_called.next(), so_called.next()) {
            (Some(_), Some(_)) => {
                Err(format!("several columns are called {name:?}: which one has the rates?"))
            }
            (first, _) => Ok(first.map(|(place, _)| place)),
        }
    };
    match (column, names) {
        (_, []) => Err("the file is empty".into()),
        (Some(column), _) => {
            find(column)?.ok_or_else(|| format!("no column is called {column:?}; there are {}", there()))
        }
        (None, [_]) => Ok(0),
        (None, _) => find(COLUMN)?.ok_or_else(|| {
            format!("which column has the rates? There are {}: name it with --trace-column", there())
        }),
    }
}

fn unbalanced(error: &csv::Error) -> Option<Unbalanced> {
    match error.kind() {
        csv::ErrorKind::Io(error) => Unbalanced::in_error(error),
        _ => None,
    }
}

fn csv_words(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("this row has {}, the first line {expected_len}", format::plural(*len, "field", "fields"))
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_s(rates: &[Rate]) -> Vec<f64> {
        rates.iter().map(|rate| rate.as_per_s()).collect()
    }

    #[test]
    fn a_column_of_rates() {
        let all = |text, column| in_text(text, column).map(|rates| per_s(&rates));
        let csv = "\u{feff}minute, rate ,note\n08:00,100,\"quiet, still\"\n08:01,30/m,\n\n08:02,0,\n";
        assert_eq!(all(csv, None), Ok(vec![100.0, 0.5, 0.0]));
        assert_eq!(all("rps\r\n5\r\n7.25\r\n", None), Ok(vec![5.0, 7.25]));
        assert_eq!(all("a,b\n1,2\n", Some("b")), Ok(vec![2.0]));
        for (text, column, line, part) in [
            ("a,b\n1,2\n", None, 1, "There are a, b"),
            ("a,b\n1,2\n", Some("c"), 1, "no column is called \"c\"; there are a, b"),
            ("rate,rate\n1,2\n", None, 1, "several columns are called \"rate\""),
            ("a,b,b\n1,2,3\n", Some("b"), 1, "several columns are called \"b\""),
            ("rate,note\n1,\"x\n2,y\n3,z\n", None, 2, "never closed"),
            ("rate\n", None, 1, "no row"),
            ("", None, 1, "empty"),
            ("rate\n5\nfast\n", None, 3, "rate: \"fast\" is not a rate"),
            ("rate\n5\n-5\n", None, 3, "negative"),
            ("rate\r\n5\r\n\r\nfast\r\n", None, 4, "rate: \"fast\" is not a rate"),
            ("a,rate\n1,5\n\n3\n", None, 4, "this row has 1 field, the first line 2"),
        ] {
            let (at, why) = in_text(text, column).unwrap_err();
            assert!(at == line && why.contains(part), "{text:?}: {at}: {why}");
        }
        let long = format!("rate\n{}", "1\n".repeat(PHASES_MAX + 1));
        assert_eq!(in_text(&long, None).unwrap_err().0, PHASES_MAX as u64 + 2);
    }

    #[test]
    fn rows_fill_their_steps_and_keep_the_mean() {
        let rates = || [100, 300, 0].map(Rate::per_second).to_vec();
        let usual = Nanos::from_secs(30);
        let lengths = |step: Option<u64>, length: Option<u64>| {
            let phases = over(rates(), step.map(Nanos::from_secs), length.map(Nanos::from_secs), usual);
            phases.map(|all| all.iter().map(|p| p.duration.as_secs_f64()).collect::<Vec<_>>()).ok()
        };
        assert_eq!(lengths(None, None), Some(vec![10.0; 3]));
        assert_eq!(lengths(None, Some(60)), Some(vec![20.0; 3]));
        assert_eq!(lengths(Some(60), None), Some(vec![60.0; 3]));
        assert_eq!(lengths(Some(60), Some(90)), Some(vec![60.0, 30.0]));
        assert_eq!(lengths(Some(60), Some(181)), None);
        assert_eq!(lengths(Some(0), None), None);
        let cut = over(rates(), Some(Nanos::from_secs(60)), Some(Nanos::from_secs(90)), usual).unwrap();
        // 60 s at 100/s and 30 s at 300/s are 166.7/s; of 50/s it is 30/s and 90/s.
        let scaled = scaled(cut, Rate::per_second(50)).unwrap();
        assert_eq!(scaled.iter().map(|p| p.to.as_per_s()).collect::<Vec<_>>(), [30.0, 90.0]);
    }
}

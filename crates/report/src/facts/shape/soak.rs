//! Whether anything drifted in a soak, in words.

use super::{Line, Shape, line};
use crate::facts::title::Title;
use crate::format::{self, moment, percent};
use unblink_artifact::document::{RunDocument, Soak, SoakFigure, SoakFigureName};

pub(super) fn soak(doc: &RunDocument, soak: &Soak) -> Shape {
    let drifting: Vec<&SoakFigure> = soak.figures.iter().filter(|f| f.is_drift).collect();
    let over = moment(soak.to_ns.saturating_sub(soak.from_ns));
    let finding = match drifting.as_slice() {
        _ if soak.figures.is_empty() => "Too short to tell whether anything drifts.".to_string(),
        [] => format!("No drift was found over {over}."),
        [one] => format!("{} drifts by {} over {over}.", capital(name(one)), signed(one, one.change)),
        [first, others @ ..] => {
            let others: Vec<&str> = others.iter().map(|figure| name(figure)).collect();
            let by = signed(first, first.change);
            let also = if others.len() == 1 { "so does" } else { "so do" };
            format!("{} drifts by {by} over {over}; {also} {}.", capital(name(first)), others.join(", "))
        }
    };
    let lines = soak.figures.iter().map(|figure| told(doc, figure)).collect();
    let picture = Title {
        finding: finding.trim_end_matches('.').into(),
        plotted:
            "Change over the whole time with its 99\u{a0}% interval, as a share of the figure's own level."
                .into(),
    };
    Shape { name: "Soak", finding, lines, picture }
}

/// A figure with what became of it.
fn told(doc: &RunDocument, figure: &SoakFigure) -> Line {
    let between = format!("({} to {})", signed(figure, figure.low), signed(figure, figure.high));
    let meant = match (figure.is_drift, figure.findable) {
        (true, _) => format!("drifts by {} {between}", signed(figure, figure.change)),
        (false, None) => "no drift found: it hardly ever changed".to_string(),
        (false, Some(findable)) => {
            format!("no drift found {between}; findable: {}", amount(figure, findable))
        }
    };
    // The percentile of the whole time stands in the table of latency, and is another figure.
    let what = match (figure.figure, crate::facts::folded(doc)) {
        (SoakFigureName::P50 | SoakFigureName::P99, Some(of)) => format!("{} {of}", name(figure)),
        (SoakFigureName::P50 | SoakFigureName::P99, None) => format!("{} by interval", name(figure)),
        _ => name(figure).into(),
    };
    line(what, amount(figure, figure.level), meant)
}

/// What a figure is called.
pub(crate) fn name(figure: &SoakFigure) -> &str {
    match figure.figure {
        SoakFigureName::P50 => "p50",
        SoakFigureName::P99 => "p99",
        SoakFigureName::Errors => "errors",
        SoakFigureName::Connections => "connections",
        SoakFigureName::Memory => "memory",
        SoakFigureName::Descriptors => "descriptors",
        SoakFigureName::Size => "size",
        SoakFigureName::Metric => figure.metric.as_deref().unwrap_or("a metric"),
    }
}

fn capital(name: &str) -> String {
    // Percentiles are written small wherever they stand.
    let is_percentile = name.starts_with('p') && name[1..].chars().all(|c| c.is_ascii_digit());
    match name.chars().next().filter(|_| !is_percentile) {
        Some(first) => first.to_uppercase().chain(name.chars().skip(1)).collect(),
        None => name.to_string(),
    }
}

fn amount(figure: &SoakFigure, value: f64) -> String {
    match figure.figure {
        SoakFigureName::P50 | SoakFigureName::P99 => format::duration(value.round() as u64),
        SoakFigureName::Errors => percent(value),
        SoakFigureName::Memory | SoakFigureName::Size => {
            format::bytes(value.round() as u64).replace(' ', "\u{a0}")
        }
        SoakFigureName::Connections | SoakFigureName::Descriptors | SoakFigureName::Metric => {
            format::number(value)
        }
    }
}

fn signed(figure: &SoakFigure, change: f64) -> String {
    let sign = match change {
        0.0 => "",
        change if change > 0.0 => "+",
        _ => "−",
    };
    format!("{sign}{}", amount(figure, change.abs()))
}

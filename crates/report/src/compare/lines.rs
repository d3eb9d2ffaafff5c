//! The lines of a comparison: a figure of both sides, and its change.

use crate::block::{Align, Block, Paint, Section, Span, Table, dim};
use crate::format::{self, Bound};
use unblink_artifact::compare::{CompareDocument, Line, Quantity};

/// Every line of both sides, the one that decides standing out; `about` says what the last columns hold.
pub(super) fn side_by_side(doc: &CompareDocument, about: String) -> Option<Section> {
    let about = Block::Line(Paint::Dim, format!("{about}."));
    (!doc.lines.is_empty()).then(|| Section {
        class: "wide-block sides",
        name: "Side by side",
        note: String::new(),
        blocks: vec![table("", &doc.lines), about],
    })
}

/// The lines of every journey.
pub(super) fn journeys(doc: &CompareDocument) -> Option<Section> {
    let tables = doc.journeys.iter().map(|journey| table(&journey.name, &journey.lines));
    (!doc.journeys.is_empty()).then(|| Section {
        class: "wide-block sides",
        name: "Journeys",
        note: "by journey time, from the intended start to the end of the last step; they decide nothing"
            .into(),
        blocks: tables.collect(),
    })
}

fn table(name: &str, lines: &[Line]) -> Block {
    let head = [name, "baseline", "candidate", "change", "95\u{a0}% interval"].map(dim).to_vec();
    let right = Align::Right;
    let align = vec![Align::Left, right, right, right, right];
    Block::Table(Table::of(head, align, lines.iter().map(row).collect()))
}

fn row(line: &Line) -> Vec<Span> {
    let (paint, mark) = if line.decides { (Paint::Bold, "▸ ") } else { (Paint::Plain, "  ") };
    let name = format!("{mark}{}", name(line));
    [name, value(line, false), value(line, true), change(line), interval(line)]
        .map(|text| (paint, text))
        .to_vec()
}

/// A line's name.
pub(super) fn name(line: &Line) -> String {
    match line.quantity {
        Quantity::Percentile => format::quantile_label(line.quantile.unwrap_or_default()),
        Quantity::Throughput => "throughput".into(),
        Quantity::Errors => "errors".into(),
    }
}

/// A line's figure on one side.
pub(super) fn value(line: &Line, candidate: bool) -> String {
    let (value, censored) = match candidate {
        false => (line.baseline, line.baseline_censored),
        true => (line.candidate, line.candidate_censored),
    };
    let Some(value) = value else { return "–".into() };
    match line.quantity {
        Quantity::Percentile if censored => format::above(value as u64),
        Quantity::Percentile => format::duration(value.round() as u64),
        Quantity::Throughput => format::rate(value),
        Quantity::Errors => format::percent(value),
    }
}

/// The change with its sign.
pub(crate) fn change(line: &Line) -> String {
    line.change.map_or("–".into(), signed)
}

/// The interval of the change.
pub(crate) fn interval(line: &Line) -> String {
    match (line.low, line.high) {
        (Some(low), Some(high)) => {
            format!("{} to {}", signed_bound(low, Bound::Lower), signed_bound(high, Bound::Upper))
        }
        _ => "–".into(),
    }
}

/// A relative change with its sign.
pub(crate) fn signed(share: f64) -> String {
    // Less than the histogram's resolution is nothing.
    if share.abs() < 0.000_05 {
        return format::percent(0.0);
    }
    let percent = share * 100.0;
    let decimals = if percent.abs() >= 99.95 {
        0
    } else if percent.abs() >= 9.995 {
        1
    } else {
        2
    };
    let sign = if share > 0.0 { '+' } else { '−' };
    format!("{sign}{:.decimals$}\u{a0}%", percent.abs())
}

/// The end of an interval of relative changes.
pub(crate) fn signed_bound(share: f64, bound: Bound) -> String {
    signed(bound.to_digits(share * 100.0, 2) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_their_sign() {
        for (share, text) in
            [(0.0, "0 %"), (0.000_04, "0 %"), (0.0123, "+1.23 %"), (-0.123, "−12.3 %"), (1.4, "+140 %")]
        {
            assert_eq!(format::plain(&signed(share)), text);
        }
    }

    #[test]
    fn an_interval_is_rounded_outwards() {
        assert_eq!(format::plain(&signed_bound(0.012_39, Bound::Lower)), "+1.23 %");
        assert_eq!(format::plain(&signed_bound(0.012_31, Bound::Upper)), "+1.24 %");
        assert_eq!(format::plain(&signed_bound(-0.012_31, Bound::Lower)), "−1.24 %");
    }
}

//! `unblink demo`: the same server, asked in two ways, beside what theory says.

mod page;
mod story;
mod text;

use crate::block::{Align, Paint, Room, Span, Table, dim, plain};
use crate::terminal::Style;
use crate::{facts, format};
use unblink_artifact::document::{Distribution, RunDocument};

/// Quantiles of the table; 1 is the maximum.
const QUANTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0];

/// One column of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoColumn {
    /// Who says so.
    pub title: String,
    /// How it was measured.
    pub subtitle: String,
    /// (q, nanoseconds), q = 1 for the maximum; `None` where it is not known.
    pub values: Vec<(f64, Option<u64>)>,
    /// Requests behind the figures; 0 for theory.
    pub samples: u64,
}

/// Both measurements and the truth.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Users who each wait for their answer.
    pub closed: RunDocument,
    /// Arrivals on a schedule that the server can't move.
    pub open: RunDocument,
    /// Exact, from theory: (q, nanoseconds), ascending; q = 1 is the maximum. The quantiles of the table
    /// should be among them; more make a smoother line.
    pub truth: Vec<(f64, u64)>,
    /// From when to when the server stands still, after its first request.
    pub stall_ns: (u64, u64),
    /// What the server does, in a sentence.
    pub scenario: String,
}

/// The story for a terminal: three columns and the sentences that explain them.
pub fn terminal(demo: &Demo, style: &Style) -> String {
    text::render(demo, style)
}

/// The story as one self-contained page, with both full reports.
pub fn html(demo: &Demo) -> String {
    page::render(demo)
}

/// The percentile spectra of both measurements and of the truth, as a stand-alone SVG.
pub fn svg(demo: &Demo) -> String {
    page::comparison(demo).file()
}

/// What a closed-loop tool reports, what users feel, and the exact values.
pub fn columns(demo: &Demo) -> [DemoColumn; 3] {
    let truth = QUANTILES.map(|q| {
        let exact = demo.truth.iter().find(|(at, _)| (at - q).abs() < 1e-9);
        (q, exact.map(|(_, ns)| *ns))
    });
    [
        measured("What a closed-loop tool reports", &demo.closed, "service time", &demo.closed.service_time),
        measured("What users feel", &demo.open, "response time", &demo.open.response_time),
        DemoColumn {
            title: "Exact, from theory".into(),
            subtitle: "what users must feel".into(),
            values: truth.to_vec(),
            samples: 0,
        },
    ]
}

/// The columns side by side: on a page with what was measured, in a terminal as narrow as three of them must be.
fn table(demo: &Demo, room: Room) -> Table {
    let columns = columns(demo);
    let beside = || columns.iter().zip([Paint::Service, Paint::Response, Paint::Bold]);
    let row = |name: Span, cells: Vec<Span>| std::iter::once(name).chain(cells).collect::<Vec<Span>>();
    let title = |column: &DemoColumn| match room {
        Room::Page => format!("{}\n{}", column.title, column.subtitle),
        Room::Narrow | Room::Terminal => text::narrow(&column.title),
    };
    let head = beside().map(|(column, paint)| (paint, title(column))).collect();
    let at = |(i, q): (usize, f64)| {
        let cell = |(column, paint): (&DemoColumn, Paint)| {
            (paint, column.values[i].1.map_or("–".into(), format::duration))
        };
        let name = if q == 1.0 { "max".into() } else { format::quantile_label(q) };
        // What the finding speaks of.
        row((if q == 0.99 { Paint::Bold } else { Paint::Plain }, name), beside().map(cell).collect())
    };
    let samples =
        |of: &DemoColumn| dim(if of.samples == 0 { String::new() } else { format::count(of.samples) });
    let samples = row(dim("samples"), columns.iter().map(samples).collect());
    let rows = QUANTILES.into_iter().enumerate().map(at).chain([samples]).collect();
    let right = Align::Right;
    Table::of(row(plain(""), head), vec![Align::Left, right, right, right], rows)
}

fn measured(title: &str, doc: &RunDocument, what: &str, d: &Distribution) -> DemoColumn {
    let value = |q: f64| {
        if q == 1.0 {
            return d.max.filter(|_| d.censored == 0);
        }
        facts::quantile(d, q).filter(|quantile| !quantile.censored).map(|quantile| quantile.value)
    };
    DemoColumn {
        title: title.into(),
        subtitle: format!("{what}; {}", doc.plan.summary),
        values: QUANTILES.map(|q| (q, value(q))).to_vec(),
        samples: d.count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_story_in_a_terminal() {
        let demo = fixture::demo();
        for width in [60, 80] {
            let text = terminal(&demo, &Style { width, color: false });
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
            insta::assert_snapshot!(format!("demo-{width}"), text);
        }
    }

    #[test]
    fn without_data_nothing_is_claimed() {
        let demo = Demo {
            closed: fixture::empty(),
            open: fixture::empty(),
            truth: Vec::new(),
            stall_ns: (0, 0),
            scenario: "Nothing happens.".into(),
        };
        let text = terminal(&demo, &Style::default());
        assert!(!text.contains("never asked"), "{text}");
        assert!(html(&demo).contains("Two ways to ask"));
    }
}

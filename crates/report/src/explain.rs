//! `unblink explain`: one server under every kind of load tool, beside what users feel.

mod figures;
mod page;
mod table;
mod text;

pub use figures::{Figures, Ratio, Time};

use crate::facts::Title;
use crate::format;
use crate::svg::{self, Panel};
use crate::terminal::Style;
use unblink_artifact::document::RunDocument;

/// All clients at one server.
#[derive(Clone, Debug)]
pub struct Explain {
    /// Name of the scenario, or nothing.
    pub scenario: Option<String>,
    /// What the server does, in the words of `--server`.
    pub server: String,
    /// Arrivals that users make.
    pub planned: u64,
    /// Exact response times of users who come whatever the server does, ascending, in ns; empty where some of them
    /// got no answer.
    pub exact_ns: Vec<u64>,
    /// The same users as a recorded run.
    pub truth: RunDocument,
    /// The others, in the order of the table.
    pub rows: Vec<Row>,
}

/// One client.
#[derive(Clone, Debug)]
pub struct Row {
    /// In a word or two.
    pub name: String,
    /// In the words of `--client`.
    pub client: String,
    /// What it does wrong, or about whom it is right, in a plain sentence.
    pub does: String,
    /// Users who behave differently rather than a tool: what they feel is not an error.
    pub is_other_users: bool,
    /// Its run.
    pub run: RunDocument,
}

/// When a figure counts as right, wherever it is coloured so.
const RIGHT: &str = "within 5\u{a0}% or 1\u{a0}ms of what users feel";

/// The finding in one line.
fn finding(figures: &[Figures]) -> String {
    let Some((users, rows)) = figures.split_first() else { return String::new() };
    let Some(truth) = users.p99() else {
        return "One server, and what each kind of load tool says about it".into();
    };
    let felt = match truth.is_bound {
        true => format!("more than {}", format::least(truth.ns)),
        false => format::duration(truth.ns),
    };
    let tools: Vec<&Figures> = rows.iter().filter(|row| !row.is_other_users).collect();
    let hidden = tools.iter().filter(|row| row.ratio.is_some_and(|ratio| ratio.is_above(2.0))).count();
    match hidden {
        0 => format!("Users feel a p99 of {felt}; no tool reports less than half of it"),
        hidden => format!(
            "Users feel a p99 of {felt}; {hidden} of {} load tools {} less than half of it",
            tools.len(),
            if hidden == 1 { "reports" } else { "report" }
        ),
    }
}

fn about(explain: &Explain) -> String {
    let name = explain.scenario.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}{} · {}", explain.server, explain.truth.plan.summary)
}

/// Around the small pictures, the true line, and a picture of each client.
fn panels(explain: &Explain, figures: &[Figures]) -> (Title, Vec<(f64, u64)>, Vec<Panel>) {
    let exact = &explain.exact_ns;
    // The maximum of n stands in the middle of its rank, as in every spectrum.
    let ends = [exact.len().saturating_sub(1)];
    let chosen = (0..exact.len()).filter(|i| {
        let left = exact.len() - i;
        ends.contains(i) || left.is_power_of_two() || i % (exact.len() / 400).max(1) == 0 || left < 400
    });
    let truth: Vec<(f64, u64)> = match exact.is_empty() {
        true => explain.truth.spectrum.response_time.iter().map(|p| (p.q, p.value_ns)).collect(),
        false => chosen.map(|i| ((i as f64 + 0.5) / exact.len() as f64, exact[i])).collect(),
    };
    let panels = explain
        .rows
        .iter()
        .zip(&figures[1..])
        .map(|(row, figures)| Panel {
            name: figures.name.clone(),
            says: match (figures.p99().map_or("–".into(), Time::words), figures.is_other_users) {
                (p99, true) => format!("p99 {p99}, of other users"),
                (p99, false) => format!("p99 {p99}; users {}", figures.ratio()),
            },
            class: match () {
                () if figures.is_other_users => "connections",
                () if figures.is_to_be_believed() => "response",
                () => "service",
            },
            points: row.run.spectrum.response_time.iter().map(|p| (p.q, p.value_ns)).collect(),
        })
        .collect();
    let title = Title {
        finding: "What each tool reports, and how far that is from what users feel".into(),
        plotted:
            "The share of its samples (the tail stretched) against the time that they took; shaded: the \
                  difference. Users 2×: at p99 they wait twice as long as it reports."
                .into(),
    };
    (title, truth, panels)
}

/// The table and a sentence for each client, for a terminal.
pub fn terminal(explain: &Explain, style: &Style) -> String {
    text::render(explain, style)
}

/// The same as one self-contained page.
pub fn html(explain: &Explain) -> String {
    page::render(explain)
}

/// The pictures as a stand-alone SVG.
pub fn svg(explain: &Explain) -> String {
    let (title, truth, panels) = panels(explain, &explain.figures());
    svg::panels(title, &truth, &panels).file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_client_in_a_terminal() {
        let explain = fixture::explain();
        for width in [60, 80] {
            let text = terminal(&explain, &Style { width, color: false });
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
            insta::assert_snapshot!(format!("explain-{width}"), text);
        }
    }

    /// The words alone, a line for each element: pictures have tests of their own.
    #[test]
    fn every_client_on_a_page() {
        let page = html(&fixture::explain());
        let (_, body) = page.split_once("<main>").expect("a page");
        let (body, _) = body.split_once("</main>").expect("its end");
        let mut words = String::new();
        for piece in body.split("<svg").enumerate().filter_map(|(i, piece)| match i {
            0 => Some(piece),
            _ => piece.split_once("</svg>").map(|(_, rest)| rest),
        }) {
            for text in piece.split('<').map(|tag| tag.split_once('>').map_or(tag, |(_, text)| text)) {
                if !text.trim().is_empty() && !text.starts_with('{') && !text.starts_with('[') {
                    words += text.trim();
                    words += "\n";
                }
            }
        }
        insta::assert_snapshot!("explain-page", words);
    }
}

//! `unblink explain`: one server under every kind of load tool, beside what users feel.

mod page;
mod text;

use crate::facts;
use crate::facts::Title;
use crate::format;
use crate::svg::{self, Picture};
use crate::terminal::Style;
use unblink_artifact::document::RunDocument;

/// Quantiles of the table; 1 is the maximum.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

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
    /// Users who behave differently rather than a tool: what they feel is no error.
    pub is_other_users: bool,
    /// Its run.
    pub run: RunDocument,
}

/// What stands in a row, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// In a word or two.
    pub name: String,
    /// In the words of `--client`.
    pub client: String,
    /// What it does.
    pub does: String,
    /// Are its figures those of its users?
    pub is_felt: bool,
    /// Users who behave differently rather than a tool.
    pub is_other_users: bool,
    /// Nanoseconds at p50, p90, p99, p99.9 and the maximum; `null` beyond what is known.
    pub p50_ns: Option<u64>,
    /// See above.
    pub p90_ns: Option<u64>,
    /// See above.
    pub p99_ns: Option<u64>,
    /// See above.
    pub p99_9_ns: Option<u64>,
    /// See above.
    pub max_ns: Option<u64>,
    /// Values that it recorded.
    pub samples: u64,
    /// Arrivals of users that it did not send.
    pub omitted: u64,
    /// Values among the samples that it made up.
    pub invented: u64,
    /// p99 against that of users: −0.9 is 90 % too low. `null` for other users, who are right about themselves.
    pub p99_error: Option<f64>,
}

impl Explain {
    /// What users feel, then every client.
    pub fn figures(&self) -> Vec<Figures> {
        let truth = self.of_truth();
        let p99 = truth.p99_ns;
        let rows = self.rows.iter().map(|row| figures(row, p99));
        std::iter::once(truth.clone()).chain(rows).collect()
    }

    fn of_truth(&self) -> Figures {
        let row = Row {
            name: "users".into(),
            client: "ideal".into(),
            does: "come when they come, whatever the server does, and wait from then on. This is the truth."
                .into(),
            is_other_users: false,
            run: self.truth.clone(),
        };
        let mut figures = figures(&row, None);
        // Nearest rank; 1e-9 takes back what the product of two floats may have added.
        let exact = |q: f64| {
            let rank = (q * self.exact_ns.len() as f64 - 1e-9).ceil().max(1.0) as usize;
            self.exact_ns.get(rank - 1).copied()
        };
        if !self.exact_ns.is_empty() {
            figures.p50_ns = exact(0.5);
            figures.p90_ns = exact(0.9);
            figures.p99_ns = exact(0.99);
            figures.p99_9_ns = exact(0.999);
            figures.max_ns = exact(1.0);
        }
        figures
    }
}

fn figures(row: &Row, truth_p99: Option<u64>) -> Figures {
    let d = &row.run.response_time;
    let known =
        |q: f64| facts::quantile(d, q).filter(|quantile| !quantile.censored).map(|quantile| quantile.value);
    let simulated = row.run.simulated.as_ref();
    let p99_ns = known(0.99);
    let error = |p99: u64, truth: u64| (truth > 0).then(|| p99 as f64 / truth as f64 - 1.0);
    Figures {
        name: row.name.clone(),
        client: row.client.clone(),
        does: row.does.clone(),
        is_felt: simulated.is_some_and(|simulated| simulated.world.is_felt),
        is_other_users: row.is_other_users,
        p50_ns: known(0.5),
        p90_ns: known(0.9),
        p99_ns,
        p99_9_ns: known(0.999),
        max_ns: d.max.filter(|_| d.censored == 0),
        samples: d.count,
        omitted: simulated.and_then(|simulated| simulated.omitted).unwrap_or(0),
        invented: simulated.map_or(0, |simulated| simulated.invented),
        p99_error: p99_ns
            .zip(truth_p99.filter(|_| !row.is_other_users))
            .and_then(|(p99, truth)| error(p99, truth)),
    }
}

impl Figures {
    fn values(&self) -> [Option<u64>; QUANTILES.len()] {
        [self.p50_ns, self.p90_ns, self.p99_ns, self.p99_9_ns, self.max_ns]
    }

    /// `−98 %`, `0 %`, `+28 %`.
    fn error(&self) -> String {
        match self.p99_error.map(|error| (error * 100.0).round()) {
            _ if self.is_other_users => "others".into(),
            None => "–".into(),
            Some(percent) if percent < 0.0 => format!("−{}\u{a0}%", -percent),
            Some(0.0) => "0\u{a0}%".into(),
            Some(percent) => format!("+{}\u{a0}%", format::number(percent)),
        }
    }
}

/// A time in ms with four digits where the model is exact, three where a histogram has it.
fn milliseconds(ns: Option<u64>, is_exact: bool) -> String {
    let Some(ns) = ns else { return "–".into() };
    let ms = ns as f64 / 1e6;
    let digits = if is_exact { 1 } else { 0 };
    let decimals = if ms >= 99.95 {
        digits
    } else if ms >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{ms:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => {
            format!("{}.{rest}", whole.parse().map_or(whole.into(), format::count))
        }
        None => text.parse().map_or(text.clone(), format::count),
    }
}

/// The finding in one line.
fn finding(explain: &Explain) -> String {
    let figures = explain.figures();
    let Some(truth) = figures[0].p99_ns else {
        return "One server, and what each kind of load tool says about it".into();
    };
    let tools: Vec<&Figures> = figures[1..].iter().filter(|row| !row.is_other_users).collect();
    let hidden = tools.iter().filter(|row| row.p99_error.is_some_and(|error| error < -0.5)).count();
    match hidden {
        0 => format!("Users feel a p99 of {}; no tool reports less than half of it", format::duration(truth)),
        hidden => format!(
            "Users feel a p99 of {}; {hidden} of {} load tools {} less than half of it",
            format::duration(truth),
            tools.len(),
            if hidden == 1 { "reports" } else { "report" }
        ),
    }
}

fn about(explain: &Explain) -> String {
    let name = explain.scenario.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}{} · {}", explain.server, explain.truth.load.summary)
}

fn picture(explain: &Explain) -> Picture {
    let figures = explain.figures();
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
        .map(|(row, figures)| svg::Panel {
            name: figures.name.clone(),
            says: match (figures.p99_ns.map_or("–".into(), format::duration), figures.is_other_users) {
                (p99, true) => format!("p99 {p99}, of other users"),
                (p99, false) => format!("p99 {p99}, {}", figures.error()),
            },
            class: if figures.is_felt { "response" } else { "service" },
            points: row.run.spectrum.response_time.iter().map(|p| (p.q, p.value_ns)).collect(),
        })
        .collect::<Vec<_>>();
    let title = Title {
        finding: "What each tool reports, and how far that is from what users feel".into(),
        plotted:
            "The share of its samples (the tail stretched) against the time that they took; shaded: the \
                  difference."
                .into(),
    };
    svg::panels(title, &truth, &panels)
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
    picture(explain).file()
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

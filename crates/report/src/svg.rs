//! The pictures of a run, for the page and as files of their own.

pub(crate) mod axis;
mod bars;
pub(crate) mod canvas;
mod heat;
mod labels;
mod lines;
pub(crate) mod load_curve;
mod objectives;
mod panels;
pub(crate) mod picture;
#[cfg(test)]
pub(crate) mod read;
#[cfg(test)]
mod readback;
mod shape;
mod shares;
mod soak;
mod soak_time;
pub(crate) mod spectrum;
mod strips;
mod watched;

use crate::facts::{self, Title};
use crate::format;
use canvas::Canvas;
pub(crate) use heat::Gap;
pub(crate) use panels::Panel;
pub(crate) use picture::{Legend, Picture, swatch};
use picture::{full, half};
use unblink_artifact::document::{Heatmap, LoadModel, RunDocument};

/// Colours of the visual language, light and dark by the reader's preference.
pub(crate) const COLORS: &str = include_str!("svg/colors.css");
/// How marks are drawn with these colours.
pub(crate) const MARKS: &str = include_str!("svg/marks.css");

/// In a legend: the class of the mark, what it stands for.
const BAND: (&str, &str) = ("band response", "95\u{a0}% interval");
/// The same where no two of them lie so close that the area between them is filled.
const WHISKER: (&str, &str) = ("whisker response", "95\u{a0}% interval");

/// Every picture of the page as a stand-alone SVG: (file stem, text).
pub fn all(doc: &RunDocument) -> Vec<(String, String)> {
    pictures(doc, "", None).iter().map(|picture| (picture.stem.to_string(), picture.file())).collect()
}

/// The pictures of a page. `scope` keeps ids apart when a page shows several runs.
pub(crate) fn pictures(doc: &RunDocument, scope: &str, truth: Option<&[(f64, u64)]>) -> Vec<Picture> {
    let mut all: Vec<Picture> = shape::pictures(doc, scope);
    all.extend([run_spectrum(doc, scope, truth), heat(doc, scope)]);
    if let Some((title, from, to)) = facts::close(doc) {
        let legend = cells_legend(&heat::part(&doc.heatmap, from, to));
        all.push(full("event", scope, title, legend, |canvas| {
            heat::draw_close(canvas, doc, (from, to), None, None)
        }));
    }
    all.extend(watched::pictures(doc, scope));
    let mut rates = vec![("truth", "offered"), ("sent", "sent"), ("ok", "achieved")];
    if doc.rate.offered.is_none() {
        rates.remove(0);
    }
    if doc.arrivals.failed > 0 {
        rates.push(("failed", "failed"));
    }
    let mut flight =
        vec![("flight", "in flight"), ("backlog", "waiting to be sent"), ("connections", "connections")];
    if !facts::waited(doc) {
        flight.remove(1);
    }
    if facts::none_ok(doc).is_some() {
        // Nothing else can be drawn large: what failed, over time, stands first.
        all.insert(0, full("rates", scope, facts::rates(doc), rates, |canvas| lines::rates(canvas, doc)));
    } else {
        all.push(half("rates", scope, facts::rates(doc), rates, |canvas| lines::rates(canvas, doc)));
    }
    all.push(half("in-flight", scope, facts::flight(doc), flight, |canvas| lines::flight(canvas, doc)));
    all.push(half("phases", scope, facts::phases(doc), Legend::new(), |canvas| bars::phases(canvas, doc)));
    let late = vec![("late", format!("lateness of the generator, p99 of {}", facts::counted_by(doc)))];
    all.push(half("lateness", scope, facts::lateness(doc), late, |canvas| lines::lateness(canvas, doc)));
    all
}

fn run_spectrum(doc: &RunDocument, scope: &str, truth: Option<&[(f64, u64)]>) -> Picture {
    let measured = spectrum::measured;
    let mut lines = Vec::new();
    let response = match doc.model() {
        _ if facts::wrong_client(doc).is_some() => "response time, as this client counts",
        _ if doc.arrivals.failed > 0 && doc.response_time.censored == 0 => "response time of the ok answers",
        _ if doc.arrivals.failed > 0 => "response time of those that did not fail",
        LoadModel::Open => "response time: what users feel",
        LoadModel::Closed => "response time of users who wait",
    };
    let mut legend = vec![("response", response), ("service dashed", "service time: send to answer")];
    lines.push(measured("response time", "response", &doc.spectrum.response_time, &doc.response_time));
    lines.push(measured("service time", "service", &doc.spectrum.service_time, &doc.service_time));
    legend.extend(lines.first().and_then(interval_mark));
    if let Some(truth) = truth {
        lines.push(truth_line(truth));
        legend.push(("truth", "exact, from theory"));
    }
    if doc.response_time.censored > 0 {
        legend.push(("unknown", "longer than is known"));
    }
    // What has no line needs no colour.
    let has_line = |class: &str| lines.iter().any(|line| line.class == class && !line.points.is_empty());
    legend.retain(|(mark, _)| match *mark {
        "response" => has_line("response"),
        "service dashed" => has_line("service"),
        _ => true,
    });
    let title = facts::spectrum(doc);
    let is_of_shares = truth.is_none() && shares::suits(&doc.response_time);
    let ends = spectrum::ends(Some(doc), &lines);
    legend.extend(objectives::legend(doc, |limit| match is_of_shares {
        true => shares::has_limit(doc, &lines, limit),
        false => ends.is_some_and(|ends| objectives::is_near(limit, ends)),
    }));
    if is_of_shares {
        legend.retain(|(mark, _)| ![BAND.0, WHISKER.0].contains(mark));
        let plotted =
            "How many were answered within a time. Hatched, as high as their share: those who waited longer.";
        let title = Title { plotted: plotted.into(), ..title };
        return full("spectrum", scope, title, legend, |canvas| shares::draw(canvas, doc, &lines));
    }
    spectrum_picture(scope, Some(doc), title, legend, &lines)
}

/// How the intervals of a line are drawn, if it has any.
fn interval_mark(line: &spectrum::Line<'_>) -> Option<(&'static str, &'static str)> {
    let has_band = line.distribution.is_some_and(spectrum::has_band);
    has_band.then(|| if spectrum::has_area(line) { BAND } else { WHISKER })
}

/// A closed loop, an open one and the truth in one picture.
pub(crate) fn comparison(
    closed: &RunDocument,
    open: &RunDocument,
    truth: &[(f64, u64)],
    title: Title,
) -> Picture {
    let (closed_time, open_time) = (&closed.service_time, &open.response_time);
    let lines = [
        spectrum::measured("what users feel", "response", &open.spectrum.response_time, open_time),
        spectrum::measured("a closed loop", "service", &closed.spectrum.service_time, closed_time),
        truth_line(truth),
    ];
    let mut legend = vec![
        ("response", "what users feel"),
        ("service dashed", "what a closed loop shows"),
        ("truth", "exact, from theory"),
    ];
    legend.extend(lines.first().and_then(interval_mark));
    spectrum_picture("demo", None, title, legend, &lines)
}

fn truth_line(truth: &[(f64, u64)]) -> spectrum::Line<'static> {
    spectrum::Line { name: "exact, from theory", class: "truth", points: truth.to_vec(), distribution: None }
}

fn spectrum_picture(
    scope: &str,
    doc: Option<&RunDocument>,
    title: Title,
    legend: Vec<(&'static str, &'static str)>,
    lines: &[spectrum::Line<'_>],
) -> Picture {
    let mut picture = full("spectrum", scope, title, legend, |canvas| spectrum::draw(canvas, doc, lines));
    let named: Vec<_> = lines.iter().map(|line| (line.name, line.class, &line.points)).collect();
    picture.lines = serde_json::to_string(&named).ok();
    picture
}

/// A small spectrum for each client, on the same axes, with the truth in each: one drawing, for a file.
pub(crate) fn panels(title: Title, truth: &[(f64, u64)], panels: &[Panel]) -> Picture {
    of_panels(title, panels, vec![("wide", panels::together(truth, panels, 1_080.0, 4))])
}

/// The same as a drawing for each client: a page finds their columns in every width.
pub(crate) fn panels_apart(title: Title, truth: &[(f64, u64)], panels: &[Panel]) -> Picture {
    let all = panels::apart(truth, panels);
    let sizes = all.into_iter().map(|canvas| ("wide middle narrow panel", canvas)).collect();
    of_panels(title, panels, sizes)
}

fn of_panels(title: Title, panels: &[Panel], sizes: Vec<(&'static str, Canvas)>) -> Picture {
    let is_drawn = |mark: &str| mark == "truth" || panels.iter().any(|panel| panel.class == mark);
    let legend = [
        ("truth", "what users feel"),
        ("service", "what this client reports"),
        ("response", "what a client reports whose percentiles are right and that left nobody out"),
        ("connections", "what other users feel, who would not wait"),
    ]
    .into_iter()
    .filter(|(mark, _)| is_drawn(mark))
    .map(|(mark, name)| (mark, name.to_string()))
    .collect();
    Picture { stem: "explain", title, legend, full: true, lines: None, sizes }
}

/// The heat map of a run.
pub(crate) fn heat(doc: &RunDocument, scope: &str) -> Picture {
    full("heatmap", scope, facts::heat(doc), heat_legend(doc, &doc.heatmap), |canvas| heat::draw(canvas, doc))
}

/// The same stretch of two runs, with some time around it, as half pictures on the same axes; in the first, a gap.
pub(crate) fn close_pair(
    docs: [(&RunDocument, &str, Title); 2],
    (from_ns, to_ns): (u64, u64),
    gap: Option<&Gap>,
) -> [Picture; 2] {
    let column = docs.iter().map(|(doc, ..)| doc.heatmap.column_ns).max().unwrap_or(1).max(1);
    let around = (to_ns.saturating_sub(from_ns) / 2).max(column.saturating_mul(2));
    let from = from_ns.saturating_sub(around) / column * column;
    let to = to_ns.saturating_add(around).div_ceil(column).saturating_mul(column);
    let values = docs
        .iter()
        .filter_map(|(doc, ..)| heat::values(&heat::part(&doc.heatmap, from, to)))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let mut gaps = [gap, None].into_iter();
    docs.map(|(doc, scope, title)| {
        let gap = gaps.next().flatten();
        let legend = cells_legend(&heat::part(&doc.heatmap, from, to));
        half("event", scope, title, legend, |canvas| heat::draw_close(canvas, doc, (from, to), values, gap))
    })
}

/// The colours with their numbers, and the lines that are drawn.
fn heat_legend(doc: &RunDocument, heat: &Heatmap) -> Legend {
    let mut legend = cells_legend(heat);
    let lines = legend.iter().position(|(class, _)| class.ends_with("share")).unwrap_or(legend.len());
    let of = facts::folded(doc).map_or(String::new(), |of| format!(" {of}"));
    if heat::has_p50(doc) {
        legend.insert(lines, ("p50", if of.is_empty() { "median".into() } else { format!("p50{of}") }));
    }
    if heat::has_p99(doc) {
        legend.insert(lines, ("p99", format!("p99{of}")));
    }
    legend
}

/// The same of a heat map without lines.
fn cells_legend(heat: &Heatmap) -> Legend {
    let steps = heat::steps(heat);
    let last = steps.len().saturating_sub(1);
    let range = |from: u64, to: u64| match from == to {
        true => format::count(from),
        false => format!("{}–{}", format::count(from), format::count(to)),
    };
    let is_one = steps.last().is_some_and(|(_, _, to)| *to == 1);
    let arrivals = if is_one { "arrival" } else { "arrivals" };
    let cell = format!(" {arrivals} in a cell of {}", format::duration(heat.column_ns));
    let named = |(i, (class, from, to)): (usize, (&'static str, u64, u64))| {
        (class, range(from, to) + if i == last { cell.as_str() } else { "" })
    };
    let mut legend: Legend = steps.into_iter().enumerate().map(named).collect();
    if heat.columns.iter().any(|column| column.censored > 0) {
        legend.push(("unknown-share", strips::LONGER.into()));
    }
    if heat.columns.iter().any(|column| column.failed > 0) {
        legend.push(("failure-share", strips::FAILED.into()));
    }
    legend
}

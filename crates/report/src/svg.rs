//! The pictures of a run, for the page and as files of their own.

mod axis;
mod bands;
mod bars;
pub(crate) mod canvas;
mod heat;
pub(crate) mod lab;
pub(crate) mod lab_time;
mod lines;
pub(crate) mod load_curve;
mod panels;
mod shape;
mod soak;
mod spectrum;
mod trend;

use crate::facts::{self, Title};
use crate::lab::words as lab_words;
use canvas::{Canvas, Size, escape};
pub(crate) use panels::Panel;
use std::fmt::Write;
use unblink_artifact::compare::CompareDocument;
use unblink_artifact::document::{LoadModel, RunDocument};
use unblink_artifact::history::TrendDocument;

/// Colours of the visual language, light and dark by the reader's preference.
pub(crate) const COLORS: &str = include_str!("svg/colors.css");
/// How marks are drawn with these colours.
pub(crate) const MARKS: &str = include_str!("svg/marks.css");

/// In a legend: the class of the mark, what it stands for.
const BAND: (&str, &str) = ("band response", "95\u{a0}% interval");

/// Every picture of the page as a stand-alone SVG: (file stem, text).
pub fn all(doc: &RunDocument) -> Vec<(String, String)> {
    pictures(doc, "", None).iter().map(|picture| (picture.stem.to_string(), picture.file())).collect()
}

/// A picture in several sizes, with the words around it.
pub(crate) struct Picture {
    pub(crate) stem: &'static str,
    pub(crate) title: Title,
    /// (class of the mark, what it stands for).
    pub(crate) legend: Vec<(&'static str, &'static str)>,
    /// Takes the page's whole width.
    pub(crate) full: bool,
    /// Lines of a spectrum for the page's script, as JSON.
    pub(crate) lines: Option<String>,
    /// (class, drawing): of the shown sizes, the page's style picks one. The first is the file's.
    sizes: Vec<(&'static str, Canvas)>,
}

/// The pictures of a page. `scope` keeps ids apart when a page shows several runs.
pub(crate) fn pictures(doc: &RunDocument, scope: &str, truth: Option<&[(f64, u64)]>) -> Vec<Picture> {
    let mut all: Vec<Picture> = shape::picture(doc, scope).into_iter().collect();
    all.extend([run_spectrum(doc, scope, truth), heat(doc, scope)]);
    if let Some((title, from, to)) = facts::close(doc) {
        let legend = heat_legend(doc);
        all.push(sized("event", scope, title, legend, true, |canvas| {
            heat::draw_close(canvas, doc, (from, to), None)
        }));
    }
    let mut rates = vec![("truth", "offered"), ("sent", "sent"), ("ok", "achieved")];
    if doc.rate.offered.is_none() {
        rates.remove(0);
    }
    if doc.arrivals.failed > 0 {
        rates.push(("failed", "failed"));
    }
    let flight =
        vec![("flight", "in flight"), ("backlog", "waiting to be sent"), ("connections", "connections")];
    all.push(half("rates", scope, facts::rates(doc), rates, |canvas| lines::rates(canvas, doc)));
    all.push(half("in-flight", scope, facts::flight(doc), flight, |canvas| lines::flight(canvas, doc)));
    all.push(half("phases", scope, facts::phases(doc), Vec::new(), |canvas| bars::phases(canvas, doc)));
    let late = vec![("late", "lateness of the generator, p99 of each interval")];
    all.push(half("lateness", scope, facts::lateness(doc), late, |canvas| lines::lateness(canvas, doc)));
    all
}

fn run_spectrum(doc: &RunDocument, scope: &str, truth: Option<&[(f64, u64)]>) -> Picture {
    let measured = spectrum::measured;
    let mut lines = Vec::new();
    let response = match doc.load.model {
        _ if facts::wrong_client(doc).is_some() => "response time, as this client counts",
        LoadModel::Open => "response time: what users feel",
        LoadModel::Closed => "response time of users who wait",
    };
    let mut legend = vec![("response", response), ("service", "service time: send to answer")];
    lines.push(measured("response time", "response", &doc.spectrum.response_time, &doc.response_time));
    lines.push(measured("service time", "service", &doc.spectrum.service_time, &doc.service_time));
    if spectrum::has_band(&doc.response_time) {
        legend.push(BAND);
    }
    if let Some(truth) = truth {
        lines.push(truth_line(truth));
        legend.push(("truth", "exact, from theory"));
    }
    if doc.response_time.censored > 0 {
        legend.push(("unknown", "longer than is known"));
    }
    spectrum_picture(scope, facts::spectrum(doc), legend, &lines)
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
        ("service", "what a closed loop shows"),
        ("truth", "exact, from theory"),
    ];
    if spectrum::has_band(open_time) {
        legend.push(BAND);
    }
    spectrum_picture("demo", title, legend, &lines)
}

fn truth_line(truth: &[(f64, u64)]) -> spectrum::Line<'static> {
    spectrum::Line { name: "exact, from theory", class: "truth", points: truth.to_vec(), distribution: None }
}

fn spectrum_picture(
    scope: &str,
    title: Title,
    legend: Vec<(&'static str, &'static str)>,
    lines: &[spectrum::Line<'_>],
) -> Picture {
    let mut picture = sized("spectrum", scope, title, legend, true, |canvas| spectrum::draw(canvas, lines));
    let named: Vec<_> = lines.iter().map(|line| (line.name, line.class, &line.points)).collect();
    picture.lines = serde_json::to_string(&named).ok();
    picture
}

/// A percentile over runs.
pub(crate) fn trend(title: Title, doc: &TrendDocument) -> Picture {
    let mut legend = Vec::new();
    if !doc.changes.is_empty() {
        legend.extend([("service", "level: geometric mean"), ("backlog", "change of the level")]);
    }
    if doc.runs.iter().any(|run| run.low_ns.is_some()) {
        legend.push(("connections", "95\u{a0}% interval of a run"));
    }
    sized("trend", "history", title, legend, true, |canvas| trend::draw(canvas, doc))
}

/// Baseline and candidate in one picture, each with the band of its runs.
pub(crate) fn bands(title: Title, doc: &CompareDocument) -> Picture {
    let legend = vec![("baseline", "baseline"), ("candidate", "candidate")];
    let mut picture = sized("bands", "compare", title, legend, true, |canvas| bands::draw(canvas, doc));
    let sides = [("baseline", &doc.baseline.spectrum), ("candidate", &doc.candidate.spectrum)];
    let named = sides.map(|(name, points)| {
        (name, name, points.iter().map(|p| (p.q, p.middle_ns)).collect::<Vec<(f64, u64)>>())
    });
    picture.lines = serde_json::to_string(&named).ok();
    picture
}

/// A small spectrum for each client, on the same axes, with the truth in each.
pub(crate) fn panels(title: Title, truth: &[(f64, u64)], panels: &[Panel]) -> Picture {
    let legend = vec![
        ("truth", "what users feel"),
        ("service", "what this client reports"),
        ("response", "the same, where it is right for its users"),
    ];
    let sizes =
        [("wide", 1_080.0, 4), ("middle", 720.0, 3), ("narrow", 360.0, 2)].map(|(class, width, columns)| {
            let height = panels.len().div_ceil(columns) as f64 * panels::ROW_HEIGHT;
            let mut canvas = Canvas::new(&format!("explain-{width}"), Size { width, height });
            panels::draw(&mut canvas, truth, panels, columns);
            (class, canvas)
        });
    Picture { stem: "explain", title, legend, full: true, lines: None, sizes: sizes.into() }
}

/// The heat map of a run.
pub(crate) fn heat(doc: &RunDocument, scope: &str) -> Picture {
    sized("heatmap", scope, facts::heat(doc), heat_legend(doc), true, |canvas| heat::draw(canvas, doc))
}

/// The same stretch of two runs, with some time around it, as half pictures on the same axes.
pub(crate) fn close_pair(docs: [(&RunDocument, &str, Title); 2], from_ns: u64, to_ns: u64) -> [Picture; 2] {
    let column = docs.iter().map(|(doc, ..)| doc.heatmap.column_ns).max().unwrap_or(1).max(1);
    let around = (to_ns.saturating_sub(from_ns) / 2).max(column.saturating_mul(2));
    let from = from_ns.saturating_sub(around) / column * column;
    let to = to_ns.saturating_add(around).div_ceil(column).saturating_mul(column);
    let values = docs
        .iter()
        .filter_map(|(doc, ..)| heat::values(&heat::part(&doc.heatmap, from, to)))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    docs.map(|(doc, scope, title)| {
        half("event", scope, title, heat_legend(doc), |canvas| {
            heat::draw_close(canvas, doc, (from, to), values)
        })
    })
}

fn heat_legend(doc: &RunDocument) -> Vec<(&'static str, &'static str)> {
    let mut legend = vec![("ramp", "few to many arrivals")];
    if heat::has_p99(doc) {
        legend.push(("p99", "p99"));
    }
    legend.push(("p50", "median"));
    if doc.heatmap.columns.iter().any(|column| column.censored > 0) {
        legend.push(("unknown", "longer than is known"));
    }
    if doc.heatmap.columns.iter().any(|column| column.failed > 0) {
        legend.push(("failure", "failed"));
    }
    legend
}

fn half(
    stem: &'static str,
    scope: &str,
    title: Title,
    legend: Vec<(&'static str, &'static str)>,
    draw: impl Fn(&mut Canvas),
) -> Picture {
    sized(stem, scope, title, legend, false, draw)
}

fn sized(
    stem: &'static str,
    scope: &str,
    title: Title,
    legend: Vec<(&'static str, &'static str)>,
    full: bool,
    draw: impl Fn(&mut Canvas),
) -> Picture {
    // (class, width, height). A half picture stands beside another one in the middle size, too.
    let sizes: &[(&str, f64, f64)] = match full {
        true => &[("wide", 1_080.0, 400.0), ("middle", 720.0, 340.0), ("narrow", 360.0, 280.0)],
        false => &[("wide", 528.0, 290.0), ("middle narrow", 360.0, 280.0)],
    };
    let draw = |&(class, width, height): &(&'static str, f64, f64)| {
        let mut canvas = Canvas::new(&format!("{scope}{stem}-{width}"), Size { width, height });
        draw(&mut canvas);
        (class, canvas)
    };
    Picture { stem, title, legend, full, lines: None, sizes: sizes.iter().map(draw).collect() }
}

impl Picture {
    /// Holds a message and no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.iter().all(|(_, canvas)| canvas.empty)
    }

    /// What it shows, where it is empty.
    pub(crate) fn shows(&self) -> &'static str {
        match self.stem {
            "phases" => "the parts of a request",
            "lateness" => "the generator's lateness",
            "rates" => "rates",
            "in-flight" => "requests in flight",
            _ => "response times",
        }
    }

    /// All sizes for a page, which shows the one that fits.
    pub(crate) fn inline(&self) -> String {
        let mut out = String::new();
        for (class, canvas) in &self.sizes {
            let (w, h) = (canvas.size.width, canvas.size.height);
            let label = escape(&format!("{}. {}", self.title.finding, self.title.plotted));
            let _ =
                write!(out, r#"<svg class="{class}" viewBox="0 0 {w} {h}" role="img" aria-label="{label}""#);
            if !canvas.data.is_empty() {
                out.push_str(" tabindex=\"0\"");
            }
            for (name, value) in &canvas.data {
                let _ = write!(out, r#" data-{name}="{}""#, escape(value));
            }
            let _ = write!(out, ">{}</svg>", canvas.body);
        }
        out
    }

    /// A file of its own: title, legend and style inside.
    pub(crate) fn file(&self) -> String {
        let canvas = &self.sizes[0].1;
        // The same margin on both sides: axis names stand at the drawing's edge.
        let width = canvas.size.width + 2.0 * 12.0;
        let title_lines = wrapped(&self.title.finding, (width - 24.0) / 10.2);
        let plotted_lines = wrapped(&self.title.plotted, (width - 24.0) / 7.0);
        let mut head = String::new();
        let mut y = 16.0;
        let put = |head: &mut String, class: &str, y: f64, line: &str| {
            let _ = write!(head, r#"<text class="{class}" x="12" y="{y}">{}</text>"#, escape(line));
        };
        for line in &title_lines {
            y += 14.0;
            put(&mut head, "title", y, line);
            y += 8.0;
        }
        for line in &plotted_lines {
            y += 12.0;
            put(&mut head, "subtitle", y, line);
            y += 5.0;
        }
        if !self.legend.is_empty() {
            y += 18.0;
            let mut x = 12.0;
            for (class, name) in &self.legend {
                let step = 30.0 + name.chars().count() as f64 * 6.6 + 14.0;
                if x + step > width && x > 12.0 {
                    x = 12.0;
                    y += 20.0;
                }
                let _ = write!(
                    head,
                    r#"<g transform="translate({x} {})">{}</g><text class="subtitle" x="{}" y="{y}">{}</text>"#,
                    y - 10.0,
                    swatch(class, &canvas.id),
                    x + 30.0,
                    escape(name)
                );
                x += step;
            }
            y += 4.0;
        }
        y += 14.0;
        let height = y + canvas.size.height + 8.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\"><title>{}</title><desc>{}</desc><style>{COLORS}{MARKS}</style>\
             <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>{head}\
             <g transform=\"translate(12 {y})\">{}</g></svg>\n",
            escape(&self.title.finding),
            escape(&self.title.plotted),
            canvas.body,
        )
    }
}

/// A sample of a mark, 22 × 12.
pub(crate) fn swatch(class: &str, id: &str) -> String {
    match class {
        "ramp" => (0..heat::LEVELS)
            .map(|i| format!(r#"<path class="c{i}" stroke-width="3" d="M{}.5 1V11"/>"#, i * 3 + 1))
            .collect(),
        "unknown" => format!(r##"<rect fill="url(#{id}-hatch)" y="1" width="22" height="10"/>"##),
        "p50" | "p99" => format!(r#"<path class="over {class}" d="M0 6L22 6"/>"#),
        "truth-band" => r#"<path class="truth-band" d="M0 3H22V9H0Z"/>"#.into(),
        _ if class.starts_with("field") => format!(r#"<rect class="{class}" width="22" height="12"/>"#),
        "event" => r#"<rect class="event" width="22" height="12"/>"#.into(),
        "band response" => r#"<rect class="band response" y="1" width="22" height="10"/>"#.into(),
        "failed" => r#"<path class="line failure" d="M0 6L22 6"/>"#.into(),
        "failure" => r#"<rect class="failure" y="1" width="22" height="10"/>"#.into(),
        _ => format!(r#"<path class="line {class}" d="M0 6L22 6"/>"#),
    }
}

/// Lines of at most so many characters.
fn wrapped(text: &str, characters: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if ((line.chars().count() + 1 + word.chars().count()) as f64) <= characters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

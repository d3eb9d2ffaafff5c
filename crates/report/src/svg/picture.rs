//! A picture with its title and legend, for the page and as a file of its own.

use super::canvas::{Canvas, Size, escape};
use super::{COLORS, MARKS, strips};
use crate::facts::Title;
use std::fmt::Write;

/// (class of the mark, what it stands for).
pub(crate) type Legend = Vec<(&'static str, String)>;

/// A picture in several sizes, with the words around it.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) stem: &'static str,
    pub(crate) title: Title,
    /// (class of the mark, what it stands for).
    pub(crate) legend: Legend,
    /// Takes the page's whole width.
    pub(crate) full: bool,
    /// Lines of a spectrum for the page's script, as JSON.
    pub(crate) lines: Option<String>,
    /// (class, drawing): of the shown sizes, the page's style picks one. The first is the file's.
    pub(crate) sizes: Vec<(&'static str, Canvas)>,
}

/// A picture that stands beside another one where there is room: one drawing for every width, in which the page's style
/// keeps letters legible.
pub(crate) fn half<L: Into<String>>(
    stem: &'static str,
    scope: &str,
    title: Title,
    legend: Vec<(&'static str, L)>,
    draw: impl Fn(&mut Canvas),
) -> Picture {
    sized(stem, scope, title, legend, &[("wide middle narrow", 460.0, 280.0)], draw)
}

/// A picture as wide as the page. On a phone its letters would be too small, so that it is drawn twice.
pub(crate) fn full<L: Into<String>>(
    stem: &'static str,
    scope: &str,
    title: Title,
    legend: Vec<(&'static str, L)>,
    draw: impl Fn(&mut Canvas),
) -> Picture {
    let sizes = [("wide middle", 1_080.0, 330.0), ("narrow", 360.0, 280.0)];
    Picture { full: true, ..sized(stem, scope, title, legend, &sizes, draw) }
}

/// The same drawing in several sizes: (class, width, height).
pub(crate) fn sized<L: Into<String>>(
    stem: &'static str,
    scope: &str,
    title: Title,
    legend: Vec<(&'static str, L)>,
    sizes: &[(&'static str, f64, f64)],
    draw: impl Fn(&mut Canvas),
) -> Picture {
    let draw = |&(class, width, height): &(&'static str, f64, f64)| {
        let mut canvas = Canvas::new(&format!("{scope}{stem}-{width}"), Size { width, height });
        draw(&mut canvas);
        (class, canvas)
    };
    let legend = legend.into_iter().map(|(mark, name)| (mark, name.into())).collect();
    Picture { stem, title, legend, full: false, lines: None, sizes: sizes.iter().map(draw).collect() }
}

impl Picture {
    /// Holds a message and no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.iter().all(|(_, canvas)| canvas.empty)
    }

    /// Why it is empty, where that is not for lack of answers.
    pub(crate) fn why(&self) -> Option<&'static str> {
        self.sizes.iter().find_map(|(_, canvas)| canvas.why)
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
            let of_all = || format!("{}. {}", self.title.finding, self.title.plotted);
            let label = escape(&canvas.label.clone().unwrap_or_else(of_all));
            let _ =
                write!(out, r#"<svg class="{class}" viewBox="0 0 {w} {h}" role="img" aria-label="{label}""#);
            if canvas.data.iter().any(|(name, _)| *name == "hover") {
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
        "c0" | "c1" | "c2" | "c3" | "c4" | "c5" | "c6" | "c7" => {
            format!(r#"<path class="{class}" stroke-width="18" d="M11 1V11"/>"#)
        }
        "unknown" => format!(r##"<rect fill="url(#{id}-hatch)" y="1" width="22" height="10"/>"##),
        "p50" | "p99" => format!(r#"<path class="over {class}" d="M0 6L22 6"/>"#),
        "soak-p50" | "soak-p99" => format!(
            r#"<path class="wedge {class}" d="M0 10L22 8V0L0 4Z"/><path class="line {class}" d="M0 9L7 4L14 8L22 3"/><path class="trend {class}" d="M0 7L22 4"/>"#
        ),
        _ if class.starts_with("objective") => format!(r#"<path class="{class}" d="M0 6H22"/>"#),
        "reach" => r#"<path class="reach" d="M11 0V12"/>"#.into(),
        "mean" => r#"<path class="mean" d="M0 6H22"/>"#.into(),
        "whisker" => r#"<path class="whisker" d="M2 2V10M2 6H20M20 2V10"/>"#.into(),
        "whisker response" => r#"<path class="whisker" d="M7 1H15M11 1V11M7 11H15"/>"#.into(),
        _ if class.starts_with("dot ") => format!(r#"<circle class="{class}" cx="11" cy="6" r="5"/>"#),
        "truth-band" => r#"<path class="truth-band" d="M0 3H22V9H0Z"/>"#.into(),
        _ if class.starts_with("field") => format!(r#"<rect class="{class}" width="22" height="12"/>"#),
        "event" | "apart" | "safe-band" | "answer-band" => {
            format!(r#"<rect class="{class}" width="22" height="12"/>"#)
        }
        "band response" => r#"<rect class="band response" y="1" width="22" height="10"/>"#.into(),
        "failed" => r#"<path class="line failure" d="M0 6L22 6"/>"#.into(),
        "unknown-share" => strips::sample(&format!(r##"fill="url(#{id}-hatch)""##)),
        "failure-share" => strips::sample(r#"class="failure""#),
        "failure" => r#"<rect class="failure" y="1" width="22" height="10"/>"#.into(),
        _ => format!(r#"<path class="line {class}" d="M0 6L22 6"/>"#),
    }
}

/// Lines of at most this many characters.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Relative luminance, WCAG 2.2.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("a colour")) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    }

    /// A single outlier stood out by 1.2 to 1.
    #[test]
    fn a_single_outlier_is_seen_in_light_and_dark() {
        let white = COLORS.replace("--bg:#fff;", "--bg:#ffffff;");
        let themes: Vec<&str> = white.split("@media").collect();
        assert_eq!(themes.len(), 2);
        for theme in themes {
            let color = |name: &str| {
                let (_, rest) = theme.split_once(&format!("--{name}:#")).expect("a colour");
                luminance(rest)
            };
            let contrast = |a: f64, b: f64| (a.max(b) + 0.05) / (a.min(b) + 0.05);
            let steps: Vec<f64> = (0..8).map(|i| contrast(color(&format!("h{i}")), color("bg"))).collect();
            assert!(steps[0] >= 3.0, "{steps:?}");
            assert!(
                steps.windows(2).all(|pair| pair[1] > pair[0] * 1.1),
                "each is told from the next: {steps:?}"
            );
        }
    }

    /// Each was there up to three times.
    #[test]
    fn a_picture_is_drawn_once_or_for_phones_too() {
        for picture in crate::svg::pictures(&fixture::stall(), "", None) {
            assert_eq!(
                picture.inline().matches("<svg").count(),
                if picture.full { 2 } else { 1 },
                "{}",
                picture.stem
            );
        }
    }
}

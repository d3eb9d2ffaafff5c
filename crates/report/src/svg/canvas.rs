//! The few SVG elements that the pictures need, escaped and short.

use std::fmt::Write;
use unblink_artifact::harmless::is_harmful;

/// Width and height of a drawing in user units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A drawing under construction.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    pub(crate) size: Size,
    /// Prefix of every id in the drawing, unique on its page.
    pub(crate) id: String,
    pub(crate) body: String,
    /// Attributes of the `svg` element that the page's script reads.
    pub(crate) data: Vec<(&'static str, String)>,
    /// Holds a message instead of data.
    pub(crate) empty: bool,
    /// Why, where the run itself does not say it.
    pub(crate) why: Option<&'static str>,
    /// What it shows, where that is a part of its picture.
    pub(crate) label: Option<String>,
}

/// Where a text's anchor stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(crate) fn new(id: &str, size: Size) -> Canvas {
        Canvas {
            size,
            id: id.into(),
            body: String::new(),
            data: Vec::new(),
            empty: false,
            why: None,
            label: None,
        }
    }

    pub(crate) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let (x, y, w, h) = (n(x), n(y), n(width.max(0.0)), n(height.max(0.0)));
        let _ = write!(self.body, r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}"/>"#);
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (n(from.0), n(from.1), n(to.0), n(to.1));
        let _ = write!(self.body, r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#);
    }

    pub(crate) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let (x, y, r) = (n(at.0), n(at.1), n(radius));
        let _ = write!(self.body, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#);
    }

    pub(crate) fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            let _ = write!(self.body, r#"<path class="{class}" d="{d}"/>"#);
        }
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " m",
            Anchor::End => " e",
        };
        let (x, y, text) = (n(at.0), n(at.1), escape(text));
        let _ = write!(self.body, r#"<text class="{class}{anchor}" x="{x}" y="{y}">{text}</text>"#);
    }

    /// Defines the grey hatching of what is not known; [`Canvas::hatched`] fills with it.
    pub(crate) fn hatching(&mut self) {
        let id = &self.id;
        let _ = write!(
            self.body,
            r#"<defs><pattern id="{id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-bg" width="6" height="6"/><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>"#
        );
    }

    pub(crate) fn hatched(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let (id, x, y, w, h) = (&self.id, n(x), n(y), n(width.max(0.0)), n(height.max(0.0)));
        let _ =
            write!(self.body, r#"<rect fill="url(#{id}-hatch)" x="{x}" y="{y}" width="{w}" height="{h}"/>"#);
    }
}

/// A path through points; starts again after `None`.
pub(crate) fn polyline(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut d = String::new();
    let mut pen_up = true;
    for point in points {
        match point {
            Some((x, y)) => {
                let _ = write!(d, "{}{} {}", if pen_up { 'M' } else { 'L' }, n(x), n(y));
                pen_up = false;
            }
            None => pen_up = true,
        }
    }
    d
}

/// A number with at most one decimal.
pub(crate) fn n(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // A minus sign in front of zero would be a byte without a meaning.
    if rounded == 0.0 { "0".into() } else { format!("{rounded}") }
}

/// For text and double-quoted attributes of HTML and XML. What XML forbids and what is harmful becomes U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if is_harmful(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(n(1.25), "1.3");
        assert_eq!(n(-0.01), "0");
        assert_eq!(n(40.0), "40");
    }

    #[test]
    fn nothing_leaves_its_element() {
        assert_eq!(escape("<a b=\"c\">&'\u{1b}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\u{fffd}");
    }

    #[test]
    fn a_path_is_broken_where_nothing_is_known() {
        assert_eq!(polyline([Some((0.0, 1.0)), None, Some((2.0, 3.0)), Some((4.0, 5.0))]), "M0 1M2 3L4 5");
    }
}

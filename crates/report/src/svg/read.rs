//! Reads values back out of a drawing by its axes, so that tests can hold them against the document.

use super::axis::Scale;
use super::canvas::Canvas;

/// A drawing, and what its positions mean.
pub(crate) struct Drawn<'a> {
    body: &'a str,
    plot: Vec<f64>,
    x: (String, (f64, f64)),
    y: (String, (f64, f64)),
}

/// Half of a position's last decimal, doubled for sums that were rounded twice.
const ROUNDED: f64 = 0.11;

impl<'a> Drawn<'a> {
    pub(crate) fn of(canvas: &'a Canvas) -> Drawn<'a> {
        let data = |name: &str| {
            let found = canvas.data.iter().find(|(of, _)| *of == name);
            found.unwrap_or_else(|| panic!("no {name}")).1.clone()
        };
        let numbers =
            |name: &str| data(name).split(' ').map(|n| n.parse().expect("a number")).collect::<Vec<f64>>();
        let (x, y, scales) = (numbers("x"), numbers("y"), data("scales"));
        let (x_kind, y_kind) = scales.split_once(' ').expect("two kinds");
        Drawn {
            body: &canvas.body,
            plot: numbers("plot"),
            x: (x_kind.into(), (x[0], x[1])),
            y: (y_kind.into(), (y[0], y[1])),
        }
    }

    pub(crate) fn x(&self, at: f64) -> f64 {
        Scale::read(&self.x.0, self.x.1, (self.plot[0], self.plot[2]), at)
    }

    pub(crate) fn y(&self, at: f64) -> f64 {
        Scale::read(&self.y.0, self.y.1, (self.plot[3], self.plot[1]), at)
    }

    /// Does a position along x mean this value, to what positions are rounded to?
    pub(crate) fn is_x(&self, at: f64, value: f64) -> bool {
        (self.x(at - ROUNDED)..=self.x(at + ROUNDED)).contains(&value)
    }

    /// The same along y.
    pub(crate) fn is_y(&self, at: f64, value: f64) -> bool {
        (self.y(at + ROUNDED)..=self.y(at - ROUNDED)).contains(&value)
    }

    /// Elements of a kind and class, in the order in which they are drawn.
    fn elements(&self, element: &str, class: &str) -> Vec<&'a str> {
        let start = format!("<{element} class=\"{class}\" ");
        let found = self.body.match_indices(&start).map(|(at, _)| &self.body[at..]);
        found.map(|rest| &rest[..rest.find("/>").expect("an end")]).collect()
    }

    fn attribute(element: &str, name: &str) -> f64 {
        let (_, rest) =
            element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name}: {element}"));
        rest.split('"').next().and_then(|value| value.parse().ok()).expect("a number")
    }

    /// Positions of the dots of a class.
    pub(crate) fn dots(&self, class: &str) -> Vec<(f64, f64)> {
        let dots = self.elements("circle", class);
        dots.iter().map(|dot| (Self::attribute(dot, "cx"), Self::attribute(dot, "cy"))).collect()
    }

    /// Positions of both ends of the lines of a class.
    pub(crate) fn lines(&self, class: &str) -> Vec<[(f64, f64); 2]> {
        let lines = self.elements("line", class);
        let end = |line: &str, n: u8| {
            (Self::attribute(line, &format!("x{n}")), Self::attribute(line, &format!("y{n}")))
        };
        lines.iter().map(|line| [end(line, 1), end(line, 2)]).collect()
    }

    /// Left, top, width and height of the rectangles of a class.
    pub(crate) fn rects(&self, class: &str) -> Vec<[f64; 4]> {
        let rects = self.elements("rect", class);
        rects
            .iter()
            .map(|rect| ["x", "y", "width", "height"].map(|name| Self::attribute(rect, name)))
            .collect()
    }

    /// Positions of the corners of the first path of a class, of `M`, `L`, `H` and `V` alone.
    pub(crate) fn path(&self, class: &str) -> Vec<(f64, f64)> {
        let path = self.elements("path", class).first().copied().unwrap_or_else(|| panic!("no {class}"));
        let (_, d) = path.split_once(" d=\"").expect("a path");
        let d = d.trim_end_matches('"').trim_end_matches('Z');
        let mut at = (0.0, 0.0);
        let mut points = Vec::new();
        for step in d.replace(['M', 'L'], "|L").replace('H', "|H").replace('V', "|V").split('|').skip(1) {
            let (kind, numbers) = step.split_at(1);
            let numbers: Vec<f64> = numbers.split(' ').map(|n| n.parse().expect("a number")).collect();
            at = match (kind, numbers.as_slice()) {
                ("H", [x]) => (*x, at.1),
                ("V", [y]) => (at.0, *y),
                (_, [x, y]) => (*x, *y),
                _ => panic!("{step}"),
            };
            points.push(at);
        }
        points
    }
}

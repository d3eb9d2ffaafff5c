//! What is drawn of values over runs or searches, whatever they are.

use crate::terminal::text::{Paint, Screen, Span};

/// Lines of the picture in a terminal.
const ROWS: usize = 12;
/// Characters of a value on its left.
const MARGIN: usize = 10;

/// Values, oldest first, and the levels between their changes.
pub(crate) struct Course {
    /// What the value axis shows.
    pub(crate) axis: &'static str,
    /// What the other axis shows.
    pub(crate) order: &'static str,
    /// A value in words.
    pub(crate) say: fn(f64) -> String,
    pub(crate) points: Vec<Point>,
    pub(crate) steps: Vec<Step>,
}

/// A value.
pub(crate) struct Point {
    pub(crate) value: f64,
    /// It is only a bound.
    pub(crate) is_bound: bool,
    /// Ends of its interval.
    pub(crate) reach: Option<(f64, f64)>,
    /// What it goes by.
    pub(crate) tick: String,
}

/// A change of the level.
pub(crate) struct Step {
    /// The first point at the new level.
    pub(crate) at: usize,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// What that point goes by.
    pub(crate) label: String,
}

impl Course {
    /// From, to and height of each level; none where nothing changed.
    pub(crate) fn levels(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let first = self.steps.first().map(|step| (0, step.before));
        let starts = first.into_iter().chain(self.steps.iter().map(|step| (step.at, step.after)));
        let ends = self.steps.iter().map(|step| step.at).chain([self.points.len()]);
        starts.zip(ends).map(|((from, level), to)| (from, to, level))
    }

    /// From left to right the runs, from bottom to top the logarithm of the value.
    pub(super) fn draw(&self, screen: &mut Screen) {
        let values = || self.points.iter().map(|point| point.value);
        let (Some(low), Some(high)) = (values().reduce(f64::min), values().reduce(f64::max)) else { return };
        // Noise of a few per cent is to look like little.
        let (middle, half) = ((low * high).sqrt(), ((high / low).sqrt() * 1.05).max(1.25));
        let (from, to) = ((middle / half).ln(), (middle * half).ln());
        let count = self.points.len();
        let width = (screen.width() - MARGIN - 2).min(3 * count).max(1);
        let column = |place: usize| (place * width + width / 2) / count.max(1);
        let row = |value: f64| {
            let share = ((to - value.ln()) / (to - from)).clamp(0.0, 1.0);
            (share * (ROWS - 1) as f64).round() as usize
        };
        let mut cells = vec![vec![(Paint::Plain, ' '); width]; ROWS];
        for (first, end, level) in self.levels() {
            let end = if end == count { width } else { column(end) };
            let start = if first == 0 { 0 } else { column(first) };
            cells[row(level)][start..end].fill((Paint::Service, '─'));
        }
        for step in &self.steps {
            cells.iter_mut().for_each(|line| line[column(step.at)] = (Paint::Finding, '│'));
        }
        for (number, point) in self.points.iter().enumerate() {
            let mark = if point.is_bound { '^' } else { '•' };
            cells[row(point.value)][column(number).min(width - 1)] = (Paint::Response, mark);
        }
        screen.blank();
        for (number, line) in cells.into_iter().enumerate() {
            let tick = match number {
                0 | 5 | 11 => (self.say)((to - (to - from) * number as f64 / (ROWS - 1) as f64).exp()),
                _ => String::new(),
            };
            let mut spans: Vec<Span> = vec![(Paint::Dim, format!("{tick:>MARGIN$} "))];
            spans.extend(line.into_iter().map(|(paint, c)| (paint, c.to_string())));
            screen.line(&spans);
        }
        if let (Some(first), Some(last)) = (self.points.first(), self.points.last()) {
            let (first, last) = (&first.tick, &last.tick);
            let gap = width.saturating_sub(first.chars().count());
            let is_room = gap > last.chars().count();
            let text = if is_room { format!("{first}{last:>gap$}") } else { first.clone() };
            screen.line(&[(Paint::Dim, format!("{:MARGIN$} {text}", ""))]);
        }
    }
}

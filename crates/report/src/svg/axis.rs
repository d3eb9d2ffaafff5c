//! Scales and axes: positions from values, ticks that people expect, grid lines behind the data.

use super::canvas::{Anchor, Canvas};
use crate::format;

/// The part of a drawing that holds data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

/// From a value to a position along one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: Kind,
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
    /// log(1 + n): counts that may be 0.
    LogFromZero,
}

impl Plot {
    /// Leaves room for labels; `strips` more rows at the top.
    pub(crate) fn of(canvas: &Canvas, left: f64) -> Plot {
        Plot { left, top: 24.0, right: canvas.size.width - 14.0, bottom: canvas.size.height - 44.0 }
    }

    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    /// A message instead of data.
    pub(crate) fn message(&self, canvas: &mut Canvas, text: &str) {
        canvas.empty = true;
        canvas.rect("frame", self.left, self.top, self.width(), self.height());
        let middle = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0 + 4.0);
        canvas.text("note", middle, Anchor::Middle, text);
    }
}

impl Canvas {
    /// What the drawing's positions mean, for the page's script and for whoever reads values back out of it.
    pub(crate) fn axes(&mut self, hover: Option<&'static str>, plot: &Plot, x: &Scale, y: &Scale) {
        self.data.extend(hover.map(|hover| ("hover", hover.to_string())));
        self.data.extend([
            ("plot", format!("{} {} {} {}", plot.left, plot.top, plot.right, plot.bottom)),
            ("x", x.domain()),
            ("y", y.domain()),
            ("scales", format!("{} {}", x.kind(), y.kind())),
        ]);
    }
}

impl Scale {
    pub(crate) fn linear(domain: (f64, f64), range: (f64, f64)) -> Scale {
        Scale::new(Kind::Linear, domain, range)
    }

    fn new(kind: Kind, (from, to): (f64, f64), (start, end): (f64, f64)) -> Scale {
        // Wide enough to be told from `from`, however large that is.
        let to = if to > from { to } else { from + (from.abs() * 1e-6).max(1.0) };
        Scale { kind, from, to, start, end }
    }

    /// Covers `low..=high` nanoseconds between round numbers.
    pub(crate) fn durations(low: u64, high: u64, range: (f64, f64)) -> Scale {
        let low = low.max(1) as f64;
        let high = (high as f64).max(low * 1.0001);
        let (mut from, mut to) = (round_below(low), round_above(high));
        // A value on the frame is hard to see; a narrow range would turn noise into mountains.
        if low / from < 1.08 {
            from = round_below(from * 0.99);
        }
        if to / high < 1.08 {
            to = round_above(to * 1.01);
        }
        while to / from < 9.9 {
            (from, to) = (round_below(from * 0.99), round_above(to * 1.01));
        }
        Scale::new(Kind::Log, (from, to), range)
    }

    /// Covers `low..=high` nanoseconds from a round number, at least a decade, and ends with `high`: beyond it nothing is known.
    pub(crate) fn durations_until(low: u64, high: u64, range: (f64, f64)) -> Scale {
        let high = high.max(10) as f64;
        let from = Scale::durations(low, low, range).from.min(high / 9.9);
        Scale::new(Kind::Log, (round_below(from), high), range)
    }

    /// Like [`Scale::durations`], for any values above 0, but no wider than the values are apart, and a quarter at least: noise of a few per
    /// cent is to look like little.
    pub(crate) fn close(low: f64, high: f64, range: (f64, f64)) -> Scale {
        let low = low.max(1e-3);
        let (middle, half) = ((low * high).sqrt(), ((high / low).sqrt() * 1.05).max(1.25));
        if half > 2.0 {
            return Scale::durations(low as u64, high.ceil() as u64, range);
        }
        Scale::new(Kind::Linear, (middle / half, middle * half), range)
    }

    pub(crate) fn counts(high: u64, range: (f64, f64)) -> Scale {
        Scale::new(Kind::LogFromZero, (0.0, round_above(high.max(9) as f64 * 1.2)), range)
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let (from, to, value) = (self.project(self.from), self.project(self.to), self.project(value));
        let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
        self.start + (self.end - self.start) * share
    }

    /// The least and the greatest value in it.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// The domain, for the page's script.
    pub(crate) fn domain(&self) -> String {
        format!("{} {}", self.from, self.to)
    }

    /// `linear`, `log` or `log1p`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Linear => "linear",
            Kind::Log => "log",
            Kind::LogFromZero => "log1p",
        }
    }

    /// The value at a position, the inverse of [`Scale::at`].
    #[cfg(test)]
    pub(crate) fn read(kind: &str, (from, to): (f64, f64), (start, end): (f64, f64), at: f64) -> f64 {
        let share = (at - start) / (end - start);
        match kind {
            "linear" => from + (to - from) * share,
            "log" => from * (to / from).powf(share),
            _ => (from + 1.0) * ((to + 1.0) / (from + 1.0)).powf(share) - 1.0,
        }
    }

    fn project(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => value,
            Kind::Log => value.max(1e-9).log10(),
            Kind::LogFromZero => (value + 1.0).log10(),
        }
    }

    /// Round values in the domain, about `target` of them.
    fn ticks(&self, target: usize) -> Vec<f64> {
        match self.kind {
            Kind::Linear => {
                let step = round_step((self.to - self.from) / target.max(1) as f64);
                let first = (self.from / step).ceil() as i64;
                let last = (self.to / step * 1.000_001).floor() as i64;
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Kind::Log => {
                let decades = (self.to / self.from).log10();
                let each: &[f64] = match decades {
                    _ if decades * 3.0 <= target as f64 => &[1.0, 2.0, 5.0],
                    // Powers of ten alone would be two.
                    _ if decades < 2.0 => &[1.0, 3.0],
                    _ => &[1.0],
                };
                let lowest = self.from.log10().floor() as i32;
                let highest = self.to.log10().ceil() as i32;
                (lowest..=highest)
                    .flat_map(|e| each.iter().map(move |m| m * 10f64.powi(e)))
                    .filter(|v| *v >= self.from * 0.999 && *v <= self.to * 1.001)
                    .collect()
            }
            Kind::LogFromZero => {
                let mut ticks = vec![0.0];
                let mut tick = 1.0;
                while tick <= self.to * 1.001 {
                    ticks.push(tick);
                    tick *= 10.0;
                }
                ticks
            }
        }
    }
}

/// Labels on the left that stand closer would touch.
const TICK_HEIGHT: f64 = 13.0;

/// Time from left to right, labelled below.
pub(crate) fn time_axis(canvas: &mut Canvas, plot: &Plot, scale: &Scale, name: &str) {
    let span = scale.to - scale.from;
    let step = time_step(span / (plot.width() / 84.0));
    let first = (scale.from / step).ceil() as i64;
    let last = (scale.to / step * 1.000_001).floor() as i64;
    for i in first..=last {
        let ns = i as f64 * step;
        vertical(canvas, plot, scale.at(ns), &format::moment(ns.max(0.0) as u64));
    }
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, name);
}

/// A vertical grid line with its label below.
pub(crate) fn vertical(canvas: &mut Canvas, plot: &Plot, x: f64, label: &str) {
    canvas.line("grid", (x, plot.top), (x, plot.bottom));
    // Labels at the edges lean inwards, so that none is cut off.
    let half = label.chars().count() as f64 * 3.9;
    if x + half > canvas.size.width {
        canvas.text("tick", (canvas.size.width - 2.0, plot.bottom + 18.0), Anchor::End, label);
    } else {
        canvas.text("tick", (x, plot.bottom + 18.0), Anchor::Middle, label);
    }
}

/// Horizontal grid lines with their labels on the left, and the axis's name above.
pub(crate) fn value_axis(
    canvas: &mut Canvas,
    plot: &Plot,
    scale: &Scale,
    name: &str,
    label: impl Fn(f64) -> String,
) {
    horizontal(canvas, plot, scale, &scale.ticks((plot.height() / 34.0) as usize), label);
    canvas.text("axis", (2.0, 11.0), Anchor::Start, name);
}

/// The same for counts: no grid line lies between two whole numbers.
pub(crate) fn count_axis(canvas: &mut Canvas, plot: &Plot, scale: &Scale, name: &str) {
    let mut ticks = scale.ticks((plot.height() / 34.0) as usize);
    ticks.retain(|tick| (tick - tick.round()).abs() < 1e-9);
    horizontal(canvas, plot, scale, &ticks, count_tick);
    canvas.text("axis", (2.0, 11.0), Anchor::Start, name);
}

fn horizontal(canvas: &mut Canvas, plot: &Plot, scale: &Scale, ticks: &[f64], label: impl Fn(f64) -> String) {
    let mut before: Option<f64> = None;
    for &tick in ticks {
        let y = scale.at(tick);
        canvas.line("grid", (plot.left, y), (plot.right, y));
        // Where decades are tight, 1 stands on 0.
        if before.is_none_or(|before| (before - y).abs() >= TICK_HEIGHT) {
            canvas.text("tick", (plot.left - 8.0, y + 4.0), Anchor::End, &label(tick));
            before = Some(y);
        }
    }
}

/// A count or a rate as a label: from a million on in millions, for which there is room.
pub(crate) fn count_tick(n: f64) -> String {
    match n {
        // Rates of less than one a second have ticks between whole numbers.
        _ if n > 0.0 && n < 0.1 => {
            let decimals = (2.0 - n.log10().floor()).clamp(0.0, 12.0) as usize;
            format!("{n:.decimals$}").trim_end_matches('0').into()
        }
        _ if n < 10.0 => format::number(n),
        _ if n >= 1e6 => format!("{}\u{a0}M", format::number(n / 1e6)),
        _ => format::count(n.round() as u64),
    }
}

/// Vertical grid lines for durations along x.
pub(crate) fn duration_axis_below(canvas: &mut Canvas, plot: &Plot, scale: &Scale, name: &str) {
    let ticks = scale.ticks((plot.width() / 70.0) as usize);
    let every = ticks.len().div_ceil((plot.width() / 52.0) as usize).max(1);
    for tick in ticks.into_iter().step_by(every) {
        vertical(canvas, plot, scale.at(tick), &duration_tick(tick));
    }
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, name);
}

/// The same for one of several panels side by side: no label reaches beyond `edges`, where the next panel's begin.
pub(crate) fn duration_axis_within(canvas: &mut Canvas, plot: &Plot, scale: &Scale, edges: (f64, f64)) {
    let ticks = scale.ticks((plot.width() / 70.0) as usize);
    let every = ticks.len().div_ceil((plot.width() / 52.0) as usize).max(1);
    for tick in ticks.into_iter().step_by(every) {
        let (x, label) = (scale.at(tick), duration_tick(tick));
        let half = label.chars().count() as f64 * 3.9;
        match x - half >= edges.0 && x + half <= edges.1 {
            true => vertical(canvas, plot, x, &label),
            false => canvas.line("grid", (x, plot.top), (x, plot.bottom)),
        }
    }
}

/// The same for a scale that ends where nothing is known beyond: its end has a label, whatever it is.
pub(crate) fn bounded_duration_axis_below(canvas: &mut Canvas, plot: &Plot, scale: &Scale) {
    let (from, end) = scale.ends();
    let ticks: Vec<f64> = scale
        .ticks((plot.width() / 70.0) as usize)
        .into_iter()
        .filter(|tick| scale.at(*tick) < plot.right - 46.0 && *tick >= from)
        .collect();
    let every = ticks.len().div_ceil((plot.width() / 52.0) as usize).max(1);
    for tick in ticks.into_iter().step_by(every).chain([end]) {
        vertical(canvas, plot, scale.at(tick), &duration_tick(tick));
    }
}

/// Vertical grid lines for rates along x.
pub(crate) fn rate_axis_below(canvas: &mut Canvas, plot: &Plot, scale: &Scale, name: &str) {
    for tick in scale.ticks((plot.width() / 70.0) as usize) {
        vertical(canvas, plot, scale.at(tick), &count_tick(tick));
    }
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, name);
}

/// Vertical grid lines for changes along x, as shares.
pub(crate) fn change_axis_below(canvas: &mut Canvas, plot: &Plot, scale: &Scale, name: &str) {
    for tick in scale.ticks((plot.width() / 76.0) as usize) {
        let sign = match tick {
            _ if tick > 0.0 => "+",
            _ if tick < 0.0 => "−",
            _ => "",
        };
        vertical(canvas, plot, scale.at(tick), &format!("{sign}{}", format::percent(tick.abs())));
    }
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, name);
}

/// A round duration as a label.
pub(crate) fn duration_tick(ns: f64) -> String {
    format::duration(ns.round() as u64)
}

fn round_below(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].iter().map(|m| m * decade).find(|v| *v <= value * 1.000_001).unwrap_or(decade)
}

fn round_above(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].iter().map(|m| m * decade).find(|v| *v >= value * 0.999_999).unwrap_or(decade * 10.0)
}

fn round_step(value: f64) -> f64 {
    if value > 0.0 { round_above(value) } else { 1.0 }
}

/// Steps of time that a clock would have.
fn time_step(ns: f64) -> f64 {
    const SECONDS: [f64; 18] = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0,
        7200.0, 14_400.0,
    ];
    let found = SECONDS.iter().map(|s| s * 1e9).find(|step| *step >= ns);
    found.unwrap_or_else(|| (ns / 86_400e9).ceil() * 86_400e9)
}

/// Where an axis of durations begins: at least, unless it lies so far below p1 that it would take the axis.
pub(crate) fn lowest(least_ns: u64, p1_ns: u64) -> u64 {
    const RATIO_MAX: u64 = 4;
    if least_ns.saturating_mul(RATIO_MAX) >= p1_ns { least_ns } else { p1_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_of_durations_ends_at_round_numbers_and_spans_a_decade() {
        let scale = Scale::durations(10_100_000, 1_000_000_000, (0.0, 100.0));
        assert_eq!(scale.domain(), "5000000 2000000000");
        let flat = Scale::durations(7, 7, (0.0, 1.0));
        assert!(flat.to / flat.from >= 9.9);
    }

    #[test]
    fn labels_of_large_counts_have_room_and_stand_apart() {
        assert_eq!(
            [0.0, 1_000.0, 999_999.0, 1e6, 2.5e6].map(|n| format::plain(&count_tick(n))),
            ["0", "1 000", "999 999", "1 M", "2.5 M"]
        );
        let mut canvas = Canvas::new("", super::super::canvas::Size { width: 360.0, height: 160.0 });
        let plot = Plot::of(&canvas, 62.0);
        let y = Scale::counts(2_000_000, (plot.bottom, plot.top));
        value_axis(&mut canvas, &plot, &y, "number", count_tick);
        let at: Vec<f64> = canvas
            .body
            .split("<text class=\"tick e\"")
            .skip(1)
            .map(|text| text.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a place"))
            .map(|y| y.parse().expect("a number"))
            .collect();
        assert!(at.len() > 2 && at.windows(2).all(|pair| pair[0] - pair[1] >= 12.9), "{at:?}");
    }

    #[test]
    fn no_two_ticks_of_low_rates_read_alike() {
        for most in [0.003, 0.07, 1.2, 9.0] {
            let mut labels: Vec<String> =
                Scale::linear((0.0, most), (0.0, 1.0)).ticks(6).into_iter().map(count_tick).collect();
            let all = labels.len();
            labels.dedup();
            assert!(all > 2 && labels.len() == all, "{labels:?}");
        }
    }

    #[test]
    fn an_axis_of_more_than_a_decade_has_three_ticks() {
        let scale = Scale::new(Kind::Log, (2e6, 5e7), (0.0, 1.0));
        assert_eq!(scale.ticks(4).len(), 3, "{:?}", scale.ticks(4));
    }

    #[test]
    fn positions_stay_inside() {
        let scale = Scale::durations(1_000, 1_000_000, (100.0, 0.0));
        for value in [0.0, 1.0, 1e12, f64::MAX] {
            assert!((0.0..=100.0).contains(&scale.at(value)), "{value}");
        }
    }

    #[test]
    fn steps_of_time_are_those_of_a_clock() {
        assert_eq!(time_step(8e9), 10e9);
        assert_eq!(time_step(700e9), 900e9);
        assert_eq!(time_step(200_000e9), 259_200e9);
    }
}

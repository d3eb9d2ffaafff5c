//! What the server saw of an open and of a closed load over time, the event shaded.

use super::percentiles;
use crate::facts::Title;
use crate::format;
use crate::svg::Picture;
use crate::svg::axis::{Plot, Scale, duration_tick, time_axis, value_axis};
use crate::svg::canvas::{Canvas, polyline};
use crate::svg::picture::half;
use unblink_artifact::lab::{LabCell, LabMoment};

const S: f64 = 1e9;
/// Lines that lie further apart than this share no linear axis.
const APART: f64 = 10.0;
const LEGEND: [(&str, &str); 3] =
    [("response", "an open load"), ("service", "a closed one"), ("event", "the server misbehaves")];

/// What is drawn: events only of a server that has some.
fn legend(cells: &[&LabCell]) -> Vec<(&'static str, &'static str)> {
    let has_events = cells.iter().any(|cell| !cell.scenario.events.is_empty());
    LEGEND.into_iter().filter(|(mark, _)| has_events || *mark != "event").collect()
}

/// How long the slowest took, by when they came.
pub(crate) fn latency(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    half("lab-latency", scope, title, legend(cells), |canvas| {
        let plot = Plot::of(canvas, 62.0);
        let all = || cells.iter().flat_map(|cell| cell.log.over_time.iter().map(|moment| moment.max_ns));
        let (Some(low), Some(high)) = (all().min(), all().max()) else {
            plot.message(canvas, "The log says nothing of it.");
            return;
        };
        if cells.iter().any(|cell| cell.log.is_blind) {
            plot.message(canvas, "The server itself can't see this event.");
            return;
        }
        let x = x_scale(&plot, cells);
        let y = Scale::durations(low, high, (plot.bottom, plot.top));
        events(canvas, &plot, &x, cells);
        value_axis(canvas, &plot, &y, "slowest, by the server's log", duration_tick);
        time_axis(canvas, &plot, &x, "when the request came");
        for cell in cells {
            let moments = &cell.log.over_time;
            let stretch_ns = moments.windows(2).map(|pair| pair[1].from_ns - pair[0].from_ns).min();
            let mut points: Vec<Option<(f64, f64)>> = Vec::new();
            let mut before_ns = None;
            for moment in moments {
                // Where nothing came there is no line.
                if before_ns.is_some_and(|before| Some(moment.from_ns - before) > stretch_ns) {
                    points.push(None);
                }
                points.push(Some(at(moment, stretch_ns.unwrap_or(0), &x, &y)));
                before_ns = Some(moment.from_ns);
            }
            canvas.path(&format!("line {} tool", percentiles::class(cell.tool.model)), &polyline(points));
        }
    })
}

/// In the middle of its stretch.
fn at(moment: &LabMoment, stretch_ns: u64, x: &Scale, y: &Scale) -> (f64, f64) {
    (x.at((moment.from_ns + stretch_ns / 2) as f64), y.at(moment.max_ns as f64))
}

/// Answers per second, in stretches that are shorter than an event.
pub(crate) fn completions(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    half("lab-completions", scope, title, legend(cells), |canvas| draw_completions(canvas, cells))
}

fn draw_completions(canvas: &mut Canvas, cells: &[&LabCell]) {
    let plot = Plot::of(canvas, 62.0);
    let highest = |cell: &&LabCell| per_s(cell).1.into_iter().reduce(f64::max);
    let all: Vec<f64> = cells.iter().filter_map(highest).collect();
    let (Some(low), Some(high)) =
        (all.iter().copied().reduce(f64::min), all.iter().copied().reduce(f64::max))
    else {
        return plot.message(canvas, "Nothing was answered.");
    };
    let x = x_scale(&plot, cells);
    let y = match high > low.max(1.0) * APART {
        true => Scale::counts(high.ceil() as u64, (plot.bottom, plot.top)),
        false => Scale::linear((0.0, high * 1.1), (plot.bottom, plot.top)),
    };
    events(canvas, &plot, &x, cells);
    value_axis(canvas, &plot, &y, "answers per second", |v| format::count(v.round() as u64));
    time_axis(canvas, &plot, &x, "since the first request");
    for cell in cells {
        let (stretch_ns, per_s) = per_s(cell);
        let steps = per_s.iter().enumerate().flat_map(|(i, &per_s)| {
            let y = y.at(per_s);
            [i, i + 1].map(|i| Some((x.at((i as u64 * stretch_ns) as f64), y)))
        });
        canvas.path(&format!("line {} tool", percentiles::class(cell.tool.model)), &polyline(steps));
    }
    canvas.axes(None, &plot, &x, &y);
}

/// Answers per second of the run, and of what was still under way after it, if that was more than the last few; and the
/// length of the stretches that they were counted in.
fn per_s(cell: &LabCell) -> (u64, Vec<f64>) {
    let offered = &cell.offered;
    let (stretch_ns, all) = match offered.completions_stretch_ns {
        0 => (S as u64, &offered.completions_per_s),
        stretch_ns => (stretch_ns, &offered.completions),
    };
    let within = cell.scenario.duration_ns.div_ceil(stretch_ns) as usize;
    let each_s = stretch_ns as f64 / S;
    let few = (cell.scenario.rate_per_s as f64 * each_s / 20.0) as u64;
    let drained = all.iter().skip(within).rposition(|&count| count > few).map_or(0, |last| last + 1);
    let counts = &all[..all.len().min(within + drained)];
    (stretch_ns, counts.iter().map(|&count| count as f64 / each_s).collect())
}

/// The run, and what was still under way after it.
fn x_scale(plot: &Plot, cells: &[&LabCell]) -> Scale {
    let end = |cell: &&LabCell| {
        let (stretch_ns, per_s) = per_s(cell);
        ((per_s.len() as u64 * stretch_ns) as f64).max(cell.scenario.duration_ns as f64)
    };
    Scale::linear((0.0, cells.iter().map(end).fold(S, f64::max)), (plot.left, plot.right))
}

/// All of a scenario's cells met the same ones.
pub(super) fn events(canvas: &mut Canvas, plot: &Plot, x: &Scale, cells: &[&LabCell]) {
    for event in cells.first().map_or(&[][..], |cell| &cell.scenario.events) {
        let (from, to) = (x.at(event.from_ns as f64), x.at(event.to_ns as f64));
        canvas.rect("event", from, plot.top, (to - from).max(1.0), plot.height());
    }
}

#[cfg(test)]
mod tests {
    use super::super::protocols::tests::of;
    use super::*;
    use crate::svg::canvas::Size;
    use crate::svg::read::Drawn;
    use unblink_artifact::document::Protocol;
    use unblink_artifact::lab::{LabEvent, LabOffered, LabScenario};

    const MS: u64 = 1_000_000;

    /// 1,000/s for 4 s, nothing of it answered from 2 s to 2.25 s.
    fn cell() -> LabCell {
        let like = of("open", Protocol::Http11, None).1;
        let events = vec![LabEvent { from_ns: 2_000 * MS, to_ns: 2_250 * MS }];
        let completions = (0..80).map(|i| {
            if (40..45).contains(&i) {
                0
            } else if i == 45 {
                300
            } else {
                50
            }
        });
        LabCell {
            scenario: LabScenario { duration_ns: 4_000 * MS, events, ..like.scenario },
            offered: LabOffered {
                completions_per_s: vec![1_000; 4],
                completions: completions.collect(),
                completions_stretch_ns: 50 * MS,
                ..LabOffered::default()
            },
            ..like
        }
    }

    /// The line ran flat through the stall.
    #[test]
    fn a_stall_of_a_quarter_of_a_second_is_seen() {
        let mut cell = cell();
        let draw = |cell: &LabCell| {
            let mut canvas = Canvas::new("", Size { width: 460.0, height: 280.0 });
            draw_completions(&mut canvas, &[cell]);
            canvas
        };
        let canvas = draw(&cell);
        let drawn = Drawn::of(&canvas);
        let line = drawn.path("line response tool");
        assert_eq!(line.len(), 160);
        for (i, (ends, &count)) in line.chunks(2).zip(&cell.offered.completions).enumerate() {
            let from_ns = i as u64 * 50 * MS;
            assert!(
                drawn.is_x(ends[0].0, from_ns as f64) && drawn.is_x(ends[1].0, (from_ns + 50 * MS) as f64)
            );
            assert!(drawn.is_y(ends[0].1, count as f64 * 20.0), "{} for {count}", drawn.y(ends[0].1));
        }
        // Of a cell that was counted by the second, seconds are drawn.
        (cell.offered.completions, cell.offered.completions_stretch_ns) = (Vec::new(), 0);
        let canvas = draw(&cell);
        assert_eq!(Drawn::of(&canvas).path("line response tool").len(), 8);
    }
}

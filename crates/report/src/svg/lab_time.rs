//! What the server saw of an open and of a closed load over time, the event shaded.

use super::axis::{Plot, Scale, duration_tick, time_axis, value_axis};
use super::canvas::{Canvas, polyline};
use super::{Picture, half, lab};
use crate::facts::Title;
use crate::format;
use unblink_artifact::lab::{LabCell, LabMoment};

const S: f64 = 1e9;
/// Lines that lie further apart than this share no linear axis.
const APART: u64 = 10;
const LEGEND: [(&str, &str); 3] =
    [("response", "an open load"), ("service", "a closed one"), ("event", "the server misbehaves")];

/// How long the slowest took, by when they came.
pub(crate) fn latency(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    half("lab-latency", scope, title, LEGEND.into(), |canvas| {
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
            canvas.path(&format!("line {} tool", lab::class(cell.tool.model)), &polyline(points));
        }
    })
}

/// In the middle of its stretch.
fn at(moment: &LabMoment, stretch_ns: u64, x: &Scale, y: &Scale) -> (f64, f64) {
    (x.at((moment.from_ns + stretch_ns / 2) as f64), y.at(moment.max_ns as f64))
}

/// Answers in each second.
pub(crate) fn completions(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    half("lab-completions", scope, title, LEGEND.into(), |canvas| {
        let plot = Plot::of(canvas, 62.0);
        let highest = |cell: &&LabCell| per_s(cell).iter().max().copied();
        let all: Vec<u64> = cells.iter().filter_map(highest).collect();
        let (Some(&low), Some(&high)) = (all.iter().min(), all.iter().max()) else {
            plot.message(canvas, "Nothing was answered.");
            return;
        };
        let x = x_scale(&plot, cells);
        let y = match high > low.max(1) * APART {
            true => Scale::counts(high, (plot.bottom, plot.top)),
            false => Scale::linear((0.0, high as f64 * 1.1), (plot.bottom, plot.top)),
        };
        events(canvas, &plot, &x, cells);
        value_axis(canvas, &plot, &y, "answers per second", |v| format::count(v.round() as u64));
        time_axis(canvas, &plot, &x, "since the first request");
        for cell in cells {
            let steps = per_s(cell).iter().enumerate().flat_map(|(second, &count)| {
                let y = y.at(count as f64);
                [second, second + 1].map(|second| Some((x.at(second as f64 * S), y)))
            });
            canvas.path(&format!("line {} tool", lab::class(cell.tool.model)), &polyline(steps));
        }
    })
}

/// Answers of the run, and of what was still under way after it, if that was more than the last few.
fn per_s(cell: &LabCell) -> &[u64] {
    let all = &cell.offered.completions_per_s;
    let seconds = (cell.scenario.duration_ns as f64 / S).ceil() as usize;
    let few = cell.scenario.rate_per_s / 20;
    let drained = all.iter().skip(seconds).rposition(|&count| count > few).map_or(0, |last| last + 1);
    &all[..all.len().min(seconds + drained)]
}

/// The run, and what was still under way after it.
fn x_scale(plot: &Plot, cells: &[&LabCell]) -> Scale {
    let end = |cell: &&LabCell| {
        let answered = per_s(cell).len() as f64 * S;
        answered.max(cell.scenario.duration_ns as f64)
    };
    Scale::linear((0.0, cells.iter().map(end).fold(S, f64::max)), (plot.left, plot.right))
}

/// All of a scenario's cells met the same ones.
fn events(canvas: &mut Canvas, plot: &Plot, x: &Scale, cells: &[&LabCell]) {
    for event in cells.first().map_or(&[][..], |cell| &cell.scenario.events) {
        let (from, to) = (x.at(event.from_ns as f64), x.at(event.to_ns as f64));
        canvas.rect("event", from, plot.top, (to - from).max(1.0), plot.height());
    }
}

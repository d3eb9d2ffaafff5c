//! The parts of a request's time as bars from the median to p99.

use super::axis::{Plot, Scale, duration_axis_below};
use super::canvas::{Anchor, Canvas};
use crate::facts;
use unblink_artifact::document::{Distribution, RunDocument};

/// Draws one bar for each part that was measured, in the order in which a request meets them.
pub(crate) fn phases(canvas: &mut Canvas, doc: &RunDocument) {
    let mut plot = Plot::of(canvas, 110.0);
    plot.top = 12.0;
    let mut rows: Vec<(&str, &str, &Distribution)> = vec![("send lag", "lag", &doc.send_lag)];
    // What came in one read has no length that an axis could show.
    let measured =
        |d: &Distribution| facts::quantile(d, 0.99).is_some_and(|q| q.value > facts::ONE_READ_NS_MAX);
    let parts = facts::parts(doc).into_iter().filter(|(_, _, d)| measured(d));
    rows.extend(parts.map(|(name, _, d)| (name, "part", d)));
    // Nothing is to be told apart where a simulated server's answers are the only part that takes time.
    if doc.simulated.is_some() && !rows.iter().any(|(name, _, d)| *name != "first byte" && measured(d)) {
        canvas.why = Some("only the simulated server takes time");
        return plot.message(canvas, "Only the simulated server takes time.");
    }
    rows.push(("service time", "service", &doc.service_time));
    rows.push(("response time", "response", &doc.response_time));
    rows.retain(|(_, _, d)| d.count > 0 && !d.quantiles.is_empty());
    let ends = |d: &Distribution| {
        let value = |q| facts::quantile(d, q).map(|quantile| (quantile.value, quantile.censored));
        Some((value(0.5)?, value(0.99)?))
    };
    let low = rows
        .iter()
        .filter_map(|(_, _, d)| ends(d))
        .map(|((p50, _), (p99, _))| if p50 > facts::ONE_READ_NS_MAX { p50 } else { p99 })
        .min();
    // Waiting and connecting are no parts of an answer.
    let answered =
        [&doc.phases.first_byte, &doc.service_time, &doc.response_time].iter().any(|d| d.count > 0);
    let high = rows.iter().filter_map(|(_, _, d)| Some(ends(d)?.1.0.max(d.max.unwrap_or(0)))).max();
    let (Some(low), Some(high), true) = (low, high, answered) else {
        plot.message(canvas, &format!("Nothing to draw: {}.", facts::nothing(doc)));
        return;
    };
    let x = Scale::durations(low, high, (plot.left, plot.right));
    duration_axis_below(canvas, &plot, &x, "time");
    canvas.hatching();
    let pitch = plot.height() / rows.len() as f64;
    let thick = (pitch * 0.5).min(20.0);
    for (i, (name, class, d)) in rows.iter().enumerate() {
        let middle = plot.top + pitch * (i as f64 + 0.5);
        canvas.text("tick", (plot.left - 10.0, middle + 4.0), Anchor::End, name);
        let Some(((p50, p50_censored), (p99, p99_censored))) = ends(d) else { continue };
        let (from, to) = (x.at(p50 as f64), x.at(p99 as f64));
        if p50_censored || p99_censored {
            canvas.hatched(from, middle - thick / 2.0, plot.right - from, thick);
        } else {
            canvas.rect(&format!("bar {class}"), from, middle - thick / 2.0, (to - from).max(3.0), thick);
        }
        if let (Some(max), false) = (d.max, p99_censored) {
            let at = x.at(max as f64);
            canvas.line("reach", (to.max(from + 3.0), middle), (at, middle));
            canvas.line("reach", (at, middle - thick / 2.0), (at, middle + thick / 2.0));
        }
    }
}

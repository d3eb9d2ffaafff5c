//! The percentile spectrum: how long the fastest share q of arrivals took, the tail stretched by 1/(1−q).

use super::axis::{Plot, Scale, duration_tick, lowest, value_axis, vertical};
use super::canvas::{Anchor, Canvas, polyline};
use super::labels::Labels;
use super::{heat, objectives};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, Quantile, RunDocument, SloResult, SpectrumPoint};

/// One line of the picture.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    /// Class of its colour.
    pub(crate) class: &'static str,
    /// (q, nanoseconds), ascending; q = 1 is the maximum.
    pub(crate) points: Vec<(f64, u64)>,
    /// What its values are read from; sets where the line ends and what is not known beyond.
    pub(crate) distribution: Option<&'a Distribution>,
}

/// A measured line.
pub(crate) fn measured<'a>(
    name: &'a str,
    class: &'static str,
    points: &[SpectrumPoint],
    distribution: &'a Distribution,
) -> Line<'a> {
    Line {
        name,
        class,
        points: points.iter().map(|point| (point.q, point.value_ns)).collect(),
        distribution: Some(distribution),
    }
}

/// Beyond this nothing is known of one of the lines.
fn bound(lines: &[Line<'_>]) -> Option<u64> {
    let of = |d: &Distribution| d.quantiles.iter().filter(|q| q.censored).map(|q| q.value).min();
    lines.iter().filter_map(|line| line.distribution).filter_map(of).min()
}

/// The shortest and the longest time of the lines, and of the first one's intervals.
pub(super) fn ends(doc: Option<&RunDocument>, lines: &[Line<'_>]) -> Option<(u64, u64)> {
    let p1_ns = doc.and_then(|doc| heat::p1_ns(&doc.heatmap));
    let of_lines = lines.iter().flat_map(|line| {
        let low = low_end(&line.points, p1_ns);
        line.points.iter().map(move |point| point.1.max(low))
    });
    let of_band = lines.first().and_then(|line| line.distribution).map(band_ends).unwrap_or_default();
    let of_band = of_band.into_iter().flat_map(|(_, _, low, high)| [low as u64, high as u64]);
    let values: Vec<u64> = of_lines.chain(of_band).chain(bound(lines)).collect();
    Some((*values.iter().min()?, *values.iter().max()?))
}

/// Draws the lines, the first one broad, with its intervals, and below the others, so that lines that agree are both
/// seen.
pub(crate) fn draw(canvas: &mut Canvas, doc: Option<&RunDocument>, lines: &[Line<'_>]) {
    let plot = Plot::of(canvas, 62.0);
    let samples = lines.iter().filter_map(|line| line.distribution).map(|d| d.count).max().unwrap_or(0);
    // Two bands would hide each other where the lines agree.
    let band = lines.first().map(band).unwrap_or_default();
    let bound = bound(lines);
    let Some((low, high)) = ends(doc, lines) else {
        plot.message(canvas, "No response time is known.");
        return;
    };
    let (low, high) = doc.map_or((low, high), |doc| objectives::with_limits(doc, (low, high)));
    // Where the data end: the slowest of n arrivals stands at 1 − 1/n.
    let end = (samples.max(10) as f64).log10();
    let x = Scale::linear((0.0, end), (plot.left, plot.right));
    let y = Scale::durations(low, high, (plot.bottom, plot.top));

    let known_end = lines
        .iter()
        .filter(|line| line.distribution.is_some_and(|d| d.censored > 0))
        .map(|line| line.points.last().map_or(0.0, |point| tail(point.0).min(end)))
        .reduce(f64::min);
    if let Some(from) = known_end {
        canvas.hatching();
        let from = x.at(from);
        canvas.hatched(from, plot.top, plot.right - from, plot.height());
    }
    value_axis(canvas, &plot, &y, "time an arrival took", duration_tick);
    x_axis(canvas, &plot, &x, end, doc.map_or("arrivals", facts::timed));
    if let (Some(from), Some(bound)) = (known_end, bound) {
        let text = format!("{}: longer than is known", format::above(bound));
        let middle = (x.at(from) + plot.right) / 2.0;
        let half = text.chars().count() as f64 * 3.4;
        let at = middle.clamp(plot.left + half, (plot.right - half).max(plot.left + half));
        canvas.text("label note", (at, plot.top + plot.height() * 0.45), Anchor::Middle, &text);
    }
    if let Some(line) = lines.first() {
        for stretch in &band {
            let edge = |of: fn(&BandPoint) -> f64| {
                stretch.iter().map(move |point| Some((x.at(tail(point.q).min(end)), y.at(of(point)))))
            };
            let outline = polyline(edge(|point| point.high_ns).chain(edge(|point| point.low_ns).rev()));
            canvas.path(&format!("band {}", line.class), &outline);
        }
    }
    let is_above = |ns: u64| ns as f64 >= y.ends().0;
    let place = |&(q, ns): &(f64, u64)| is_above(ns).then(|| (x.at(tail(q).min(end)), y.at(ns as f64)));
    for line in lines {
        let points = line.points.iter().map(place);
        // Dashed over the first, so that both are seen where they agree.
        let dashed = if line.class == "service" { " dashed" } else { "" };
        canvas.path(&format!("line {}{dashed}", line.class), &polyline(points));
    }
    if let Some(line) = lines.first() {
        whiskers(canvas, line, &x, &y);
    }
    let mut taken = Vec::new();
    // The points of the lines are too few to tell; the cells of the heat map are not.
    let is_cut = lines.first().is_some_and(|line| line.points.iter().any(|point| !is_above(point.1)));
    if let Some(doc) = doc.filter(|_| is_cut) {
        let n = heat::number_below(doc, y.ends().0).max(1);
        let about = if n > 1 { "about " } else { "" };
        let below = format!("{about}{} below", format::plural(n, "arrival", "arrivals"));
        let at = (plot.left + 16.0, plot.bottom - 6.0);
        canvas.text("tick halo-text", at, Anchor::Start, &below);
        taken.push((at.0, at.1 - 12.0, at.0 + below.chars().count() as f64 * 7.0, at.1 + 4.0));
    }
    if let Some(doc) = doc {
        let stands = |slo: &SloResult| objectives::quantile(slo).map(|q| x.at(tail(q).min(end)));
        let curves: Vec<Vec<(f64, f64)>> =
            lines.iter().map(|line| line.points.iter().filter_map(place).collect()).collect();
        objectives::draw_times(canvas, doc, &plot, &y, stands, &curves, &mut taken);
    }
    annotate(canvas, &plot, lines, (&x, &y), taken);
    canvas.axes(Some("spectrum"), &plot, &x, &y);
}

/// Where the axis of a line begins. A few that were answered at once would press all others into its upper end: then at
/// p1, which is known where `p1_ns` is given, and else lies on the way to the first point beyond it.
pub(super) fn low_end(points: &[(f64, u64)], p1_ns: Option<u64>) -> u64 {
    let least = points.first().map_or(0, |point| point.1);
    let after = points.iter().position(|point| point.0 >= 0.01).unwrap_or(0);
    let (q, next) = points.get(after).copied().unwrap_or((0.0, least));
    let (before_q, before) = points[..after].last().copied().unwrap_or((q, next));
    let way = if q > before_q { (0.01 - before_q) / (q - before_q) } else { 1.0 };
    let between = before as f64 + next.saturating_sub(before) as f64 * way;
    let p1 = p1_ns.filter(|ns| (before..=next).contains(ns)).unwrap_or(between as u64);
    lowest(least, p1)
}

/// Half the width of a whisker's cap: wider than the line, which would hide a narrow band.
const CAP: f64 = 6.0;

/// The interval of each percentile over the lines, as wide as it is even where the band is narrower than the line.
fn whiskers(canvas: &mut Canvas, line: &Line<'_>, x: &Scale, y: &Scale) {
    for (q, _, low, high) in line.distribution.map(band_ends).unwrap_or_default() {
        let (at, low, high) = (x.at(tail(q)), y.at(low), y.at(high));
        canvas.line("whisker", (at, low), (at, high));
        canvas.line("whisker", (at - CAP, low), (at + CAP, low));
        canvas.line("whisker", (at - CAP, high), (at + CAP, high));
    }
}

/// Where the 95 % interval lies at one point of a line.
struct BandPoint {
    q: f64,
    low_ns: f64,
    high_ns: f64,
}

/// Does any percentile of it have a 95 % interval?
pub(crate) fn has_band(distribution: &Distribution) -> bool {
    !band_ends(distribution).is_empty()
}

/// Is there an area between any two of them?
pub(crate) fn has_area(line: &Line<'_>) -> bool {
    !band(line).is_empty()
}

/// Neighbours whose intervals differ in width by more than this, high to low, have nothing between them: an area would
/// claim to know what lies between one event's percentile and a quiet one.
const WIDTHS_RATIO_MAX: f64 = 1.3;

/// The 95 % intervals along a line, in stretches of percentiles with intervals of like width. What lies beyond an event, or
/// beyond the data, has none. Between two percentiles the ends are interpolated as shares of the line.
fn band(line: &Line<'_>) -> Vec<Vec<BandPoint>> {
    let ends = line.distribution.map(band_ends).unwrap_or_default();
    let point =
        |q, value: f64, low: f64, high: f64| BandPoint { q, low_ns: value * low, high_ns: value * high };
    let mut stretches: Vec<Vec<BandPoint>> = Vec::new();
    let mut goes_on = false;
    for pair in ends.windows(2) {
        let [(q, value, low, high), (next_q, next_value, next_low, next_high)] = *pair else { break };
        let (width, next_width) = (high / low, next_high / next_low);
        if width.max(next_width) > WIDTHS_RATIO_MAX * width.min(next_width) {
            goes_on = false;
            continue;
        }
        if !goes_on {
            stretches.push(vec![point(q, value, low / value, high / value)]);
        }
        goes_on = true;
        let Some(stretch) = stretches.last_mut() else { break };
        for &(at_q, at_ns) in line.points.iter().filter(|point| q < point.0 && point.0 < next_q) {
            let share = (tail(at_q) - tail(q)) / (tail(next_q) - tail(q));
            let between = |from: f64, to: f64| from.powf(1.0 - share) * to.powf(share);
            let (low, high) =
                (between(low / value, next_low / next_value), between(high / value, next_high / next_value));
            stretch.push(point(at_q, at_ns as f64, low, high));
        }
        stretch.push(point(next_q, next_value, next_low / next_value, next_high / next_value));
    }
    stretches
}

/// (q, value, low, high) of the neighbouring percentiles with an interval, in ns, at least 1.
fn band_ends(distribution: &Distribution) -> Vec<(f64, f64, f64, f64)> {
    let ends = |quantile: &Quantile| {
        let [value, low, high] = [quantile.value, quantile.low?, quantile.high?].map(|ns| ns.max(1) as f64);
        Some((quantile.q, value, low, high))
    };
    let quantiles = distribution.quantiles.iter().map(ends);
    quantiles.skip_while(Option::is_none).map_while(|ends| ends).collect()
}

/// `of` says whose share it is.
pub(crate) fn x_axis(canvas: &mut Canvas, plot: &Plot, x: &Scale, end: f64, of: &str) {
    let mut labels = vec![(0.0, "0\u{a0}%".to_string()), (tail(0.5), "50\u{a0}%".into())];
    for nines in 1..=9 {
        let label =
            format!("{}\u{a0}%", format::quantile_label(1.0 - 10f64.powi(-nines)).trim_start_matches('p'));
        labels.push((f64::from(nines), label));
    }
    let mut free_from = f64::MIN;
    for (at, label) in labels.into_iter().filter(|(at, _)| *at <= end + 1e-9) {
        let position = x.at(at);
        let half = label.chars().count() as f64 * 3.9;
        // At the right edge it leans inwards.
        let middle = position.min(canvas.size.width - 2.0 - half);
        if middle - half < free_from {
            canvas.line("grid", (position, plot.top), (position, plot.bottom));
        } else {
            vertical(canvas, plot, position, &label);
            free_from = middle + half + 6.0;
        }
    }
    let name = format!("share of {of} that took at most this");
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, &name);
}

/// Values at p50, p99 and p99.9 of the first line, and of another one where it differs much.
fn annotate(
    canvas: &mut Canvas,
    plot: &Plot,
    lines: &[Line<'_>],
    (x, y): (&Scale, &Scale),
    taken: Vec<objectives::Place>,
) {
    let Some((top, others)) = lines.split_first() else { return };
    let Some(distribution) = top.distribution else { return };
    let mut labels = Labels { plot, taken };
    // In the order of their weight: a label that finds no room is left out.
    for q in [0.99, 0.5, 0.999] {
        let Some(quantile) =
            facts::quantile(distribution, q).filter(|quantile| !quantile.censored && !quantile.few_samples)
        else {
            continue;
        };
        let at = (x.at(tail(q)), y.at(quantile.value as f64));
        canvas.dot(&format!("dot {}", top.class), at, 3.5);
        let text = format!("{} {}", format::quantile_label(q), format::duration(quantile.value));
        // The lines rise to the right: above on the left and below on the right is always free.
        labels.put(
            canvas,
            top.class,
            &text,
            [(Anchor::End, at.0 - 7.0, at.1 - 8.0), (Anchor::Start, at.0 + 6.0, at.1 + 17.0)],
        );
        let other = others
            .iter()
            .filter_map(|line| facts::quantile(line.distribution?, q).map(|other| (line, other)))
            .find(|(_, other)| !other.censored && other.value < quantile.value / 2);
        if let Some((line, other)) = other.filter(|_| q == 0.99) {
            let at = (x.at(tail(q)), y.at(other.value as f64));
            canvas.dot(&format!("dot {}", line.class), at, 3.5);
            let text = format!("{} {}", format::quantile_label(q), format::duration(other.value));
            labels.put(
                canvas,
                line.class,
                &text,
                [(Anchor::Start, at.0 + 6.0, at.1 + 18.0), (Anchor::Start, at.0 + 6.0, at.1 - 8.0)],
            );
        }
    }
}

/// Position of a quantile: log₁₀ 1/(1−q).
pub(crate) fn tail(q: f64) -> f64 {
    if q >= 1.0 { f64::MAX } else { -(1.0 - q.max(0.0)).log10() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_band_meets_the_intervals_and_holds_the_line() {
        let doc = fixture::intervals();
        let line = measured("", "response", &doc.spectrum.response_time, &doc.response_time);
        let stretches = band(&line);
        assert_eq!(stretches.len(), 1);
        let band = &stretches[0];
        let quantiles = &doc.response_time.quantiles;
        let with: Vec<&Quantile> = quantiles.iter().filter(|quantile| quantile.low.is_some()).collect();
        assert!(with.len() > 1 && with.len() < quantiles.len());
        for quantile in &with {
            let point = band.iter().find(|point| point.q == quantile.q).expect("a point of the band");
            assert_eq!(Some(point.low_ns.round() as u64), quantile.low);
            assert_eq!(Some(point.high_ns.round() as u64), quantile.high);
        }
        assert_eq!(band.last().map(|point| point.q), with.last().map(|quantile| quantile.q));
        let within = line.points.iter().filter(|point| with[0].q < point.0 && point.0 < with[1].q);
        for &(q, ns) in within {
            let point = band.iter().find(|point| point.q == q).expect("a point of the band");
            assert!(point.low_ns < ns as f64 && (ns as f64) < point.high_ns, "{q}");
        }
        assert!(!has_band(&fixture::stall().response_time));
    }

    #[test]
    fn nothing_is_filled_between_intervals_of_unlike_width() {
        let mut doc = fixture::intervals();
        let quantiles = &mut doc.response_time.quantiles;
        let last = quantiles.iter().rposition(|quantile| quantile.low.is_some()).expect("intervals");
        let until = quantiles[last - 1].q;
        // An event may or may not reach this one.
        quantiles[last].high = Some(quantiles[last].value * 40);
        let line = measured("", "response", &doc.spectrum.response_time, &doc.response_time);
        let band = band(&line);
        assert_eq!(band.len(), 1);
        assert_eq!(band[0].last().map(|point| point.q), Some(until));
        // Its interval is a whisker alone, from end to end.
        let pictures = crate::svg::pictures(&doc, "", None);
        let picture = pictures.iter().find(|picture| picture.stem == "spectrum").expect("a spectrum");
        let drawn = crate::svg::read::Drawn::of(&picture.sizes[0].1);
        let area = drawn.path("band response");
        assert!(area.iter().all(|at| drawn.x(at.0) < tail(until) + 0.01), "{area:?}");
        let high = doc.response_time.quantiles[last].high.expect("an end") as f64;
        assert!(drawn.lines("whisker").iter().any(|ends| drawn.is_y(ends[1].1, high)));
    }

    #[test]
    fn one_lucky_arrival_does_not_take_the_axis() {
        let mut doc = fixture::stall();
        doc.spectrum.response_time[0].value_ns = 1;
        let pictures = crate::svg::pictures(&doc, "", None);
        let picture = pictures.iter().find(|picture| picture.stem == "spectrum").expect("a spectrum");
        for (_, canvas) in &picture.sizes {
            let drawn = crate::svg::read::Drawn::of(canvas);
            let line = drawn.path("line response");
            assert_eq!(line.len(), doc.spectrum.response_time.len() - 1);
            for (at, point) in line.iter().zip(&doc.spectrum.response_time[1..]) {
                assert!(drawn.is_y(at.1, point.value_ns as f64), "{}", drawn.y(at.1));
            }
            assert!(drawn.y(canvas.size.height - 44.0) > 1e6, "the axis begins near p1");
            assert!(
                canvas.body.contains(">1\u{a0}arrival below<") || canvas.body.contains(">1 arrival below<")
            );
        }
        assert!(!picture_of(&fixture::stall()).contains("below<"));
    }

    #[test]
    fn where_points_are_few_the_cells_tell_how_many_lie_below() {
        let mut doc = fixture::stall();
        // A third of the arrivals took 1 to 10 ms, and 200 less than 100 ns, of which the points know nothing.
        let points = &mut doc.spectrum.response_time;
        points.retain(|point| point.q == 0.0 || point.q > 0.33);
        points[0].value_ns = 1;
        let bin = doc.heatmap.bin_edges_ns.partition_point(|edge| *edge <= 2_000_000) as u32 - 1;
        for column in &mut doc.heatmap.columns {
            column.cells.insert(0, (bin, 30));
        }
        doc.heatmap.columns[0].cells.insert(0, (1, 200));
        let file = format::plain(&picture_of(&doc));
        let (before, _) = file.split_once(" below<").expect("a note");
        assert!(before.ends_with(">about 200 arrivals"), "{}", &before[before.len() - 40..]);
    }

    fn picture_of(doc: &RunDocument) -> String {
        let pictures = crate::svg::pictures(doc, "", None);
        pictures.iter().find(|picture| picture.stem == "spectrum").expect("a spectrum").file()
    }

    #[test]
    fn where_some_failed_the_share_is_that_of_the_ok() {
        let says = |doc: &RunDocument| {
            let file = picture_of(doc);
            [file.matches("hare of arrivals").count(), file.matches("hare of the ok answers").count()]
        };
        assert_eq!(says(&fixture::failing(60)), [0, 3]);
        assert_eq!(says(&fixture::stall()), [3, 0]);
    }

    #[test]
    fn lines_and_whiskers_are_those_of_the_document() {
        let doc = fixture::intervals();
        let pictures = crate::svg::pictures(&doc, "", None);
        let picture = pictures.iter().find(|picture| picture.stem == "spectrum").expect("a spectrum");
        for (_, canvas) in &picture.sizes {
            let drawn = crate::svg::read::Drawn::of(canvas);
            for (class, points) in [
                ("line response", &doc.spectrum.response_time),
                ("line service dashed", &doc.spectrum.service_time),
            ] {
                let line = drawn.path(class);
                assert_eq!(line.len(), points.len());
                for (at, point) in line.iter().zip(points.iter()) {
                    assert!(
                        drawn.is_y(at.1, point.value_ns as f64),
                        "{class}: {} {}",
                        drawn.y(at.1),
                        point.value_ns
                    );
                    assert!(point.q >= 1.0 || drawn.is_x(at.0, tail(point.q)), "{class}: {}", point.q);
                }
            }
            // A line hid its band.
            let with: Vec<_> = doc.response_time.quantiles.iter().filter(|q| q.low.is_some()).collect();
            let whiskers = drawn.lines("whisker");
            assert_eq!(whiskers.len(), with.len() * 3);
            for (whisker, quantile) in whiskers.chunks(3).zip(with) {
                assert!(drawn.is_y(whisker[0][0].1, quantile.low.expect("an end") as f64));
                assert!(drawn.is_y(whisker[0][1].1, quantile.high.expect("an end") as f64));
            }
        }
    }
}

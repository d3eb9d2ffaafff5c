//! Each picture of a run is read like a reader would, by its axes, and compared with the document.

use super::{Picture, pictures, strips};
use crate::fixture;
use unblink_artifact::document::{EndedQuantile, HeatColumn, RunDocument};

/// Half of the last decimal of a coordinate, and a little for the steps of the computation.
const OFF: f64 = 0.06;

/// The largest size of a picture, as its page holds it.
struct Drawn {
    svg: String,
}

/// A horizontal piece of a line, in pixels.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    to: f64,
    y: f64,
}

impl Drawn {
    fn of(doc: &RunDocument, stem: &str) -> Drawn {
        let all = pictures(doc, "run", None);
        let picture: &Picture = all.iter().find(|picture| picture.stem == stem).expect("drawn");
        let inline = picture.inline();
        let (svg, _) = inline.split_once("</svg>").expect("a drawing");
        Drawn { svg: svg.into() }
    }

    fn data(&self, name: &str) -> Vec<f64> {
        let (_, rest) = self.svg.split_once(&format!(" data-{name}=\"")).expect("an attribute");
        let (value, _) = rest.split_once('"').expect("its end");
        value.split(' ').map(|number| number.parse().expect("a number")).collect()
    }

    /// Attributes of every element of a class.
    fn elements(&self, element: &str, class: &str) -> Vec<String> {
        let begin = format!("<{element} class=\"{class}\"");
        self.svg.split(&begin).skip(1).map(|rest| rest.split_once("/>").expect("its end").0.into()).collect()
    }

    /// Every point of the paths of a class, and whether the pen is put down there.
    fn points(&self, class: &str) -> Vec<(bool, f64, f64)> {
        self.elements("path", class).iter().flat_map(|of| points(&attribute(of, "d"))).collect()
    }

    /// Horizontal pieces of a path.
    fn pieces(&self, class: &str) -> Vec<Piece> {
        let points = self.points(class);
        let flat =
            |pair: &&[(bool, f64, f64)]| !pair[1].0 && pair[0].2 == pair[1].2 && pair[0].1 != pair[1].1;
        let piece = |pair: &[(bool, f64, f64)]| Piece { from: pair[0].1, to: pair[1].1, y: pair[0].2 };
        points.windows(2).filter(flat).map(piece).collect()
    }

    fn time_at(&self, x: f64) -> f64 {
        let (plot, domain) = (self.data("plot"), self.data("x"));
        domain[0] + (domain[1] - domain[0]) * (x - plot[0]) / (plot[2] - plot[0])
    }

    /// Share of the axis of values, from the bottom.
    fn height_at(&self, y: f64) -> f64 {
        let plot = self.data("plot");
        let top = if self.svg.contains(" data-y0=") { self.data("y0")[0] } else { plot[1] };
        (plot[3] - y) / (plot[3] - top)
    }

    fn linear(&self, y: f64) -> f64 {
        let domain = self.data("y");
        domain[0] + (domain[1] - domain[0]) * self.height_at(y)
    }

    fn log(&self, y: f64) -> f64 {
        let domain = self.data("y");
        domain[0] * (domain[1] / domain[0]).powf(self.height_at(y))
    }

    fn log_from_zero(&self, y: f64) -> f64 {
        let domain = self.data("y");
        (domain[1] + 1.0).powf(self.height_at(y)) - 1.0
    }
}

fn attribute(of: &str, name: &str) -> String {
    let (_, rest) = of.split_once(&format!(" {name}=\"")).expect("an attribute");
    rest.split_once('"').expect("its end").0.into()
}

fn number(of: &str, name: &str) -> f64 {
    attribute(of, name).parse().expect("a number")
}

/// Points of a path of absolute M, L, H and V.
fn points(d: &str) -> Vec<(bool, f64, f64)> {
    let mut out: Vec<(bool, f64, f64)> = Vec::new();
    let starts: Vec<usize> = d.char_indices().filter(|(_, c)| c.is_alphabetic()).map(|(i, _)| i).collect();
    for (i, &start) in starts.iter().enumerate() {
        let end = starts.get(i + 1).copied().unwrap_or(d.len());
        let numbers: Vec<f64> =
            d[start + 1..end].split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let (x, y) = out.last().map_or((0.0, 0.0), |last| (last.1, last.2));
        out.push(match &d[start..=start] {
            "M" => (true, numbers[0], numbers[1]),
            "L" => (false, numbers[0], numbers[1]),
            "H" => (false, numbers[0], y),
            "V" => (false, x, numbers[0]),
            other => panic!("{other}"),
        });
    }
    out
}

/// `value` lies between what the axis says a little below and a little above `y`.
fn assert_reads(value: f64, y: f64, at: impl Fn(f64) -> f64, what: &str) {
    let (low, high) = (at(y + OFF), at(y - OFF));
    assert!(low - 1e-6 <= value && value <= high + 1e-6, "{what}: {value} is drawn between {low} and {high}");
}

fn fixtures() -> Vec<RunDocument> {
    vec![
        fixture::stall(),
        fixture::failures(),
        fixture::saturated(),
        fixture::pool(),
        fixture::two_hours(),
        fixture::two_pauses(),
    ]
}

#[test]
fn rates_are_the_counts_of_their_time() {
    for doc in fixtures() {
        let (drawn, timeline) = (Drawn::of(&doc, "rates"), doc.series.timeline.as_ref().expect("cells"));
        let lines = [
            ("line truth", &timeline.due),
            ("line sent", &timeline.sent),
            ("line ok", &timeline.ok),
            ("line failure", &timeline.failed),
        ];
        for (class, counts) in lines {
            let pieces = drawn.pieces(class);
            assert!(!pieces.is_empty() || counts.iter().all(|n| *n == 0), "{class}");
            let mut seen = 0;
            for piece in pieces {
                let cell = |x: f64| (drawn.time_at(x) - timeline.start_ns as f64) / timeline.cell_ns as f64;
                let off = (cell(1.0) - cell(0.0)) * OFF;
                let (from, to) = (cell(piece.from).round() as usize, cell(piece.to).round() as usize);
                let is_border = |x: f64, border: usize| (cell(x) - border as f64).abs() <= off;
                let to = to.min(counts.len());
                assert!(is_border(piece.from, from), "{class} begins within cell {from}");
                let ends_ns = (timeline.start_ns + to as u64 * timeline.cell_ns).min(timeline.end_ns);
                let length_ns = ends_ns - timeline.start_ns - from as u64 * timeline.cell_ns;
                let count: u64 = counts[from..to].iter().sum();
                seen += count;
                let rate = count as f64 * 1e9 / length_ns as f64;
                // What is beyond a capped axis stands at its end, under a mark.
                let is_capped =
                    drawn.svg.contains("class=\"beyond\"") && piece.y < drawn.data("plot")[1] + OFF;
                match is_capped {
                    true => assert!(rate >= drawn.linear(piece.y), "{class}: {rate}"),
                    false => assert_reads(rate, piece.y, |y| drawn.linear(y), class),
                }
            }
            // What is left out is a last piece that is too short for a rate.
            let all: u64 = counts.iter().sum();
            assert!(all - seen <= all / 50 + 20, "{class}: {seen} of {all} are drawn");
        }
    }
}

#[test]
fn levels_are_the_highest_of_each_cell() {
    for doc in fixtures() {
        let (drawn, timeline) = (Drawn::of(&doc, "in-flight"), doc.series.timeline.as_ref().expect("cells"));
        for (class, levels) in
            [("line flight", &timeline.in_flight_max), ("line backlog", &timeline.backlog_max)]
        {
            let pieces = drawn.pieces(class);
            for (i, level) in levels.iter().enumerate() {
                let middle =
                    (timeline.start_ns + i as u64 * timeline.cell_ns) as f64 + timeline.cell_ns as f64 / 2.0;
                if middle > timeline.end_ns as f64 {
                    continue;
                }
                // Cells narrower than a tenth of a pixel would share a place.
                let at = pieces
                    .iter()
                    .find(|piece| drawn.time_at(piece.from) <= middle && middle <= drawn.time_at(piece.to));
                let at = at.unwrap_or_else(|| panic!("{class}: cell {i} is not drawn"));
                assert_reads(*level as f64, at.y, |y| drawn.log_from_zero(y), class);
            }
        }
        let rows = &doc.series.rows;
        let ends = drawn.points("line connections");
        assert_eq!(ends.len(), rows.len());
        for (row, (_, x, y)) in rows.iter().zip(ends) {
            let off = (drawn.time_at(1.0) - drawn.time_at(0.0)) * OFF;
            assert!((drawn.time_at(x) - (row.start_ns + row.length_ns) as f64).abs() <= off);
            assert_reads(row.connections as f64, y, |y| drawn.log_from_zero(y), "connections");
        }
    }
}

#[test]
fn percentiles_are_those_of_the_rows_and_bounds_are_bounds() {
    let mut bounds = 0;
    for doc in fixtures() {
        let drawn = Drawn::of(&doc, "heatmap");
        for (class, least) in [("over p50", 5), ("over p99", 100)] {
            let points = drawn.points(class);
            let bound = drawn.pieces(&format!("{class} bound"));
            for row in &doc.series.rows {
                let value: Option<EndedQuantile> =
                    if class == "over p50" { row.ended_p50 } else { row.ended_p99 };
                let value = value.filter(|_| row.ok + row.timed_out >= least);
                let (from, to) = (row.start_ns as f64, (row.start_ns + row.length_ns) as f64);
                let off = (drawn.time_at(1.0) - drawn.time_at(0.0)) * OFF;
                let is_within = |x: f64| (from - off..=to + off).contains(&drawn.time_at(x));
                let is_inside = |x: f64| (from + off..to - off).contains(&drawn.time_at(x));
                match value {
                    Some(value) if value.censored => {
                        bounds += 1;
                        let at = bound.iter().find(|piece| is_within(piece.from) && is_within(piece.to));
                        assert_reads(value.ns as f64, at.expect("a bound").y, |y| drawn.log(y), class);
                        assert!(!points.iter().any(|point| is_inside(point.1)), "{class} goes on at {from}");
                    }
                    Some(value) => {
                        let reads = |y: f64| {
                            drawn.log(y + OFF) <= value.ns as f64 + 1.0
                                && value.ns as f64 <= drawn.log(y - OFF) + 1.0
                        };
                        let at: Vec<_> = points.iter().filter(|point| is_within(point.1)).collect();
                        assert!(
                            at.iter().any(|point| reads(point.2)),
                            "{class} at {from}: {value:?} in {at:?}"
                        );
                    }
                    None => assert!(!points.iter().any(|point| is_inside(point.1)), "{class} at {from}"),
                }
            }
        }
    }
    assert!(bounds >= 10, "a saturated target has bounds, these are {bounds}");
}

/// Arrivals of all kinds in a column, and the failed among them.
fn counted(column: &HeatColumn) -> (u64, u64) {
    let known: u64 = column.cells.iter().map(|cell| u64::from(cell.1)).sum();
    (known + u64::from(column.censored) + u64::from(column.failed), u64::from(column.failed))
}

/// How many columns share a stroke: the picture has fewer pixels.
fn columns_in_a_stroke(doc: &RunDocument, drawn: &Drawn) -> u64 {
    let column = 1.0 / (drawn.time_at(1.0) - drawn.time_at(0.0)) * doc.heatmap.column_ns as f64;
    let strokes = (0..super::heat::LEVELS).flat_map(|level| drawn.elements("path", &format!("c{level}")));
    let width = strokes.map(|stroke| number(&stroke, "stroke-width")).next().expect("cells");
    (width / column).round().max(1.0) as u64
}

#[test]
fn the_strips_show_the_share_of_each_moment() {
    let mut doc = fixture::failures();
    // One in a hundred in one half, six in ten in the other.
    let middle = doc.heatmap.columns.len() as u64 / 2;
    for (i, column) in (0..).zip(&mut doc.heatmap.columns) {
        column.cells = vec![(40, if i < middle { 99 } else { 40 })];
        column.failed = if i < middle { 1 } else { 60 };
    }
    for doc in [doc, fixture::failures()] {
        let drawn = Drawn::of(&doc, "heatmap");
        let bars = drawn.elements("rect", "failure");
        let stroke_ns = columns_in_a_stroke(&doc, &drawn) * doc.heatmap.column_ns;
        let mut strokes = std::collections::BTreeMap::new();
        for column in &doc.heatmap.columns {
            let sum = strokes.entry(column.start_ns / stroke_ns).or_insert((0, 0));
            let (all, failed) = counted(column);
            *sum = (sum.0 + all, sum.1 + failed);
        }
        let mut seen = std::collections::BTreeSet::new();
        for (i, (all, failed)) in strokes {
            let middle = (i * stroke_ns) as f64 + stroke_ns as f64 / 2.0;
            let bar = bars.iter().find(|bar| {
                let (from, width) = (number(bar, "x"), number(bar, "width"));
                drawn.time_at(from) <= middle && middle <= drawn.time_at(from + width)
            });
            let height = bar.map_or(0.0, |bar| number(bar, "height"));
            let expected = strips::HEIGHT * strips::step(failed, all) as f64 / 5.0;
            assert!((height - expected).abs() < OFF, "{failed} of {all}: {height} instead of {expected}");
            seen.insert(height as u64);
        }
        assert!(seen.len() >= 2, "{seen:?}");
    }
}

#[test]
fn one_in_a_hundred_is_no_outage() {
    let mut doc = fixture::failures();
    for column in &mut doc.heatmap.columns {
        column.cells = vec![(40, 99)];
        (column.censored, column.failed) = (0, 1);
    }
    let heights = |doc: &RunDocument| -> Vec<f64> {
        let bars = Drawn::of(doc, "heatmap").elements("rect", "failure");
        bars.iter().map(|bar| number(bar, "height")).collect()
    };
    assert_eq!(heights(&doc), [strips::HEIGHT / 5.0]);
    doc.heatmap.columns.iter_mut().for_each(|column| column.failed = 148);
    assert_eq!(heights(&doc), [strips::HEIGHT]);
}

#[test]
fn every_cell_with_arrivals_is_drawn_and_no_other() {
    for doc in [fixture::stall(), fixture::failures(), fixture::two_pauses()] {
        let drawn = Drawn::of(&doc, "heatmap");
        let stroke_ns = columns_in_a_stroke(&doc, &drawn) * doc.heatmap.column_ns;
        let points: Vec<_> =
            (0..super::heat::LEVELS).flat_map(|level| drawn.points(&format!("c{level}"))).collect();
        let points: Vec<(f64, f64)> = points.into_iter().map(|(_, x, y)| (x, y)).collect();
        let edges = &doc.heatmap.bin_edges_ns;
        let mut read = std::collections::BTreeSet::new();
        for stroke in points.chunks(2) {
            let column = (drawn.time_at(stroke[0].0) / stroke_ns as f64) as u64;
            for bin in 1..edges.len() - 1 {
                let value = (edges[bin] as f64 * edges[bin + 1] as f64).sqrt();
                if drawn.log(stroke[0].1) <= value && value <= drawn.log(stroke[1].1) {
                    read.insert((column, bin));
                }
            }
        }
        let counted: std::collections::BTreeSet<(u64, usize)> = doc
            .heatmap
            .columns
            .iter()
            .flat_map(|column| {
                column.cells.iter().map(move |cell| (column.start_ns / stroke_ns, cell.0 as usize))
            })
            .collect();
        assert_eq!(read, counted);
    }
}

#[test]
fn the_bar_of_the_account_has_the_shares_of_the_outcomes() {
    for doc in fixtures() {
        let page = crate::html::render(&doc);
        let (_, rest) = page.split_once("<div class=\"bar\"").expect("a bar");
        let (bar, _) = rest.split_once("</div>").expect("its end");
        let parts: Vec<(String, f64)> = bar
            .split("<i class=\"")
            .skip(1)
            .map(|part| {
                let (class, rest) = part.split_once('"').expect("a class");
                let (_, grow) = rest.split_once("flex-grow:").expect("a share");
                (class.into(), grow.split_once('"').expect("its end").0.parse().expect("a number"))
            })
            .collect();
        let a = &doc.arrivals;
        let outcomes = [
            ("ok", a.ok),
            ("failed", a.failed),
            ("timed-out", a.timed_out),
            ("unfinished", a.unfinished),
            ("unsent", a.unsent),
            ("withheld", a.withheld),
            ("lost", a.lost),
        ];
        assert_eq!(parts.len(), outcomes.iter().filter(|(_, n)| *n > 0).count());
        let whole: f64 = parts.iter().map(|part| part.1).sum();
        for (class, share) in parts {
            let n = outcomes.iter().find(|(name, _)| *name == class).expect("an outcome").1;
            let expected = n as f64 / a.scheduled as f64;
            assert!((share / whole - expected).abs() < 1e-4, "{class}: {share} of {whole}, not {expected}");
        }
    }
}

/// On a phone the labels of 99.99 % and 99.999 % lay on each other.
#[test]
fn shares_stand_apart_on_a_phone() {
    use super::axis::{Plot, Scale};
    use super::canvas::{Canvas, Size};
    let mut canvas = Canvas::new("", Size { width: 360.0, height: 280.0 });
    let plot = Plot::of(&canvas, 62.0);
    let x = Scale::linear((0.0, 5.0), (plot.left, plot.right));
    super::spectrum::x_axis(&mut canvas, &plot, &x, 5.0, "arrivals");
    let of = |text: &str| {
        let at: f64 = text.split(" x=\"").nth(1)?.split('"').next()?.parse().ok()?;
        let half = text.split('>').nth(1)?.split('<').next()?.chars().count() as f64 * 3.9;
        Some(if text.starts_with("e\"") { (at - 2.0 * half, at) } else { (at - half, at + half) })
    };
    let labels: Vec<(f64, f64)> = canvas.body.split("<text class=\"tick ").skip(1).filter_map(of).collect();
    assert!(labels.len() > 2 && labels.windows(2).all(|pair| pair[0].1 < pair[1].0), "{labels:?}");
}

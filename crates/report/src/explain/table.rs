//! What each client reports beside what users feel.

use super::figures::{NAMES, milliseconds};
use super::{Explain, Figures, RIGHT};
use crate::block::{Paint, Room, Span, Table, dim, left, plain, right};
use crate::format;

/// A row for each client. A page says below each what it does.
pub(super) fn table(explain: &Explain, figures: &[Figures], room: Room) -> Table {
    let row = |(i, of): (usize, &Figures)| cells(of, i == 0, i == 0 && !explain.exact_ns.is_empty());
    let [p50, p90, p99, p999, max] = NAMES.map(right);
    let [samples, omitted, invented, is, ratio] =
        ["samples", "omitted", "invented", "p99 is", "ratio"].map(right);
    let name = left(if room == Room::Page { "client, times in ms" } else { "ms" });
    let columns = [name, p50, p90, p99, p999, max, samples, omitted, invented, is, ratio];
    let mut table = Table::new(columns, figures.iter().enumerate().map(row).collect());
    match room {
        Room::Page => table.below = figures.iter().map(|of| [of.does.clone(), of.client.clone()]).collect(),
        // It stands in a sentence.
        Room::Narrow | Room::Terminal => table = table.without("invented"),
    }
    table
}

/// What its words and colours mean.
pub(super) fn meaning() -> String {
    format!(
        "Ratio: the p99 of users ÷ that of the client. In the colour of what is right: what lies {RIGHT}. Omitted: planned \
         arrivals that were never sent; of users who wait, those that would have come while they waited for longer than \
         usual."
    )
}

fn cells(of: &Figures, is_truth: bool, is_exact: bool) -> Vec<Span> {
    let paint = |is_right: bool| match (is_truth, is_right) {
        (true, _) => Paint::Bold,
        (_, true) => Paint::Response,
        (_, false) => Paint::Service,
    };
    let name = if of.is_other_users { Paint::Plain } else { paint(of.is_to_be_believed()) };
    let times = of.times.into_iter().zip(of.right);
    let times = times.map(|(time, is_right)| (paint(is_right), milliseconds(time, is_exact)));
    let missed = [of.omitted, of.invented].map(|n| match n {
        0 => dim("0"),
        n => (Paint::Finding, format::count(n)),
    });
    let (error, ratio) = if is_truth { ("true".into(), "1×".into()) } else { (of.error(), of.ratio()) };
    let plain_or_bold = if is_truth { Paint::Bold } else { Paint::Plain };
    std::iter::once((name, of.name.clone()))
        .chain(times)
        .chain([plain(format::count(of.samples))])
        .chain(missed)
        .chain([(plain_or_bold, error), (plain_or_bold, ratio)])
        .collect()
}

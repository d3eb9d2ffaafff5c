//! The service's own metrics beside what was measured.

use super::{Align, Block, Paint, Room, Section, Span, Table, dim, left, plain, right};
use crate::{facts, format};
use unblink_artifact::document::{CrossCheck, RunDocument, ServiceCount, ServiceLatency};

/// Counts, times and what their difference is; nothing where the service was not asked.
pub(crate) fn section(doc: &RunDocument, room: Room) -> Option<Section> {
    let check = doc.cross_check.as_ref()?;
    let blocks = [
        counts(check).map(Block::Table),
        check.latency.as_ref().and_then(|latency| times(doc, latency)).map(Block::Table),
        facts::its_clock(doc).map(|line| Block::Line(Paint::Bold, line)),
        new_starts(check).map(|line| Block::Line(Paint::Finding, line)),
        (room == Room::Page).then(|| Block::Line(Paint::Dim, from(check))),
    ];
    Some(Section {
        class: "cross-check wide-block",
        name: "Cross-check",
        note: format!("the service's own metrics, {}", facts::cross_check_source(check)),
        blocks: blocks.into_iter().flatten().collect(),
    })
}

/// How many it counted, and how many there are here.
fn counts(check: &CrossCheck) -> Option<Table> {
    let row = |(name, of): (&str, &ServiceCount)| {
        let here = match of.here_min == of.here_max {
            true => format::count(of.here_min),
            false => format!("{}–{}", format::count(of.here_min), format::count(of.here_max)),
        };
        let is_apart = of.missing() > 0 || of.foreign() > 0;
        let paint = if is_apart { Paint::Finding } else { Paint::Service };
        vec![plain(name), plain(here), (paint, format::count(of.there)), dim(of.metric.clone())]
    };
    let all = [("requests", &check.requests), ("errors", &check.errors)];
    let rows: Vec<Vec<Span>> =
        all.into_iter().filter_map(|(name, of)| Some(row((name, of.as_ref()?)))).collect();
    let columns = [left(""), right("here"), right("there"), left("")];
    (!rows.is_empty()).then(|| Table::new(columns, rows))
}

/// What users waited, and in which bucket of the service's the same percentile lies.
fn times(doc: &RunDocument, latency: &ServiceLatency) -> Option<Table> {
    let shown = facts::shown(&doc.response_time).0;
    let ours = &doc.response_time.quantiles[..shown];
    let theirs = latency.quantiles.iter().filter(|theirs| ours.iter().any(|ours| ours.q == theirs.q));
    let row = |of: &unblink_artifact::document::ServiceQuantile| {
        let ours = facts::ours_at(doc, of.q).map_or(dim("–"), |ours| (Paint::Response, ours));
        vec![plain(format::quantile_label(of.q)), ours, (Paint::Service, facts::bucket(of)), dim("")]
    };
    let mut rows: Vec<Vec<Span>> = theirs.map(row).collect();
    if rows.is_empty() {
        return None;
    }
    if let Some(mean) = latency.mean_ns {
        let theirs = format::duration(mean.round() as u64);
        rows.push(vec![plain("mean"), plain(facts::mean(&doc.response_time)), plain(theirs), dim("")]);
    }
    rows.push(vec![
        dim("samples"),
        dim(format::count(doc.response_time.count)),
        dim(format::count(latency.count)),
        dim(latency.metric.clone()),
    ]);
    let head = [left(""), right("response time here"), right("there, by bucket"), left("")];
    let mut table = Table::new(head, rows);
    table.align[2] = Align::Right;
    Some(table)
}

fn new_starts(check: &CrossCheck) -> Option<String> {
    let times = format::plural(check.resets, "time", "times");
    (check.resets > 0).then(|| {
        format!(
            "Its counters began anew {times}: what they had counted since the sample before that is lost."
        )
    })
}

fn from(check: &CrossCheck) -> String {
    let failed =
        if check.failed > 0 { format!(", {} in vain", format::count(check.failed)) } else { String::new() };
    let asked = format::plural(check.asked, "time", "times");
    let since = match (check.from_ns, check.to_ns) {
        (Some(from), Some(to)) => format!(
            ", with samples from {} before the start to {} after it",
            format::moment(from.min(0).unsigned_abs()),
            format::moment(to.max(0).unsigned_abs())
        ),
        _ => String::new(),
    };
    format!(
        "{} was asked {asked}{failed}{since}. Here: whole answers at least, and at most all that was sent.",
        check.url
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn said(doc: &RunDocument) -> String {
        let section = section(doc, Room::Page).expect("a section");
        section.blocks.iter().fold(String::new(), |said, block| match block {
            Block::Line(_, line) => said + line + "\n",
            Block::Table(table) => {
                let cells = table
                    .lines()
                    .into_iter()
                    .map(|line| line.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("|"));
                said + &cells.collect::<Vec<_>>().join("\n") + "\n"
            }
            _ => said,
        })
    }

    #[test]
    fn what_the_service_misses_is_told() {
        assert!(section(&fixture::stall(), Room::Page).is_none());
        let said = said(&fixture::cross_checked());
        for part in [
            "requests|60\u{202f}000–60\u{202f}003|60\u{202f}001|http_requests_total",
            "errors|0–3|0|",
            "p99|410\u{a0}ms|10.0–25.0\u{a0}ms|",
            "At p99.9 its clock shows at least",
            "takes a request up",
        ] {
            assert!(said.contains(part), "{part} is missing in {said}");
        }
    }

    /// A difference is not called waiting where those whom the service timed were others.
    #[test]
    fn what_its_times_have_in_them_besides_is_told() {
        let mut doc = fixture::cross_checked();
        assert!(!said(&doc).contains("They have"));
        doc.arrivals.failed = 3;
        assert!(said(&doc).contains("They have requests that failed here in them, too"), "{}", said(&doc));
        let arrivals = doc.arrivals.clone();
        doc.warmup = Some(arrivals);
        let requests = doc.cross_check.as_mut().and_then(|check| check.requests.as_mut()).expect("counts");
        requests.there = requests.here_max + 1;
        let said = said(&doc);
        assert!(
            said.contains("the warm-up and requests that failed here and what others asked in them"),
            "{said}"
        );
    }

    #[test]
    fn what_agrees_and_what_is_slower_there_is_told() {
        let mut doc = fixture::cross_checked();
        let theirs = |doc: &mut RunDocument, lower_ns: u64, upper_ns: Option<u64>| {
            let latency = doc.cross_check.as_mut().and_then(|check| check.latency.as_mut()).expect("times");
            latency.quantiles.iter_mut().for_each(|of| (of.lower_ns, of.upper_ns) = (lower_ns, upper_ns));
        };
        theirs(&mut doc, 0, Some(10_000_000_000));
        assert!(said(&doc).contains("agree, as far as its buckets tell"));
        theirs(&mut doc, 5_000_000_000, None);
        let said = said(&doc);
        assert!(said.contains(">\u{a0}5\u{a0}s") && said.contains("more than our users wait"), "{said}");
    }
}

//! Tables of what a run keeps apart: its loads, its origins, and its operations.

use super::run::more;
use super::{Align, Block, Paint, Room, Section, Span, Table, addresses, dim, journeys, plain, time_at};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, Load, Operation, OperationArrivals, Origin, RunDocument};

/// Every table of loads, of origins, of addresses, of journeys and of operations that has something to say.
pub(crate) fn all(doc: &RunDocument, room: Room) -> Vec<Section> {
    let mut sections: Vec<Section> = planned(doc).into_iter().collect();
    let of_rows = |rows: Rows<'_>| [rows.accounts(), rows.times(room)];
    sections.extend([loads(doc), origins(doc)].into_iter().flatten().flat_map(of_rows));
    sections.extend(addresses::addresses(doc, room));
    sections.extend(journeys::all(doc, room));
    sections.extend(operations(doc, room).into_iter().flat_map(of_rows));
    sections
}

/// Rows of a table.
struct Rows<'a> {
    class: &'static str,
    accounts: &'static str,
    times: &'static str,
    columns: &'static [Column],
    parts: Vec<Part<'a>>,
    /// Arrivals of all, where the share of each is held against the one that was planned.
    shares_of: Option<u64>,
    /// Some of them are steps of journeys, which have no share of their own.
    has_journeys: bool,
    /// This many more have no row.
    left_out: usize,
}

/// An operation, a load or an origin.
struct Part<'a> {
    name: String,
    scheduled: u64,
    /// The planned share of the load.
    share: Option<f64>,
    arrivals: &'a OperationArrivals,
    response: Option<&'a Distribution>,
    service: Option<&'a Distribution>,
}

fn operations(doc: &RunDocument, room: Room) -> Option<Rows<'_>> {
    let (shown, left_out) = (doc.operations.len() > 1).then(|| facts::operations(doc, room.rows_max()))?;
    let part = |(name, operation)| Part {
        name,
        scheduled: facts::arrivals_of(operation),
        share: operation.plan.share,
        arrivals: &operation.arrivals,
        response: Some(&operation.response_time),
        service: operation.service_time.as_ref(),
    };
    Some(Rows {
        class: "operations wide-block",
        accounts: "Outcomes by operation",
        times: "Times by operation",
        columns: &OF_OPERATIONS,
        parts: shown.into_iter().map(part).collect(),
        shares_of: shares_of(doc, room),
        has_journeys: !doc.journeys.is_empty(),
        left_out,
    })
}

/// Several loads may each ask for some operations only, so that no share of all is planned.
fn shares_of(doc: &RunDocument, room: Room) -> Option<u64> {
    let is_planned = doc.operations.iter().any(|of| of.plan.share.is_some());
    // A step's requests have no share of the load: its journey has one.
    let has_share = |of: &&Operation| doc.journeys.is_empty() || of.plan.share.is_some();
    let alone = doc.operations.iter().filter(has_share).map(facts::arrivals_of);
    let journeys = doc.journeys.iter().map(|journey| journey.account.scheduled);
    let all = alone.chain(journeys).fold(0, u64::saturating_add);
    (room > Room::Narrow && doc.loads.len() == 1 && is_planned).then_some(all)
}

fn loads(doc: &RunDocument) -> Option<Rows<'_>> {
    (doc.loads.len() > 1).then(|| Rows {
        class: "loads wide-block",
        accounts: "Outcomes by load",
        times: "Times by load",
        columns: &OF_FEW,
        parts: doc.loads.iter().map(Part::of_load).collect(),
        shares_of: None,
        has_journeys: false,
        left_out: 0,
    })
}

fn origins(doc: &RunDocument) -> Option<Rows<'_>> {
    let parts: Option<Vec<Part<'_>>> = doc.origins.iter().map(Part::of_origin).collect();
    parts.filter(|_| doc.origins.len() > 1).map(|parts| Rows {
        class: "origins wide-block",
        accounts: "Outcomes by origin",
        times: "Times by origin",
        columns: &OF_FEW,
        parts,
        shares_of: None,
        has_journeys: false,
        left_out: 0,
    })
}

/// What each of several loads was to offer, in words.
fn planned(doc: &RunDocument) -> Option<Section> {
    let row = |load: &Load| {
        let words = facts::load_in_words(&load.plan, doc.plan.duration_ns);
        vec![plain(load.plan.name.clone().unwrap_or_default()), plain(words)]
    };
    let rows: Vec<Vec<Span>> = doc.loads.iter().map(row).collect();
    (rows.len() > 1).then(|| Section {
        class: "loads wide-block",
        name: "Loads",
        note: "open, offered at the same time".into(),
        blocks: vec![Block::Table(Table::of(Vec::new(), vec![Align::Left; 2], rows))],
    })
}

/// An outcome: its name, and how many arrivals had it, where that is known.
type Outcome = (&'static str, fn(&OperationArrivals) -> Option<u64>);

const OUTCOMES: [Outcome; 5] = [
    ("ok", |a| Some(a.ok)),
    ("failed", |a| Some(a.failed)),
    ("timed out", |a| a.timed_out),
    ("unfinished", |a| a.unfinished),
    ("unsent", |a| a.unsent),
];

/// A column of times: its name, what it is, and the least room in which it stands.
type Column = (&'static str, Time, Room);

#[derive(Clone, Copy)]
enum Time {
    Response(f64),
    /// The 95 % interval of a response time.
    Interval(f64),
    ResponseMax,
    Service(f64),
}

const OF_OPERATIONS: [Column; 7] = [
    ("p50", Time::Response(0.5), Room::Narrow),
    ("p99", Time::Response(0.99), Room::Narrow),
    ("95\u{a0}%", Time::Interval(0.99), Room::Terminal),
    ("p99.9", Time::Response(0.999), Room::Page),
    ("max", Time::ResponseMax, Room::Narrow),
    ("service p50", Time::Service(0.5), Room::Page),
    ("service p99", Time::Service(0.99), Room::Narrow),
];

/// Of loads and of origins.
const OF_FEW: [Column; 7] = [
    ("p50", Time::Response(0.5), Room::Narrow),
    ("p99", Time::Response(0.99), Room::Narrow),
    ("95\u{a0}%", Time::Interval(0.99), Room::Terminal),
    ("p99.9", Time::Response(0.999), Room::Page),
    ("max", Time::ResponseMax, Room::Page),
    ("service p50", Time::Service(0.5), Room::Terminal),
    ("service p99", Time::Service(0.99), Room::Narrow),
];

impl Rows<'_> {
    /// Where the arrivals of each ended, as a sum. An outcome that none of them had has no column.
    fn accounts(&self) -> Section {
        let all = || self.parts.iter().map(|part| part.arrivals);
        // Documents of the first version know of those that ended alone.
        let is_known = all().all(|arrivals| arrivals.scheduled.is_some());
        // Of a run that was killed nobody knows how the last ones would have ended.
        let may_be = |n: Option<u64>| n.map_or(is_known, |n| n > 0);
        let is_there = |(name, of): &Outcome| *name == "ok" || all().any(|arrivals| may_be(of(arrivals)));
        let outcomes: Vec<Outcome> = OUTCOMES.into_iter().filter(is_there).collect();
        let first = if is_known { "scheduled" } else { "ended" };
        let shares = self.shares_of.map(|_| ["share", "planned"]).into_iter().flatten();
        let head = ["", first].into_iter().chain(shares).chain(outcomes.iter().map(|(name, _)| *name));
        let head = head.map(dim).collect();
        let row = |part: &Part<'_>| {
            let cell = |(name, of): &Outcome| match (of(part.arrivals), *name) {
                (None, _) => dim("–"),
                (Some(0), _) => dim("0"),
                (Some(n), "ok") => plain(format::count(n)),
                (Some(n), "failed") => (Paint::Failure, format::count(n)),
                (Some(n), _) => (Paint::Finding, format::count(n)),
            };
            let first = [plain(&part.name), plain(format::count(part.scheduled))].into_iter();
            let shares = self.shares_of.map(|all| match (part.share, self.has_journeys) {
                (None, true) => [dim("–"), dim("–")],
                (planned, _) => {
                    let planned = planned.map_or("–".into(), format::percent);
                    [plain(format::share(part.scheduled, all)), dim(planned)]
                }
            });
            first.chain(shares.into_iter().flatten()).chain(outcomes.iter().map(cell)).collect()
        };
        let rows = self.parts.iter().map(row).collect();
        self.section(self.accounts, "each arrival ends in one of these", head, rows)
    }

    /// Response and service times of each. Intervals have a column where there are any; on a page each stands below its value.
    fn times(&self, room: Room) -> Section {
        let all = |time| self.parts.iter().map(move |part| part.time(time, room));
        let is_page = room == Room::Page;
        let is_said = |time| {
            !matches!(time, Time::Interval(_)) || (!is_page && all(time).any(|(_, text)| !text.is_empty()))
        };
        let columns = self.columns.iter().filter(|(_, time, least)| room >= *least && is_said(*time));
        let columns: Vec<&Column> = columns.collect();
        let head = std::iter::once("").chain(columns.iter().map(|(name, ..)| *name)).map(dim).collect();
        let row = |part: &Part<'_>| {
            let cells = columns.iter().map(|(_, time, _)| part.time(*time, room));
            std::iter::once(plain(&part.name)).chain(cells).collect()
        };
        let rows = self.parts.iter().map(row).collect();
        let has_intervals =
            self.columns.iter().any(|(_, time, _)| all(*time).any(|(_, text)| text.contains('\n')));
        let note = match has_intervals {
            true => "response time, and service time from the send, with 95\u{a0}% intervals",
            false => "response time, and service time from the send",
        };
        self.section(self.times, note, head, rows)
    }

    fn section(&self, name: &'static str, note: &str, head: Vec<Span>, rows: Vec<Vec<Span>>) -> Section {
        let align = (0..head.len()).map(|i| if i == 0 { Align::Left } else { Align::Right }).collect();
        let table = Block::Table(Table::of(head, align, rows));
        let blocks = std::iter::once(table).chain(more(self.left_out)).collect();
        Section { class: self.class, name, note: note.into(), blocks }
    }
}

impl Part<'_> {
    fn of_load(load: &Load) -> Part<'_> {
        let times = (load.response_time.as_ref(), load.service_time.as_ref());
        Part::of_few(load.plan.name.clone().unwrap_or_default(), &load.arrivals, times)
    }

    /// `None` where nothing is known of its arrivals.
    fn of_origin(origin: &Origin) -> Option<Part<'_>> {
        let times = (origin.response_time.as_ref(), origin.service_time.as_ref());
        Some(Part::of_few(origin.name.to_string(), origin.arrivals.as_ref()?, times))
    }

    fn of_few<'a>(
        name: String,
        arrivals: &'a OperationArrivals,
        (response, service): (Option<&'a Distribution>, Option<&'a Distribution>),
    ) -> Part<'a> {
        let scheduled = arrivals.scheduled.unwrap_or(arrivals.ok.saturating_add(arrivals.failed));
        Part { name, scheduled, share: None, arrivals, response, service }
    }

    fn time(&self, time: Time, room: Room) -> Span {
        let is_service = matches!(time, Time::Service(_));
        let Some(of) = (if is_service { self.service } else { self.response }) else { return dim("–") };
        let paint = if is_service { Paint::Service } else { Paint::Plain };
        match time {
            Time::ResponseMax => (paint, facts::max(of)),
            Time::Interval(q) => dim(facts::listed(of, q).map(facts::interval).unwrap_or_default()),
            Time::Response(q) | Time::Service(q) => {
                let (paint, mut text) = time_at(of, q, paint);
                let interval = facts::listed(of, q).map(facts::interval).filter(|text| !text.is_empty());
                if let Some(interval) = interval.filter(|_| room == Room::Page) {
                    text = format!("{text}\n{interval}");
                }
                (paint, text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Rows of numbers as they are printed.
    fn numbers(section: &Section) -> Vec<Vec<u64>> {
        let Some(Block::Table(table)) = section.blocks.first() else { panic!("a table") };
        let number = |(_, text): &Span| text.replace('\u{202f}', "").parse().expect("a number");
        table.rows.iter().map(|row| row[1..].iter().map(number).collect()).collect()
    }

    fn accounts(doc: &RunDocument, room: Room) -> Section {
        operations(doc, room).expect("several operations").accounts()
    }

    #[test]
    fn the_outcomes_of_each_operation_add_up_in_sight() {
        let mut doc = fixture::failures();
        for (i, operation) in doc.operations.iter_mut().enumerate() {
            let arrivals = &mut operation.arrivals;
            let n = i as u64;
            arrivals.ok -= 6 * n;
            (arrivals.timed_out, arrivals.unfinished, arrivals.unsent) = (Some(3 * n), Some(2 * n), Some(n));
        }
        for room in [Room::Narrow, Room::Terminal, Room::Page] {
            for row in numbers(&accounts(&doc, room)) {
                assert_eq!(row.len(), 6);
                assert_eq!(row[0], row[1..].iter().sum::<u64>(), "{row:?}");
            }
        }
    }

    #[test]
    fn a_planned_share_stands_beside_the_measured_one() {
        let mut doc = fixture::failures();
        doc.operations.truncate(2);
        for (operation, (scheduled, share)) in doc.operations.iter_mut().zip([(801, 0.8), (199, 0.2)]) {
            operation.arrivals.scheduled = Some(scheduled);
            operation.plan.share = Some(share);
        }
        let shares = |doc: &RunDocument, room| {
            let Section { blocks, .. } = accounts(doc, room);
            let Some(Block::Table(table)) = blocks.first() else { panic!("a table") };
            let cells = |row: &Vec<Span>| row[2..4].iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
            std::iter::once(&table.head).chain(&table.rows).map(cells).collect::<Vec<_>>()
        };
        let expected = [["share", "planned"], ["80.1\u{a0}%", "80\u{a0}%"], ["19.9\u{a0}%", "20\u{a0}%"]];
        assert_eq!(shares(&doc, Room::Terminal), expected);
        assert_ne!(shares(&doc, Room::Narrow)[0], expected[0]);
        doc.operations.iter_mut().for_each(|operation| operation.plan.share = None);
        assert_ne!(shares(&doc, Room::Page)[0], expected[0]);
    }

    #[test]
    fn an_outcome_that_no_operation_had_has_no_column() {
        let mut doc = fixture::failures();
        doc.operations.iter_mut().for_each(|operation| operation.arrivals.failed = 0);
        let section = accounts(&doc, Room::Page);
        assert!(numbers(&section).iter().all(|row| row.len() == 2), "{section:?}");
        doc.operations[1].arrivals.scheduled = None;
        let Section { blocks, .. } = accounts(&doc, Room::Page);
        assert!(matches!(&blocks[0], Block::Table(table) if table.head[1].1 == "ended"));
    }

    #[test]
    fn one_load_has_no_table_and_several_have_a_row_each() {
        assert!(loads(&fixture::stall()).is_none() && planned(&fixture::stall()).is_none());
        let doc = fixture::loads();
        let rows = loads(&doc).expect("several loads");
        let account = numbers(&rows.accounts());
        assert_eq!(account.iter().map(|row| row[0]).sum::<u64>(), doc.arrivals.scheduled);
        assert!(account.iter().all(|row| row[0] == row[1..].iter().sum::<u64>()), "{account:?}");
        let Block::Table(times) = &rows.times(Room::Page).blocks[0] else { panic!("a table") };
        for (row, load) in times.rows.iter().zip(&doc.loads) {
            let response = load.response_time.as_ref().expect("of its own");
            let place = |name: &str| times.head.iter().position(|(_, head)| head == name).expect("a column");
            let [p50, p99] = [0.5, 0.99].map(|q| facts::quantile(response, q).expect("a quantile"));
            assert_eq!(row[0].1, load.plan.name.clone().unwrap_or_default());
            for (name, quantile) in [("p50", p50), ("p99", p99)] {
                let (value, interval) = (facts::marked(quantile, false), facts::interval(quantile));
                let below = if interval.is_empty() { interval } else { format!("\n{interval}") };
                assert_eq!(row[place(name)].1, format!("{value}{below}"));
            }
        }
    }

    /// p99.9 of 14 samples was printed.
    #[test]
    fn a_percentile_of_few_samples_is_withheld() {
        let mut doc = fixture::failures();
        for operation in &mut doc.operations {
            operation.response_time.quantiles.iter_mut().for_each(|of| of.few_samples = of.q > 0.9);
        }
        let Block::Table(times) =
            operations(&doc, Room::Page).expect("several").times(Room::Page).blocks.remove(0)
        else {
            panic!("a table")
        };
        let place = |name: &str| times.head.iter().position(|(_, head)| head == name).expect("a column");
        let cells = |name| times.rows.iter().map(|row| row[place(name)].1.as_str()).collect::<Vec<_>>();
        assert!(cells("p99.9").iter().all(|text| *text == "–"), "{:?}", cells("p99.9"));
        assert!(cells("p50").iter().all(|text| *text != "–"), "{:?}", cells("p50"));
    }

    #[test]
    fn several_origins_have_a_row_each_where_their_arrivals_are_known() {
        assert!(origins(&fixture::loads()).is_none());
        let mut doc = fixture::origins();
        let rows = origins(&doc).expect("several origins");
        let account = numbers(&rows.accounts());
        assert_eq!(account.iter().map(|row| row[0]).sum::<u64>(), doc.arrivals.scheduled);
        let Block::Table(times) = &rows.times(Room::Terminal).blocks[0] else { panic!("a table") };
        assert_eq!(times.rows[1][0].1, doc.origins[1].name.to_string());
        doc.origins[1].arrivals = None;
        assert!(origins(&doc).is_none());
    }
}

//! Figures over time in a bounded number of rows.

use super::share;
use super::soak::SoakPoints;
use super::transient::RowSums;
use crate::document::{EndedQuantile, SeriesRow};
use unblink_analysis::evidence::Row as EvidenceRow;
use unblink_analysis::quantile::Survival;
use unblink_analysis::shapes;
use unblink_analysis::steady::IntervalLevel;
use unblink_core::origins::ORIGINS_MAX;
use unblink_core::record::{Interval, LaneLevels, Outcomes, Series, Track};
use unblink_core::time::Nanos;

/// Rows at most; a longer run joins neighbours.
pub(super) const ROWS_MAX: usize = 600;

/// The rows so far.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    rows: Vec<Row>,
    intervals_per_row: u32,
}

#[derive(Clone, Debug, Default)]
struct Row {
    document: SeriesRow,
    shape: shapes::Row,
    intervals: u32,
    sums: RowSums,
    busy: Nanos,
    total: Nanos,
    origins: [OfOrigin; ORIGINS_MAX],
}

/// Arrivals for one of several origins: counts of the measured ones, and levels at the end.
#[derive(Clone, Copy, Debug, Default)]
struct OfOrigin {
    due: u64,
    answered: u64,
    timed_out: u64,
    level: LaneLevels,
}

impl Default for Rows {
    fn default() -> Self {
        Rows { rows: Vec::new(), intervals_per_row: 1 }
    }
}

impl Rows {
    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval, warmup: Nanos) {
        let row = Row::of(interval, warmup);
        match self.rows.last_mut().filter(|last| last.intervals < self.intervals_per_row) {
            Some(last) => last.join(&row),
            None => {
                if self.rows.len() == ROWS_MAX {
                    self.fold();
                }
                self.rows.push(row);
            }
        }
    }

    /// Recorded intervals in a full row.
    pub(super) fn intervals_per_row(&self) -> u32 {
        self.intervals_per_row
    }

    /// For the document.
    pub(super) fn document(&self) -> Vec<SeriesRow> {
        self.rows.iter().map(|r| r.document.clone()).collect()
    }

    /// For the assessment.
    pub(super) fn evidence(&self) -> Vec<EvidenceRow> {
        let row = |r: &Row| EvidenceRow {
            start: Nanos(r.document.start_ns),
            length: Nanos(r.document.length_ns),
            due: r.document.due,
            answered: r.document.ok + r.document.failed,
            timed_out: r.document.timed_out,
            in_flight: r.document.in_flight,
            backlog: r.document.backlog,
        };
        self.rows.iter().map(row).collect()
    }

    /// The same of each of several origins.
    pub(super) fn evidence_by_origin(&self, origins: usize) -> Vec<Vec<EvidenceRow>> {
        let row = |r: &Row, origin: usize| {
            let OfOrigin { due, answered, timed_out, level } = r.origins[origin];
            EvidenceRow {
                start: Nanos(r.document.start_ns),
                length: Nanos(r.document.length_ns),
                due,
                answered,
                timed_out,
                in_flight: level.in_flight,
                backlog: level.backlog,
            }
        };
        (0..origins).map(|origin| self.rows.iter().map(|r| row(r, origin)).collect()).collect()
    }

    /// For what came of a named shape.
    pub(super) fn shape_rows(&self) -> Vec<shapes::Row> {
        self.rows.iter().map(|r| r.shape).collect()
    }

    /// For drift. A row that holds fewer intervals than the others does not compare: of several, percentiles are those
    /// of the worst.
    pub(super) fn soak_points(&self) -> SoakPoints {
        let mut points = SoakPoints::default();
        for row in self.rows.iter().filter(|row| row.intervals == self.intervals_per_row) {
            let of = &row.document;
            let at = Nanos(of.start_ns + of.length_ns / 2);
            points.p50.extend(of.response_p50_ns.map(|ns| (at, ns as f64)));
            points.p99.extend(of.response_p99_ns.map(|ns| (at, ns as f64)));
            let (errors, ended) = (of.failed + of.timed_out, of.ok + of.failed + of.timed_out);
            points.errors.extend((ended > 0).then(|| (at, errors as f64 / ended as f64)));
            points.connections.push((at, of.connections as f64));
        }
        points
    }

    /// For finding where the transient ends: whole rows that end before `load_to`.
    pub(super) fn levels(&self, load_to: Nanos) -> Vec<IntervalLevel> {
        let is_whole = |row: &&Row| {
            row.document.start_ns + row.document.length_ns <= load_to.0
                && row.intervals == self.intervals_per_row
        };
        self.rows.iter().filter(is_whole).map(|row| row.sums.level(&row.document)).collect()
    }

    fn fold(&mut self) {
        let mut folded = Vec::with_capacity(ROWS_MAX);
        for pair in self.rows.chunks(2) {
            let mut row = pair[0].clone();
            pair[1..].iter().for_each(|next| row.join(next));
            folded.push(row);
        }
        self.rows = folded;
        self.intervals_per_row *= 2;
    }
}

impl Row {
    fn of(interval: &Interval, warmup: Nanos) -> Row {
        let bank = &interval.bank;
        let (measured, warm) = (&bank.counters.measured, &bank.counters.warmup);
        let response = bank.track(Series::Response);
        let of_response = Survival::known(response);
        let value = |survival: &Survival, q| survival.quantile(q).map(|v| v.value_ns);
        let p99 = |track: &Track<u64>| value(&Survival::known(track), 0.99);
        let own = bank.counters.own;
        let ended = Survival::new(response, bank.track(Series::ResponseCensored));
        let of_ended = |q| {
            let found = ended.quantile(q)?;
            Some(EndedQuantile { ns: found.value_ns, censored: found.censored })
        };
        Row {
            document: SeriesRow {
                start_ns: interval.start.0,
                length_ns: interval.length.0,
                warmup: interval.start < warmup,
                due: measured.due + warm.due,
                sent: measured.sent + warm.sent,
                ok: measured.ok + warm.ok,
                failed: measured.failed_total() + warm.failed_total(),
                timed_out: measured.timed_out + warm.timed_out,
                in_flight: interval.gauges.in_flight,
                backlog: interval.gauges.backlog,
                connections: interval.gauges.connections(),
                response_p50_ns: value(&of_response, 0.5),
                response_p99_ns: value(&of_response, 0.99),
                response_max_ns: (response.count() > 0).then_some(response.max_ns),
                ended_p50: of_ended(0.5),
                ended_p99: of_ended(0.99),
                service_p99_ns: p99(bank.track(Series::Service)),
                generator_late_p99_ns: p99(bank.track(Series::GeneratorLate)),
                events: Some(bank.counters.events.events).filter(|n| *n > 0),
                first_event_p99_ns: p99(bank.track(Series::FirstEvent)),
                event_gap_p99_ns: p99(bank.track(Series::EventGap)),
                busy_share: share(own.busy, own.total),
            },
            shape: shapes::Row::of(interval),
            intervals: 1,
            sums: RowSums::of(interval),
            busy: own.busy,
            total: own.total,
            origins: OfOrigin::all(interval),
        }
    }

    /// Adds the row that follows. Counts add up and levels are those at the end. Percentiles can't be
    /// joined, so that the worst interval's stand for the row: an event stays visible however long the
    /// run is.
    fn join(&mut self, next: &Row) {
        let (a, b) = (&mut self.document, &next.document);
        a.length_ns = (b.start_ns + b.length_ns).saturating_sub(a.start_ns);
        a.warmup |= b.warmup;
        a.due += b.due;
        a.sent += b.sent;
        a.ok += b.ok;
        a.failed += b.failed;
        a.timed_out += b.timed_out;
        (a.in_flight, a.backlog, a.connections) = (b.in_flight, b.backlog, b.connections);
        a.response_p50_ns = a.response_p50_ns.max(b.response_p50_ns);
        a.response_p99_ns = a.response_p99_ns.max(b.response_p99_ns);
        a.response_max_ns = a.response_max_ns.max(b.response_max_ns);
        a.ended_p50 = worse(a.ended_p50, b.ended_p50);
        a.ended_p99 = worse(a.ended_p99, b.ended_p99);
        a.service_p99_ns = a.service_p99_ns.max(b.service_p99_ns);
        a.generator_late_p99_ns = a.generator_late_p99_ns.max(b.generator_late_p99_ns);
        a.events = a.events.map_or(b.events, |events| Some(events + b.events.unwrap_or(0)));
        a.first_event_p99_ns = a.first_event_p99_ns.max(b.first_event_p99_ns);
        a.event_gap_p99_ns = a.event_gap_p99_ns.max(b.event_gap_p99_ns);
        self.shape.join(&next.shape);
        self.intervals += next.intervals;
        self.sums.add(&next.sums);
        self.origins.iter_mut().zip(&next.origins).for_each(|(origin, next)| origin.join(next));
        self.busy += next.busy;
        self.total += next.total;
        a.busy_share = share(self.busy, self.total);
    }
}

impl OfOrigin {
    fn all(interval: &Interval) -> [OfOrigin; ORIGINS_MAX] {
        let mut all = [OfOrigin::default(); ORIGINS_MAX];
        let records = interval.bank.origins.iter().zip(&interval.gauges.lanes);
        for (of, (record, &level)) in all.iter_mut().zip(records) {
            let Outcomes { due, ok, timed_out, .. } = record.outcomes;
            *of = OfOrigin { due, answered: ok + record.outcomes.failed_total(), timed_out, level };
        }
        all
    }

    fn join(&mut self, next: &OfOrigin) {
        self.due += next.due;
        self.answered += next.answered;
        self.timed_out += next.timed_out;
        self.level = next.level;
    }
}

/// The larger of two; beside one that is only known to be longer, so is the larger.
fn worse(a: Option<EndedQuantile>, b: Option<EndedQuantile>) -> Option<EndedQuantile> {
    let (Some(first), Some(second)) = (a, b) else { return a.or(b) };
    Some(EndedQuantile { ns: first.ns.max(second.ns), censored: first.censored || second.censored })
}

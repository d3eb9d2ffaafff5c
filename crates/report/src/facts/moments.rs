//! Counts and levels over time, as fine as the document has them.

use unblink_artifact::document::{RunDocument, SeriesRow, Timeline};

/// One stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) due: u64,
    pub(crate) sent: u64,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) timed_out: u64,
    /// The highest level within it; of rows, that at the end.
    pub(crate) in_flight: u64,
    pub(crate) backlog: u64,
}

impl Moment {
    fn join(&mut self, next: &Moment) {
        self.length_ns = next.start_ns.saturating_add(next.length_ns).saturating_sub(self.start_ns);
        self.due = self.due.saturating_add(next.due);
        self.sent = self.sent.saturating_add(next.sent);
        self.ok = self.ok.saturating_add(next.ok);
        self.failed = self.failed.saturating_add(next.failed);
        self.timed_out = self.timed_out.saturating_add(next.timed_out);
        self.in_flight = self.in_flight.max(next.in_flight);
        self.backlog = self.backlog.max(next.backlog);
    }
}

/// The timeline, if every cell of it has all figures.
pub(crate) fn timeline(doc: &RunDocument) -> Option<&Timeline> {
    let timeline = doc.series.timeline.as_ref()?;
    let of = [
        &timeline.sent,
        &timeline.ok,
        &timeline.failed,
        &timeline.timed_out,
        &timeline.in_flight_max,
        &timeline.backlog_max,
    ];
    let cells = timeline.due.len();
    (cells > 0 && timeline.cell_ns > 0 && of.iter().all(|of| of.len() == cells)).then_some(timeline)
}

/// The run's timeline; its rows, where it was recorded without one.
pub(crate) fn moments(doc: &RunDocument) -> Vec<Moment> {
    let Some(timeline) = timeline(doc) else { return doc.series.rows.iter().map(of_row).collect() };
    let cell = |i: usize| {
        let start_ns = timeline.start_ns.saturating_add((i as u64).saturating_mul(timeline.cell_ns));
        let end_ns = start_ns.saturating_add(timeline.cell_ns);
        // What is due is so until the load ends, also where all was answered before that.
        let last_ns = timeline.end_ns.max(doc.series.load_to_ns);
        let end_ns = if i + 1 == timeline.due.len() { end_ns.min(last_ns) } else { end_ns };
        Moment {
            start_ns,
            length_ns: end_ns.saturating_sub(start_ns),
            due: timeline.due[i],
            sent: timeline.sent[i],
            ok: timeline.ok[i],
            failed: timeline.failed[i],
            timed_out: timeline.timed_out[i],
            in_flight: timeline.in_flight_max[i],
            backlog: timeline.backlog_max[i],
        }
    };
    (0..timeline.due.len()).map(cell).collect()
}

fn of_row(row: &SeriesRow) -> Moment {
    Moment {
        start_ns: row.start_ns,
        length_ns: row.length_ns,
        due: row.due,
        sent: row.sent,
        ok: row.ok,
        failed: row.failed,
        timed_out: row.timed_out,
        in_flight: row.in_flight,
        backlog: row.backlog,
    }
}

/// Arrivals that a stretch should hold on average to be drawn as a rate: fewer are noise.
const ARRIVALS_MIN: u64 = 20;
/// Stretches that are joined at most: a second of cells.
const JOINED_MAX: usize = 10;
/// Of a run that is longer, rates are those of seconds.
const LONG_NS: u64 = 20 * SECOND_NS;
const SECOND_NS: u64 = 1_000_000_000;

/// The moments, as many joined as it takes for rates. A last stretch of less than half of the others' length is left
/// out: a few events in it would look like a burst.
pub(crate) fn rates(doc: &RunDocument) -> Vec<Moment> {
    let moments = moments(doc);
    let due: u64 = moments.iter().map(|moment| moment.due).fold(0, u64::saturating_add);
    let busy = moments.iter().filter(|moment| moment.due > 0).count() as u64;
    let few = |joined: &usize| due.saturating_mul(*joined as u64) < ARRIVALS_MIN.saturating_mul(busy);
    let span = moments.iter().map(|moment| moment.length_ns).fold(0, u64::saturating_add);
    let joined = match timeline(doc) {
        None => 1,
        // What arrives by chance in a tenth of a second is noise, and would cover the lines.
        Some(timeline) if span > LONG_NS => SECOND_NS.div_ceil(timeline.cell_ns) as usize,
        Some(_) => [1, 2, 5].into_iter().find(|joined| !few(joined)).unwrap_or(JOINED_MAX),
    };
    let mut out: Vec<Moment> = moments
        .chunks(joined)
        .map(|chunk| {
            let mut whole = chunk[0];
            chunk[1..].iter().for_each(|next| whole.join(next));
            whole
        })
        .collect();
    let usual = out.iter().map(|moment| moment.length_ns).max().unwrap_or(0);
    out.retain(|moment| moment.length_ns >= usual / 2);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn with(cells: usize, due: u64) -> RunDocument {
        let mut doc = fixture::stall();
        doc.series.load_to_ns = 0;
        doc.series.timeline = Some(Timeline {
            cell_ns: 100,
            end_ns: cells as u64 * 100 - 60,
            due: vec![due; cells],
            sent: vec![due; cells],
            ok: vec![due; cells],
            failed: vec![0; cells],
            timed_out: vec![0; cells],
            in_flight_max: vec![7; cells],
            backlog_max: vec![0; cells],
            ..Timeline::default()
        });
        doc
    }

    #[test]
    fn so_many_cells_are_joined_as_a_rate_needs() {
        let of =
            |cells, due| rates(&with(cells, due)).iter().map(|m| (m.length_ns, m.due)).collect::<Vec<_>>();
        assert_eq!(of(3, 20), [(100, 20), (100, 20)], "the last one is short");
        assert_eq!(of(4, 10), [(200, 20), (140, 20)]);
        assert_eq!(of(10, 5), [(500, 25), (440, 25)]);
        assert_eq!(of(20, 1), [(1_000, 10), (940, 10)]);
    }

    /// Answers came at once, so that the last event lies before the end of the load: an even schedule bent up there.
    #[test]
    fn the_last_cell_is_as_long_as_the_load_is() {
        let mut doc = with(3, 20);
        doc.series.load_to_ns = 300;
        assert_eq!(moments(&doc).iter().map(|m| (m.length_ns, m.due)).collect::<Vec<_>>(), [(100, 20); 3]);
        doc.series.load_to_ns = 290;
        assert_eq!(moments(&doc)[2].length_ns, 90);
    }

    #[test]
    fn rates_of_a_long_run_are_those_of_seconds() {
        let doc = crate::fixture::stall();
        let timeline = doc.series.timeline.as_ref().expect("cells");
        assert!(timeline.cell_ns < SECOND_NS && timeline.end_ns > LONG_NS);
        let rates = rates(&doc);
        assert!(rates.iter().rev().skip(1).all(|m| m.length_ns == SECOND_NS && m.due == 1_000), "{rates:?}");
    }

    #[test]
    fn rows_stand_in_for_what_was_not_recorded() {
        let mut doc = with(3, 20);
        doc.series.timeline.as_mut().expect("cells").ok.pop();
        assert_eq!(timeline(&doc), None);
        assert_eq!(moments(&doc).len(), doc.series.rows.len());
        assert_eq!(moments(&doc)[0].in_flight, doc.series.rows[0].in_flight);
    }
}

//! The records of a workload, in the order in which they are written.

use super::asking::{Asking, PLACE};
use super::progress::Progress;
use crate::output;
use crate::request::Request;
use crate::request::series::{Series, Then};
use crate::request::url::Speaks;
use crate::ycsb::cql;
use crate::ycsb::requests::{INDEX, columns};
use crate::ycsb::workload::Workload;
use anyhow::Result;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use unblink_core::failure::FailureKind;
use unblink_core::time::Nanos;
use unblink_engine::feeding::Feed;
use unblink_report::format;
use unblink_workload::records::content;

/// Rows of one statement.
const ROWS: u64 = 100;

/// A statement of PostgreSQL has no more values.
const VALUES_MAX: u64 = 32_767;

/// How often progress is shown and kept.
const SHOW_EVERY: Nanos = Nanos::from_secs(1);
/// The same where nobody looks.
const TELL_EVERY: Nanos = Nanos::from_secs(10);

/// What a fill asks for: of Redis and Cassandra a record, of PostgreSQL many rows, or one.
pub(super) fn requests(asking: &Asking, workload: &Workload) -> Result<Vec<Request>> {
    let fields = workload.fields as usize;
    if asking.speaks == Speaks::Redis {
        let all: String = (0..fields).map(|n| format!(" field{n} {PLACE}")).collect();
        let mut request = asking.request(&format!("HMSET {PLACE}{all}\nZADD {INDEX} {PLACE} {PLACE}"));
        request.parts.series = Some(Series { must_find: false, then: Then::Line, columns: 0 });
        return Ok(vec![request]);
    }
    let row = format!("({PLACE}{})", format!(", {PLACE}").repeat(fields));
    if asking.speaks == Speaks::Cql {
        // What is there already is written over by the same.
        let (table, columns) = (&workload.table, cql::columns(workload));
        return Ok(vec![asking.writing(&format!("INSERT INTO {table} ({columns}) VALUES {row}"), workload)]);
    }
    let of = |rows: u64| {
        let rows = vec![row.as_str(); rows as usize].join(", ");
        let (table, columns) = (&workload.table, columns(workload));
        // Of those that were under way when a fill was interrupted, some may be there.
        asking.request(&format!("INSERT INTO {table} ({columns}) VALUES {rows} ON CONFLICT DO NOTHING"))
    };
    Ok(vec![of(rows(workload)), of(1)])
}

/// Rows of a statement that has many.
fn rows(workload: &Workload) -> u64 {
    ROWS.min(VALUES_MAX / u64::from(workload.fields + 1))
}

/// Records that are being written.
pub(super) struct Writing<'a> {
    pub(super) workload: &'a Workload,
    pub(super) seed: u64,
    speaks: Speaks,
    end: u64,
    next: u64,
    /// Those under way in order: first record, how many, and whether they are there.
    under_way: VecDeque<(u64, u64, bool)>,
    pub(super) progress: Progress,
    path: &'a Path,
    stop: &'a AtomicBool,
    quiet: bool,
    /// When progress was last shown, and how many were there.
    shown: (Nanos, u64),
    began_with: u64,
    /// Why it can't go on.
    pub(super) failure: Option<FailureKind>,
    pub(super) unkept: Option<anyhow::Error>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(
        (asking, workload): (&Asking, &'a Workload),
        (progress, path): (Progress, &'a Path),
        (records, seed): (u64, u64),
        (stop, quiet): (&'a AtomicBool, bool),
    ) -> Writing<'a> {
        let written = progress.written;
        Writing {
            workload,
            seed,
            speaks: asking.speaks,
            end: records,
            next: written,
            under_way: VecDeque::new(),
            progress,
            path,
            stop,
            quiet,
            shown: (Nanos::ZERO, written),
            began_with: written,
            failure: None,
            unkept: None,
        }
    }

    /// What stands in a place of a row, or of a hash.
    fn field(&self, number: u64, column: u32, out: &mut Vec<u8>) {
        match column.checked_sub(1) {
            None => self.workload.names.write(number, out),
            Some(field) => content(self.seed, number, field, self.workload.field_length as usize, out),
        }
    }

    fn show(&mut self, elapsed: Nanos) {
        use std::io::IsTerminal;
        let written = self.progress.written;
        let since = Nanos(elapsed.0 - self.shown.0.0);
        let is_seen = std::io::stderr().is_terminal();
        if self.quiet || since < if is_seen { SHOW_EVERY } else { TELL_EVERY } {
            return;
        }
        let rate = (written - self.shown.1) as f64 / (since.0 as f64 / 1e9);
        let left = (self.end - written) as f64 / (written - self.began_with).max(1) as f64 * elapsed.0 as f64;
        let line = format::plain(&format!(
            "{} of {} records  {:.1} %  {}  {} left",
            format::count(written),
            format::count(self.end),
            written as f64 * 100.0 / self.end as f64,
            format::rate(rate),
            format::moment(left as u64 / 1_000_000_000 * 1_000_000_000)
        ));
        self.shown = (elapsed, written);
        match is_seen {
            true => output::show_live(&line),
            false => output::note(format_args!("{line}")),
        }
    }
}

impl Feed for Writing<'_> {
    fn next(&mut self) -> Option<(u32, u64)> {
        if self.next == self.end || self.failure.is_some() {
            return None;
        }
        let (number, left) = (self.next, self.end - self.next);
        let (operation, records) = match (self.speaks, rows(self.workload)) {
            (Speaks::Redis | Speaks::Cql, _) => (0, 1),
            (_, rows) if left >= rows => (0, rows),
            _ => (1, 1),
        };
        self.next += records;
        self.under_way.push_back((number, records, false));
        Some((operation, number))
    }

    fn fill(&mut self, number: u64, place: u32, out: &mut Vec<u8>) {
        let columns = self.workload.fields + 1;
        match (self.speaks, place.checked_sub(columns)) {
            // The index has the score and the key.
            (Speaks::Redis, Some(0)) => self.workload.names.write_score(number, out),
            (Speaks::Redis, Some(_)) => self.workload.names.write(number, out),
            _ => self.field(number + u64::from(place / columns), place % columns, out),
        }
    }

    fn answered(&mut self, number: u64, failure: Option<FailureKind>, _: &[u8]) {
        self.failure = self.failure.or(failure);
        if failure.is_some() {
            return;
        }
        if let Ok(place) = self.under_way.binary_search_by_key(&number, |(first, ..)| *first) {
            self.under_way[place].2 = true;
        }
        while let Some((_, records, true)) = self.under_way.front() {
            self.progress.written += records;
            self.under_way.pop_front();
        }
    }

    fn goes_on(&mut self, elapsed: Nanos) -> bool {
        self.show(elapsed);
        if let Err(error) = self.progress.write(self.path) {
            self.unkept.get_or_insert(error);
        }
        self.failure.is_none() && self.unkept.is_none() && !self.stop.load(Ordering::Relaxed)
    }
}

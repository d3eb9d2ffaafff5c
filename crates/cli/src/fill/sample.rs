//! Some of the records, read again and held against what was written.

use super::asking::{Asking, PLACE};
use crate::request::Request;
use crate::request::series::{Series, Then};
use crate::request::url::Speaks;
use crate::ycsb::cql;
use crate::ycsb::requests::columns;
use crate::ycsb::workload::Workload;
use anyhow::Result;
use unblink_core::failure::FailureKind;
use unblink_core::random::mixed;
use unblink_core::time::Nanos;
use unblink_engine::feeding::Feed;
use unblink_workload::records::content;

/// So many are read, or all if there are not as many.
const SAMPLES: u64 = 1_000;

/// What asks for one.
pub(super) fn request(asking: &Asking, workload: &Workload) -> Result<Request> {
    let text = match asking.speaks {
        Speaks::Redis => format!("HGETALL {PLACE}"),
        Speaks::Cql => {
            format!("SELECT {} FROM {} WHERE {} = {PLACE}", cql::columns(workload), workload.table, cql::KEY)
        }
        _ => format!("SELECT {} FROM {} WHERE YCSB_KEY = {PLACE}", columns(workload), workload.table),
    };
    let mut request = asking.reading(&text, workload);
    request.parts.series = Some(Series { must_find: true, then: Then::Nothing, columns: 0 });
    Ok(request)
}

/// Records that are read again.
pub(super) struct Sample<'a> {
    workload: &'a Workload,
    speaks: Speaks,
    seed: u64,
    records: u64,
    next: u64,
    pub(super) read: u64,
    /// The numbers of those that are not as they were written, and why they could not be read if so.
    pub(super) wrong: Vec<(u64, Option<FailureKind>)>,
    scratch: Vec<u8>,
}

impl<'a> Sample<'a> {
    pub(super) fn new(asking: &Asking, workload: &'a Workload, records: u64, seed: u64) -> Sample<'a> {
        let (speaks, wrong, scratch) = (asking.speaks, Vec::new(), Vec::new());
        Sample { workload, speaks, seed, records, next: 0, read: 0, wrong, scratch }
    }

    /// The first, the last, and others anywhere.
    fn number(&self, place: u64) -> u64 {
        match place {
            _ if self.records <= SAMPLES => place,
            0 => 0,
            1 => self.records - 1,
            _ => mixed(self.seed ^ mixed(place)) % self.records,
        }
    }

    fn is_right(&mut self, number: u64, body: &[u8]) -> bool {
        let Workload { fields, field_length, names, .. } = *self.workload;
        let mut expected = std::mem::take(&mut self.scratch);
        let is = |expected: &mut Vec<u8>, found: &[u8], field: u32| {
            expected.clear();
            content(self.seed, number, field, field_length as usize, expected);
            *expected == found
        };
        let is_right = match self.speaks {
            // A line for each name of a field and one for what it holds, in any order.
            Speaks::Redis => {
                let lines: Vec<&[u8]> = body.split(|&byte| byte == b'\n').collect();
                let field =
                    |name: &[u8]| std::str::from_utf8(name.strip_prefix(b"field")?).ok()?.parse::<u32>().ok();
                let mut pairs = lines.chunks_exact(2);
                lines.len() == 2 * fields as usize
                    && pairs.all(|pair| {
                        field(pair[0])
                            .is_some_and(|field| field < fields && is(&mut expected, pair[1], field))
                    })
            }
            _ => {
                let row = body.strip_suffix(b"\n").unwrap_or(body);
                let mut columns = row.split(|&byte| byte == b'\t');
                expected.clear();
                names.write(number, &mut expected);
                let is_key = columns.next() == Some(&expected[..]);
                let columns: Vec<&[u8]> = columns.collect();
                let mut fields_of = (0..).zip(&columns);
                is_key
                    && columns.len() == fields as usize
                    && fields_of.all(|(field, found)| is(&mut expected, found, field))
            }
        };
        self.scratch = expected;
        is_right
    }
}

impl Feed for Sample<'_> {
    fn next(&mut self) -> Option<(u32, u64)> {
        (self.next < SAMPLES.min(self.records)).then(|| {
            self.next += 1;
            (0, self.number(self.next - 1))
        })
    }

    fn fill(&mut self, number: u64, _: u32, out: &mut Vec<u8>) {
        self.workload.names.write(number, out);
    }

    fn answered(&mut self, number: u64, failure: Option<FailureKind>, body: &[u8]) {
        self.read += 1;
        if failure.is_some() || !self.is_right(number, body) {
            self.wrong.push((number, failure));
        }
    }

    fn goes_on(&mut self, _: Nanos) -> bool {
        true
    }
}

//! Logs in memory to traces in memory.

#![allow(dead_code)] // Each file of tests uses some of it.

use unblink_trace::anonymous::{Anonymous, Keep, Key};
use unblink_trace::format::{Reader, Request, Writer};
use unblink_trace::import::{Import, ImportError, Imported, Input, WINDOW};
use unblink_trace::source::{self, JsonLines, Map, Source};

/// 2026-01-31T12:00:00Z in ns.
pub(crate) const NOON: i64 = 1_769_860_800_000_000_000;
pub(crate) const MS: i64 = 1_000_000;

pub(crate) fn map(parts: &[&str]) -> Map {
    let mut map = Map::default();
    parts.iter().for_each(|part| map.add(part).unwrap());
    map
}

pub(crate) fn keep(names: &[&str]) -> Keep {
    let mut keep = Keep::default();
    names.iter().for_each(|name| keep.add(name).unwrap());
    keep
}

pub(crate) fn nginx(format: &str) -> Source {
    Source::Lines(source::nginx(Some(format), &map(&[]), &[]).unwrap())
}

pub(crate) fn apache(format: &str) -> Source {
    Source::Lines(source::apache(Some(format), &map(&[]), &[]).unwrap())
}

pub(crate) fn json(parts: &[&str]) -> Source {
    Source::Json(JsonLines::new(&map(parts), &[]).unwrap())
}

/// What came of it, the trace as text, and its requests.
pub(crate) struct Out {
    pub(crate) imported: Imported,
    pub(crate) text: String,
    pub(crate) requests: Vec<Request>,
}

impl Out {
    /// Starts in ms after noon.
    pub(crate) fn ms(&self) -> Vec<f64> {
        self.requests.iter().map(|request| (request.at - NOON) as f64 / MS as f64).collect()
    }

    pub(crate) fn paths(&self) -> Vec<&str> {
        self.requests.iter().map(|request| &*request.path).collect()
    }
}

pub(crate) fn import_with(source: Source, log: &[u8], keep: Keep) -> Result<Out, ImportError> {
    let anonymous = Anonymous::new(Key::from_secret(b"a key for the tests"), keep);
    let mut trace = Vec::new();
    let input = Input { name: "the.log".into(), bytes: Box::new(log) };
    let writer = Writer::to(&mut trace).unwrap();
    let imported = Import::new(source, "test", anonymous, WINDOW).run([input], writer, &mut |_| true)?;
    let text = String::from_utf8(zstd::decode_all(&trace[..]).unwrap()).unwrap();
    let mut reader = Reader::new(&trace[..]).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = reader.next_request().unwrap() {
        requests.push(request);
    }
    assert_eq!(reader.counts(), imported.counts, "what is written is what is told");
    Ok(Out { imported, text, requests })
}

pub(crate) fn import(source: Source, log: &str) -> Out {
    import_with(source, log.as_bytes(), Keep::default()).unwrap()
}

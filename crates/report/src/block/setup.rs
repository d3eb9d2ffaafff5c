//! Requests beside the load.

use super::{Block, Paint, Section, Table, dim, left, plain, right};
use crate::format;
use unblink_artifact::document::{RunDocument, SetupRequest};

/// How often each was asked, if there were such.
pub(crate) fn section(doc: &RunDocument) -> Option<Section> {
    let row = |one: &SetupRequest| {
        let failed = match one.failed {
            0 => dim("0"),
            n => (Paint::Failure, format::count(n)),
        };
        vec![plain(&one.name), plain(format::count(one.asked)), failed]
    };
    let rows = doc.setup.iter().map(row).collect();
    let table = Table::new([left(""), right("asked"), right("failed")], rows);
    (!doc.setup.is_empty()).then(|| Section {
        class: "counts",
        name: "Setup",
        note: "beside the load, in no other figure".into(),
        blocks: vec![Block::Table(table)],
    })
}

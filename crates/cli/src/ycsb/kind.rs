//! The operations of a workload.

/// The kinds of operation, as YCSB's own output calls them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// In the order of their proportions.
pub(crate) const KINDS: [Kind; 5] =
    [Kind::Read, Kind::Update, Kind::Insert, Kind::Scan, Kind::ReadModifyWrite];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Read => "READ",
            Kind::Update => "UPDATE",
            Kind::Insert => "INSERT",
            Kind::Scan => "SCAN",
            Kind::ReadModifyWrite => "READ-MODIFY-WRITE",
        }
    }
}

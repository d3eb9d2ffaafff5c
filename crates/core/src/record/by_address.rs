//! Where arrivals ended, by the address of the connection that carried their last attempt.

use super::Track;

/// What came of the measured arrivals whose last attempt went to one address. An arrival that was never sent went to none.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct AddressRecord {
    /// Whole answers, as expected, in time.
    pub ok: u64,
    /// Arrivals that failed.
    pub failed: u64,
    /// Arrivals that took longer than the timeout.
    pub timed_out: u64,
    /// Arrivals that were under way when the run ended.
    pub unfinished: u64,
    /// Attempts that came to nothing and after which another was granted. They are the end of no arrival.
    pub tried_again: u64,
    /// Intended start to last byte, of those that are ok.
    pub response: Track<u64>,
    /// Ages of those known only to take longer: timed out, or unfinished.
    pub censored: Track<u64>,
}

impl AddressRecord {
    /// Adds another worker's.
    pub fn add(&mut self, other: &AddressRecord) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.unfinished += other.unfinished;
        self.tried_again += other.tried_again;
        self.response.add(&other.response);
        self.censored.add(&other.censored);
    }
}

/// By origin; `None` for one whose connections all go to the same address.
#[derive(Debug, Default)]
pub(super) struct ByAddress(pub(super) Vec<Option<OfOrigin>>);

/// One with several.
#[derive(Debug, Default)]
pub(super) struct OfOrigin {
    /// The number of the address that each connection goes to.
    pub(super) of_connection: Vec<u32>,
    /// By the number of the address.
    pub(super) each: Vec<AddressRecord>,
}

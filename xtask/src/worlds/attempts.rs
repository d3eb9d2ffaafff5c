//! Arrivals that wait for another attempt, attempts that may be given up, and what the rules of a retry say.

use super::entry::Entry;
use super::hold;
use std::collections::{BTreeMap, HashMap};
use unblink_core::code::Code;
use unblink_core::dispatch::{Jitter, Retry, RetryOn};
use unblink_core::record::RetryCause;
use unblink_core::time::{Instant, Nanos};

/// When the next attempt may be sent, when the arrival was intended, and its number: in the order in which they come again.
type Order = (Instant, Instant, u64);

/// What a worker knows of its retries.
#[derive(Default)]
pub(super) struct Tries {
    /// Places in the books of those whose time has not come.
    pub(super) ahead: BTreeMap<Order, usize>,
    /// Attempts under way that may be given up, by when they were sent first, and then as they came.
    pub(super) timed: BTreeMap<(Instant, u64), usize>,
    timed_at: HashMap<usize, (Instant, u64)>,
    sent: u64,
    /// Arrivals that had, or could have had, their first attempt.
    pub(super) arrivals: u64,
    pub(super) granted: u64,
}

impl Tries {
    /// Those whose time has not come.
    pub(super) fn ahead(&self) -> impl ExactSizeIterator<Item = usize> {
        self.ahead.values().copied()
    }

    /// Takes one away, whose time may not have come.
    pub(super) fn pop_any(&mut self) -> Option<usize> {
        self.ahead.pop_first().map(|(_, place)| place)
    }

    /// An arrival's turn has come for the first time.
    pub(super) fn begins(&mut self) {
        self.arrivals += 1;
    }

    /// An attempt that was sent first at `sent` may be given up.
    pub(super) fn time(&mut self, place: usize, sent: Instant) {
        self.sent += 1;
        let at = (sent, self.sent);
        self.timed.insert(at, place);
        self.timed_at.insert(place, at);
    }

    /// The attempt is not to be given up any more.
    pub(super) fn forget(&mut self, place: usize) {
        if let Some(at) = self.timed_at.remove(&place) {
            self.timed.remove(&at);
        }
    }
}

/// Is there another attempt after such an end?
pub(super) fn is_asked_for(retry: &Retry, cause: RetryCause, code: Option<Code>) -> bool {
    let RetryCause::Failed(kind) = cause else { return true };
    let (mut of_kind, mut of_code) = (RetryOn::default(), RetryOn::default());
    of_kind.add_kind(kind);
    code.into_iter().for_each(|code| of_code.add_code(code));
    retry.on.includes(&of_kind) || (!of_code.is_empty() && retry.on.includes(&of_code))
}

/// How long the entry waits for its next attempt. Where chance is in it, it is drawn where it may be.
pub(super) fn wait(retry: &Retry, entry: &Entry) -> Result<Nanos, String> {
    let whole = retry.wait.0 << entry.repeats;
    let least = match retry.jitter {
        Jitter::None => return Ok(Nanos(whole)),
        Jitter::Equal => whole / 2,
        Jitter::Full => 0,
    };
    let wait = retry.wait(entry.key, entry.repeats);
    hold!((least..=whole).contains(&wait.0), "{entry:?} waits for {wait:?}, not for {least} to {whole} ns");
    Ok(wait)
}

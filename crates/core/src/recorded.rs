//! Arrivals that were recorded: when each of them was, and what it asked for. A load that replays them has no other schedule.
//!
//! They are bytes, [`ARRIVAL_BYTES`] for each in order of time, that somebody else holds: a mapped file, so that a
//! record of any length takes no memory that could run out. Any arrival is found by its number, and any time by halving.

use crate::time::{Nanos, SECOND_NS};
use std::fmt;
use std::sync::Arc;

/// Of each arrival, in little-endian order: when it was in ns (8), the number of its operation (2), and where its text
/// begins (6).
pub const ARRIVAL_BYTES: usize = 16;

/// Bytes that somebody else holds, and that do not change.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An arrival as it is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedArrival {
    /// After the beginning of the record.
    pub at: Nanos,
    /// What it asks for.
    pub operation: u16,
    /// Where its text begins among the texts; below 2⁴⁸.
    pub text: u64,
}

impl RecordedArrival {
    /// As it stands in the record.
    pub fn to_bytes(self) -> [u8; ARRIVAL_BYTES] {
        let mut bytes = [0; ARRIVAL_BYTES];
        bytes[..8].copy_from_slice(&self.at.0.to_le_bytes());
        bytes[8..].copy_from_slice(&(self.text << 16 | u64::from(self.operation)).to_le_bytes());
        bytes
    }

    /// The one that stands there.
    pub fn from_bytes(bytes: &[u8; ARRIVAL_BYTES]) -> RecordedArrival {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        RecordedArrival { at: Nanos(word(0)), operation: word(8) as u16, text: word(8) >> 16 }
    }
}

/// Recorded arrivals, once or again and again.
#[derive(Clone)]
pub struct Recorded {
    pass: Arc<Pass>,
    length: Nanos,
}

/// All of the record.
struct Pass {
    arrivals: Bytes,
    texts: Bytes,
    length: Nanos,
}

/// Why a record can't be replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// It is empty.
    #[error("there is no recorded request to send")]
    Empty,
    /// An arrival lies before the one before it, or behind the end.
    #[error("the recorded requests are not in order of time")]
    Disorder,
}

impl Recorded {
    /// The record that `arrivals` are. It lasts for `length`, which lies behind the last of them. Each text is its length in 4
    /// bytes, and itself.
    ///
    /// # Errors
    /// [`RecordError`]
    pub fn new(arrivals: Bytes, texts: Bytes, length: Nanos) -> Result<Recorded, RecordError> {
        let recorded = Recorded { pass: Arc::new(Pass { arrivals, texts, length }), length };
        let mut last = Nanos::ZERO;
        for k in 0..recorded.pass.count() {
            let at = recorded.pass.arrival(k).at;
            if at < last || at >= length {
                return Err(RecordError::Disorder);
            }
            last = at;
        }
        if recorded.pass.count() == 0 { Err(RecordError::Empty) } else { Ok(recorded) }
    }

    /// The same for so long: cut short, or begun anew each time that it has ended.
    pub fn lasting(&self, length: Nanos) -> Recorded {
        Recorded { pass: self.pass.clone(), length }
    }

    /// How long it lasts.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// How many arrivals there are.
    pub fn count(&self) -> u64 {
        self.count_before(self.length)
    }

    /// How many of them are before `end`.
    pub fn count_before(&self, end: Nanos) -> u64 {
        let (end, pass) = (end.min(self.length), &self.pass);
        let (passes, rest) = (end.0 / pass.length.0, Nanos(end.0 % pass.length.0));
        passes * pass.count() + pass.count_before(rest)
    }

    /// When the arrival with `k` before it is; `None` behind the last one.
    #[inline]
    pub fn at(&self, k: u64) -> Option<Nanos> {
        let count = self.pass.count();
        let at = Nanos((k / count).checked_mul(self.pass.length.0)?) + self.pass.arrival(k % count).at;
        (at < self.length).then_some(at)
    }

    /// What it asks for.
    #[inline]
    pub fn operation(&self, k: u64) -> u32 {
        u32::from(self.pass.arrival(k % self.pass.count()).operation)
    }

    /// Its text; empty where the record has none.
    #[inline]
    pub fn text(&self, k: u64) -> &[u8] {
        self.pass.text(self.pass.arrival(k % self.pass.count()).text).unwrap_or_default()
    }

    /// The most arrivals that fall into one second, wherever that begins.
    pub fn most_in_a_second(&self) -> u64 {
        // Where it begins anew, two passes meet.
        let passes = if self.length > self.pass.length { 2 } else { 1 };
        let (mut first, mut most) = (0, 0);
        for k in 0..passes * self.pass.count() {
            let Some(at) = self.at(k) else { break };
            while self.at(first).is_some_and(|oldest| (at - oldest).0 >= SECOND_NS) {
                first += 1;
            }
            most = most.max(k + 1 - first);
        }
        most
    }
}

impl Pass {
    fn count(&self) -> u64 {
        ((*self.arrivals).as_ref().len() / ARRIVAL_BYTES) as u64
    }

    fn arrival(&self, k: u64) -> RecordedArrival {
        let (all, _) = (*self.arrivals).as_ref().as_chunks::<ARRIVAL_BYTES>();
        RecordedArrival::from_bytes(&all[k as usize])
    }

    fn count_before(&self, end: Nanos) -> u64 {
        let (all, _) = (*self.arrivals).as_ref().as_chunks::<ARRIVAL_BYTES>();
        all.partition_point(|bytes| RecordedArrival::from_bytes(bytes).at < end) as u64
    }

    fn text(&self, from: u64) -> Option<&[u8]> {
        let (length, rest) = (*self.texts).as_ref().get(from as usize..)?.split_first_chunk::<4>()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({} arrivals, {:?})", self.count(), self.length)
    }
}

/// The very same record for the same time.
impl PartialEq for Recorded {
    fn eq(&self, other: &Recorded) -> bool {
        Arc::ptr_eq(&self.pass, &other.pass) && self.length == other.length
    }
}

impl Eq for Recorded {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals at so many ms, each of the operation of its number, with the text `/<number>`.
    fn recorded(at_ms: &[u64], length_ms: u64) -> Recorded {
        let (mut arrivals, mut texts) = (Vec::new(), Vec::new());
        for (operation, &ms) in (0..).zip(at_ms) {
            let arrival = RecordedArrival { at: Nanos::from_millis(ms), operation, text: texts.len() as u64 };
            arrivals.extend(arrival.to_bytes());
            let text = format!("/{operation}");
            texts.extend((text.len() as u32).to_le_bytes());
            texts.extend(text.bytes());
        }
        Recorded::new(Arc::new(arrivals), Arc::new(texts), Nanos::from_millis(length_ms)).unwrap()
    }

    #[test]
    fn an_arrival_is_what_was_written() {
        let arrival = RecordedArrival { at: Nanos(u64::MAX), operation: u16::MAX, text: (1 << 48) - 1 };
        assert_eq!(RecordedArrival::from_bytes(&arrival.to_bytes()), arrival);
    }

    #[test]
    fn a_record_that_begins_anew_goes_on_where_it_ended() {
        let once = recorded(&[0, 5, 5, 900], 1_000);
        assert_eq!((once.count(), once.at(3), once.at(4)), (4, Some(Nanos::from_millis(900)), None));
        let thrice = once.lasting(Nanos::from_millis(2_006));
        assert_eq!(thrice.count(), 11);
        let at: Vec<u64> = (0..).map_while(|k| thrice.at(k)).map(|at| at.0 / 1_000_000).collect();
        assert_eq!(at, [0, 5, 5, 900, 1_000, 1_005, 1_005, 1_900, 2_000, 2_005, 2_005]);
        for (k, ms) in (0..).zip(&at) {
            let first = at.iter().position(|other| other == ms).unwrap() as u64;
            assert_eq!(thrice.count_before(Nanos::from_millis(*ms)), first);
            assert_eq!(
                (thrice.operation(k), thrice.text(k)),
                ((k % 4) as u32, format!("/{}", k % 4).as_bytes())
            );
        }
        assert_eq!(once.lasting(Nanos::from_millis(5)).count(), 1);
    }

    #[test]
    fn the_busiest_second_begins_anywhere() {
        assert_eq!(recorded(&[0, 600, 1_500, 1_599, 2_400], 3_000).most_in_a_second(), 3);
        // The last ones and the first ones of the next pass.
        let pairs = recorded(&[0, 100, 2_800, 2_900], 3_000);
        assert_eq!(
            (pairs.most_in_a_second(), pairs.lasting(Nanos::from_millis(6_000)).most_in_a_second()),
            (2, 4)
        );
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let of = |at: &[u64], length| {
            let bytes =
                at.iter().flat_map(|&at| RecordedArrival { at: Nanos(at), operation: 0, text: 0 }.to_bytes());
            Recorded::new(Arc::new(bytes.collect::<Vec<u8>>()), Arc::new(Vec::new()), Nanos(length))
                .map(|r| r.count())
        };
        assert_eq!(of(&[], 1), Err(RecordError::Empty));
        assert_eq!(of(&[2, 1], 3), Err(RecordError::Disorder));
        assert_eq!(of(&[1, 2], 2), Err(RecordError::Disorder));
        assert_eq!(of(&[1, 2], 3), Ok(2));
    }
}

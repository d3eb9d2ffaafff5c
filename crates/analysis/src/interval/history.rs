//! How a duration was distributed in each stretch of a run, in memory that does not grow with its length.

use super::bins;
use unblink_core::record::Track;
use unblink_core::time::Nanos;

/// Stretches at most; in a longer run neighbours are joined.
const STRETCHES_MAX: usize = 240;
/// Bytes of bins at most; beyond, neighbouring bins are joined in all stretches. A narrow distribution
/// keeps every bin; a wide one does not need them, since the estimate itself comes from the whole run's.
const BYTES_MAX: usize = 64 * 1024;
/// An end of a run that is shorter than this share of a stretch is joined to the stretch before it.
const END_SHARE_MIN: u64 = 2;

/// Completed durations and the ages of the censored, stretch by stretch.
#[derive(Clone, Debug)]
pub struct History {
    stretches: Vec<Packed>,
    intervals_per_stretch: u32,
    shift: u32,
    bytes: usize,
}

/// One stretch; pairs of (difference of bins' numbers, count) as variable-length integers.
#[derive(Clone, Debug)]
struct Packed {
    start: Nanos,
    end: Nanos,
    intervals: u32,
    level: u64,
    bins: Box<[u8]>,
}

/// What happened in one stretch of time.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Stretch {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// Arrivals without an answer, the most at any interval's end.
    pub(crate) level: u64,
    /// (bin, count), ascending.
    pub(crate) completed: Counts,
    pub(crate) censored: Counts,
}

/// (bin, count), ascending by bin.
pub(crate) type Counts = Vec<(u32, u64)>;

impl Default for History {
    fn default() -> Self {
        History { stretches: Vec::new(), intervals_per_stretch: 1, shift: 0, bytes: 0 }
    }
}

impl History {
    /// Takes in the next interval. `level`: arrivals without an answer at its end.
    pub fn add(
        &mut self,
        start: Nanos,
        length: Nanos,
        level: u64,
        completed: &Track<u64>,
        censored: &Track<u64>,
    ) {
        self.add_bins(start, length, level, completed.bins(), censored.bins());
    }

    /// The same of what is no [`Track`]: (any value of a bin in ns, count), ascending.
    pub fn add_bins(
        &mut self,
        start: Nanos,
        length: Nanos,
        level: u64,
        completed: impl Iterator<Item = (u64, u64)>,
        censored: impl Iterator<Item = (u64, u64)>,
    ) {
        let (completed, censored) = (counts(completed, self.shift), counts(censored, self.shift));
        let stretch = Stretch { start, end: start + length, level, completed, censored };
        match self.stretches.last().is_some_and(|last| last.intervals < self.intervals_per_stretch) {
            true => {
                let Some(last) = self.stretches.pop() else { return };
                self.bytes -= last.bins.len();
                let mut joined = last.unpack();
                joined.join(&stretch);
                self.push(&joined, last.intervals + 1);
            }
            false => {
                if self.stretches.len() == STRETCHES_MAX {
                    self.fold();
                }
                self.push(&stretch, 1);
            }
        }
        while self.bytes > BYTES_MAX {
            self.coarsen();
        }
    }

    /// Bytes that the bins take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many low bits of the bins' numbers were dropped.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// The stretches in which load was offered. What was recorded later, in the drain, belongs to the last.
    pub(crate) fn between(&self, from: Nanos, to: Nanos) -> Vec<Stretch> {
        let mut kept: Vec<Stretch> = Vec::with_capacity(self.stretches.len());
        for packed in self.stretches.iter().filter(|s| s.end > from) {
            let within = to.min(packed.end).0.saturating_sub(packed.start.max(from).0);
            let whole = (packed.end - packed.start).0;
            match kept.last_mut().filter(|_| within * END_SHARE_MIN < whole) {
                Some(last) => last.join(&packed.unpack()),
                None => kept.push(packed.unpack()),
            }
        }
        kept
    }

    fn push(&mut self, stretch: &Stretch, intervals: u32) {
        let bins = pack(&stretch.completed, &stretch.censored);
        self.bytes += bins.len();
        let Stretch { start, end, level, .. } = *stretch;
        self.stretches.push(Packed { start, end, intervals, level, bins });
    }

    fn fold(&mut self) {
        let before = std::mem::take(&mut self.stretches);
        self.bytes = 0;
        for pair in before.chunks(2) {
            let mut joined = pair[0].unpack();
            pair[1..].iter().for_each(|next| joined.join(&next.unpack()));
            self.push(&joined, pair.iter().map(|packed| packed.intervals).sum());
        }
        self.intervals_per_stretch *= 2;
    }

    fn coarsen(&mut self) {
        self.shift += 1;
        let before = std::mem::take(&mut self.stretches);
        self.bytes = 0;
        for packed in before {
            let mut stretch = packed.unpack();
            for counts in [&mut stretch.completed, &mut stretch.censored] {
                counts.iter_mut().for_each(|(bin, _)| *bin >>= 1);
                *counts = merged(counts, &[]);
            }
            self.push(&stretch, packed.intervals);
        }
    }
}

impl Stretch {
    fn join(&mut self, next: &Stretch) {
        self.end = next.end;
        self.level = self.level.max(next.level);
        self.completed = merged(&self.completed, &next.completed);
        self.censored = merged(&self.censored, &next.censored);
    }
}

impl Packed {
    fn unpack(&self) -> Stretch {
        let mut bytes = self.bins.iter();
        let completed = unpack(&mut bytes);
        let censored = unpack(&mut bytes);
        Stretch { start: self.start, end: self.end, level: self.level, completed, censored }
    }
}

fn counts(bins: impl Iterator<Item = (u64, u64)>, shift: u32) -> Counts {
    let all: Counts = bins.map(|(ns, n)| (bins::number(ns) >> shift, n)).collect();
    merged(&all, &[])
}

/// Both together, equal bins as one.
fn merged(a: &[(u32, u64)], b: &[(u32, u64)]) -> Counts {
    let mut all: Counts = a.iter().chain(b).copied().collect();
    all.sort_unstable_by_key(|(bin, _)| *bin);
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    all
}

fn pack(completed: &[(u32, u64)], censored: &[(u32, u64)]) -> Box<[u8]> {
    let mut out = Vec::new();
    for counts in [completed, censored] {
        put(&mut out, counts.len() as u64);
        let mut before = 0;
        for &(bin, n) in counts {
            put(&mut out, u64::from(bin - before));
            put(&mut out, n);
            before = bin;
        }
    }
    out.into_boxed_slice()
}

fn unpack<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Counts {
    let bins = take(bytes);
    let mut bin = 0;
    (0..bins)
        .map(|_| {
            bin += take(bytes) as u32;
            (bin, take(bytes))
        })
        .collect()
}

/// Seven bits to a byte, the lowest first; the top bit says that more follow (LEB128).
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> u64 {
    let (mut value, mut bits) = (0, 0);
    for &byte in bytes {
        value |= u64::from(byte & 0x7f) << bits;
        bits += 7;
        if byte < 0x80 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(values: impl IntoIterator<Item = u64>) -> Track<u64> {
        let mut track = Track::default();
        values.into_iter().for_each(|ns| track.record(Nanos(ns)));
        track
    }

    fn total(stretches: &[Stretch]) -> u64 {
        stretches.iter().flat_map(|s| s.completed.iter().chain(&s.censored)).map(|(_, n)| n).sum()
    }

    #[test]
    fn what_went_in_comes_out() {
        let mut history = History::default();
        for second in 0..10u64 {
            let completed = track((0..300).map(|i| 1_000_000 + i * i * 977 + second));
            history.add(
                Nanos::from_secs(second),
                Nanos::from_secs(1),
                second,
                &completed,
                &track([5_000_000]),
            );
        }
        let all = history.between(Nanos::ZERO, Nanos::from_secs(10));
        assert_eq!((all.len(), total(&all)), (10, 3_010));
        assert_eq!(all[3].level, 3);
        assert_eq!(all[3].censored, vec![(bins::number(5_000_000), 1)]);
        // The drain belongs to the last stretch of load, the warm-up to none.
        let part = history.between(Nanos::from_secs(2), Nanos::from_secs(8));
        assert_eq!((part.len(), total(&part)), (6, 8 * 301));
        assert_eq!(part[5].end, Nanos::from_secs(10));
    }

    #[test]
    fn memory_is_bounded_for_any_length() {
        let mut history = History::default();
        let completed = track((0..4_000u64).map(|i| 1_000 + i * i * i));
        for second in 0..2_000 {
            history.add(Nanos::from_secs(second), Nanos::from_secs(1), 1, &completed, &Track::default());
        }
        assert!(history.bytes() <= BYTES_MAX);
        let all = history.between(Nanos::ZERO, Nanos::from_secs(2_000));
        assert!((STRETCHES_MAX / 2..=STRETCHES_MAX).contains(&all.len()));
        assert_eq!(total(&all), 2_000 * 4_000);
    }
}

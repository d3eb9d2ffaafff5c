//! Whether a script comes back: a library function of Lua can't be interrupted, so somebody else must watch.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts how often each state of a script was entered and left.
#[derive(Debug)]
pub struct Pulse {
    /// Odd: Lua is at work. The first is that of no worker.
    entered: Box<[AtomicU64]>,
}

impl Pulse {
    /// For so many workers.
    pub fn new(workers: u32) -> Pulse {
        Pulse { entered: (0..=workers).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Lua is at work until the guard is dropped.
    #[inline]
    pub(super) fn enter(&self, state: usize) -> Inside<'_> {
        let count = &self.entered[state];
        // Only the state's own thread writes it.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Inside(count)
    }
}

/// Lua is at work.
pub(super) struct Inside<'a>(&'a AtomicU64);

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Looks at a [`Pulse`] again and again.
#[derive(Debug, Default)]
pub struct Looking {
    /// By state, what was seen last and for how many looks in a row.
    seen: Vec<(u64, u32)>,
}

impl Looking {
    /// Looks once. True if the same call has been at work for the last `looks` of them.
    pub fn is_stuck(&mut self, pulse: &Pulse, looks: u32) -> bool {
        self.seen.resize(pulse.entered.len(), (0, 0));
        let mut is_stuck = false;
        for (count, (last, times)) in pulse.entered.iter().zip(&mut self.seen) {
            let now = count.load(Ordering::Relaxed);
            *times = if now == *last && now % 2 == 1 { *times + 1 } else { 0 };
            *last = now;
            is_stuck |= *times >= looks;
        }
        is_stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_that_does_not_end_is_stuck() {
        let (pulse, mut looking) = (Pulse::new(2), Looking::default());
        for _ in 0..9 {
            drop(pulse.enter(1));
            let _inside = pulse.enter(2);
            assert!(
                !looking.is_stuck(&pulse, 2),
                "it is at work at each look, and each time in another call"
            );
        }
        assert!(!looking.is_stuck(&pulse, 2), "nothing is at work");
        let inside = pulse.enter(0);
        assert!(!looking.is_stuck(&pulse, 2) && !looking.is_stuck(&pulse, 2) && looking.is_stuck(&pulse, 2));
        drop(inside);
        assert!(!looking.is_stuck(&pulse, 2));
    }
}

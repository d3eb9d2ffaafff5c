//! Values that are taken from answers beside the load, such as a token, and reach every worker.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Values of the past that are known: those that requests under way may hold.
const PAST_MAX: usize = 64;

/// What was taken last, by number.
#[derive(Debug)]
pub struct Globals {
    /// Counts the changes, so that workers look only where something has changed.
    changes: AtomicU64,
    values: Mutex<Vec<Vec<u8>>>,
    /// What was there before, newest last.
    past: Mutex<VecDeque<Vec<u8>>>,
}

/// What a worker knows of them.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    changes: u64,
    values: Vec<Vec<u8>>,
}

impl Globals {
    /// So many values, all empty.
    pub fn new(values: usize) -> Globals {
        Globals {
            changes: AtomicU64::new(0),
            values: Mutex::new(vec![Vec::new(); values]),
            past: Mutex::default(),
        }
    }

    /// Sets several at once: what a worker sees belongs together.
    pub fn set(&self, new: &[(u32, Vec<u8>)]) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, value) in new {
            let old = std::mem::replace(&mut values[*number as usize], value.clone());
            let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            past.push_back(old);
            if past.len() > PAST_MAX {
                past.pop_front();
            }
        }
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// All that is there, and what was there not long ago: a request under way may hold it.
    pub fn all(&self) -> Vec<Vec<u8>> {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        values.iter().chain(past.iter()).filter(|value| !value.is_empty()).cloned().collect()
    }
}

impl Seen {
    /// Looks again if anything has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, globals: &Globals) {
        let changes = globals.changes.load(Ordering::Acquire);
        if changes != self.changes {
            self.changes = changes;
            let values = globals.values.lock().unwrap_or_else(PoisonError::into_inner);
            self.values.clone_from(&values);
        }
    }

    pub(crate) fn value(&self, number: u32) -> &[u8] {
        self.values.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_sees_what_was_set_last() {
        let globals = Globals::new(2);
        let mut seen = Seen::default();
        seen.refresh(&globals);
        assert_eq!(seen.value(1), b"");
        globals.set(&[(1, b"one".to_vec()), (0, b"zero".to_vec())]);
        assert_eq!(seen.value(1), b"", "not before it looks");
        seen.refresh(&globals);
        globals.set(&[(1, b"two".to_vec())]);
        assert_eq!((seen.value(0), seen.value(1)), (&b"zero"[..], &b"one"[..]));
        seen.refresh(&globals);
        assert_eq!((seen.value(0), seen.value(1)), (&b"zero"[..], &b"two"[..]));
        assert_eq!(globals.all(), [b"zero".to_vec(), b"two".to_vec(), b"one".to_vec()]);
        (0..200).for_each(|n: u8| globals.set(&[(0, vec![n])]));
        assert_eq!(globals.all().len(), 2 + PAST_MAX);
    }
}

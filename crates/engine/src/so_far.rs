//! What was drawn so far, as each worker says once in an interval.

use std::sync::{Mutex, PoisonError};
use unblink_workload::Sent;

/// By worker and named value. A worker waits for nobody: while it is being read, it says nothing.
#[derive(Debug)]
pub(crate) struct SentSoFar(Box<[Mutex<Box<[Sent]>>]>);

impl SentSoFar {
    /// Of so many workers and values.
    pub(crate) fn new(workers: usize, values: usize) -> SentSoFar {
        SentSoFar((0..workers).map(|_| Mutex::new(vec![Sent::default(); values].into())).collect())
    }

    /// This is what a worker has drawn so far. Allocates nothing.
    pub(crate) fn note(&self, worker: usize, sent: &[Sent]) {
        let Some(Ok(mut own)) = self.0.get(worker).map(Mutex::try_lock) else { return };
        own.iter_mut().zip(sent).for_each(|(own, sent)| own.copy_from(sent));
    }

    /// What all have, by named value.
    pub(crate) fn sum(&self) -> Vec<Sent> {
        let mut all = Vec::new();
        for own in &self.0 {
            let own = own.lock().unwrap_or_else(PoisonError::into_inner);
            all.resize(own.len(), Sent::default());
            all.iter_mut().zip(own.iter()).for_each(|(all, own)| all.add(own));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_say_adds_up_and_replaces_what_they_said_before() {
        let so_far = SentSoFar::new(2, 1);
        let mut sent = [Sent::default()];
        for place in [3, 4] {
            sent[0].count(place);
            so_far.note(0, &sent);
        }
        assert_eq!(so_far.sum(), sent);
        so_far.note(1, &sent);
        assert_eq!((so_far.sum()[0].draws(), so_far.sum()[0].mean()), (4, Some(3.5)));
        assert!(SentSoFar::new(3, 0).sum().is_empty());
    }
}

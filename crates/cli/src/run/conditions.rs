//! What the answers to the requests of a run must be like.

use crate::request::taking::Taking;
use std::sync::Arc;
use unblink_workload::answer::{Condition, Expect, Expects, Reader};

/// Conditions on the answers to requests, most of which have the same.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) distinct: Vec<(Arc<[Condition]>, Taking, Option<Reader>)>,
    /// By request.
    of: Vec<u32>,
}

impl Conditions {
    pub(super) fn add(&mut self, of_one: &Arc<[Condition]>, taking: &Taking, reader: Option<Reader>) {
        let place = self.place_of(of_one, taking, reader);
        self.of.push(place);
    }

    /// Those of the request with this number are others.
    pub(super) fn replace(&mut self, number: usize, of_one: &Arc<[Condition]>, taking: &Taking) {
        self.of[number] = self.place_of(of_one, taking, None);
    }

    fn place_of(&mut self, of_one: &Arc<[Condition]>, taking: &Taking, reader: Option<Reader>) -> u32 {
        let is_it = |(known, taken, reads): &(Arc<[Condition]>, Taking, Option<Reader>)| {
            (Arc::ptr_eq(known, of_one) || known == of_one) && taken == taking && *reads == reader
        };
        let known = self.distinct.iter().position(is_it);
        known.unwrap_or_else(|| {
            self.distinct.push((of_one.clone(), taking.clone(), reader));
            self.distinct.len() - 1
        }) as u32
    }

    /// What the answers to each must be like.
    pub(super) fn of_each(&self) -> Expects {
        let distinct =
            self.distinct.iter().map(|(conditions, Taking { captures, until, redirects, .. }, reader)| {
                Expect {
                    reader: reader.clone(),
                    captures: captures.clone(),
                    redirects: redirects.clone(),
                    until: (!until.is_empty()).then(|| Expect::new(until).into()),
                    ..Expect::new(conditions)
                }
            });
        Expects::new(distinct.collect(), self.of.clone())
    }
}

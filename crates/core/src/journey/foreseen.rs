//! What journeys come to, before any is made.

use super::{CERTAIN, Path, Paths, StepSpec};
use crate::time::Nanos;

impl Paths {
    /// Requests of a journey on average, if every step that asks again and again waits for as long as it may, and every
    /// request is redirected as often as it may be.
    pub fn requests_mean(&self, journey: usize) -> f64 {
        let share = |part: u16| f64::from(part.min(CERTAIN)) / f64::from(CERTAIN);
        let of_step = |there: &mut f64, step: &StepSpec| {
            let each = match step.until {
                Some(until) => until.requests_max() as f64,
                None => (f64::from(step.repeat.0) + f64::from(step.repeat.1)) / 2.0,
            };
            let taken = *there * share(step.chance);
            *there -= taken * share(step.exit);
            Some(taken * each * (1.0 + f64::from(step.redirects.max)))
        };
        self.each[journey].steps.iter().scan(1.0, of_step).sum()
    }

    /// Requests of an arrival on average, by the weights of what it may ask for; every entry has the same weight without them.
    pub fn requests_per_arrival(&self, weights: Option<&[u32]>) -> f64 {
        let weight = |entry: usize| weights.and_then(|all| all.get(entry)).map_or(1.0, |&n| f64::from(n));
        let requests = |entry: usize| entry.checked_sub(self.plain()).map_or(1.0, |n| self.requests_mean(n));
        let entries = 0..self.entries();
        let all: f64 = entries.clone().map(|entry| weight(entry) * requests(entry)).sum();
        all / entries.map(weight).sum::<f64>()
    }

    /// How long a journey thinks on average, in seconds. A load of such journeys comes to its level no sooner.
    pub fn thinking_s(&self, journey: usize) -> f64 {
        let share = |part: u16| f64::from(part.min(CERTAIN)) / f64::from(CERTAIN);
        let of_step = |there: &mut f64, (number, step): (usize, &StepSpec)| {
            let requests = (f64::from(step.repeat.0) + f64::from(step.repeat.1)) / 2.0;
            // Nobody thinks before a journey's first request.
            let thought = requests - if number == 0 { 1.0 } else { 0.0 };
            let taken = *there * share(step.chance);
            *there -= taken * share(step.exit);
            Some(taken * thought * step.think.mean_s(&self.times))
        };
        self.each[journey].steps.iter().enumerate().scan(1.0, of_step).sum()
    }

    /// For how long journeys are waited for that are under way when the load ends: of the longest one, each request for as
    /// long as it may take, and all but one in a thousand think times.
    pub fn drain(&self, timeout: Nanos) -> Nanos {
        let of_step = |step: &StepSpec| {
            let requests = timeout.0.saturating_mul(1 + u64::from(step.redirects.max));
            let each = requests.saturating_add(step.think.longest_but_one_in_1000(&self.times).0);
            // Of requests that are made again and again, only the last one can end after the time they have.
            let waits = step.until.map_or(0, |until| until.within.0);
            each.saturating_mul(u64::from(step.repeat.1)).saturating_add(waits)
        };
        let of = |path: &Path| path.steps.iter().map(of_step).fold(0, u64::saturating_add);
        Nanos(self.each.iter().map(of).max().unwrap_or(0))
    }
}

//! Retries as configured: what is tried again, how often, and when. The rules are the same as for the simulated users
//! who try again ([`crate::sim::UsersSpec`]).

use crate::arrival::Key;
use crate::code::Code;
use crate::failure::FailureKind;
use crate::random::{below, mixed};
use crate::record::RetryCause;
use crate::time::Nanos;

/// The upper limit on the attempts of an arrival.
pub const ATTEMPTS_MAX: u32 = 100;

/// When an arrival whose attempt came to nothing is tried again.
#[derive(Clone, PartialEq, Debug)]
pub struct Retry {
    /// The most attempts of an arrival, the first included: from 2 to [`ATTEMPTS_MAX`].
    pub attempts: u32,
    /// Failures after which there is another attempt.
    pub on: RetryOn,
    /// How long an attempt may take from when it was sent. It is then given up, if there may be another one.
    pub try_timeout: Option<Nanos>,
    /// The time from the end of the first attempt to the second. It doubles after each further attempt.
    pub wait: Nanos,
    /// How chance changes that time.
    pub jitter: Jitter,
    /// The most attempts after the first, in percent of a worker's arrivals so far. `None`: no limit.
    pub budget_percent: Option<u32>,
    /// Whether requests that must not be sent twice are tried again all the same.
    pub is_unsafe: bool,
    /// The seed of the jitter.
    pub seed: u64,
}

/// How much of the wait chance takes away, so that arrivals that failed together don't come back together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Jitter {
    /// Nothing.
    #[default]
    None,
    /// Up to half of it.
    Equal,
    /// Up to all of it.
    Full,
}

/// A set of failures.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RetryOn {
    /// A bit for each [`Code::index`].
    codes: [u64; Code::COUNT.div_ceil(64)],
    /// A bit for each kind.
    kinds: u128,
}

impl RetryOn {
    /// Adds the failed answers with this code.
    pub fn add_code(&mut self, code: Code) {
        let (word, bit) = place(code);
        self.codes[word] |= bit;
    }

    /// Adds a failure without an answer.
    pub fn add_kind(&mut self, kind: FailureKind) {
        self.kinds |= 1 << kind.index();
    }

    /// Nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == RetryOn::default()
    }

    /// Everything in `other` is in it.
    pub fn includes(&self, other: &RetryOn) -> bool {
        let codes = self.codes.iter().zip(other.codes);
        codes.into_iter().all(|(own, others)| others & !own == 0) && other.kinds & !self.kinds == 0
    }

    /// Is it in the set that an attempt failed of `kind`, with an answer of this code or without one?
    pub(super) fn holds(&self, kind: FailureKind, code: Option<Code>) -> bool {
        let by_code = code.map(place).is_some_and(|(word, bit)| self.codes[word] & bit != 0);
        by_code || self.kinds >> kind.index() & 1 != 0
    }
}

fn place(code: Code) -> (usize, u64) {
    (code.index() / 64, 1 << (code.index() % 64))
}

impl Retry {
    /// How long an arrival waits after `repeats` attempts beyond the first: a function of these and the seed alone.
    pub fn wait(&self, key: Key, repeats: u32) -> Nanos {
        let whole = self.wait.0.saturating_mul(1 << repeats.min(32));
        let drawn = |end: u64| {
            let of_unit = mixed(mixed(self.seed ^ u64::from(key.load)) ^ key.unit);
            // One more than 0, or none would wait for the whole time.
            below(mixed(of_unit ^ (u64::from(key.step) << 32 | u64::from(repeats))), end) + u64::from(end > 0)
        };
        Nanos(match self.jitter {
            Jitter::None => whole,
            Jitter::Equal => whole - whole / 2 + drawn(whole / 2),
            Jitter::Full => drawn(whole),
        })
    }

    /// May there be one more attempt after `granted` of them, with so many arrivals so far?
    pub(super) fn is_within_budget(&self, granted: u64, arrivals: u64) -> bool {
        let within =
            |percent: u32| u128::from(granted + 1) * 100 <= u128::from(arrivals) * u128::from(percent);
        self.budget_percent.is_none_or(within)
    }

    /// Is there another attempt after one that ended like this?
    pub(super) fn is_for(&self, cause: RetryCause, code: Option<Code>) -> bool {
        match cause {
            RetryCause::Failed(kind) => self.on.holds(kind, code),
            RetryCause::TryTimeout => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(jitter: Jitter) -> Retry {
        Retry {
            attempts: 3,
            on: RetryOn::default(),
            try_timeout: None,
            wait: Nanos(1_000),
            jitter,
            budget_percent: None,
            is_unsafe: false,
            seed: 7,
        }
    }

    #[test]
    fn waits_double_and_chance_takes_what_it_may() {
        let waits =
            |jitter, repeats| (0..10_000).map(move |unit| retry(jitter).wait(Key::single(unit), repeats).0);
        for repeats in [0, 1, 5] {
            let whole = 1_000 << repeats;
            assert!(waits(Jitter::None, repeats).all(|wait| wait == whole));
            for (jitter, least) in [(Jitter::Equal, whole / 2), (Jitter::Full, 0)] {
                assert!(waits(jitter, repeats).all(|wait| least < wait && wait <= whole), "{jitter:?}");
                // A mean of 10,000 draws is within 4 σ of (b − a)/√12 each.
                let mean = waits(jitter, repeats).sum::<u64>() as f64 / 10_000.0;
                let expected = (least + whole) as f64 / 2.0;
                let sigma = (whole - least) as f64 / 12.0_f64.sqrt() / 100.0;
                assert!((mean - expected).abs() < 4.0 * sigma + 1.0, "{jitter:?}: {mean} against {expected}");
            }
        }
        let none = Retry { wait: Nanos(0), ..retry(Jitter::Full) };
        assert_eq!(none.wait(Key::single(1), 9), Nanos(0));
    }

    #[test]
    fn sets_hold_what_was_added() {
        let mut on = RetryOn::default();
        assert!(on.is_empty());
        [100, 503, 599].into_iter().filter_map(Code::of_status).for_each(|code| on.add_code(code));
        on.add_kind(FailureKind::RESET);
        let held = [100, 101, 500, 503, 599, 600, 0]
            .map(|status| on.holds(FailureKind::SHED, Code::of_status(status)));
        assert_eq!(held, [true, false, false, true, true, false, false]);
        assert!(on.holds(FailureKind::RESET, None) && !on.holds(FailureKind::CLOSED_EARLY, None));
    }

    #[test]
    fn a_budget_is_a_share_of_the_arrivals() {
        let budget = Retry { budget_percent: Some(20), ..retry(Jitter::None) };
        let granted =
            |arrivals| (0..).take_while(|&granted| budget.is_within_budget(granted, arrivals)).count();
        assert_eq!([0, 4, 5, 99, 100].map(granted), [0, 0, 1, 19, 20]);
    }
}

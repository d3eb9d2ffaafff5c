//! The account of a mirror: every request in one place, by operation.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unblink_analysis::paired::{Over, Pairs};
use unblink_artifact::mirror::{MirrorAccount, MirrorBodies, MirrorOperation};
use unblink_engine::mirror::{Books, NotCopied, Pair, Side};
use unblink_trace::route::anonymous_route;

/// Operations that are told apart; those beyond share a place.
const OPERATIONS_MAX: usize = 100;
/// Pairs of statuses that are told apart, of one operation.
const STATUSES_MAX: usize = 32;
const OTHERS: &str = "others";
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT"];

const BASELINE: usize = 0;
const CANDIDATE: usize = 1;
const NOISE: usize = 2;

/// What both threads of a mirror write in, and its control thread reads.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Book>);

#[derive(Default)]
pub(super) struct Book {
    numbers: HashMap<String, u32>,
    operations: Vec<Operation>,
    censored: BTreeMap<&'static str, u64>,
    skipped: BTreeMap<&'static str, u64>,
    /// Since the last interval.
    pairs: Pairs,
    twins: Pairs,
    pub(super) over: Over,
    pub(super) over_twins: Over,
    bodies: MirrorBodies,
    pub(super) has_noise: bool,
    /// Pairs in which only the baseline failed, and only the candidate.
    pub(super) fails: (u64, u64),
    /// Requests that failed or timed out, at all targets.
    pub(super) failed: u64,
}

#[derive(Default)]
struct Operation {
    name: String,
    pairs: Pairs,
    left_out: u64,
    statuses: BTreeMap<String, u64>,
    bodies: MirrorBodies,
}

impl Ledger {
    pub(super) fn new(has_noise: bool) -> Ledger {
        Ledger(Mutex::new(Book { has_noise, ..Book::default() }))
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books for Ledger {
    fn operation(&self, method: &str, target: &[u8]) -> u32 {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        let mut name = String::new();
        anonymous_route(method, &String::from_utf8_lossy(target), &mut name);
        self.book().number(name)
    }

    fn not_copied(&self, operation: Option<u32>, why: NotCopied) {
        let mut book = self.book();
        match why {
            NotCopied::QueueFull => book.leave_out(operation, "queue_full"),
            NotCopied::BytesFull => book.leave_out(operation, "queue_bytes"),
            NotCopied::Mutating => *book.skipped.entry("mutating").or_default() += 1,
            NotCopied::BodyTooLarge => *book.skipped.entry("body_above_bound").or_default() += 1,
            NotCopied::Upgrade => *book.skipped.entry("upgrade").or_default() += 1,
            NotCopied::OverRate => *book.skipped.entry("over_allowed_rate").or_default() += 1,
            NotCopied::OverBudget => *book.skipped.entry("over_budget").or_default() += 1,
            NotCopied::Unreadable => *book.skipped.entry("unreadable").or_default() += 1,
        }
    }

    fn ended(&self, pair: &Pair) {
        self.book().end(pair);
    }
}

impl Book {
    fn number(&mut self, name: String) -> u32 {
        let is_full = self.operations.len() >= OPERATIONS_MAX && !self.numbers.contains_key(&name);
        let name = if is_full { OTHERS.to_string() } else { name };
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.operations.push(Operation { name: name.clone(), ..Operation::default() });
            self.operations.len() as u32 - 1
        })
    }

    fn leave_out(&mut self, operation: Option<u32>, cause: &'static str) {
        *self.censored.entry(cause).or_default() += 1;
        self.pairs.leave_out(1);
        if let Some(operation) = operation.and_then(|number| self.operations.get_mut(number as usize)) {
            operation.pairs.leave_out(1);
            operation.left_out += 1;
        }
    }

    fn end(&mut self, pair: &Pair) {
        let [baseline, candidate, noise] = pair.sides;
        self.failed += pair.sides.iter().filter(|&&side| has_failed(side)).count() as u64;
        let statuses = format!("{}/{}", status(baseline), status(candidate));
        if let Some(operation) = self.operations.get_mut(pair.operation as usize) {
            let is_full =
                operation.statuses.len() >= STATUSES_MAX && !operation.statuses.contains_key(&statuses);
            let statuses = if is_full { OTHERS.to_string() } else { statuses };
            *operation.statuses.entry(statuses).or_default() += 1;
        }
        match (has_failed(baseline), has_failed(candidate)) {
            (true, false) if candidate != Side::Unfinished => self.fails.0 += 1,
            (false, true) if baseline != Side::Unfinished => self.fails.1 += 1,
            _ => {}
        }
        match compared(&pair.sides, CANDIDATE) {
            Ok((first, second)) => {
                self.pairs.add(first, second);
                if let Some(operation) = self.operations.get_mut(pair.operation as usize) {
                    operation.pairs.add(first, second);
                }
            }
            Err(cause) => self.leave_out(Some(pair.operation), cause),
        }
        if self.has_noise {
            match compared(&pair.sides, NOISE) {
                Ok((first, second)) => self.twins.add(first, second),
                Err(_) => self.twins.leave_out(1),
            }
            self.compare_bodies(pair.operation, [baseline, candidate, noise]);
        }
    }

    fn compare_bodies(&mut self, operation: u32, sides: [Side; 3]) {
        let said = |side: Side| match side {
            Side::Answered { status, digest: Some(digest), .. } => Some((status, digest)),
            _ => None,
        };
        let [Some(baseline), Some(candidate), Some(noise)] = sides.map(said) else { return };
        if baseline.0 != candidate.0 || baseline.0 != noise.0 {
            return;
        }
        let note = |bodies: &mut MirrorBodies| {
            bodies.compared += 1;
            bodies.noise_differs += u64::from(baseline.1 != noise.1);
            bodies.candidate_differs += u64::from(baseline.1 == noise.1 && baseline.1 != candidate.1);
        };
        note(&mut self.bodies);
        if let Some(operation) = self.operations.get_mut(operation as usize) {
            note(&mut operation.bodies);
        }
    }

    /// What has come since the last call becomes an interval.
    pub(super) fn close_interval(&mut self) {
        let (pairs, twins) = (std::mem::take(&mut self.pairs), std::mem::take(&mut self.twins));
        self.over.add(&pairs);
        self.over_twins.add(&twins);
    }

    /// All requests so far; `offered` of them came in.
    pub(super) fn account(&self, offered: u64) -> MirrorAccount {
        let named = |causes: &BTreeMap<&'static str, u64>| {
            causes.iter().map(|(cause, n)| (cause.to_string(), *n)).collect::<BTreeMap<String, u64>>()
        };
        MirrorAccount {
            offered,
            compared: self.over.total().compared(),
            censored: named(&self.censored),
            skipped: named(&self.skipped),
        }
    }

    pub(super) fn bodies(&self) -> Option<MirrorBodies> {
        self.has_noise.then(|| self.bodies.clone())
    }

    /// Those with copies, the most frequent first.
    pub(super) fn operations(&self) -> Vec<MirrorOperation> {
        let mut all: Vec<MirrorOperation> = self
            .operations
            .iter()
            .map(|of| {
                let (p50, p99) = (of.pairs.quantiles(0.5).unzip(), of.pairs.quantiles(0.99).unzip());
                MirrorOperation {
                    name: of.name.clone(),
                    compared: of.pairs.compared(),
                    left_out: of.left_out,
                    statuses: of.statuses.clone(),
                    baseline_p50_ns: p50.0,
                    candidate_p50_ns: p50.1,
                    baseline_p99_ns: p99.0,
                    candidate_p99_ns: p99.1,
                    bodies: self.has_noise.then(|| of.bodies.clone()),
                }
            })
            .filter(|of| of.compared + of.left_out > 0)
            .collect();
        all.sort_by(|a, b| (b.compared + b.left_out, &a.name).cmp(&(a.compared + a.left_out, &b.name)));
        all
    }
}

fn is_ok(status: u16) -> bool {
    (200..400).contains(&status)
}

fn has_failed(side: Side) -> bool {
    match side {
        Side::Answered { status, .. } => !is_ok(status),
        Side::Failed(_) | Side::TimedOut => true,
        Side::Nothing | Side::Unfinished => false,
    }
}

fn status(side: Side) -> String {
    match side {
        Side::Answered { status, .. } => status.to_string(),
        _ => "none".into(),
    }
}

/// Both times in ns, or the one cause why they can't be compared. What a target answers in another way took another time
/// for another reason.
fn compared(sides: &[Side; 3], other: usize) -> Result<(u64, u64), &'static str> {
    match (sides[BASELINE], sides[other]) {
        (Side::Answered { status: a, took: first, .. }, Side::Answered { status: b, took: second, .. }) => {
            if a == b || is_ok(a) && is_ok(b) {
                Ok((first.0, second.0))
            } else {
                Err("statuses_differ")
            }
        }
        (Side::Failed(_), _) => Err("baseline_failed"),
        (Side::TimedOut, _) => Err("baseline_timed_out"),
        (_, Side::Failed(_)) => Err("candidate_failed"),
        (_, Side::TimedOut) => Err("candidate_timed_out"),
        _ => Err("unfinished"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::failure::FailureKind;
    use unblink_core::time::Nanos;

    fn answered(status: u16, ms: u64, body: u8) -> Side {
        Side::Answered { status, took: Nanos::from_millis(ms), digest: Some([body; 32]) }
    }

    #[test]
    fn every_request_is_in_one_place() {
        let ledger = Ledger::new(true);
        let operation = ledger.operation("GET", b"/users/4711?token=secret");
        assert_eq!(operation, ledger.operation("GET", b"/users/12"));
        let pair = |baseline, candidate, noise| Pair { operation, sides: [baseline, candidate, noise] };
        let ok = answered(200, 1, 1);
        for (pair, cause) in [
            (pair(ok, answered(204, 2, 1), ok), None),
            (pair(answered(404, 1, 1), answered(404, 1, 2), answered(404, 1, 1)), None),
            (pair(ok, answered(500, 2, 1), ok), Some("statuses_differ")),
            (pair(ok, Side::TimedOut, ok), Some("candidate_timed_out")),
            (pair(Side::Failed(FailureKind::RESET), Side::TimedOut, ok), Some("baseline_failed")),
            (pair(ok, Side::Failed(FailureKind::RESET), ok), Some("candidate_failed")),
            (pair(Side::TimedOut, ok, ok), Some("baseline_timed_out")),
            (pair(ok, Side::Unfinished, ok), Some("unfinished")),
        ] {
            let before = cause.and_then(|cause| ledger.book().censored.get(cause).copied()).unwrap_or(0);
            ledger.ended(&pair);
            let after = cause.and_then(|cause| ledger.book().censored.get(cause).copied()).unwrap_or(0);
            assert_eq!(after - before, u64::from(cause.is_some()), "{pair:?}");
        }
        let all = [
            NotCopied::QueueFull,
            NotCopied::BytesFull,
            NotCopied::Mutating,
            NotCopied::BodyTooLarge,
            NotCopied::Upgrade,
            NotCopied::OverRate,
            NotCopied::OverBudget,
        ];
        all.into_iter().for_each(|why| ledger.not_copied(Some(operation), why));
        ledger.not_copied(None, NotCopied::Unreadable);
        let mut book = ledger.book();
        book.close_interval();
        let account = book.account(16);
        assert_eq!(
            account.offered,
            account.compared + account.left_out() + account.skipped.values().sum::<u64>()
        );
        assert_eq!((account.compared, account.left_out()), (2, 8));
        assert_eq!((book.fails, book.failed), ((1, 3), 9));
        let bodies = book.bodies().expect("there is a twin");
        assert_eq!((bodies.compared, bodies.candidate_differs, bodies.noise_differs), (1, 1, 0));
        let told = book.operations();
        assert_eq!((told.len(), told[0].name.as_str(), told[0].left_out), (1, "GET /users/{id}", 8));
    }

    #[test]
    fn operations_and_statuses_are_bounded() {
        let ledger = Ledger::new(false);
        let numbers: Vec<u32> = (0..300u32)
            .map(|n| {
                ledger.operation("GET", format!("/{}", "ab".repeat(n as usize % 3 + 1)).as_bytes()).max(n)
            })
            .collect();
        assert_eq!(numbers.len(), 300);
        for n in 0..300 {
            ledger.book().number(format!("GET /{n}"));
        }
        assert!(ledger.book().operations.len() <= OPERATIONS_MAX + 1);
        for n in 100..600 {
            ledger.ended(&Pair {
                operation: 0,
                sides: [answered(200, 1, 1), answered(n, 1, 1), Side::Nothing],
            });
        }
        assert!(ledger.book().operations[0].statuses.len() <= STATUSES_MAX + 1);
    }
}

//! Laws that a trace follows, and how well: what is asked, which keys, sizes, and how requests lie in time.
//!
//! A trace is read twice, in memory of a fixed size. The laws are those that a plan can name.

mod arrivals;
mod bursts;
mod keys;
mod normal;
#[cfg(test)]
mod seeded;
mod sizes;
#[cfg(test)]
mod tests;

pub use arrivals::{ArrivalLaw, DispersionFit, RateFit};
pub use keys::{KeyFit, KeyLaw};
pub use sizes::SizeFit;

use crate::format::{Header, Reader, Request, TraceError};
use crate::route::{Template, template};
use crate::summary::{Summary, Summing};
use crate::{Counts, Finding};
use arrivals::Arrivals;
use keys::KeyCounts;
use siphasher::sip::SipHasher13;
use sizes::Sizes;
use std::collections::HashMap;
use std::hash::Hasher;
use std::io::Read;

/// Kinds of requests that are told apart at first; what comes later is with the others.
const KINDS_MAX: usize = 4_096;
/// Operations that a fit has, the most frequent ones.
pub const OPERATIONS_MAX: usize = 200;
/// Places of ids that have a law of their own.
const PLACES_MAX: usize = 400;
/// Keys that are counted one by one, of all places together.
const KEYS_MAX: usize = 1 << 19;

/// What a trace comes to.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Its first line.
    pub header: Header,
    /// Its last line.
    pub counts: Counts,
    /// Requests that a path was asked for by: all but CONNECT and `OPTIONS *`.
    pub requests: u64,
    /// Requests that no path was asked for by.
    pub without_path: u64,
    /// The most frequent one first.
    pub operations: Vec<Operation>,
    /// Requests of other operations.
    pub others: u64,
    /// Of each place of ids.
    pub keys: Vec<Keys>,
    /// When they came.
    pub rate: RateFit,
    /// Different users; none where requests have no user.
    pub users: Option<u64>,
}

/// Requests with the same method and the same path but for ids.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Such as GET.
    pub method: String,
    /// `/items/{id}`
    pub path: String,
    /// How many there were.
    pub count: u64,
    /// For each `{id}` of the path, its place among [`Fit::keys`]; none where there were too many.
    pub keys: Vec<Option<usize>>,
    /// How many had a query.
    pub with_query: u64,
    /// How many were answered with 400 or more.
    pub failed: u64,
    /// Sizes of answers.
    pub answers: Option<SizeFit>,
    /// Sizes of requests.
    pub sizes: Option<SizeFit>,
}

/// Ids in one place, whatever is asked of them.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The path up to the id: `/items/{id}`.
    pub place: String,
    /// Their law.
    pub fit: KeyFit,
}

/// Fits laws to a trace, which `open` opens twice.
///
/// # Errors
/// It can't be read, or differs when it is read again. None where it has no request with a path.
pub fn fit<R: Read>(
    mut open: impl FnMut() -> Result<Reader<R>, TraceError>,
) -> Result<Option<Fit>, TraceError> {
    let (kinds, summary) = first(open()?)?;
    let requests = kinds.known.values().sum::<u64>() + kinds.others;
    if requests == 0 {
        return Ok(None);
    }
    let mut chosen: Vec<(String, u64)> = kinds.known.into_iter().collect();
    chosen.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    chosen.truncate(OPERATIONS_MAX);
    let others = requests - chosen.iter().map(|(_, count)| count).sum::<u64>();
    let gap = kinds.span / (requests - 1).max(1);
    let length = if requests == 1 { 1_000_000_000 } else { kinds.span + gap.max(1) };
    let is_whole = summary.counts.findings.contains(&Finding::WholeSeconds);
    let mut second = Second::new(chosen.iter().map(|(name, _)| name), length, requests, is_whole);
    let mut trace = open()?;
    let mut begin = None;
    while let Some(request) = trace.next_request()? {
        if request.path.starts_with('/') {
            let begin = *begin.get_or_insert(request.at);
            second.add(&request, request.at.abs_diff(begin));
        }
    }
    let operations = chosen.into_iter().zip(second.operations).map(|((name, count), own)| {
        let (method, path) = name.split_once(' ').unwrap_or_default();
        Operation {
            method: method.into(),
            path: path.into(),
            count,
            keys: own.keys,
            with_query: own.with_query,
            failed: own.failed,
            answers: own.answers.fit(),
            sizes: own.sizes.fit(),
        }
    });
    Ok(Some(Fit {
        operations: operations.collect(),
        keys: second
            .places
            .all
            .iter()
            .map(|(place, counts)| Keys { place: place.clone(), fit: counts.fit() })
            .collect(),
        rate: second.arrivals.fit(&summary.dispersion),
        users: summary.users.map(|users| users.count),
        requests,
        without_path: kinds.without_path,
        others,
        header: summary.header,
        counts: summary.counts,
    }))
}

/// How often each kind of request comes.
#[derive(Default)]
struct Kinds {
    known: HashMap<String, u64>,
    others: u64,
    without_path: u64,
    begin: Option<i64>,
    /// From the first to the last.
    span: u64,
}

fn first<R: Read>(mut trace: Reader<R>) -> Result<(Kinds, Summary), TraceError> {
    let start = trace.header().start_ns();
    let (mut kinds, mut summing, mut name) = (Kinds::default(), Summing::default(), String::new());
    while let Some(request) = trace.next_request()? {
        summing.add(&request, request.at.abs_diff(start));
        if !request.path.starts_with('/') {
            kinds.without_path += 1;
            continue;
        }
        kinds.span = request.at.abs_diff(*kinds.begin.get_or_insert(request.at));
        called(&request, &template(&request.path), &mut name);
        if let Some(count) = kinds.known.get_mut(&name) {
            *count += 1;
        } else if kinds.known.len() < KINDS_MAX {
            kinds.known.insert(name.clone(), 1);
        } else {
            kinds.others += 1;
        }
    }
    let counts = trace.counts();
    Ok((kinds, summing.finish(trace.header().clone(), counts)))
}

fn called(request: &Request, template: &Template<'_>, out: &mut String) {
    out.clear();
    out.push_str(&request.method);
    out.push(' ');
    out.push_str(&template.path);
}

/// What is collected of an operation.
#[derive(Default)]
struct Own {
    keys: Vec<Option<usize>>,
    with_query: u64,
    failed: u64,
    answers: Sizes,
    sizes: Sizes,
}

/// The second time.
struct Second {
    by_name: HashMap<String, usize>,
    operations: Vec<Own>,
    places: Places,
    arrivals: Arrivals,
    name: String,
}

impl Second {
    fn new<'a>(
        names: impl Iterator<Item = &'a String>,
        length: u64,
        requests: u64,
        is_whole: bool,
    ) -> Second {
        let by_name: HashMap<String, usize> = names.cloned().zip(0..).collect();
        Second {
            operations: (0..by_name.len()).map(|_| Own::default()).collect(),
            by_name,
            places: Places::default(),
            arrivals: Arrivals::new(length, requests, is_whole),
            name: String::new(),
        }
    }

    fn add(&mut self, request: &Request, at: u64) {
        self.arrivals.add(at);
        let template = template(&request.path);
        called(request, &template, &mut self.name);
        let Some(&number) = self.by_name.get(&self.name) else { return };
        let own = &mut self.operations[number];
        let places = template.ids.iter().map(|id| self.places.add(&template.path[..id.end], id.text));
        let places: Vec<Option<usize>> = places.collect();
        if own.keys.is_empty() {
            own.keys = places;
        }
        own.with_query += u64::from(request.path.contains('?'));
        own.failed += u64::from(request.status.is_some_and(|status| status >= 400));
        own.answers.add(request.answer_bytes);
        own.sizes.add(request.request_bytes);
    }
}

/// Keys by where they stand in a path.
#[derive(Default)]
struct Places {
    by_path: HashMap<String, usize>,
    all: Vec<(String, KeyCounts)>,
    known: usize,
}

impl Places {
    fn add(&mut self, place: &str, id: &str) -> Option<usize> {
        let number = match self.by_path.get(place) {
            Some(&number) => number,
            None if self.all.len() < PLACES_MAX => {
                self.by_path.insert(place.into(), self.all.len());
                self.all.push((place.into(), KeyCounts::default()));
                self.all.len() - 1
            }
            None => return None,
        };
        let mut hasher = SipHasher13::new();
        hasher.write(id.as_bytes());
        let counts = &mut self.all[number].1;
        let before = counts.known();
        counts.add(hasher.finish());
        self.known += counts.known() - before;
        while self.known > KEYS_MAX {
            let Some((_, most)) = self.all.iter_mut().max_by_key(|(_, counts)| counts.known()) else { break };
            let before = most.known();
            most.halve();
            self.known -= before - most.known();
        }
        Some(number)
    }
}

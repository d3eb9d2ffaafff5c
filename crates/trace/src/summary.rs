//! What is in a trace: its rate over time, what is asked, sizes, users, and how bursty arrivals are. One pass, in memory of a
//! fixed size.

use crate::Counts;
use crate::entry::SECOND;
use crate::format::{Header, Reader, Request, TraceError};
use crate::route::route;
use hdrhistogram::Histogram;
use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;
use std::io::Read;

/// Cells of the rate over time at the most; their width doubles when there would be more.
const CELLS_MAX: usize = 240;
/// Different requests that are told apart; those that come later are counted together.
const ROUTES_MAX: usize = 4096;
/// Users that are counted one by one; of more, a known share is.
const USERS_MAX: usize = 1 << 17;
/// Lengths of the windows in which the index of dispersion is computed.
const WINDOWS: [i64; 4] = [SECOND / 100, SECOND / 10, SECOND, 10 * SECOND];
/// Windows that an index needs at the least.
const WINDOWS_MIN: u64 = 20;

/// A method, a path whose numbers are `{id}`, and how many requests have both.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// `GET /items/{id}`
    pub name: String,
    /// Requests.
    pub count: u64,
}

/// A distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Requests that have the value.
    pub count: u64,
    /// The value below which half of them are, to three digits.
    pub p50: u64,
    /// 90 %
    pub p90: u64,
    /// 99 %
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// How much the number of arrivals in a window varies: its variance divided by its mean. 1 for independent arrivals at a
/// constant rate (Poisson), less for more regular ones, more for bursts or a rate that changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispersion {
    /// Length of the window, ns.
    pub window_ns: u64,
    /// Whole windows in the trace.
    pub windows: u64,
    /// Variance divided by mean.
    pub index: f64,
}

/// Who sent the requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// How many there are; exact up to 131,072, otherwise an estimate.
    pub count: u64,
    /// It is an estimate.
    pub is_estimate: bool,
    /// Requests that have a user.
    pub requests: u64,
    /// Requests of the one who sent the most; of those that were counted, where the number is an estimate.
    pub busiest: u64,
}

/// What is in a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its first line.
    pub header: Header,
    /// Its last line.
    pub counts: Counts,
    /// Requests.
    pub requests: u64,
    /// From its start to the last request, ns.
    pub length_ns: u64,
    /// Requests in the busiest second, counted from the start.
    pub peak_in_a_second: u64,
    /// Width of the cells of [`Summary::cells`], ns.
    pub cell_ns: u64,
    /// Requests over time. The last cell may be longer than the trace.
    pub cells: Vec<u64>,
    /// By method and path, the most frequent one first.
    pub routes: Vec<Route>,
    /// Requests of others, which came after 4,096 different ones.
    pub other_routes: u64,
    /// By status; those without one are not in it.
    pub statuses: BTreeMap<u16, u64>,
    /// Sizes of answers, bytes.
    pub answer_bytes: Option<Spread>,
    /// Sizes of requests, bytes.
    pub request_bytes: Option<Spread>,
    /// From start to end, ns.
    pub took_ns: Option<Spread>,
    /// None where no request has a user.
    pub users: Option<Users>,
    /// For windows of 10 ms, 100 ms, 1 s and 10 s, as far as the trace has 20 of them.
    pub dispersion: Vec<Dispersion>,
}

/// Reads a trace to its end.
///
/// # Errors
/// It can't be read.
pub fn summary<R: Read>(mut trace: Reader<R>) -> Result<Summary, TraceError> {
    let start = trace.header().start_ns();
    let mut all = Summing::default();
    while let Some(request) = trace.next_request()? {
        all.add(&request, request.at.abs_diff(start));
    }
    Ok(all.finish(trace.header().clone(), trace.counts()))
}

/// What is collected of requests.
#[derive(Default)]
pub(crate) struct Summing {
    requests: u64,
    last: u64,
    cells: Cells,
    routes: HashMap<String, u64>,
    other_routes: u64,
    statuses: BTreeMap<u16, u64>,
    answer_bytes: Values,
    request_bytes: Values,
    took: Values,
    users: Drawn,
    windows: [Window; WINDOWS.len()],
    name: String,
}

impl Summing {
    /// Takes a request that started so many ns after the trace.
    pub(crate) fn add(&mut self, request: &Request, at: u64) {
        self.requests += 1;
        self.last = at;
        self.cells.add(at);
        for (window, length) in self.windows.iter_mut().zip(WINDOWS) {
            window.add(at / length as u64);
        }
        self.name.clear();
        route(request, &mut self.name);
        if let Some(count) = self.routes.get_mut(&self.name) {
            *count += 1;
        } else if self.routes.len() < ROUTES_MAX {
            self.routes.insert(self.name.clone(), 1);
        } else {
            self.other_routes += 1;
        }
        if let Some(status) = request.status {
            *self.statuses.entry(status).or_default() += 1;
        }
        self.answer_bytes.add(request.answer_bytes);
        self.request_bytes.add(request.request_bytes);
        self.took.add(request.took);
        if let Some(user) = &request.user {
            self.users.add(user);
        }
    }

    pub(crate) fn finish(self, header: Header, counts: Counts) -> Summary {
        let mut routes: Vec<Route> =
            self.routes.into_iter().map(|(name, count)| Route { name, count }).collect();
        routes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        let dispersion = self
            .windows
            .iter()
            .zip(WINDOWS)
            .filter_map(|(window, length)| window.index(self.last, length as u64));
        Summary {
            header,
            counts,
            requests: self.requests,
            length_ns: self.last,
            peak_in_a_second: self.windows[2].peak,
            cell_ns: self.cells.width,
            cells: self.cells.counts,
            routes,
            other_routes: self.other_routes,
            statuses: self.statuses,
            answer_bytes: self.answer_bytes.spread(),
            request_bytes: self.request_bytes.spread(),
            took_ns: self.took.spread(),
            users: self.users.users(),
            dispersion: dispersion.collect(),
        }
    }
}

/// Counts over time.
struct Cells {
    width: u64,
    counts: Vec<u64>,
}

impl Default for Cells {
    fn default() -> Self {
        Cells { width: SECOND as u64 / 10, counts: Vec::new() }
    }
}

impl Cells {
    fn add(&mut self, at: u64) {
        while at / self.width >= CELLS_MAX as u64 {
            self.width *= 2;
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let cell = (at / self.width) as usize;
        if self.counts.len() <= cell {
            self.counts.resize(cell + 1, 0);
        }
        self.counts[cell] += 1;
    }
}

/// Counts in windows of one length.
#[derive(Default)]
struct Window {
    number: u64,
    count: u64,
    /// Of windows that are over: the sums of their counts and of the squares.
    sum: u128,
    squares: u128,
    peak: u64,
}

impl Window {
    fn add(&mut self, number: u64) {
        if number != self.number {
            self.close();
            self.number = number;
        }
        self.count += 1;
        self.peak = self.peak.max(self.count);
    }

    fn close(&mut self) {
        let count = u128::from(std::mem::take(&mut self.count));
        self.sum += count;
        self.squares += count * count;
    }

    /// Of whole windows: the last one is left out.
    fn index(&self, last: u64, length: u64) -> Option<Dispersion> {
        let windows = last / length;
        if windows < WINDOWS_MIN || self.sum == 0 {
            return None;
        }
        let n = windows as f64;
        let mean = self.sum as f64 / n;
        let variance = (self.squares as f64 - mean * self.sum as f64) / (n - 1.0);
        Some(Dispersion { window_ns: length, windows, index: variance.max(0.0) / mean })
    }
}

/// Sizes or durations.
#[derive(Default)]
struct Values(Option<Histogram<u64>>);

impl Values {
    fn add(&mut self, value: Option<u64>) {
        let Some(value) = value else { return };
        let all = match &mut self.0 {
            Some(all) => all,
            none => match Histogram::new(3) {
                Ok(empty) => none.insert(empty),
                Err(_) => return,
            },
        };
        // It grows with what it is given: there is no value that it can't hold.
        let _ = all.record(value);
    }

    fn spread(&self) -> Option<Spread> {
        let all = self.0.as_ref()?;
        let at = |q| all.value_at_quantile(q).min(all.max());
        Some(Spread { count: all.len(), p50: at(0.5), p90: at(0.9), p99: at(0.99), max: all.max() })
    }
}

/// Users whose hash ends in `level` zeros, with their requests (adaptive sampling, Wegman 1984; analysed by Flajolet 1990).
#[derive(Default)]
struct Drawn {
    level: u32,
    counts: HashMap<u64, u64>,
    requests: u64,
}

impl Drawn {
    fn add(&mut self, user: &str) {
        self.requests += 1;
        let mut hasher = SipHasher13::new();
        hasher.write(user.as_bytes());
        let hash = hasher.finish();
        if hash.trailing_zeros() < self.level {
            return;
        }
        *self.counts.entry(hash).or_default() += 1;
        while self.counts.len() > USERS_MAX {
            self.level += 1;
            self.counts.retain(|hash, _| hash.trailing_zeros() >= self.level);
        }
    }

    fn users(&self) -> Option<Users> {
        (self.requests > 0).then(|| Users {
            count: (self.counts.len() as u64) << self.level,
            is_estimate: self.level > 0,
            requests: self.requests,
            busiest: self.counts.values().copied().max().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Writer;

    fn of(requests: impl IntoIterator<Item = Request>) -> Summary {
        let mut out = Vec::new();
        let mut writer = Writer::to(&mut out).unwrap();
        writer.begin(&Header::new(0, vec![], vec![])).unwrap();
        let mut n = 0;
        for request in requests {
            writer.request(&request).unwrap();
            n += 1;
        }
        writer.finish(&Counts { requests: n, ..Counts::default() }).unwrap();
        summary(Reader::new(&out[..]).unwrap()).unwrap()
    }

    fn at(ns: i64, path: &str) -> Request {
        Request { at: ns, method: "GET".into(), path: path.into(), ..Request::default() }
    }

    #[test]
    fn even_arrivals_and_pairs_of_them() {
        let even = of((0..6001).map(|n| at(n * SECOND / 100, "/")));
        assert_eq!((even.requests, even.length_ns, even.peak_in_a_second), (6001, 60 * SECOND as u64, 100));
        assert!(even.dispersion.iter().all(|one| one.index == 0.0), "{:?}", even.dispersion);
        assert_eq!(even.dispersion.iter().map(|one| one.windows).collect::<Vec<_>>(), [6000, 600, 60]);
        // Every other window of 100 ms has 20, the others none: the variance is 100 n/(n-1), the mean 10.
        let pairs = of((0..6001).map(|n| at((n / 20) * SECOND / 5 + (n % 20) * 1000, "/")));
        let tenth = pairs.dispersion.iter().find(|one| one.window_ns == 100_000_000).unwrap();
        assert!((tenth.index - 10.0 * 600.0 / 599.0).abs() < 1e-9, "{tenth:?}");
        assert_eq!(pairs.cells.iter().sum::<u64>(), 6001);
        assert!(pairs.cells.len() <= CELLS_MAX && pairs.cell_ns == 400_000_000);
    }

    #[test]
    fn requests_that_differ_in_numbers_are_the_same() {
        let some = of(["/a/1?x=1", "/a/2", "/a/3.jpg", "/v2/a", "/"].map(|path| at(0, path)));
        let names: Vec<(&str, u64)> = some.routes.iter().map(|route| (&*route.name, route.count)).collect();
        assert_eq!(names, [("GET /a/{id}", 2), ("GET /", 1), ("GET /a/{id}.jpg", 1), ("GET /v2/a", 1)]);
        let many = of((0..5000).map(|n: u32| {
            let name: String = n.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
            at(0, &format!("/{name}"))
        }));
        assert_eq!((many.routes.len(), many.other_routes), (ROUTES_MAX, 5000 - ROUTES_MAX as u64));
    }

    #[test]
    fn users_are_exact_as_long_as_they_are_few() {
        let by = |users: u64| {
            of((0..2 * users).map(|n| Request { user: Some((n % users).to_string().into()), ..at(0, "/") }))
                .users
                .unwrap()
        };
        assert_eq!(by(1000), Users { count: 1000, is_estimate: false, requests: 2000, busiest: 2 });
        let many = by(300_000);
        // The standard error is 1.2 / sqrt(65,536).
        assert!(many.is_estimate && (many.count as f64 / 300_000.0 - 1.0).abs() < 0.03, "{many:?}");
    }

    #[test]
    fn sizes() {
        let sizes = of((1..=1000).map(|size| Request { answer_bytes: Some(size), ..at(0, "/") }));
        let spread = sizes.answer_bytes.unwrap();
        assert_eq!(
            (spread.count, spread.p50, spread.p90, spread.p99, spread.max),
            (1000, 500, 900, 990, 1000)
        );
        assert_eq!((sizes.request_bytes, sizes.users), (None, None));
    }

    #[test]
    fn durations_and_sizes_of_any_length_are_told() {
        let mut all = Values::default();
        [5, 3_000, 31_000_000, 3_000_000_000, u64::MAX / 2]
            .into_iter()
            .for_each(|value| all.add(Some(value)));
        let spread = all.spread().expect("values");
        assert!(spread.p50.abs_diff(31_000_000) <= 31_000, "{}", spread.p50);
        assert!(spread.count == 5 && spread.max > u64::MAX / 3, "{}", spread.max);
    }
}

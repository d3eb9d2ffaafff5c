//! What the server says of itself, as an ordinary service would: on a port of its own, from a thread of its own. Its clock starts
//! when it begins to work on a request: what waited to be accepted or for a slot is not in it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use crate::LabError;

/// Upper bounds of the classic buckets, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Native buckets grow by 2^(2^−3), some 9 %.
const SCHEMA: i32 = 3;
/// Native buckets that there may be, from some 60 ns to 18 h.
const PLACES: usize = 320;
/// The place of the bucket that ends at one second.
const ONE_SECOND: usize = 192;
/// A reader that is slower is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts that the event loop adds to and the metrics' thread reads. Both hold them for less than a microsecond.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
    in_flight: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    ok: u64,
    errors: u64,
    sum_ns: u64,
    classic: [u64; BOUNDS.len() + 1],
    native: Vec<u64>,
}

impl Metrics {
    /// One that was answered, and took so long from its slot on. It counts before the answer leaves.
    pub(crate) fn count(&self, took_ns: u64, is_error: bool, in_flight: u64) {
        let seconds = took_ns as f64 / 1e9;
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        // Above the bound of the place before, and at most its own.
        let place = (seconds.max(1e-9).log2() * f64::from(1 << SCHEMA)).ceil() as i64 + ONE_SECOND as i64;
        let place = place.clamp(0, PLACES as i64 - 1) as usize;
        self.in_flight.store(in_flight, Ordering::Relaxed);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.native.resize(PLACES, 0);
        *(if is_error { &mut counts.errors } else { &mut counts.ok }) += 1;
        counts.sum_ns += took_ns;
        counts.classic[bucket] += 1;
        counts.native[place] += 1;
    }

    /// Serves them until the process ends.
    pub(crate) fn serve(self: Arc<Self>, listen: SocketAddr) -> Result<SocketAddr, LabError> {
        let error = |why: std::io::Error| LabError::Listen {
            address: listen,
            source: Errno::from_io_error(&why).unwrap_or(Errno::IO),
        };
        let listener = TcpListener::bind(listen).map_err(error)?;
        let address = listener.local_addr().map_err(error)?;
        let life = move || listener.incoming().flatten().for_each(|stream| drop(self.answer(stream)));
        std::thread::Builder::new().name("lab-metrics".to_owned()).spawn(life).map_err(LabError::Thread)?;
        Ok(address)
    }

    /// One request a connection.
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (mut head, mut piece) = (Vec::new(), [0; 2048]);
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 16_384 {
            match stream.read(&mut piece)? {
                0 => return Ok(()),
                n => head.extend_from_slice(&piece[..n]),
            }
        }
        let head = String::from_utf8_lossy(&head);
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        let (status, content_type, body) = if !head.starts_with("GET /metrics ") {
            ("404 Not Found", "text/plain", b"GET /metrics\n".to_vec())
        } else if head.contains("application/vnd.google.protobuf") {
            const PROTOBUF: &str = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
            ("200 OK", PROTOBUF, counts.protobuf(in_flight))
        } else {
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", counts.text(in_flight).into_bytes())
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )?;
        stream.write_all(&body)
    }
}

/// Resident memory, from proc(5).
fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

impl Counts {
    fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = BOUNDS.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.classic).scan(0, |sum, (bound, n)| {
            *sum += n;
            Some((bound, *sum))
        })
    }

    fn text(&self, in_flight: u64) -> String {
        let mut out =
            String::from("# HELP lab_requests_total Answered requests.\n# TYPE lab_requests_total counter\n");
        // Writing to a String cannot fail.
        let _ = writeln!(out, "lab_requests_total{{code=\"200\"}} {}", self.ok);
        let _ = writeln!(out, "lab_requests_total{{code=\"500\"}} {}", self.errors);
        out += "# HELP lab_request_duration_seconds From the slot to the answer.\n";
        out += "# TYPE lab_request_duration_seconds histogram\n";
        for (bound, n) in self.cumulative() {
            let bound = if bound.is_infinite() { "+Inf".to_owned() } else { bound.to_string() };
            let _ = writeln!(out, "lab_request_duration_seconds_bucket{{le=\"{bound}\"}} {n}");
        }
        let _ = writeln!(out, "lab_request_duration_seconds_sum {}", self.sum_ns as f64 / 1e9);
        let _ = writeln!(out, "lab_request_duration_seconds_count {}", self.ok + self.errors);
        let gauges =
            [("process_resident_memory_bytes", memory_bytes()), ("lab_requests_in_flight", in_flight)];
        for (name, value) in gauges {
            let _ = writeln!(out, "# TYPE {name} gauge\n{name} {value}");
        }
        out
    }

    /// The same in protobuf, where the histogram has both forms.
    fn protobuf(&self, in_flight: u64) -> Vec<u8> {
        let counter = |code: &str, n: u64| {
            let label = [field(1, b"code"), field(2, code.as_bytes())].concat();
            [field(1, &label), field(3, &double(1, n as f64))].concat()
        };
        let counters = [counter("200", self.ok), counter("500", self.errors)];
        let gauge = |n: u64| [field(2, &double(1, n as f64))];
        [
            family("lab_requests_total", 0, &counters),
            family("lab_request_duration_seconds", 4, &[field(7, &self.histogram())]),
            family("process_resident_memory_bytes", 1, &gauge(memory_bytes())),
            family("lab_requests_in_flight", 1, &gauge(in_flight)),
        ]
        .concat()
    }

    fn histogram(&self) -> Vec<u8> {
        let mut out = [number(1, self.ok + self.errors), double(2, self.sum_ns as f64 / 1e9)].concat();
        for (bound, n) in self.cumulative() {
            out.extend(field(3, &[number(1, n), double(2, bound)].concat()));
        }
        out.extend([number(5, zigzag(SCHEMA.into())), double(6, 1e-128), number(7, 0)].concat());
        // One span: from the first bucket that is not empty to the last, whose counts are told by their differences.
        let used = |n: &u64| *n > 0;
        if let (Some(from), Some(to)) =
            (self.native.iter().position(used), self.native.iter().rposition(used))
        {
            let offset = from as i64 - ONE_SECOND as i64;
            out.extend(field(12, &[number(1, zigzag(offset)), number(2, (to - from + 1) as u64)].concat()));
            let mut before = 0;
            for &n in &self.native[from..=to] {
                out.extend(number(13, zigzag(n as i64 - before)));
                before = n as i64;
            }
        }
        out
    }
}

/// A family behind its length.
fn family(name: &str, kind: u64, metrics: &[Vec<u8>]) -> Vec<u8> {
    let metrics = metrics.iter().flat_map(|metric| field(4, metric));
    let body: Vec<u8> = field(1, name.as_bytes()).into_iter().chain(number(3, kind)).chain(metrics).collect();
    [varint(body.len() as u64), body].concat()
}

fn field(tag: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(tag << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn number(tag: u64, n: u64) -> Vec<u8> {
    [varint(tag << 3), varint(n)].concat()
}

fn double(tag: u64, value: f64) -> Vec<u8> {
    [varint(tag << 3 | 1), value.to_le_bytes().to_vec()].concat()
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_adds_up() {
        let metrics = Arc::new(Metrics::default());
        for (took_ns, is_error) in [(1_000_000, false), (10_000_001, false), (3_000_000_000, true)] {
            metrics.count(took_ns, is_error, 2);
        }
        let address = metrics.serve(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
        let ask = |path: &str| {
            let mut stream = TcpStream::connect(address).expect("a connection");
            write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            answer
        };
        let page = ask("/metrics");
        for line in [
            "lab_requests_total{code=\"200\"} 2",
            "lab_requests_total{code=\"500\"} 1",
            "lab_request_duration_seconds_bucket{le=\"0.001\"} 1",
            "lab_request_duration_seconds_bucket{le=\"0.01\"} 1",
            "lab_request_duration_seconds_bucket{le=\"0.025\"} 2",
            "lab_request_duration_seconds_bucket{le=\"+Inf\"} 3",
            "lab_request_duration_seconds_sum 3.011000001",
            "lab_request_duration_seconds_count 3",
            "lab_requests_in_flight 2",
        ] {
            assert!(page.lines().any(|one| one == line), "{line}: {page}");
        }
        assert!(ask("/").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn numbers_are_written_as_protobuf_has_them() {
        assert_eq!(varint(300), [0xac, 0x02]);
        assert_eq!((zigzag(-1), zigzag(1), zigzag(-2)), (1, 2, 3));
        assert_eq!(field(2, b"ab"), [0x12, 2, b'a', b'b']);
    }
}

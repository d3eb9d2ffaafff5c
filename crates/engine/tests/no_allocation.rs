//! A plaintext request allocates nothing once the connections are there, whether it is always the same or written anew for
//! each arrival: counted by the allocator.
#![allow(unsafe_code)] // A global allocator can't be written without.

mod calls;
mod databases;
mod steps;
mod together;

use calls::{job_in_calls, responder_in_calls};
use databases::{
    job_in_commands, job_in_routed_statements, job_in_statements, job_in_transactions, job_taking_columns,
    job_taking_columns_of_cql, job_taking_elements,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use steps::{job_in_steps, responder_to_steps};
use together::{FirstTogether, USERS};
use unblink_core::dispatch::Pool;
use unblink_core::journey::{JourneySpec, Journeys, StepSpec};
use unblink_core::mix::Mix;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Interval;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::Nanos;
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::run::{Running, start};
use unblink_engine::target::{Address, Target};
use unblink_wire::blank::place;
use unblink_wire::http1::{Http1, Request};
use unblink_wire::http2::{self, Http2, Scheme};
use unblink_wire::protocol::Protocol;
use unblink_wire::ws::{self, Ws};
use unblink_wire::{Limits, RequestBuilder, RequestKind};
use unblink_workload::answer::{Capture, Captured, Condition, EventFormat, Expect, Expects, Needle};
use unblink_workload::template::Holes;
use unblink_workload::{Composition, Context, Lets, Source, Values};

/// The thread whose allocations are counted; 0 is nobody.
static WATCHED: AtomicI32 = AtomicI32::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator with a count of what one thread asks of it.
struct Counting;

impl Counting {
    fn note(&self) {
        let watched = WATCHED.load(Ordering::SeqCst);
        if watched != 0 && rustix::thread::gettid().as_raw_pid() == watched {
            ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        }
    }
}

// SAFETY: every call goes to `System` with its arguments unchanged, and so does its result; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.note();
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.note();
        // SAFETY: `place` came from `System` with this layout; the caller vouches for the size.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers every request on every connection; a thread each, none of which is watched.
fn responder(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            stream.set_nodelay(true).expect("an option");
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                // The requests are small: each comes in one piece.
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) && stream.write_all(answer).is_ok() {}
            });
        }
    });
    address
}

/// The same in HTTP/2, one request after the other. Every hundredth answer says something new, which those that follow refer
/// to.
fn responder_in_two() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("an option");
        stream.read_exact(&mut [0; 24]).expect("the preface");
        stream.write_all(b"\0\0\0\x04\0\0\0\0\0").expect("settings");
        let (mut header, mut answers, mut first) = ([0; 9], 0u32, FirstTogether::default());
        while stream.read_exact(&mut header).is_ok() {
            let [a, b, c, kind, _, id @ ..] = header;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            stream.read_exact(&mut payload).expect("a frame");
            if kind != 1 {
                continue;
            }
            let new = [&b"\x88\x40\x04date\x04"[..], &answers.to_be_bytes().map(|b| b'a' + b % 26)].concat();
            let block: &[u8] = if answers.is_multiple_of(100) { &new } else { b"\x88\xbe" };
            let head = [&[0, 0, block.len() as u8, 1, 4], &id[..], block].concat();
            let body = [&[0, 0, 5, 0, 1], &id[..], b"hello"].concat();
            answers += 1;
            if first.answer(&mut stream, &[head, body].concat()).is_err() {
                return;
            }
        }
    });
    address
}

/// Sends every message of a WebSocket back, and a ping before it.
fn responder_in_messages() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let mut socket = tungstenite::accept(stream).expect("a handshake");
        // The first ones go back all at once, as with HTTP/2.
        let (mut held, mut asked) = (Vec::new(), 0);
        while let Ok(message) = socket.read() {
            if !message.is_text() {
                continue;
            }
            held.push(message);
            asked += 1;
            if asked < USERS {
                continue;
            }
            for message in held.drain(..) {
                let ping = tungstenite::Message::Ping(Vec::new().into());
                let sent = socket.send(ping).and_then(|()| socket.send(message));
                if sent.is_err() {
                    return;
                }
            }
        }
    });
    address
}

/// Messages whose answers are found by name.
fn job_in_messages(address: SocketAddr, load: LoadSpec) -> Job<Ws> {
    let settings = ws::Settings {
        handshake: Arc::new(ws::Handshake::new("/", "h", &[]).expect("a handshake")),
        limits: Limits::default(),
        depth: 8,
        matching: ws::Matching::Name(ws::Finder::new(|message, name| {
            name.extend_from_slice(message);
            true
        })),
        is_binary: false,
    };
    let message = ws::Message::new((*b"hello").into(), false);
    let job = job_of(address, load, Pool::Fixed { n: 1 }, &["regex hel+o"], vec![message; 2], settings);
    let mut expect = job.expects.of(0).clone();
    expect.statuses = Vec::new();
    Job { expects: expect.into(), ..job }
}

fn job(address: SocketAddr, load: LoadSpec, pool: Pool, expect: &[&str]) -> Job<Http1> {
    let request = RequestBuilder { method: "GET", target: "/", host: "h", headers: &[], body: b"" };
    let operation = Request {
        head: request.render().expect("a request").into(),
        body: Default::default(),
        kind: RequestKind::Normal,
        closes: false,
        blank: None,
    };
    job_of(address, load, pool, expect, vec![operation; 2], Limits::default())
}

fn job_in_two(address: SocketAddr, load: LoadSpec) -> Job<Http2> {
    let request = RequestBuilder { method: "GET", target: "/", host: "h", headers: &[], body: b"" };
    let request = http2::Request::new(&request, Default::default(), Scheme::Http).expect("a request");
    let settings = http2::Settings { limits: Limits::default(), streams: 100 };
    let checks = ["header date ~ ^[a-z]{4}$"];
    job_of(address, load, Pool::Fixed { n: 1 }, &checks, vec![request; 2], settings)
}

fn job_of<P: Protocol>(
    address: SocketAddr,
    load: LoadSpec,
    pool: Pool,
    expect: &[&str],
    operations: Vec<P::Request>,
    settings: P::Settings,
) -> Job<P> {
    let conditions = expect.iter().map(|text| Condition::parse(text).expect("a condition"));
    let expect = Expect {
        statuses: vec![200..=299],
        contains: Needle::new(b"hello"),
        ..Expect::new(&conditions.collect::<Vec<_>>())
    };
    let plan = Plan::new(PlanSpec {
        idempotent: vec![true; 2],
        ..PlanSpec::plain(load, pool, Nanos::from_secs(30))
    });
    Job {
        plan: plan.expect("a plan"),
        targets: vec![Target::plain(vec![Address::Tcp(address)])],
        operations,
        values: None,
        script: None,
        expects: expect.into(),
        settings,
        connection_age: None,
        pacing: Pacing::default(),
    }
}

/// The same with places in the path, a header and the body, which are drawn from laws and rows for each arrival.
fn templated(job: Job<Http1>) -> Job<Http1> {
    let mut rows = |_: &str| -> io::Result<Box<dyn Read>> { Ok(Box::new(&b"id,word\n1,one\n2,two\n"[..])) };
    let mut lets = Lets::default();
    for (name, text) in
        [("item", "zipf(1G)"), ("user", "csv(users.csv, shuffled)"), ("size", "lognormal(100, 1, max=1KiB)")]
    {
        lets.add(name, Source::parse(text, &mut rows).expect(text)).expect(name);
    }
    let mut holes = Holes::new(&lets, 0);
    let mut read = |text: &str, context| holes.read(text, context, place).expect("a template");
    let target = read("/items/{{item}}?user={{user.id}}", Context::Target);
    let header = read("{{uuid}}", Context::Header);
    let body = r#"{"word": "{{user.word}}", "pad": "{{bytes(size)}}", "at": "{{now(ms)}}"}"#;
    let body = read(body, Context::Json);
    let composition = Some(Composition::new(holes.into_holes()));
    let values = Values::new(lets, vec![composition; 2], &[], &job.plan, 7).expect("values");
    let headers = [("X-Id".to_string(), header)];
    let request = RequestBuilder {
        method: "POST",
        target: &target,
        host: "h",
        headers: &headers,
        body: body.as_bytes(),
    };
    let blank = request.render_blank().expect("a request").map(Arc::new);
    assert!(blank.is_some(), "it has places");
    let operations = job.operations.into_iter().map(|operation| Request {
        head: Default::default(),
        blank: blank.clone(),
        ..operation
    });
    Job { operations: operations.collect(), values: Some(values), ..job }
}

/// The same with answers that come event by event.
fn streamed(job: Job<Http1>) -> Job<Http1> {
    Job { expects: Expect { events: Some(EventFormat::Sse), ..Expect::default() }.into(), ..job }
}

/// Journeys of two steps: the second one sends back what the first one's answer brought, cookies included.
fn travelling(address: SocketAddr, load: LoadSpec) -> Job<Http1> {
    let plain = job(address, load, Pool::Fixed { n: 1 }, &[]);
    let mut lets = Lets::default();
    let id = lets.add_kept("id").expect("a name");
    let jar = lets.add_cookies(0).expect("a place");
    let mut holes = Holes::new(&lets, u64::MAX);
    let target = holes.read("/{{id}}", Context::Target, place).expect("a template");
    let cookies = format!("{{{{{}}}}}", Lets::cookies_name(0));
    let cookies = holes.read(&cookies, Context::Header, place).expect("a template");
    let headers = [("Cookie".to_string(), cookies)];
    let builder = RequestBuilder { method: "GET", target: &target, host: "h", headers: &headers, body: b"" };
    let blank = builder.render_blank().expect("a request").map(Arc::new);
    let second = Request { head: Box::default(), blank, ..plain.operations[1].clone() };
    let composition = Composition::new(holes.into_holes());
    let journeys = Journeys {
        each: vec![JourneySpec { steps: vec![StepSpec::ONCE; 2], ..JourneySpec::default() }],
        under_way_max: 20,
        ..Journeys::default()
    };
    let mix = Mix { journeys, ..Mix::default() };
    let plan = Plan::new(PlanSpec { mix, ..plain.plan.spec().clone() }).expect("a plan");
    let values = Values::new(lets, vec![None, Some(composition)], &[], &plan, 1).expect("values");
    let capture = Capture::parse("json $.id").expect("a capture");
    let taken = Expect {
        captures: vec![
            Captured { name: "id".into(), number: id, capture },
            Captured { name: "cookies".into(), number: jar, capture: Capture::Cookies },
        ],
        ..Expect::default()
    };
    Job {
        expects: Expects::new(vec![taken, Expect::default()], vec![0, 1]),
        operations: vec![plain.operations[0].clone(), second],
        values: Some(values),
        plan,
        ..plain
    }
}

fn watch(thread: &str) {
    let threads = std::fs::read_dir("/proc/self/task").expect("procfs");
    let id = threads.map(|task| task.expect("a task").path()).find_map(|task| {
        let name = std::fs::read_to_string(task.join("comm")).ok()?;
        let id = task.file_name()?.to_str()?.parse().ok();
        id.filter(|_| name.trim() == thread)
    });
    WATCHED.store(id.expect("the thread"), Ordering::SeqCst);
}

/// Allocations of the worker in the middle of the second and third second, the hand-over between them
/// included, and arrivals that were `ok` in the run.
fn allocations_of<P: Protocol + 'static>(job: Job<P>) -> (u64, u64) {
    let is_routed = job.targets[0].routing.is_some();
    let mut running: Running = start(job).expect("it starts");
    let (mut ok, mut routed) = (0, 0);
    let mut count = |interval: Option<&Interval>| {
        let Some(interval) = interval else { return false };
        ok += interval.bank.counters.measured.ok;
        routed += interval.bank.counters.connections().routed;
        true
    };
    count(running.next_interval());
    watch("unblink-0");
    std::thread::sleep(Duration::from_millis(200));
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    count(running.next_interval());
    std::thread::sleep(Duration::from_millis(500));
    let allocations = ALLOCATIONS.load(Ordering::SeqCst) - before;
    WATCHED.store(0, Ordering::SeqCst);
    running.controls().stop();
    while count(running.next_interval()) {}
    running.finish().expect("it ends");
    assert_eq!(routed > 0, is_routed, "{routed} of {ok} were routed");
    (allocations, ok)
}

fn assert_none<P: Protocol + 'static>(name: &str, job: Job<P>) {
    let (allocations, ok) = allocations_of(job);
    assert!(ok > 500, "{name}: {ok} answers prove nothing");
    assert_eq!(allocations, 0, "{name}");
}

/// The counter itself: a thread that allocates is caught.
fn assert_counts() {
    WATCHED.store(rustix::thread::gettid().as_raw_pid(), Ordering::SeqCst);
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    drop(std::hint::black_box(vec![0u8; 1000]));
    assert_eq!(ALLOCATIONS.load(Ordering::SeqCst), before + 1);
    WATCHED.store(0, Ordering::SeqCst);
}

#[test]
fn a_plaintext_request_allocates_nothing() {
    assert_counts();
    let plain = responder(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let chunked =
        responder(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n");
    let json = responder(
        b"HTTP/1.1 200 OK\r\nX-Id: 7\r\nTransfer-Encoding: chunked\r\n\r\n\
          d\r\n{\"a\":[{\"b\":\"h\r\na\r\nello\\n\"}]}\r\n0\r\n\r\n",
    );
    let stream = responder(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
          b\r\n: hi\n\ndata:\r\n14\r\n1\n\ndata: 2\n\ndata: 3\n\r\n1\r\n\n\r\n0\r\n\r\n",
    );
    let session = responder(
        b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=0123456789; Path=/\r\nContent-Length: 26\r\n\r\n{\"id\":\"an id with spaces\"}",
    );
    let checks = [
        "header x-id = 7",
        "header X-Id ~ ^[0-9]$",
        "json $.a[0].b ~ ^hello\n$",
        "json $.a[*] exists",
        "regex b.*h",
    ];
    let length = Nanos::from_secs(30);
    let hold = || vec![Phase::hold(Rate::per_second(2000), length)];
    let even = || LoadSpec::Open { phases: hold(), process: Process::Even };
    let poisson = || LoadSpec::Open { phases: hold(), process: Process::Poisson { seed: 1 } };
    let closed = || LoadSpec::closed(USERS, Nanos::from_millis(4), length);
    for (name, job) in [
        ("open, fixed pool", job(plain, even(), Pool::Fixed { n: 8 }, &[])),
        ("open, chunked answers", job(chunked, poisson(), Pool::Auto { max: 500 }, &[])),
        ("closed", job(plain, closed(), Pool::Auto { max: 8 }, &[])),
        ("event by event", streamed(job(stream, even(), Pool::Fixed { n: 8 }, &[]))),
        ("checked", job(json, even(), Pool::Fixed { n: 8 }, &checks)),
        // Each connection has a buffer that grows to its longest drawn request, which one connection meets soon. Of several,
        // one may be used for the first time while the worker is watched.
        ("templated", templated(job(plain, even(), Pool::Fixed { n: 1 }, &[]))),
        ("journeys", travelling(session, even())),
    ] {
        assert_none(name, job);
    }
    assert_none("HTTP/2", job_in_two(responder_in_two(), closed()));
    assert_none("gRPC", job_in_calls(responder_in_calls(), closed()));
    assert_none("WebSocket", job_in_messages(responder_in_messages(), closed()));
    assert_none("Redis", job_in_commands(closed()));
    assert_none("PostgreSQL", job_in_transactions(closed()));
    assert_none("CQL", job_in_statements(closed()));
    assert_none("CQL over two nodes", job_in_routed_statements(closed()));
    assert_none("values of Redis", job_taking_elements(closed()));
    assert_none("values of PostgreSQL", job_taking_columns(closed()));
    assert_none("values of CQL", job_taking_columns_of_cql(closed()));
    assert_none("steps over a WebSocket", job_in_steps(responder_to_steps(), even()));
}

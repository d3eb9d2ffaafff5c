//! What an idle connection costs this program in memory: counted by the allocator. The kernel's own is not in it.
#![allow(unsafe_code)] // A global allocator can't be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicI64, Ordering};
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::Nanos;
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::run::start;
use unblink_engine::target::{Address, Target};
use unblink_wire::http1::{Http1, Request};
use unblink_wire::{Limits, RequestBuilder, RequestKind};
use unblink_workload::answer::Expect;

/// Bytes for each idle connection at the most; ARCHITECTURE.md states it.
const CEILING: i64 = 2048;

/// Bytes that are held by every thread but the server's.
static HELD: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static IS_SERVER: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator with an account of what is held.
struct Counting;

impl Counting {
    fn note(&self, bytes: i64) {
        if !IS_SERVER.get() {
            HELD.fetch_add(bytes, Ordering::SeqCst);
        }
    }
}

// SAFETY: every call goes to `System` with its arguments unchanged, and so does its result; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.note(layout.size() as i64);
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.note(-(layout.size() as i64));
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Accepts every connection and answers none.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        IS_SERVER.set(true);
        let _open: Vec<_> = listener.incoming().collect();
    });
    address
}

/// Bytes held while a run with `n` connections goes on.
fn held_with(address: SocketAddr, n: u32) -> i64 {
    let before = HELD.load(Ordering::SeqCst);
    let request = RequestBuilder { method: "GET", target: "/", host: "h", headers: &[], body: b"" };
    let phases = vec![Phase::hold(Rate::per_second(1), Nanos::from_secs(30))];
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::Open { phases, process: Process::Even },
        Pool::Fixed { n },
        Nanos::from_secs(30),
    ));
    let job: Job<Http1> = Job {
        plan: plan.expect("a plan"),
        targets: vec![Target::plain(vec![Address::Tcp(address)])],
        values: None,
        script: None,
        operations: vec![Request {
            head: request.render().expect("a request").into(),
            body: Default::default(),
            kind: RequestKind::Normal,
            closes: false,
            blank: None,
        }],
        expects: Expect::default().into(),
        settings: Limits::default(),
        connection_age: None,
        pacing: Pacing::default(),
    };
    let mut running = start(job).expect("it starts");
    let open = running.next_interval().map_or(0, |interval| interval.gauges.connections());
    assert_eq!(open, u64::from(n), "the pool is open");
    let held = HELD.load(Ordering::SeqCst) - before;
    running.controls().abort();
    while running.next_interval().is_some() {}
    running.finish().expect("it ends");
    held
}

#[test]
fn an_idle_connection_costs_little_memory() {
    unblink_engine::limits::raise();
    let address = server();
    // The first run also pays for what a process pays once.
    held_with(address, 1);
    let (few, many) = (held_with(address, 200), held_with(address, 1_200));
    let each = (many - few) / 1_000;
    // A connection can't be held in less than its own state: the count is real.
    assert!((200..=CEILING).contains(&each), "{each} bytes for each connection, {CEILING} are stated");
}

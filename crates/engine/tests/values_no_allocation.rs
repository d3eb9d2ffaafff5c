//! Drawing values allocates nothing, and a million rows take what the documentation says: counted by the allocator.
#![allow(unsafe_code)] // A global allocator can't be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use unblink_core::arrival::Key;
use unblink_workload::{Drawing, Source};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Bytes that are allocated, now and at the most.
static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

/// The system's allocator with a count of what is asked of it.
struct Counting;

fn taken(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
    let held = HELD.fetch_add(bytes as u64, Ordering::SeqCst) + bytes as u64;
    PEAK.fetch_max(held, Ordering::SeqCst);
}

fn given_back(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::SeqCst);
}

// SAFETY: every call goes to `System` with its arguments unchanged, and so does its result; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // A block that moves is there twice for a moment.
        taken(size);
        given_back(layout.size());
        // SAFETY: `place` came from `System` with this layout; the caller vouches for the size.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: u64 = 1_000_000;

/// A file of a million rows, made while it is read.
struct Users {
    next: u64,
    line: Cursor<Vec<u8>>,
}

impl Read for Users {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.line.position() == self.line.get_ref().len() as u64 && self.next < ROWS {
            self.line = Cursor::new(format!("{:09},token-{:09}\n", self.next, self.next).into_bytes());
            self.next += 1;
        }
        self.line.read(out)
    }
}

fn users(_: &str) -> std::io::Result<Box<dyn Read>> {
    Ok(Box::new(Users { next: 0, line: Cursor::new(b"id,token\n".to_vec()) }))
}

/// One test, so that no other one allocates beside it.
#[test]
fn draws_allocate_nothing_and_rows_take_their_bytes() {
    let before = HELD.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    let shuffled = Source::parse("csv(users.csv, shuffled)", &mut users).expect("a file");
    // 9 and 15 bytes of fields, and 4 for the place of each field.
    let rows = ROWS * (24 + 8);
    let held = HELD.load(Ordering::SeqCst) - before;
    assert!((rows..rows + 10_000).contains(&held), "{held} bytes are held for {rows} of rows");
    // While a file is read, its blocks grow by doubling: the old one, and the new one with room to spare.
    let peak = PEAK.load(Ordering::SeqCst) - before;
    assert!(peak < 3 * rows, "{peak} bytes at the most for {rows} of rows");

    // A copy is for other requests of the same run.
    let copy = shuffled.clone();
    assert_eq!(HELD.load(Ordering::SeqCst) - before, held, "a copy shares the rows");

    let mut sources = vec![shuffled, copy];
    for text in [
        "csv(users.csv, once)",
        "csv(users.csv, random)",
        "zipf(1T)",
        "uniform(1M)",
        "hotspot(1M)",
        "sequential",
        "latest(1M)",
        "constant(4KiB)",
        "lognormal(4KiB, 1.2, max=1MiB)",
        "exponential(4KiB, max=1MiB)",
        "ycsb_zipfian(1M)",
        "ycsb_scrambled(1M, coming=1k)",
        "ycsb_latest(1M)",
        "ycsb_hotspot(1M)",
        "ycsb_exponential(1M)",
        "[\"a\", \"b\"]",
    ] {
        sources.push(Source::parse(text, &mut users).expect(text));
    }
    sources.push(Source::parse("histogram(w)", &mut |_| Ok(Box::new(&b"1,2\n3,4\n"[..]))).expect("weights"));
    let mut out = Vec::with_capacity(64);
    let allocations = ALLOCATIONS.load(Ordering::SeqCst);
    for source in &sources {
        for unit in 0..10_000 {
            out.clear();
            let drawing = Drawing { key: Key::single(unit), ordinal: unit, inserted: unit };
            let column = source.columns().len().checked_sub(1).map(|last| last as u32);
            source.write(source.draw(1, &drawing).expect("a value"), column, &mut out);
        }
    }
    assert_eq!(ALLOCATIONS.load(Ordering::SeqCst), allocations);
}

//! Many seeded studies side by side.

use std::sync::atomic::{AtomicU64, Ordering};

/// Calls `study` once for each seed below `count`, in any order, on as many threads as there are processors.
pub(crate) fn each(count: u64, study: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        return;
                    }
                    study(seed);
                }
            });
        }
    });
}

//! How long the calling thread was ready to run and had no processor.
//!
//! A loop that sleeps until a socket is ready can't see how late it was woken. The kernel counts this time
//! (`/proc/thread-self/schedstat`: time run, time waited for a processor, slices).

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use unblink_core::time::Nanos;

/// Reads the calling thread's own counters without allocating.
pub(crate) struct Starvation {
    file: Option<OwnedFd>,
    last: Counts,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Counts {
    delay_ns: u64,
    slices: u64,
}

impl Starvation {
    /// Reads the counters of the calling thread. If the kernel keeps no such counters, all values are zero.
    pub(crate) fn of_this_thread() -> Starvation {
        let file = open("/proc/thread-self/schedstat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        let mut starvation = Starvation { file, last: Counts::default() };
        starvation.last = starvation.read();
        starvation
    }

    /// The time without a processor and the number of slices since the last call.
    pub(crate) fn take(&mut self) -> (Nanos, u64) {
        let now = self.read();
        let last = std::mem::replace(&mut self.last, now);
        (Nanos(now.delay_ns.saturating_sub(last.delay_ns)), now.slices.saturating_sub(last.slices))
    }

    fn read(&self) -> Counts {
        let mut text = [0; 96];
        let Some(file) = &self.file else { return Counts::default() };
        let read = rustix::io::pread(file, &mut text, 0).unwrap_or(0);
        parse(&text[..read]).unwrap_or_default()
    }
}

fn parse(text: &[u8]) -> Option<Counts> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace().skip(1);
    Some(Counts { delay_ns: fields.next()?.parse().ok()?, slices: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_schedstat() {
        assert_eq!(parse(b"123 456 7\n"), Some(Counts { delay_ns: 456, slices: 7 }));
        assert_eq!(parse(b"0 0"), None);
        assert_eq!(parse(b""), None);
        let mut own = Starvation::of_this_thread();
        std::thread::yield_now();
        let _ = own.take();
    }
}

//! Limits on file descriptors and local ports. They are raised where possible and known before the run.

use rustix::fd::AsFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors kept back for files, standard streams and the report.
pub const RESERVED_DESCRIPTORS: u64 = 60;

/// Per worker: epoll, the timer, the wake-up, and the kernel's counters of the thread.
const DESCRIPTORS_PER_WORKER: u64 = 4;

/// What this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// File descriptors.
    pub descriptors: u64,
    /// Local ports for connections to one address and port.
    pub ports: u32,
}

impl Limits {
    /// Those of other machines, of which nothing is known.
    pub const OF_OTHERS: Limits = Limits { descriptors: 1 << 40, ports: u32::MAX };

    /// The number of connections that fit beside `threads` workers, with some descriptors kept back.
    pub fn connections(&self, threads: u32) -> u64 {
        let own = RESERVED_DESCRIPTORS + DESCRIPTORS_PER_WORKER * u64::from(threads);
        self.descriptors.saturating_sub(own).max(1)
    }
}

/// Raises the soft limit of file descriptors to the hard limit and returns the limits in force.
pub fn raise() -> Limits {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let descriptors = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        // Some containers forbid it: the soft limit stands.
        Err(_) => limit.current.unwrap_or(u64::MAX),
    };
    Limits { descriptors, ports: local_ports() }
}

/// Makes the kernel's table of descriptors large enough for `connections` more, in one step before the run.
///
/// The table grows by doubling. In a process with several threads, each growth waits until all processors have taken
/// note (`synchronize_rcu`). A worker would be stuck in `socket` for 10 to 20 ms.
pub fn make_room(any: impl AsFd, connections: u64) {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let highest = (connections + RESERVED_DESCRIPTORS).min(limit.saturating_sub(1));
    // The copy is closed at once, but the table keeps its size. If this fails, the run is only less smooth.
    if let Ok(highest) = i32::try_from(highest) {
        let _ = rustix::io::fcntl_dupfd_cloexec(any, highest);
    }
}

/// The number of ports that the kernel hands out, from `net.ipv4.ip_local_port_range` (used for IPv6 too).
fn local_ports() -> u32 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = range.split_whitespace().filter_map(|n| n.parse::<u32>().ok());
    match (ends.next(), ends.next()) {
        (Some(first), Some(last)) if last >= first => last - first + 1,
        // The kernel's own default.
        _ => 60999 - 32768 + 1,
    }
}

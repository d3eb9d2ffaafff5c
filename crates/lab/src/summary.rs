//! What the server did, in one struct.

/// The account of one server's life, given when it stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Requests that got the scenario (`/healthy` and `/_lab/` do not count).
    pub requests: u64,
    /// Of these, the most that were there at once, abandoned ones included.
    pub requests_peak: u64,
    /// Of these, how many were served to the end, abandoned ones included.
    pub served: u64,
    /// Of these, how many were abandoned: the client closed before the answer.
    pub abandoned: u64,
    /// Requests still waiting when the server was stopped: `requests - served`.
    pub unserved: u64,
    /// Requests rejected as malformed, too large or not understood.
    pub bad_requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Connections open at once, at most.
    pub connections_peak: u64,
    /// How often accepting failed for lack of descriptors or memory. It is tried again every 10 ms; until then the
    /// connections wait in the kernel.
    pub accept_errors: u64,
    /// TLS handshakes or records that failed.
    pub tls_errors: u64,
    /// How late the answers left, measured against the scenario.
    pub lateness: Lateness,
    /// Rows of the truth log that were written.
    pub truth_rows: u64,
    /// Rows of the truth log that were lost, because the disk failed or could not keep up.
    pub truth_rows_lost: u64,
    /// The first error of writing the truth log.
    pub truth_error: Option<String>,
}

/// The lab's own lateness: from the moment at which the scenario wanted an answer to the moment at which it was
/// handed to the kernel. Answers that a gate releases together leave one after the other, which counts here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Answers measured.
    pub count: u64,
    /// The median in ns, at most 1/16 too high.
    pub p50_ns: u64,
    /// The 99th percentile in ns, at most 1/16 too high.
    pub p99_ns: u64,
    /// The 99.9th percentile in ns, at most 1/16 too high.
    pub p999_ns: u64,
    /// The maximum in ns, exact.
    pub max_ns: u64,
}

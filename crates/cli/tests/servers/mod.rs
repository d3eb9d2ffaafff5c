//! Servers that others wrote, each as its authors deliver it: nghttpd, Go's net/http and grpc-go, hyper, tonic.

mod calls;
mod process;
mod requests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use calls::tonic;
pub(crate) use process::{go_grpc, go_http, go_https, nghttpd};
pub(crate) use requests::hyper;

/// What `/large` answers, in bytes: more than any window's first size.
pub(crate) const LARGE: usize = 1_000_000;

/// What calls of [`tonic`] and [`go_grpc`] are made of.
pub(crate) const ECHO: &str = include_str!("echo.proto");

/// What is asked of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    /// Its `MAX_CONCURRENT_STREAMS`.
    pub(crate) streams: u32,
    /// Connections end by GOAWAY, after some requests or after some time.
    pub(crate) retires: bool,
}

/// A connection lasts so long where it [retires](Want).
const AGE: Duration = Duration::from_millis(200);

/// A server under way. A process ends with it; a thread serves until the test's own ends.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    is_tls: bool,
    counted: Counted,
}

/// How many requests it has served.
enum Counted {
    Here(Arc<AtomicU64>),
    There(process::Process),
}

impl Server {
    /// The URL of a path; with gRPC, of a method.
    pub(crate) fn url(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}{}://127.0.0.1:{}{path}", if self.is_tls { "s" } else { "" }, self.port)
    }

    /// Flags that its certificate asks for.
    pub(crate) fn trust(&self) -> &'static [&'static str] {
        if self.is_tls { &["-k"] } else { &[] }
    }

    /// Ends it. It says how many requests it has served, if it counts them.
    pub(crate) fn served(self) -> Option<u64> {
        match self.counted {
            Counted::Here(count) => Some(count.load(Ordering::SeqCst)),
            Counted::There(process) => process.served(),
        }
    }
}

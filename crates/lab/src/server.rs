//! Setting a server up, running it and stopping it.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::clock::EventClock;
use crate::event_loop::EventLoop;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::timing::Clock;
use crate::tls::TlsSetup;
use crate::truth::TruthLog;
use crate::{LabError, ServerConfig, Summary};

/// Connections that wait to be accepted. With fewer, a burst of connects loses SYNs, each of which costs a second.
/// The kernel may cap it (`net.core.somaxconn`).
const BACKLOG: i32 = 16_384;

/// A server that listens and is not yet running: connections queue up in the kernel.
#[derive(Debug)]
pub struct Server {
    event_loop: EventLoop,
    address: SocketAddr,
    certificate_pem: Option<String>,
    metrics: Option<SocketAddr>,
    stopper: Stopper,
}

/// Descriptors that the kernel's table has places for from the start.
const MADE_ROOM_FOR: u64 = 32_768;

/// Ends a server's [`Server::run`] from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<OwnedFd>);

/// A server on a thread of its own. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    certificate_pem: Option<String>,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<Summary, LabError>>>,
}

impl Server {
    /// Listens. The server's time starts here. Raises the process's limit of open files to what it may have.
    pub fn bind(config: ServerConfig) -> Result<Self, LabError> {
        config.validate()?;
        raise_open_files();
        let listen_error = |source| LabError::Listen { address: config.listen, source };
        let listener = listen_on(config.listen).map_err(listen_error)?;
        make_room_for_connections(&listener);
        let address = TcpListener::from(listener.try_clone().map_err(|error| listen_error(errno(&error)))?)
            .local_addr()
            .map_err(|error| listen_error(errno(&error)))?;
        let tls =
            config.tls.as_ref().map(|tls| TlsSetup::new(tls, address.ip(), config.protocol)).transpose()?;
        let (tls_config, certificate_pem) =
            tls.map_or((None, None), |tls| (Some(tls.config), tls.certificate_pem));
        let truth = config.truth_log.clone().map(TruthLog::create).transpose()?;
        let stop = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|source| LabError::Loop { operation: "eventfd", source })?;
        let stopper = Stopper(Arc::new(stop));
        let event_clock = EventClock::new(config.clock, nanos(config.probe_gap), nanos(config.rearm_after));
        let model = Model::new(config.scenario.clone(), event_clock);
        let shown = config.metrics.map(|_| Arc::new(Metrics::default()));
        let metrics =
            shown.clone().zip(config.metrics).map(|(shown, listen)| shown.serve(listen)).transpose()?;
        let (clock, stop) = (Clock::start(), stopper.0.clone());
        let event_loop = EventLoop::new(&config, clock, model, listener, stop, tls_config, truth, shown)?;
        Ok(Self { event_loop, address, certificate_pem, metrics, stopper })
    }

    /// Where it listens, with the port that was taken if 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The certificate as PEM, if [`Tls::SelfSigned`](crate::Tls::SelfSigned) was asked for.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// Where it serves its metrics, if it does.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// What ends [`run`](Self::run).
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves on this thread until stopped. Requests still in flight then are dropped, and counted.
    pub fn run(self) -> Result<Summary, LabError> {
        self.event_loop.run()
    }
}

impl Stopper {
    /// Ends the server within its current turn, or before it runs. Harmless when repeated. It makes one system
    /// call and nothing else.
    pub fn stop(&self) {
        // It fails only when the count would overflow, and then the server is already told.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// Binds a server and runs it on a thread of its own.
pub fn spawn(config: ServerConfig) -> Result<Running, LabError> {
    let server = Server::bind(config)?;
    let (address, stopper) = (server.local_addr(), server.stopper());
    let certificate_pem = server.certificate_pem.clone();
    let thread = std::thread::Builder::new()
        .name("lab-server".to_owned())
        .spawn(move || server.run())
        .map_err(LabError::Thread)?;
    Ok(Running { address, certificate_pem, stopper, thread: Some(thread) })
}

impl Running {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The certificate as PEM, if [`Tls::SelfSigned`](crate::Tls::SelfSigned) was asked for.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// What ends it from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Ends it and waits for its account; the truth log is then complete.
    pub fn stop(mut self) -> Result<Summary, LabError> {
        self.stopper.stop();
        let thread = self.thread.take();
        thread.map_or(Err(LabError::Panicked), |thread| thread.join().unwrap_or(Err(LabError::Panicked)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            // Whoever drops it does not want the account.
            let _ = thread.join();
        }
    }
}

fn listen_on(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Where the system paces what is sent (BBR), an answer would take longer than the scenario says.
    let _ = sockopt::set_tcp_congestion(&socket, "reno");
    // Linux hands it on to what is accepted, which spares a system call for each.
    sockopt::set_tcp_nodelay(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A limit that cannot be raised is not an error: the connections that do not fit are counted.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// Grows the kernel's table of descriptors once and beforehand: in a process with several threads each doubling
/// takes 10 to 20 ms, in which the event loop would be stuck in `accept`.
fn make_room_for_connections(any: &OwnedFd) {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if let Ok(highest) = i32::try_from(MADE_ROOM_FOR.min(limit.saturating_sub(1))) {
        // The copy is closed at once, the table stays; a failure only costs smoothness.
        let _ = rustix::io::fcntl_dupfd_cloexec(any, highest);
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Durations of a validated configuration are far below 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

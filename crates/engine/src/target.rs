//! Where connections go: to each address of a name in turn, or to a socket in the file system.

use crate::routing::Routing;
use crate::tls::TlsTarget;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use unblink_core::time::Nanos;

/// One address of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A Unix-domain socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Resolves a target's name repeatedly while the run goes on. New connections go to the addresses of the last answer.
#[derive(Clone)]
pub struct Refresh {
    /// The time between two lookups.
    pub every: Nanos,
    /// For each place, how to look it up and the addresses found first. A place that can't be resolved keeps its last
    /// addresses.
    pub places: Vec<(Ask, Vec<Address>)>,
}

/// Looks up addresses.
pub type Ask = Arc<dyn Fn() -> Result<Vec<Address>, ResolveError> + Send + Sync>;

impl fmt::Debug for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "every {:?}", self.every)
    }
}

/// Where a run's connections go.
#[derive(Clone, Debug)]
pub struct Target {
    /// At least one address. Connections take them in turn.
    pub addresses: Vec<Address>,
    /// How to look the addresses up again, if they may change.
    pub refresh: Option<Refresh>,
    /// Which of the addresses have what requests ask for, where that is known and heeded.
    pub routing: Option<Arc<Routing>>,
    /// TLS, if the scheme asks for it.
    pub tls: Option<TlsTarget>,
    /// How many connections use one local address before the next one is used, 127.0.0.2 and so on. `None` if the
    /// system chooses the local address. Only for targets in 127.0.0.0/8, all of which belongs to this machine.
    pub per_source: Option<u32>,
}

impl Target {
    /// Connections without TLS that take these addresses in turn, which never change.
    pub fn plain(addresses: Vec<Address>) -> Target {
        Target { addresses, refresh: None, routing: None, tls: None, per_source: None }
    }

    /// Whether connections may come from more than one address of this machine, so that it does not run out of local
    /// ports.
    pub fn is_loopback(&self) -> bool {
        let is_loopback = |address: &Address| match address {
            Address::Tcp(SocketAddr::V4(address)) => address.ip().is_loopback(),
            _ => false,
        };
        self.addresses.iter().all(is_loopback)
    }
}

/// The largest number of local addresses that connections to this machine may come from.
pub const LOOPBACK_SOURCES_MAX: u32 = 250;

/// Why there is no address.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The resolver's answer.
    #[error("can't resolve {host:?}: {source} (check the name, or give an address)")]
    Lookup {
        /// The name.
        host: String,
        /// What the resolver said.
        source: std::io::Error,
    },
    /// It answered with nothing.
    #[error("{0:?} has no address")]
    Empty(String),
    /// The name now leads to a place where no load may go.
    #[error("{0}")]
    Forbidden(String),
    /// A path that does not fit a socket address.
    #[error("the socket path {0:?} can't be used: it is longer than the system allows")]
    UnixPath(PathBuf),
}

/// All addresses of a name, each once, in the resolver's order.
pub fn resolve(host: &str, port: u16) -> Result<Vec<Address>, ResolveError> {
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|source| ResolveError::Lookup { host: host.to_string(), source })?;
    let mut addresses: Vec<Address> = Vec::new();
    for address in found.map(Address::Tcp) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(ResolveError::Empty(host.to_string())) } else { Ok(addresses) }
}

/// The address of a Unix-domain socket.
pub fn unix(path: PathBuf) -> Result<Address, ResolveError> {
    match SocketAddrUnix::new(&path) {
        Ok(_) => Ok(Address::Unix(path)),
        Err(_) => Err(ResolveError::UnixPath(path)),
    }
}

/// Begins a non-blocking connection. It comes from a loopback address of its own if `source` is not the first. True
/// if it is connected already.
pub(crate) fn begin_connect(address: &Address, source: u32) -> Result<(OwnedFd, bool), Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (fd, connected) = match address {
        Address::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_tcp_nodelay(&fd, true)?;
            if source > 0 {
                leave_port_to_connect(&fd)?;
                let last = source.min(LOOPBACK_SOURCES_MAX - 1) as u8 + 1;
                rustix::net::bind(&fd, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), 0))?;
            }
            let connected = rustix::net::connect(&fd, address);
            (fd, connected)
        }
        Address::Unix(path) => {
            let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let connected = rustix::net::connect(&fd, &SocketAddrUnix::new(path)?);
            (fd, connected)
        }
    };
    match connected {
        Ok(()) => Ok((fd, true)),
        Err(Errno::INPROGRESS) => Ok((fd, false)),
        Err(error) => Err(error),
    }
}

/// Leaves the choice of the port to `connect`. A port chosen by `bind` is taken for every target, but one chosen by
/// `connect` only for this target (`IP_BIND_ADDRESS_NO_PORT`, ip(7)).
#[allow(unsafe_code)] // rustix does not have this option.
fn leave_port_to_connect(fd: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the option's value is an `int` that lives for the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}

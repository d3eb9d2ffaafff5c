//! Where connections go: every address of a name, in turn, or a socket in the file system.

use crate::tls::TlsTarget;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

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

/// Where a run's connections go.
#[derive(Clone, Debug)]
pub struct Target {
    /// At least one; taken in turn.
    pub addresses: Vec<Address>,
    /// TLS, if the scheme asks for it.
    pub tls: Option<TlsTarget>,
}

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
    /// A path that does not fit a socket address.
    #[error("the socket path {0:?} can't be used: it is longer than the system allows")]
    UnixPath(PathBuf),
}

/// All addresses of a name, in the resolver's order and each once.
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

/// Begins a non-blocking connection. True when it is connected already.
pub(crate) fn begin_connect(address: &Address) -> Result<(OwnedFd, bool), Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (fd, connected) = match address {
        Address::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let fd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_tcp_nodelay(&fd, true)?;
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

//! A connection on which a node of a cluster tells of it, beside those of the load. It is driven by a thread that may wait.

use crate::clock::Clock;
use crate::target::Target;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use unblink_core::time::Nanos;
use unblink_wire::cql::{Control, Session, Told};

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Such a connection.
pub struct Telling {
    stream: Stream,
    control: Control,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Telling {
    /// Connects to a node of `target`, which is asked how its cluster is.
    ///
    /// # Errors
    /// It takes no connection.
    pub fn open(
        target: &Target,
        node: SocketAddr,
        session: Arc<Session>,
        patience: Duration,
    ) -> io::Result<Telling> {
        let tcp = TcpStream::connect_timeout(&node, patience)?;
        tcp.set_nodelay(true)?;
        tcp.set_write_timeout(Some(patience))?;
        let stream = match &target.tls {
            None => Stream::Plain(tcp),
            Some(tls) => {
                let client = ClientConnection::new(tls.config.clone(), tls.name.clone());
                Stream::Tls(Box::new(StreamOwned::new(client.map_err(io::Error::other)?, tcp)))
            }
        };
        Ok(Telling { stream, control: Control::new(session, node) })
    }

    /// Asks again how the cluster is. False if the last answer is not there yet.
    pub fn ask(&mut self) -> bool {
        self.control.ask()
    }

    /// Waits for what the node tells; nothing if it tells nothing for so long.
    ///
    /// # Errors
    /// Why it won't tell anything any more.
    pub fn told(&mut self, patience: Duration) -> Result<Option<Told>, String> {
        let clock = Clock::start();
        let until = clock.now() + Nanos(patience.as_nanos() as u64);
        let mut bytes = vec![0; READ_BYTES];
        loop {
            if let Some(told) = self.control.told()? {
                return Ok(Some(told));
            }
            let output = self.control.output();
            if !output.is_empty() {
                let written = self.stream.write(&output);
                written.map_err(|error| error.to_string())?;
            }
            let left = until.since(clock.now());
            if left == Nanos::ZERO {
                return Ok(None);
            }
            match self.stream.read(&mut bytes, Duration::from_nanos(left.0)) {
                Ok(0) => return Err("the connection was closed".into()),
                Ok(n) => self.control.feed(&bytes[..n]),
                Err(error) if is_quiet(&error) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

fn is_quiet(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => {
                stream.sock.set_read_timeout(stream.sock.write_timeout()?)?;
                stream.write_all(bytes)?;
                stream.flush()
            }
        }
    }

    fn read(&mut self, bytes: &mut [u8], patience: Duration) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => {
                stream.set_read_timeout(Some(patience))?;
                stream.read(bytes)
            }
            Stream::Tls(stream) => {
                stream.sock.set_read_timeout(Some(patience))?;
                stream.read(bytes)
            }
        }
    }
}

/// Whether the node takes a connection.
pub fn takes_connections(node: SocketAddr, patience: Duration) -> bool {
    TcpStream::connect_timeout(&node, patience).is_ok()
}

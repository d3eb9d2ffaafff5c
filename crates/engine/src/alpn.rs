//! Which version of HTTP a target would choose.

use crate::target::{Address, Target};
use crate::tls::HTTP_1_1;
use rustls::{ClientConfig, ClientConnection};
use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use unblink_wire::http2;

/// Does the target prefer HTTP/2? It is asked by a handshake, on a connection that is closed after it, at the first of its addresses
/// that answers. False where none does: then the check before the load says why.
pub fn chooses_http2(target: &Target, patience: Duration) -> bool {
    let Some(tls) = &target.tls else { return false };
    let mut config = ClientConfig::clone(&tls.config);
    config.alpn_protocols = vec![http2::ALPN.to_vec(), HTTP_1_1.to_vec()];
    let session = || ClientConnection::new(config.clone().into(), tls.name.clone()).map_err(Error::other);
    let agreed = |address: &Address| match address {
        Address::Tcp(address) => {
            let socket = TcpStream::connect_timeout(address, patience)?;
            socket.set_read_timeout(Some(patience))?;
            socket.set_write_timeout(Some(patience))?;
            agree(session()?, socket)
        }
        Address::Unix(path) => {
            let socket = UnixStream::connect(path)?;
            socket.set_read_timeout(Some(patience))?;
            socket.set_write_timeout(Some(patience))?;
            agree(session()?, socket)
        }
    };
    target.addresses.iter().find_map(|address| agreed(address).ok()).unwrap_or(false)
}

fn agree(mut session: ClientConnection, mut socket: impl Read + Write) -> Result<bool> {
    while session.is_handshaking() {
        session.complete_io(&mut socket)?;
    }
    Ok(session.alpn_protocol() == Some(http2::ALPN))
}

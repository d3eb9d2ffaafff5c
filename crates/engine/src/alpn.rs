//! Which version of HTTP a target would choose.

use crate::target::{Address, Target};
use crate::tls::HTTP_1_1;
use rustls::{ClientConfig, ClientConnection};
use std::net::TcpStream;
use std::time::Duration;
use unblink_wire::http2;

/// Does the target prefer HTTP/2? It is asked by a handshake, on a connection that is closed after it. False where there is
/// none.
pub fn chooses_http2(target: &Target, patience: Duration) -> bool {
    let (Some(tls), Some(Address::Tcp(address))) = (&target.tls, target.addresses.first()) else {
        return false;
    };
    let mut config = ClientConfig::clone(&tls.config);
    config.alpn_protocols = vec![http2::ALPN.to_vec(), HTTP_1_1.to_vec()];
    let agree = || -> std::io::Result<bool> {
        let mut socket = TcpStream::connect_timeout(address, patience)?;
        socket.set_read_timeout(Some(patience))?;
        socket.set_write_timeout(Some(patience))?;
        let mut session =
            ClientConnection::new(config.into(), tls.name.clone()).map_err(std::io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        Ok(session.alpn_protocol() == Some(http2::ALPN))
    };
    agree().unwrap_or(false)
}

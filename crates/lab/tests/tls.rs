//! The server over TLS.

mod support;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use support::{GET, config, connect, constant, exchange, expect_end, receive, send, wait_on};
use unblink_lab::{LabError, Server, Tls, spawn};

fn connect_tls(
    address: SocketAddr,
    pem: &str,
    name: &'static str,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM")).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name).expect("a name");
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).expect("a client"), connect(address))
}

#[test]
fn self_signed() {
    let mut config = config(constant(5));
    config.tls = Some(Tls::SelfSigned);
    let server = spawn(config).expect("a server");
    let pem = server.certificate_pem().expect("a certificate").to_owned();
    for name in ["localhost", "127.0.0.1"] {
        let mut stream = connect_tls(server.local_addr(), &pem, name);
        for _ in 0..3 {
            assert_eq!(exchange(&mut stream, GET).status, 200);
        }
        send(&mut stream, [GET, GET].concat());
        assert_eq!([receive(&mut stream).status, receive(&mut stream).status], [200, 200]);
        // An end without close_notify would be an error here.
        assert_eq!(exchange(&mut stream, "GET / HTTP/1.0\r\n\r\n").status, 200);
        expect_end(&mut stream);
    }
    let summary = server.stop().expect("a summary");
    assert_eq!((summary.served, summary.tls_errors, summary.abandoned), (12, 0, 0));
}

#[test]
fn large_bodies_both_ways() {
    let mut config = config(constant(0));
    config.tls = Some(Tls::SelfSigned);
    config.body_bytes = 4 << 20;
    let server = spawn(config).expect("a server");
    let mut stream = connect_tls(server.local_addr(), server.certificate_pem().expect("PEM"), "localhost");
    let body = vec![b'x'; 4 << 20];
    send(&mut stream, format!("POST / HTTP/1.1\r\nHost: lab\r\nContent-Length: {}\r\n\r\n", body.len()));
    send(&mut stream, &body);
    send(&mut stream, GET);
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..2 {
        assert_eq!(receive(&mut stream).body.len(), 4 << 20);
    }
}

#[test]
fn an_abandoned_request_is_seen_over_tls_too() {
    let mut config = config(constant(600));
    config.tls = Some(Tls::SelfSigned);
    let server = spawn(config).expect("a server");
    let pem = server.certificate_pem().expect("a certificate").to_owned();
    let mut gone = connect_tls(server.local_addr(), &pem, "localhost");
    let mut watch = connect_tls(server.local_addr(), &pem, "localhost");
    send(&mut gone, GET);
    wait_on(&mut watch, "in_flight", 1);
    gone.conn.send_close_notify();
    gone.flush().expect("flushed");
    drop(gone);
    wait_on(&mut watch, "abandoned", 1);
    let summary = server.stop().expect("a summary");
    assert_eq!((summary.requests, summary.abandoned), (1, 1));
}

#[test]
fn certificate_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificates, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["example.test".to_owned()]).expect("a certificate");
    std::fs::write(&certificates, made.cert.pem()).expect("written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let mut config = config(constant(0));
    config.tls = Some(Tls::Files { certificates: certificates.clone(), key: key.clone() });
    let server = spawn(config.clone()).expect("a server");
    assert_eq!(server.certificate_pem(), None);
    let mut stream = connect_tls(server.local_addr(), &made.cert.pem(), "example.test");
    assert_eq!(exchange(&mut stream, GET).status, 200);

    config.tls = Some(Tls::Files { certificates: key.clone(), key: certificates });
    let error = Server::bind(config).expect_err("swapped files");
    assert!(matches!(&error, LabError::Tls(text) if text.contains("key.pem")), "{error}");
}

#[test]
fn plain_text_to_a_tls_server_is_a_tls_error() {
    let mut tls = config(constant(0));
    tls.tls = Some(Tls::SelfSigned);
    let server = spawn(tls).expect("a server");
    let mut stream = connect(server.local_addr());
    send(&mut stream, GET);
    let mut answer = Vec::new();
    // An alert or a reset: either way it ends.
    let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
    let summary = server.stop().expect("a summary");
    assert_eq!((summary.tls_errors, summary.requests), (1, 0));
}

//! Servers that demand a certificate of their client: in front of one of HTTP/1.1, and of one of gRPC.

use crate::calls::{self, ITEMS, ok};
use crate::support::hostile::healthy;
use crate::support::{Place, Run};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use serde_json::json;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn issuer() -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// Writes a certificate for a client, by `issuer`, and its key. Gives the flags.
fn present(place: &Place, name: &str, issuer: &Issuer) -> [String; 4] {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["load.test".to_string()]).expect("a name");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    let (cert, key_file) = (format!("{name}.pem"), format!("{name}.key"));
    place.file(&cert, certificate.pem());
    place.file(&key_file, key.serialize_pem());
    ["--cert".into(), cert, "--key".into(), key_file]
}

/// Lets those through to `backend` who have a certificate by `issuer`. It chooses a protocol from `alpn`.
fn demand(issuer: &Issuer, alpn: &str, backend: SocketAddr) -> SocketAddr {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).expect("an authority");
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a server");
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(config.clone()).expect("a session");
            std::thread::spawn(move || relay(session, stream, backend));
        }
    });
    address
}

/// What is there to be read, without waiting for it; nothing at the end.
fn read_some(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<Option<usize>> {
    match stream.read(buffer) {
        Ok(n) => Ok(Some(n)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

fn relay(mut session: ServerConnection, mut client: TcpStream, backend: SocketAddr) -> Result<()> {
    client.set_nonblocking(true)?;
    client.set_nodelay(true)?;
    let mut backend = TcpStream::connect(backend)?;
    backend.set_nodelay(true)?;
    backend.set_nonblocking(true)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let came = read_some(&mut client, &mut buffer)?;
        let mut bytes = &buffer[..came.unwrap_or_default()];
        while !bytes.is_empty() {
            session.read_tls(&mut bytes)?;
            if session.process_new_packets().is_err() {
                client.set_nonblocking(false)?;
                session.write_tls(&mut client)?;
                // Whoever closes with something unread takes the alert back.
                client.shutdown(std::net::Shutdown::Write)?;
                std::io::copy(&mut client, &mut std::io::sink())?;
                return Ok(());
            }
            let mut plain = Vec::new();
            let _ = session.reader().read_to_end(&mut plain);
            backend.write_all(&plain)?;
        }
        let answered = read_some(&mut backend, &mut buffer)?;
        session.writer().write_all(&buffer[..answered.unwrap_or_default()])?;
        while session.wants_write() {
            match session.write_tls(&mut client) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                written => written?,
            };
        }
        match (came, answered) {
            (Some(0), _) | (_, Some(0)) => return Ok(()),
            (None, None) => std::thread::sleep(Duration::from_micros(200)),
            _ => {}
        }
    }
}

/// Runs twenty requests with a certificate; without one, and with one by somebody else, the run says why nothing comes.
fn assert_demanded(place: &Place, issuer: &Issuer, url: &str, more: &[&str]) {
    let own = present(place, "own", issuer);
    let others = present(place, "other", &self::issuer());
    let load = ["-k", "-R", "100", "-n", "20", "--timeout", "5s"];
    let args = |certificate: &[String], last: &[&str]| -> Vec<String> {
        let words = [&[url], &load[..], more].concat();
        let words = words.into_iter().map(String::from).chain(certificate.iter().cloned());
        words.chain(last.iter().map(ToString::to_string)).collect()
    };
    let call = |certificate: &[String], last: &[&str]| {
        let args = args(certificate, last);
        let words: Vec<&str> = std::iter::once("run").chain(args.iter().map(String::as_str)).collect();
        place.call(&words)
    };
    let run: Run = call(&own, &["--json", "-o", "own"]).run();
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 20);
    for (certificate, part) in [
        (&[][..], "it demands a client certificate: give one with --cert and --key"),
        (&others[..], "it does not accept the client certificate"),
    ] {
        let folder = if certificate.is_empty() { "none" } else { "others" };
        let said = call(certificate, &["-o", folder]);
        assert_ne!(said.code(), Some(0), "{said:?}");
        assert!(said.stderr.contains(part), "{part:?} is missing in {said:?}");
    }
}

#[test]
fn a_server_may_demand_a_certificate_of_the_client() {
    let (issuer, place, backend) = (issuer(), Place::new(), healthy());
    let url = format!("https://{}/", demand(&issuer, "http/1.1", backend.address));
    assert_demanded(&place, &issuer, &url, &[]);
    // Nobody asks before the load: each arrival has failed.
    let args = ["-k", "-R", "100", "-n", "20", "--no-preflight"];
    place.measure(&[&[url.as_str()], &args[..]].concat()).assert_all_failed("tls");
}

#[test]
fn a_server_of_grpc_may_demand_a_certificate_of_the_client() {
    let (issuer, place) = (issuer(), Place::new());
    let backend = calls::serve(Some("v1"), |_| ok(json!({"name": "an item"})));
    let url = format!("grpcs://{}/shop.Items/Get", demand(&issuer, "h2", backend.address));
    assert_demanded(&place, &issuer, &url, &["--data", "{}"]);
    assert_eq!(backend.calls_of("/shop.Items/Get").len(), 21, "one of them is the check before the run");
    // With the types of files nothing is asked for them.
    place.file("types/items.proto", ITEMS);
    place.file("types/parts.proto", calls::PARTS);
    let files =
        ["--proto", "types/items.proto", "--data", "{}", "-k", "-R", "100", "-n", "20", "--no-preflight"];
    place.measure(&[&[url.as_str()], &files[..]].concat()).assert_all_failed("tls");
}

//! Messages over WebSockets over TLS, against a server of other implementations.

use crate::support::Place;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// Echoes over TLS; `alpn` is what it chooses from.
fn serve(alpn: &[&str]) -> SocketAddr {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a server");
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || {
                let session = ServerConnection::new(config).expect("a session");
                let mut socket = tungstenite::accept(StreamOwned::new(session, stream)).ok()?;
                loop {
                    let message = socket.read().ok()?;
                    if message.is_text() {
                        socket.send(message).ok()?;
                    }
                }
                #[allow(unreachable_code)] // It says what the thread returns.
                Some(())
            });
        }
    });
    address
}

/// With the check before the run, whether the server chooses a protocol in TLS or knows nothing of that.
#[test]
fn messages_go_over_tls() {
    for alpn in [&[][..], &["http/1.1"]] {
        let url = format!("wss://{}/chat", serve(alpn));
        let load = [
            "-k",
            "-R",
            "200",
            "-n",
            "40",
            "-c",
            "4",
            "--message",
            "hello {{index}}",
            "--expect",
            "contains=hello",
        ];
        let run = Place::new().measure(&[&[url.as_str()], &load[..]].concat());
        run.assert_all("ok");
        assert_eq!((run.at("/origins/0/scheme"), run.connections("opened")), (&"wss".into(), 4));
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_told() {
    let url = format!("wss://{}/chat", serve(&[]));
    let said = Place::new().call(&["run", &url, "-R", "10", "-n", "5", "--message", "a"]);
    assert!(said.stderr.contains("invalid peer certificate"), "{}", said.stderr);
    let run = Place::new().measure(&[&url, "-R", "100", "-n", "5", "--message", "a", "--no-preflight"]);
    run.assert_all_failed("tls");
}

#[test]
fn a_journey_opens_its_socket_over_tls() {
    let place = Place::new();
    let steps = "[load]\nrate = 20\nduration = \"500ms\"\n[[journeys]]\nname = \"chat\"\n[[journeys.steps]]\nconnect = \"/\"\n\
                 [[journeys.steps]]\nmessage = \"a\"\nawait = \"contains=a\"\n[[journeys.steps]]\nclose = true\n";
    place.file("plan.toml", steps);
    let run = place.measure(&["plan.toml", &format!("https://{}/", serve(&[])), "-k"]);
    run.assert_all("ok");
    assert_eq!((run.arrivals("ok"), run.at("/origins/0/scheme")), (30, &"wss".into()));
}

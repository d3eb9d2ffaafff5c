//! The server's certificate and TLS settings.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::{LabError, Protocol, Tls};

/// TLS settings, and the certificate as PEM if it was made here.
pub(crate) struct TlsSetup {
    pub(crate) config: Arc<rustls::ServerConfig>,
    pub(crate) certificate_pem: Option<String>,
}

impl TlsSetup {
    /// `address` is what a self-signed certificate shall name beside the loopback.
    pub(crate) fn new(tls: &Tls, address: IpAddr, protocol: Protocol) -> Result<Self, LabError> {
        let (chain, key, certificate_pem) = match tls {
            Tls::SelfSigned => self_signed(address)?,
            Tls::Files { certificates, key } => (read_chain(certificates)?, read_key(key)?, None),
        };
        let fail = |error: rustls::Error| LabError::Tls(error.to_string());
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(fail)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(fail)?;
        config.alpn_protocols = vec![match protocol {
            Protocol::Http1 | Protocol::WebSocket => b"http/1.1".to_vec(),
            Protocol::Http2 | Protocol::Grpc => b"h2".to_vec(),
        }];
        Ok(Self { config: Arc::new(config), certificate_pem })
    }
}

type ChainAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>, Option<String>);

fn self_signed(address: IpAddr) -> Result<ChainAndKey, LabError> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !address.is_unspecified() && !names.contains(&address.to_string()) {
        names.push(address.to_string());
    }
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| LabError::Tls(format!("cannot make a certificate: {error}")))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into(), Some(made.cert.pem())))
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, LabError> {
    let fail = |reason: String| LabError::Tls(format!("certificate {}: {reason}", path.display()));
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| fail(error.to_string()))?.collect();
    let chain = chain.map_err(|error| fail(error.to_string()))?;
    if chain.is_empty() { Err(fail("no PEM certificate in this file".to_owned())) } else { Ok(chain) }
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, LabError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| LabError::Tls(format!("key {}: {error}", path.display())))
}

//! TLS by rustls: its configuration, and the records of one connection in both directions.

use crate::bounded;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Far larger than any bundle of certificates.
const PEM_BYTES_MAX: u64 = 16 << 20;

/// What TLS is asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Accept any certificate (`-k`). Signatures are still checked.
    pub insecure: bool,
    /// Trust these certificates instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate chain and its key.
    pub client: Option<(PathBuf, PathBuf)>,
    /// Whoever issued the certificate is checked, and not whose it is.
    pub any_name: bool,
}

/// Protocols that TLS offers (ALPN, RFC 7301), the preferred one first.
pub type Offers<'a> = &'a [&'a [u8]];

/// The ALPN name of HTTP/1.1.
pub const HTTP_1_1: &[u8] = b"http/1.1";

/// TLS towards one server.
#[derive(Clone, Debug)]
pub struct TlsTarget {
    /// Shared by a worker's connections. Sessions are not resumed, because each connection stands for a new user.
    pub config: Arc<ClientConfig>,
    /// The name for SNI and for checking the certificate.
    pub name: ServerName<'static>,
    /// How the server is asked for TLS in plain text, if it must be. It answers with one byte.
    pub request: Option<TlsRequest>,
}

/// A request for TLS on a connection that begins without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlsRequest {
    /// What is sent.
    pub bytes: &'static [u8],
    /// The byte that grants it.
    pub granted: u8,
    /// What to do about a server that does not.
    pub remedy: &'static str,
}

/// Why TLS can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The host is neither a DNS name nor an address.
    #[error("{0:?} can't be a TLS server name")]
    Name(String),
    /// A file that isn't readable PEM.
    #[error("can't read {what} from {path:?}: {reason} (PEM is expected)")]
    Pem {
        /// What it should hold.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The file, or the system's store, holds no certificate.
    #[error("{0} holds no trusted certificate (give --cacert FILE, or -k to accept any)")]
    NoRoots(String),
    /// The certificate and the key do not fit together, or rustls refuses them.
    #[error("the client certificate can't be used: {0}")]
    Client(rustls::Error),
    /// The crypto provider lacks something that is needed.
    #[error("TLS can't be set up: {0}")]
    Setup(String),
}

/// TLS towards `host` under `options`.
///
/// # Errors
/// Why it can't be set up.
pub fn target(host: &str, options: &TlsOptions, offers: Offers<'_>) -> Result<TlsTarget, TlsError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(bare.to_string()).map_err(|_| TlsError::Name(host.to_string()))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| TlsError::Setup(e.to_string()))?;
    let verifier: Arc<dyn ServerCertVerifier> = if options.insecure {
        Arc::new(AnyCertificate(provider))
    } else {
        let given = match &options.ca_file {
            Some(path) => certificates(path, "trusted certificates")?,
            None => Vec::new(),
        };
        let roots = Arc::new(roots(options.ca_file.as_deref(), &given)?);
        let issued = WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map_err(|e| TlsError::Setup(e.to_string()))?;
        Arc::new(Trusted { issued, given, any_name: options.any_name })
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &options.client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = certificates(chain, "the client certificate")?;
            let what = "the client key";
            let key = PrivateKeyDer::from_pem_slice(&pem(key, what)?).map_err(|e| pem_error(what, key, e))?;
            builder.with_client_auth_cert(chain, key).map_err(TlsError::Client)?
        }
    };
    config.resumption = Resumption::disabled();
    config.alpn_protocols = offers.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(TlsTarget { config: Arc::new(config), name, request: None })
}

fn roots(file: Option<&Path>, given: &[CertificateDer<'static>]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let source = match file {
        Some(path) => {
            for certificate in given {
                roots.add(certificate.clone()).map_err(|e| TlsError::Pem {
                    what: "trusted certificates",
                    path: path.to_path_buf(),
                    reason: e.to_string(),
                })?;
            }
            format!("{path:?}")
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            "this system's certificate store".to_string()
        }
    };
    if roots.is_empty() { Err(TlsError::NoRoots(source)) } else { Ok(roots) }
}

fn certificates(path: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_slice_iter(&pem(path, what)?).collect::<Result<Vec<_>, _>>();
    let found = read.map_err(|e| pem_error(what, path, e))?;
    if found.is_empty() {
        return Err(TlsError::Pem { what, path: path.to_path_buf(), reason: "no certificate in it".into() });
    }
    Ok(found)
}

fn pem(path: &Path, what: &'static str) -> Result<Vec<u8>, TlsError> {
    let cant = |e: std::io::Error| TlsError::Pem { what, path: path.to_path_buf(), reason: e.to_string() };
    bounded::read(path, PEM_BYTES_MAX).map_err(cant)
}

/// Without the lines of the file that the error holds: it may be any file, and what stands in it anybody's secret.
fn pem_error(what: &'static str, path: &Path, e: pem::Error) -> TlsError {
    let reason = match e {
        pem::Error::MissingSectionEnd { .. } => "a section has no end".into(),
        pem::Error::IllegalSectionStart { .. } => "a section begins with a wrong line".into(),
        pem::Error::Base64Decode(_) => "a section is not in base64".into(),
        other => other.to_string(),
    };
    TlsError::Pem { what, path: path.to_path_buf(), reason }
}

/// Trusts certificates issued by the given authorities, or by the system's. It also trusts each given certificate
/// itself if the server presents it byte for byte.
///
/// `openssl req -x509` marks its certificates as those of an authority, and webpki refuses such a certificate from a
/// server. But whoever names that very certificate as trusted means it. OpenSSL's clients agree.
#[derive(Debug)]
struct Trusted {
    issued: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
    any_name: bool,
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified =
            self.issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // This error comes after the dates have been checked and before the name has been. Tests make sure of
            // both.
            Err(error) if is_authority_as_server(&error) && self.given.iter().any(|c| c == end_entity) => {
                if !self.any_name {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            // The name is looked at last: issuer and dates are right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.issued.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.issued.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}

/// rustls passes webpki's own error on without its type.
fn is_authority_as_server(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidCertificate(CertificateError::Other(why))
        if why.to_string() == "CaUsedAsEndEntity")
}

/// Accepts any certificate for any name. The handshake's signatures must still be right.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

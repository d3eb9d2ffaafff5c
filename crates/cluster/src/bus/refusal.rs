//! Why there is no way onto a bus, and what helps.

use super::Options;
use async_nats::rustls::{CertificateError, Error as TlsError};
use async_nats::{ConnectError, ConnectErrorKind};
use std::error::Error;
use std::io;

/// In words, with what to do about it where that is known.
pub(super) fn in_words(error: &ConnectError, options: &Options) -> String {
    let why = match (error.kind(), error.source()) {
        // The source says the same once more.
        (kind @ ConnectErrorKind::AuthorizationViolation, _) | (kind, None) => kind.to_string(),
        (_, Some(source)) => source.to_string(),
    };
    match remedy(error, options) {
        Some(remedy) => format!("{why}; {remedy}"),
        None => why,
    }
}

/// A bus that is not there yet. One that lets nobody in, or whose TLS is not what was asked for, will be the same later.
pub(super) fn is_absence(error: &ConnectError) -> bool {
    let may_come = [ConnectErrorKind::Dns, ConnectErrorKind::Io, ConnectErrorKind::TimedOut];
    may_come.contains(&error.kind()) && of_tls(error).is_none()
}

fn remedy(error: &ConnectError, options: &Options) -> Option<&'static str> {
    let is_tls = options.url.starts_with("tls://");
    if error.kind() == ConnectErrorKind::AuthorizationViolation {
        return Some(match options.seed {
            None => "this bus asks for a key: --nkey FILE",
            Some(_) => "the bus does not know this key, or gives it no permission (docs/agents.md)",
        });
    }
    match of_tls(error) {
        Some(TlsError::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => Some(match (&options.ca, is_tls) {
            (Some(_), _) => {
                "its certificate is not the one in --bus-ca, nor signed by it: give that of this bus"
            }
            (None, true) => "give the bus's certificate, or that of its authority, with --bus-ca FILE",
            (None, false) => {
                "the bus speaks TLS: write tls://, and give its certificate, or that of its authority, with --bus-ca FILE"
            }
        }),
        Some(TlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => Some("call the bus in --bus as its certificate does"),
        Some(TlsError::InvalidMessage(_)) if is_tls => Some(match options.ca {
            None => "the bus speaks no TLS: write nats://",
            Some(_) => "the bus speaks no TLS: write nats://, and leave --bus-ca out",
        }),
        Some(_) => None,
        None => is_out_of_reach(error).then_some(match options.within.is_zero() {
            true => "start the bus first, correct --bus, or wait for the bus with --bus-within 1m",
            false => "it was tried for all of --bus-within: start the bus, or correct --bus",
        }),
    }
}

/// Nobody answers there.
fn is_out_of_reach(error: &ConnectError) -> bool {
    match error.kind() {
        ConnectErrorKind::Dns | ConnectErrorKind::TimedOut => true,
        ConnectErrorKind::Io => of_system(error).is_some_and(|error| {
            use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
            matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
        }),
        _ => false,
    }
}

fn of_system(error: &ConnectError) -> Option<&io::Error> {
    error.source()?.downcast_ref()
}

/// What TLS says, which comes as an error of the connection.
fn of_tls(error: &ConnectError) -> Option<&TlsError> {
    of_system(error)?.get_ref()?.downcast_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_nats::rustls::InvalidMessage;
    use std::time::Duration;

    fn options(url: &str) -> Options {
        Options { url: url.into(), seed: None, ca: None, fleet: "default".into(), within: Duration::ZERO }
    }

    fn tls(error: TlsError) -> ConnectError {
        io::Error::new(io::ErrorKind::InvalidData, error).into()
    }

    fn unknown() -> ConnectError {
        tls(TlsError::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn refused() -> ConnectError {
        io::Error::from(io::ErrorKind::ConnectionRefused).into()
    }

    #[test]
    fn a_certificate_that_nobody_knows() {
        let (plain, mut asked) = (options("nats://b:4222"), options("tls://b:4222"));
        let text = in_words(&unknown(), &asked);
        assert!(text.contains("--bus-ca FILE") && !text.contains("write tls://"), "{text}");
        let text = in_words(&unknown(), &plain);
        assert!(text.contains("write tls://") && text.contains("--bus-ca FILE"), "{text}");
        asked.ca = Some("other.pem".into());
        let text = in_words(&unknown(), &asked);
        assert!(text.contains("not the one in --bus-ca") && !text.contains("FILE"), "{text}");
        let text = in_words(&tls(TlsError::InvalidCertificate(CertificateError::NotValidForName)), &asked);
        assert!(text.ends_with("call the bus in --bus as its certificate does"), "{text}");
        // What the error itself says is enough.
        let text = in_words(&tls(TlsError::InvalidCertificate(CertificateError::Expired)), &asked);
        assert!(!text.contains("--bus"), "{text}");
    }

    #[test]
    fn a_bus_without_tls() {
        let error = tls(TlsError::InvalidMessage(InvalidMessage::InvalidContentType));
        let mut asked = options("tls://b:4222");
        assert!(in_words(&error, &asked).ends_with("the bus speaks no TLS: write nats://"));
        asked.ca = Some("ca.pem".into());
        assert!(in_words(&error, &asked).ends_with("leave --bus-ca out"));
        assert!(!in_words(&error, &options("nats://b:4222")).contains("write nats://"));
    }

    #[test]
    fn a_bus_that_is_not_there() {
        let mut asked = options("nats://b:4222");
        let missing = ConnectError::with_source(ConnectErrorKind::Dns, "no such host");
        for error in [refused(), missing, ConnectError::new(ConnectErrorKind::TimedOut)] {
            asked.within = Duration::ZERO;
            let text = in_words(&error, &asked);
            assert!(text.contains("wait for the bus with --bus-within 1m"), "{text}");
            asked.within = Duration::from_secs(1);
            let text = in_words(&error, &asked);
            assert!(text.contains("tried for all of --bus-within") && !text.contains("1m"), "{text}");
        }
        let broken = ConnectError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(!in_words(&broken, &asked).contains("--bus"));
    }

    /// It is said once.
    #[test]
    fn a_bus_that_lets_nobody_in() {
        let error = ConnectError::with_source(
            ConnectErrorKind::AuthorizationViolation,
            "nats: authorization violation",
        );
        let mut asked = options("nats://b:4222");
        let text = in_words(&error, &asked);
        assert_eq!(text, "authorization violation; this bus asks for a key: --nkey FILE");
        asked.seed = Some("SU".into());
        let text = in_words(&error, &asked);
        assert!(text.contains("does not know this key") && text.contains("docs/agents.md"), "{text}");
        assert!(!text.contains("--nkey") && text.matches("violation").count() == 1, "{text}");
    }

    /// Waiting changes neither a certificate nor a key.
    #[test]
    fn only_a_bus_that_may_come_is_waited_for() {
        let closed = ConnectError::with_source(ConnectErrorKind::Io, "expected INFO, got nothing");
        assert!(is_absence(&refused()) && is_absence(&closed));
        assert!(!is_absence(&unknown()));
        assert!(!is_absence(&ConnectError::new(ConnectErrorKind::AuthorizationViolation)));
    }
}

//! Why a run should not start, and what the user may do about it.

use rustls::Error as TlsError;
use rustls::{AlertDescription, CertificateError};
use std::io;
use unblink_wire::protocol::Violation;

/// Why the run should not start.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// No connection.
    #[error("can't connect to {address}: {source}")]
    Connect {
        /// The address tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// TLS failed, the connection broke, or the timeout passed.
    #[error(
        "{address} gave no {}answer: {source}{}{hint}",
        if *is_answering { "whole " } else { "" },
        quoted(first_line)
    )]
    Exchange {
        /// The address tried.
        address: String,
        /// What went wrong.
        source: io::Error,
        /// A part of the answer came.
        is_answering: bool,
        /// The first line of what the target sent.
        first_line: Option<String>,
        /// What to do about it.
        hint: String,
    },
    /// The target allows a connection no request, and has gone on doing so until the timeout passed.
    #[error(
        "{address} allows no requests at once{}, and nothing can be asked of it",
        if *protocol == "HTTP/1.1" { "" } else { " (MAX_CONCURRENT_STREAMS 0)" }
    )]
    NoRoom {
        /// The address tried.
        address: String,
        /// The protocol's name.
        protocol: &'static str,
    },
    /// Nothing was sent: the target has closed the connection that the journey holds.
    #[error(
        "the target has closed the connection that the journey holds, so that this is sent nowhere, and the journey fails: in a run \
         this request counts as closed_early"
    )]
    NotHeld,
    /// Not the protocol, or not well-formed.
    #[error("{address} {}: {explanation}{}{hint}", plaint(*violation, protocol, *is_refusal), quoted(first_line))]
    Protocol {
        /// The address tried.
        address: String,
        /// The protocol's name.
        protocol: &'static str,
        /// What is wrong.
        violation: Violation,
        /// The target speaks the protocol, and refuses.
        is_refusal: bool,
        /// The same in the protocol's words.
        explanation: String,
        /// The first line of what the target sent.
        first_line: Option<String>,
        /// What to do about it.
        hint: String,
    },
    /// An answer that would count as failed, or one that the user can't want.
    #[error("the target answers \"{answer}\": {reason}")]
    Answer {
        /// What the answer is called, such as its first line.
        answer: String,
        /// What it means for the run.
        reason: String,
    },
}

impl PreflightError {
    /// There is nothing at the address to ask: a Unix socket that does not exist.
    pub fn is_usage(&self) -> bool {
        matches!(self, PreflightError::Connect { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn plaint(violation: Violation, protocol: &str, is_refusal: bool) -> String {
    match violation {
        _ if is_refusal => "refuses the connection".to_string(),
        Violation::TooLarge => "answers with too much".to_string(),
        Violation::ClosedEarly => "gave no whole answer".to_string(),
        Violation::Malformed(_) => format!("does not answer in well-formed {protocol}"),
    }
}

fn quoted(first_line: &Option<String>) -> String {
    first_line.as_ref().map(|line| format!(" (\"{line}\")")).unwrap_or_default()
}

/// The begin of the URLs of the protocol: without TLS, and with it.
type Schemes = [&'static str; 2];

/// What a violation may come of, for a target that was asked by TLS or not, and sent `received`.
pub(super) fn hint_at_violation(
    violation: Violation,
    received: &[u8],
    is_tls: bool,
    (protocol, [_, tls]): (&str, Schemes),
) -> String {
    // The beginning of a TLS record that holds an alert or a handshake (RFC 8446 §5.1).
    let is_record = matches!(received, [0x15 | 0x16] | [0x15 | 0x16, 3, ..]);
    // The settings that a server of HTTP/2 begins with (RFC 9113 §3.4, §6.5).
    let is_settings = matches!(received, [0, _, _, 4, 0, 0, 0, 0, 0, ..]);
    match violation {
        _ if is_settings && protocol == "HTTP/1.1" => "; it seems to speak HTTP/2: add --http 2".to_string(),
        Violation::TooLarge => " (--max-body-size allows more)".to_string(),
        _ if is_record => format!("; it seems to speak TLS: write {tls}"),
        Violation::ClosedEarly if received.is_empty() && !is_tls => {
            format!("; a server that speaks TLS may do so: if it is one, write {tls}")
        }
        _ => String::new(),
    }
}

/// What an alert may come of. In TLS 1.3 the client has done its part of the handshake before the server looks at its certificate.
pub(super) fn hint_at_alert(source: &io::Error) -> &'static str {
    use AlertDescription::{
        BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked, CertificateUnknown,
        DecryptError, UnknownCA, UnsupportedCertificate,
    };
    match tls_error(source) {
        Some(TlsError::AlertReceived(CertificateRequired)) => {
            "; it demands a client certificate: give one with --cert and --key"
        }
        Some(TlsError::AlertReceived(
            BadCertificate
            | CertificateExpired
            | CertificateRevoked
            | CertificateUnknown
            | DecryptError
            | UnknownCA
            | UnsupportedCertificate,
        )) => "; it does not accept the client certificate: give one that it trusts with --cert and --key",
        _ => "",
    }
}

fn tls_error(source: &io::Error) -> Option<&TlsError> {
    source.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>())
}

/// What the failure of a TLS handshake may come of.
pub(super) fn hint_at_handshake(source: &io::Error, protocol: &str, [plain, tls]: Schemes) -> String {
    match (tls_error(source), source.kind()) {
        (Some(TlsError::InvalidCertificate(error)), _) => hint_at_certificate(error, Laxer::of(tls)),
        (Some(TlsError::AlertReceived(AlertDescription::NoApplicationProtocol)), _) => {
            format!("; it refuses {protocol}: choose another version by --http")
        }
        (Some(TlsError::InvalidMessage(_)), _) => format!("; it does not seem to speak TLS: write {plain}"),
        (_, io::ErrorKind::TimedOut) => {
            format!("; a server that does not speak TLS waits like this: if it is one, write {plain}")
        }
        (_, io::ErrorKind::UnexpectedEof) => {
            format!("; a server that does not speak TLS may do so: if it is one, write {plain}")
        }
        _ => hint_at_alert(source).to_string(),
    }
}

/// How less is asked of a certificate.
struct Laxer {
    /// It may be for any name.
    any_name: &'static str,
    /// It may be any.
    any: &'static str,
}

impl Laxer {
    /// `tls` is the begin of the protocol's URLs. PostgreSQL's say in a parameter what is checked, and -k contradicts some of its values.
    fn of(tls: &str) -> Laxer {
        match tls.starts_with("sslmode=") {
            true => Laxer { any_name: "sslmode=verify-ca", any: "sslmode=require without --cacert" },
            false => Laxer { any_name: "-k", any: "-k" },
        }
    }
}

fn hint_at_certificate(error: &CertificateError, Laxer { any_name, any }: Laxer) -> String {
    match error {
        // rustls hands webpki's own error on without its type.
        CertificateError::Other(why) if why.to_string() == "CaUsedAsEndEntity" => format!(
            ": the target presents a certificate that is marked as an authority's own; trust that very \
             certificate with --cacert FILE, make it with basicConstraints=CA:FALSE (openssl req -x509 -addext), or \
             accept any with {any}"
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(": the certificate is for another name than the URL's ({any_name} accepts any)")
        }
        _ => format!(" (--cacert FILE trusts its issuer, {any} accepts any)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the URL says how much is checked, -k contradicts what it says.
    #[test]
    fn a_remedy_for_a_certificate_is_one_that_its_url_takes() {
        let hint = |error: CertificateError, schemes: Schemes| {
            let source = io::Error::other(TlsError::InvalidCertificate(error));
            hint_at_handshake(&source, "", schemes)
        };
        let postgres = ["sslmode=disable", "sslmode=require"];
        for (error, of_url, of_flag) in [
            (
                CertificateError::UnknownIssuer,
                "trusts its issuer, sslmode=require without --cacert accepts any)",
                "trusts its issuer, -k accepts any)",
            ),
            (CertificateError::NotValidForName, "(sslmode=verify-ca accepts any)", "(-k accepts any)"),
        ] {
            let said = hint(error.clone(), postgres);
            assert!(said.contains(of_url) && !said.contains("-k "), "{said}");
            let said = hint(error, ["redis", "rediss"]);
            assert!(said.contains(of_flag), "{said}");
        }
    }
}

//! Flags of TLS.

use crate::errors::refuse;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use unblink_engine::tls::TlsOptions;

/// Whom to trust, and who one is.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsArgs {
    /// Accept any certificate
    #[arg(short = 'k', long, help_heading = "TLS")]
    pub insecure: bool,

    /// Trust the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cacert: Option<PathBuf>,

    /// Present this client certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cert: Option<PathBuf>,

    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub key: Option<PathBuf>,
}

impl TlsArgs {
    /// Refuses what needs or contradicts each other.
    pub(crate) fn check(&self) -> Result<()> {
        match (&self.cert, &self.key) {
            (Some(_), None) => {
                refuse!(["cert"], "--cert needs the key of that certificate: add --key FILE (PEM)")
            }
            (None, Some(_)) => {
                refuse!(["key"], "--key needs the certificate that it belongs to: add --cert FILE (PEM)")
            }
            _ if self.insecure && self.cacert.is_some() => {
                refuse!(
                    ["insecure", "cacert"],
                    "-k accepts any certificate, so that --cacert would have no effect: leave one of them out"
                )
            }
            _ => Ok(()),
        }
    }

    /// As the engine takes them.
    pub(crate) fn options(&self) -> TlsOptions {
        TlsOptions {
            insecure: self.insecure,
            ca_file: self.cacert.clone(),
            client: self.cert.clone().zip(self.key.clone()),
            any_name: false,
        }
    }
}

//! Where copies go.

use crate::errors::refuse;
use crate::guard::{Guard, Terms};
use crate::request::url::{Speaks, Url};
use crate::secrets;
use anyhow::Result;
use unblink_engine::target::{self, resolve};
use unblink_engine::tls::{self, HTTP_1_1, TlsOptions};

/// One of the instances that are asked.
pub(super) struct Way {
    pub(super) target: target::Target,
    pub(super) terms: Terms,
    /// As it may be shown.
    pub(super) shown: String,
    /// For a Host.
    pub(super) authority: String,
}

/// The way to the instance at `url`, if load may go there.
pub(super) fn target(flag: &'static str, url: &str, options: &TlsOptions, guard: &Guard) -> Result<Way> {
    let shown = secrets::mask_url(url);
    let url = Url::parse(url)?;
    if url.origin.speaks != Speaks::Http || url.target != "/" || url.userinfo.is_some() {
        refuse!(
            [flag],
            "{shown}: the path and everything else come with each request: give scheme, host and port alone, such as \
             http://127.0.0.1:8080"
        );
    }
    let addresses = resolve(&url.origin.host, url.origin.port)?;
    let terms = guard.terms(&url.origin.host, &addresses)?;
    let tls = url.origin.tls.then(|| tls::target(&url.origin.host, options, &[HTTP_1_1])).transpose()?;
    let target = target::Target { addresses, refresh: None, routing: None, tls, per_source: None };
    Ok(Way { target, terms, shown: url.origin.to_string(), authority: url.authority })
}

//! Who one is on the bus: key pairs of NATS.

use crate::args::agents::BusArgs;
use crate::errors::refused;
use anyhow::{Context, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;
use std::time::Duration;
use unblink_cluster::bus::{Options, check_fleet};
use unblink_cluster::record::hex;
use unblink_cluster::signed::KeyPair;

/// How to get onto the bus that `args` name.
pub(super) fn options(args: &BusArgs) -> Result<Options> {
    let Some(url) = args.bus.clone() else {
        return Err(refused(&["bus"], "name the bus: --bus nats://HOST:4222, or tls://HOST:4222"));
    };
    check_bus(&url, &args.fleet())?;
    check_ca(args)?;
    let seed = args.nkey.as_deref().map(read).transpose()?;
    let within = args.bus_within.map_or(Duration::ZERO, |within| Duration::from_nanos(within.0));
    Ok(Options { url, seed, ca: args.bus_ca.clone(), fleet: args.fleet(), within })
}

/// Refuses what can't be the URL of a bus, or the name of a fleet.
pub(crate) fn check_bus(url: &str, fleet: &str) -> Result<()> {
    if url.contains(',') {
        return Err(refused(
            &["bus"],
            "--bus takes one URL, and several behind commas are not supported: name one server (of a cluster's others it tells by itself)",
        ));
    }
    let host = ["nats://", "tls://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let is_bus = host.is_some_and(|host| !host.is_empty() && !host.starts_with([':', '/']));
    if !is_bus || url.contains('@') {
        return Err(refused(
            &["bus"],
            "--bus is a URL such as nats://HOST:4222 or tls://HOST:4222, without a name or password (--nkey says who you are)",
        ));
    }
    check_fleet(fleet).map_err(|error| refused(&["fleet"], format!("--fleet: {error}")))
}

/// Those of the flags that say how to get onto a bus that are given.
pub(super) fn given(args: &BusArgs) -> impl Iterator<Item = &'static str> {
    let BusArgs { bus, nkey, bus_ca, fleet, bus_within } = args;
    let all = [
        ("bus", bus.is_some()),
        ("nkey", nkey.is_some()),
        ("bus-ca", bus_ca.is_some()),
        ("fleet", fleet.is_some()),
        ("bus-within", bus_within.is_some()),
    ];
    all.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag)
}

/// The text of the certificates that are named, if any are. Refuses them for a bus that shows none: whoever names them believes that
/// they are looked at.
pub(crate) fn check_ca(args: &BusArgs) -> Result<Option<String>> {
    let is_plain = args.bus.as_deref().is_some_and(|url| url.starts_with("nats://"));
    if is_plain && args.bus_ca.is_some() {
        return Err(refused(
            &["bus-ca", "bus"],
            "--bus-ca needs tls://: over nats:// nothing is encrypted and no certificate is looked at (--bus tls://HOST:4222, or leave --bus-ca out)",
        ));
    }
    args.bus_ca.as_deref().map(certificates).transpose()
}

/// The text of a file of `--bus-ca`. What is no certificate is refused before anybody is asked: on the way to a bus it would look as if
/// that were not there.
fn certificates(path: &Path) -> Result<String> {
    let refusal = |why: String| {
        let message = format!(
            "--bus-ca {path:?}: {why}: name a file with the certificates (PEM) of the authority that signed the bus's own"
        );
        refused(&["bus-ca"], message)
    };
    let text = std::fs::read_to_string(path).map_err(|error| refusal(format!("can't read it: {error}")))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(all) if all.is_empty() => Err(refusal("it has no certificate".into())),
        Ok(_) => Ok(text),
        Err(error) => Err(refusal(error.to_string())),
    }
}

/// The private key in a file, which may have other lines around it.
pub(super) fn read(path: &Path) -> Result<String> {
    if path.to_string_lossy().starts_with("SU") && !path.exists() {
        return Err(refused(&["nkey"], "--nkey takes the file that has the private key, not the key itself"));
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read --nkey {path:?}"))?;
    let seed = text.split_whitespace().find(|word| KeyPair::from_seed(word).is_ok());
    seed.map(str::to_string).ok_or_else(|| {
        refused(
            &["nkey"],
            format!(
                "--nkey {path:?} has no private nkey of a user, which begins with SU (nk -gen user makes one)"
            ),
        )
    })
}

/// The key pair of a seed.
pub(super) fn pair(seed: &str) -> Result<KeyPair> {
    KeyPair::from_seed(seed).map_err(|error| refused(&["nkey"], format!("--nkey: {error}")))
}

/// A name that nobody had before.
pub(crate) fn unique() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system gives no random bytes: {error}"))?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bus_has_one_url() {
        let why = |url| check_bus(url, "default").err().map(|error| error.to_string()).unwrap_or_default();
        for url in ["nats://h", "tls://h:4222", "nats://[::1]:4222", "nats://h:4222/"] {
            assert_eq!(why(url), "", "{url}");
        }
        for url in ["h:4222", "http://h", "nats://", "tls://:4222", "nats:///", "nats://u:p@h"] {
            assert!(why(url).contains("nats://HOST:4222"), "{url}: {}", why(url));
        }
        assert!(why("tls://a:4222,tls://b:4222").contains("one URL, and several behind commas are not"));
    }
}

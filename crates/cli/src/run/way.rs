//! The way to the target: its addresses, and TLS.

use crate::args::run::RunArgs;
use crate::args::target::TargetArgs;
use crate::errors::{refuse, refused};
use crate::output;
use crate::request::url::Origin;
use anyhow::Result;
use std::net::IpAddr;
use std::sync::Arc;
use unblink_engine::limits::Limits;
use unblink_engine::target::{Address, Ask, Refresh, ResolveError, Target, resolve, unix};
use unblink_engine::tls::{self, TlsOptions};

/// Linux gives out local ports of one parity first. When nearly half of all are taken, each connect searches
/// the rest of them one by one, which takes more than a millisecond of the generator's time.
const PORTS_FOUND_QUICKLY_PERCENT: u64 = 45;

/// Of so many local ports, those that are found quickly.
pub(super) fn quick_ports(ports: u64) -> u64 {
    ports / 100 * PORTS_FOUND_QUICKLY_PERCENT
}

pub(super) fn target(args: &RunArgs, origin: &Origin, limits: &Limits) -> Result<Target> {
    let (addresses, refresh) = match &args.target.unix_socket {
        Some(path) => (vec![unix(path.clone())?], None),
        None => {
            let places = places(&args.target.connect_to, origin)?;
            let is_address = |(host, _): &(String, u16)| host.parse::<IpAddr>().is_ok();
            if args.target.resolve_every.is_some() && places.iter().all(is_address) {
                output::note(format_args!(
                    "warning: --resolve-every has no effect: {} is an address, not a name",
                    places[0].0
                ));
            }
            let asked: Vec<(Ask, Vec<Address>)> = places.into_iter().map(asked).collect::<Result<_, _>>()?;
            let mut all: Vec<Address> = Vec::new();
            for address in asked.iter().flat_map(|(_, found)| found) {
                if !all.contains(address) {
                    all.push(address.clone());
                }
            }
            (all, args.target.resolve_every.map(|every| Refresh { every, places: asked }))
        }
    };
    check_tls(&args.target)?;
    let options = TlsOptions {
        insecure: args.target.insecure,
        ca_file: args.target.cacert.clone(),
        client: args.target.cert.clone().zip(args.target.key.clone()),
    };
    let asked_for_tls = options != TlsOptions::default();
    if asked_for_tls && !origin.tls {
        refuse!(
            ["insecure", "cacert", "cert", "key"],
            "{origin} does not use TLS: remove -k, --cacert, --cert and --key, or use https"
        );
    }
    let tls = if origin.tls { Some(tls::target(&origin.host, &options)?) } else { None };
    let mut target = Target { addresses, refresh, tls, per_source: None };
    target.per_source = target.is_loopback().then(|| quick_ports(u64::from(limits.ports)).max(1) as u32);
    Ok(target)
}

/// Host and port of every place that connections go to.
fn places(rules: &[String], origin: &Origin) -> Result<Vec<(String, u16)>> {
    if rules.is_empty() {
        return Ok(vec![(origin.host.clone(), origin.port)]);
    }
    let place = |rule: &String| {
        let (from, to) = connect_to(rule)?;
        // As in curl, an empty part matches anything.
        let host_fits = from.0.is_empty() || from.0.eq_ignore_ascii_case(&origin.host);
        if !host_fits || from.1.is_some_and(|port| port != origin.port) {
            refuse!(
                ["connect-to"],
                "--connect-to {rule}: it does not apply to {origin}, and nothing else is requested"
            );
        }
        let host = if to.0.is_empty() { origin.host.clone() } else { to.0 };
        Ok((host, to.1.unwrap_or(origin.port)))
    };
    rules.iter().map(place).collect()
}

/// How to ask for the addresses of a place, and what they are now.
fn asked((host, port): (String, u16)) -> Result<(Ask, Vec<Address>), ResolveError> {
    let ask: Ask = Arc::new(move || resolve(&host, port));
    let found = ask()?;
    Ok((ask, found))
}

/// Flags of TLS that need or contradict each other.
fn check_tls(args: &TargetArgs) -> Result<()> {
    match (&args.cert, &args.key) {
        (Some(_), None) => {
            refuse!(["cert"], "--cert needs the key of that certificate: add --key FILE (PEM)")
        }
        (None, Some(_)) => {
            refuse!(["key"], "--key needs the certificate that it belongs to: add --cert FILE (PEM)")
        }
        _ if args.insecure && args.cacert.is_some() => {
            refuse!(
                ["insecure", "cacert"],
                "-k accepts any certificate, so that --cacert would have no effect: leave one of them out"
            )
        }
        _ => Ok(()),
    }
}

type HostPort = (String, Option<u16>);

/// `HOST1:PORT1:HOST2:PORT2`, with IPv6 addresses in brackets.
fn connect_to(rule: &str) -> Result<(HostPort, HostPort)> {
    let mut parts = Vec::new();
    let mut rest = Some(rule);
    while let Some(text) = rest {
        let end = if text.starts_with('[') { text.find(']').map(|i| i + 1) } else { None };
        let end = end.unwrap_or(text.find(':').unwrap_or(text.len()));
        let (part, tail) = text.split_at(end);
        parts.push(part.trim_start_matches('[').trim_end_matches(']'));
        rest = tail.strip_prefix(':');
        if rest.is_none() && !tail.is_empty() {
            parts.clear();
            break;
        }
    }
    let wrong =
        || refused(&["connect-to"], format!("--connect-to {rule:?}: expected HOST1:PORT1:HOST2:PORT2"));
    let &[host1, port1, host2, port2] = parts.as_slice() else { return Err(wrong()) };
    let port = |text: &str| match text {
        "" => Ok(None),
        text => text.parse::<u16>().ok().filter(|&p| p > 0).map(Some).ok_or_else(wrong),
    };
    Ok(((host1.to_string(), port(port1)?), (host2.to_string(), port(port2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_to_rules() {
        let parsed = connect_to("a:80:[::1]:8080").unwrap();
        assert_eq!(parsed, (("a".into(), Some(80)), ("::1".into(), Some(8080))));
        assert_eq!(connect_to("::b:").unwrap(), (("".into(), None), ("b".into(), None)));
        for bad in ["", "a", "a:80", "a:80:b", "a:x:b:1", "a:80:b:99999", "a:80:b:1:2", "[::1]x:1:b:2"] {
            assert!(connect_to(bad).is_err(), "{bad}");
        }
    }
}

//! The ways to the origins of a run: their addresses, and TLS.

use super::requests::in_words;
use crate::args::run::RunArgs;
use crate::args::target::TargetArgs;
use crate::errors::{refuse, refused};
use crate::output;
use crate::request::url::Origin;
use crate::request::version::Version;
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

/// The ways to all origins, in order.
pub(super) fn targets(
    args: &RunArgs,
    version: Version,
    origins: &[Origin],
    limits: &Limits,
) -> Result<Vec<Target>> {
    check_tls(&args.target)?;
    let rules = args.target.connect_to.iter().map(|rule| Ok((rule.as_str(), connect_to(rule)?)));
    let rules: Vec<Rule<'_>> = rules.collect::<Result<_>>()?;
    if let Some((rule, _)) = rules.iter().find(|rule| !origins.iter().any(|origin| fits(rule, origin))) {
        let origins = in_words(origins);
        refuse!(
            ["connect-to"],
            "--connect-to {rule}: it does not apply to {origins}, and nothing else is requested"
        );
    }
    let is_address =
        |origin: &Origin| places(&rules, origin).iter().all(|(host, _)| host.parse::<IpAddr>().is_ok());
    if args.target.resolve_every.is_some()
        && args.target.unix_socket.is_none()
        && origins.iter().all(is_address)
    {
        let (host, _) = &places(&rules, &origins[0])[0];
        output::note(format_args!(
            "warning: --resolve-every has no effect: {host} is an address, not a name"
        ));
    }
    let options = tls_options(&args.target);
    if options != TlsOptions::default() && origins.iter().all(|origin| !origin.tls) {
        let origins = in_words(origins);
        refuse!(
            ["insecure", "cacert", "cert", "key"],
            "{origins} does not use TLS: remove -k, --cacert, --cert and --key, or use https"
        );
    }
    origins.iter().map(|origin| target(args, version, &rules, origin, limits)).collect()
}

fn tls_options(args: &TargetArgs) -> TlsOptions {
    TlsOptions {
        insecure: args.insecure,
        ca_file: args.cacert.clone(),
        client: args.cert.clone().zip(args.key.clone()),
    }
}

fn target(
    args: &RunArgs,
    version: Version,
    rules: &[Rule<'_>],
    origin: &Origin,
    limits: &Limits,
) -> Result<Target> {
    let (addresses, refresh) = match &args.target.unix_socket {
        Some(path) => (vec![unix(path.clone())?], None),
        None => {
            let places = places(rules, origin);
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
    let tls = || tls::target(&origin.host, &tls_options(&args.target), version.offers());
    let tls = if origin.tls { Some(tls()?) } else { None };
    let mut target = Target { addresses, refresh, tls, per_source: None };
    target.per_source = target.is_loopback().then(|| quick_ports(u64::from(limits.ports)).max(1) as u32);
    Ok(target)
}

/// A `--connect-to` as it was written, and what it says.
type Rule<'a> = (&'a str, (HostPort, HostPort));

/// As in curl, an empty part matches anything.
fn fits((_, ((host, port), _)): &Rule<'_>, origin: &Origin) -> bool {
    (host.is_empty() || host.eq_ignore_ascii_case(&origin.host))
        && port.is_none_or(|port| port == origin.port)
}

/// Host and port of every place that connections to `origin` go to: its own unless a rule fits.
fn places(rules: &[Rule<'_>], origin: &Origin) -> Vec<(String, u16)> {
    let fitting = rules.iter().filter(|rule| fits(rule, origin));
    let places = fitting.map(|(_, (_, (host, port)))| {
        let host = if host.is_empty() { &origin.host } else { host };
        (host.clone(), port.unwrap_or(origin.port))
    });
    let places: Vec<(String, u16)> = places.collect();
    if places.is_empty() { vec![(origin.host.clone(), origin.port)] } else { places }
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

//! The ways to the origins of a run: their addresses, and TLS.

use super::requests::in_words;
use crate::args::run::RunArgs;
use crate::errors::{refuse, refused};
use crate::guard::{Guard, Terms};
use crate::journey;
use crate::output;
use crate::request::url::{Origin, SslMode};
use crate::request::version::Version;
use anyhow::Result;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use unblink_core::dispatch::ports_found_quickly;
use unblink_engine::limits::Limits;
use unblink_engine::target::{Address, Ask, Refresh, ResolveError, Target, resolve, unix};
use unblink_engine::tls::{self, TlsOptions, TlsRequest, TlsTarget};
use unblink_wire::postgres;

/// The ways to all origins, in order, and what holds for load on them.
pub(crate) struct Ways {
    pub targets: Vec<Target>,
    pub terms: Terms,
    /// Why the load must end: a name leads to where none may go.
    pub moved: Moved,
    pub guard: Arc<Guard>,
}

/// Set once a name leads to where no load may go.
pub(crate) type Moved = Arc<OnceLock<String>>;

/// The ways to all origins.
pub(super) fn ways(
    args: &RunArgs,
    version: Version,
    origins: &[Origin],
    limits: &Limits,
    guard: &Arc<Guard>,
) -> Result<Ways> {
    args.target.tls().check()?;
    let rules = rules(args)?;
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
    let options = args.target.tls().options();
    if options != TlsOptions::default() && origins.iter().all(|origin| !origin.tls) {
        let origins = in_words(origins);
        let rather = using_tls(version, &options);
        refuse!(
            ["insecure", "cacert", "cert", "key"],
            "{origins} does not use TLS: remove -k, --cacert, --cert and --key, or {rather}"
        );
    }
    let (mut terms, moved) = (Terms::default(), Moved::default());
    let mut way = |origin: &Origin| {
        let (addresses, refresh) = match &args.target.unix_socket {
            // Whatever the URL names, the load goes to the socket.
            Some(path) => {
                let socket = vec![unix(path.clone())?];
                terms.add(guard.terms(&origin.host, &socket)?);
                (socket, None)
            }
            None => {
                let asking = Asking { guard, moved: &moved };
                let (addresses, found, refresh) = asking.all(places(&rules, origin), args)?;
                terms.add(found);
                (addresses, refresh)
            }
        };
        target(args, version, origin, limits, addresses, refresh)
    };
    let targets = origins.iter().map(&mut way).collect::<Result<_>>()?;
    Ok(Ways { targets, terms, moved, guard: guard.clone() })
}

/// What the URL is to say, so that what `options` ask of TLS has its effect.
fn using_tls(version: Version, options: &TlsOptions) -> &'static str {
    match version {
        // Of its modes, this one goes with -k.
        Version::Postgres if options.insecure => "write sslmode=require",
        Version::Postgres => "write sslmode=verify-full",
        Version::Redis => "write rediss://",
        Version::Cql => "write cqls://",
        _ => "use https",
    }
}

/// How PostgreSQL is asked for TLS.
const POSTGRES_TLS: TlsRequest = TlsRequest {
    bytes: postgres::TLS_REQUEST,
    granted: postgres::TLS_GRANTED,
    remedy: "write sslmode=disable, or switch TLS on there (ssl = on)",
};

/// What `sslmode` asks of TLS beside the flags, as in PostgreSQL's own clients.
fn postgres_options(args: &RunArgs, options: TlsOptions) -> Result<TlsOptions> {
    // All requests of a run have the same.
    let mut all = args.requests.iter().chain(journey::requests(&args.journeys));
    let mode = all.next().and_then(|request| SslMode::of(&request.url.target));
    Ok(match mode {
        Some(SslMode::VerifyCa | SslMode::VerifyFull) if options.insecure => refuse!(
            ["insecure", "url"],
            "-k accepts any certificate, and sslmode=verify-… does not: write sslmode=require, or leave -k out"
        ),
        // Whoever names an authority wants it to be looked at.
        Some(SslMode::Require) if options.ca_file.is_none() => TlsOptions { insecure: true, ..options },
        Some(SslMode::Require | SslMode::VerifyCa) => TlsOptions { any_name: true, ..options },
        _ => options,
    })
}

fn target(
    args: &RunArgs,
    version: Version,
    origin: &Origin,
    limits: &Limits,
    addresses: Vec<Address>,
    refresh: Option<Refresh>,
) -> Result<Target> {
    let is_postgres = version == Version::Postgres;
    let tls = || -> Result<TlsTarget> {
        let options = args.target.tls().options();
        let options = if is_postgres { postgres_options(args, options)? } else { options };
        let tls = tls::target(&origin.host, &options, version.offers())?;
        Ok(TlsTarget { request: is_postgres.then_some(POSTGRES_TLS), ..tls })
    };
    let tls = if origin.tls { Some(tls()?) } else { None };
    let mut target = Target { addresses, refresh, routing: None, tls, per_source: None };
    target.per_source =
        target.is_loopback().then(|| ports_found_quickly(u64::from(limits.ports)).max(1) as u32);
    Ok(target)
}

/// A `--connect-to` as it was written, and what it says.
type Rule<'a> = (&'a str, (HostPort, HostPort));

fn rules(args: &RunArgs) -> Result<Vec<Rule<'_>>> {
    args.target.connect_to.iter().map(|rule| Ok((rule.as_str(), connect_to(rule)?))).collect()
}

/// Host and port of every place that a run of these origins connects to.
pub(crate) fn destinations<'a>(
    args: &RunArgs,
    origins: impl IntoIterator<Item = &'a Origin>,
) -> Result<BTreeSet<(String, u16)>> {
    let rules = rules(args)?;
    Ok(origins.into_iter().flat_map(|origin| places(&rules, origin)).collect())
}

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

/// Asks for addresses, and whether load may go there.
struct Asking<'a> {
    guard: &'a Arc<Guard>,
    moved: &'a Moved,
}

impl Asking<'_> {
    /// The addresses of all places of an origin, each once, what holds there, and how to ask again.
    fn all(
        &self,
        places: Vec<(String, u16)>,
        args: &RunArgs,
    ) -> Result<(Vec<Address>, Terms, Option<Refresh>)> {
        let (mut all, mut terms, mut asked) = (Vec::new(), Terms::default(), Vec::new());
        for (host, port) in places {
            let found = resolve(&host, port)?;
            let of_place = self.guard.terms(&host, &found)?;
            for address in &found {
                if !all.contains(address) {
                    all.push(address.clone());
                }
            }
            asked.push((self.again(host, port, of_place.clone()), found));
            terms.add(of_place);
        }
        Ok((all, terms, args.target.resolve_every.map(|every| Refresh { every, places: asked })))
    }

    /// Asks for the addresses of a place while the load goes on, which began under `terms`. Where it may not go, it never
    /// goes: the addresses known before are used until it has ended.
    fn again(&self, host: String, port: u16, terms: Terms) -> Ask {
        let (guard, moved) = (self.guard.clone(), self.moved.clone());
        Arc::new(move || {
            let found = resolve(&host, port)?;
            let why = match guard.terms(&host, &found) {
                Ok(now) if !terms.is_less(&now) => return Ok(found),
                Ok(_) => format!("{host} leads to an address that may have less load than this run"),
                Err(forbidden) => forbidden.to_string(),
            };
            let _ = moved.set(why.clone());
            Err(ResolveError::Forbidden(why))
        })
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

    /// A name that comes to where no load may go: the question brings nothing, so that the addresses known before are used on.
    #[test]
    fn a_name_that_moves_where_no_load_may_go_is_not_followed() {
        let (guard, moved) = (Arc::new(Guard::default()), Moved::default());
        let again =
            |host: &str| Asking { guard: &guard, moved: &moved }.again(host.into(), 80, Terms::default())();
        assert_eq!(again("127.0.0.1").expect("this machine").len(), 1);
        assert!(moved.get().is_none());
        assert!(matches!(again("192.0.2.1"), Err(ResolveError::Forbidden(_))));
        assert!(moved.get().is_some_and(|why| why.contains("192.0.2.1")));
    }

    #[test]
    fn the_url_that_is_asked_for_goes_with_the_flags() {
        let (any, checked) = (TlsOptions { insecure: true, ..TlsOptions::default() }, TlsOptions::default());
        assert_eq!(using_tls(Version::Postgres, &any), "write sslmode=require");
        assert_eq!(using_tls(Version::Postgres, &checked), "write sslmode=verify-full");
        assert_eq!(using_tls(Version::Redis, &any), "write rediss://");
        assert_eq!(using_tls(Version::One, &any), "use https");
    }

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

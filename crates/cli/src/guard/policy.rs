//! What a company says of load from its machines: which hosts, at what rates, and when. Nothing that a user writes widens
//! it.

use super::hours::Hours;
use super::{Forbidden, Terms};
use crate::config::{rate, read};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use unblink_core::schedule::Rate;

/// The machine's own.
const PATH: &str = "/etc/unblink/policy.toml";
/// Names a further one, which holds as well: it can forbid more, and allow nothing.
const VARIABLE: &str = "UNBLINK_POLICY";

/// With these, whoever runs unblink makes the C library take a name for another one (hostname(7), resolv.conf(5)).
const RENAMING: [&str; 2] = ["LOCALDOMAIN", "HOSTALIASES"];

/// One file.
#[derive(Debug)]
pub(super) struct Policy {
    path: PathBuf,
    hosts: Option<Vec<Pattern>>,
    pub max_rate: Option<Rate>,
    hours: Option<Hours>,
    /// The variable that makes names lead elsewhere, if one is set.
    renaming: Option<&'static str>,
}

#[derive(serde::Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    hosts: Option<Vec<String>>,
    #[serde(default, deserialize_with = "rate")]
    max_rate: Option<Rate>,
    hours: Option<Vec<String>>,
    time_zone: Option<String>,
}

/// Every policy that holds on this machine.
pub(super) fn all() -> Result<Vec<Policy>> {
    let further = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = Policy::read(Path::new(PATH))?;
    let further = match further {
        Some(path) => match Policy::read(&path)? {
            Some(policy) => Some(policy),
            None => bail!("{VARIABLE} names the policy {path:?}, which does not exist"),
        },
        None => None,
    };
    Ok(own.into_iter().chain(further).collect())
}

impl Policy {
    /// No other hosts than these, whoever says so.
    pub(super) fn only(whose: &str, hosts: &[String]) -> Result<Policy> {
        let hosts = hosts.iter().map(|text| Pattern::parse(text)).collect::<Result<_>>()?;
        Ok(Policy { path: whose.into(), hosts: Some(hosts), max_rate: None, hours: None, renaming: None })
    }

    fn read(path: &Path) -> Result<Option<Policy>> {
        let file: Option<File> = read(path, "the policy")?;
        file.map(|file| Policy::new(path, file))
            .transpose()
            .with_context(|| format!("in the policy {path:?}"))
    }

    fn new(path: &Path, file: File) -> Result<Policy> {
        let File { hosts, max_rate, hours, time_zone } = file;
        let patterns = hosts.map(|hosts| hosts.iter().map(|text| Pattern::parse(text)).collect());
        let hours = match (hours, time_zone) {
            (None, None) => None,
            (None, Some(_)) => bail!("time-zone is for hours: add hours = [\"mon-fri 22:00-06:00\"]"),
            (Some(hours), zone) => {
                let zone = match zone {
                    None => TimeZone::UTC,
                    Some(name) => TimeZone::get(&name).with_context(|| {
                        format!("time-zone {name:?} is not known to this machine: give one such as \"Europe/Berlin\" or \"UTC\"")
                    })?,
                };
                Some(Hours::parse(&hours, zone)?)
            }
        };
        let renaming = RENAMING.into_iter().find(|name| std::env::var_os(name).is_some());
        Ok(Policy { path: path.into(), hosts: patterns.transpose()?, max_rate, hours, renaming })
    }

    /// What it says of `host`, which has come to `ip`.
    pub(super) fn terms(&self, host: &str, ip: IpAddr, now: Timestamp) -> Result<Terms, Forbidden> {
        let whose = || format!("the policy {}", self.path.display());
        if let Some(patterns) = &self.hosts
            && !patterns.iter().any(|pattern| pattern.fits(host, ip))
        {
            let of = patterns.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", ");
            let of = if of.is_empty() { "none".to_string() } else { of };
            return Err(Forbidden(format!(
                "{host} ({ip}) may not be put under load: {} allows {of}",
                whose()
            )));
        }
        if let (Some(patterns), Some(variable)) = (&self.hosts, self.renaming)
            && host.parse::<IpAddr>().is_err()
            // Without a name, what fits does so by its address.
            && !patterns.iter().any(|pattern| pattern.fits("", ip))
        {
            return Err(Forbidden(format!(
                "{host} ({ip}) may not be put under load: {} allows it by name, and {variable} may make the name lead elsewhere; \
                 unset {variable}",
                whose()
            )));
        }
        let ends = match &self.hours {
            None => None,
            Some(hours) => match hours.ends(now) {
                Some(end) => Some((end, whose())),
                None => {
                    return Err(Forbidden(format!(
                        "there may be no load now: {} allows it {hours}",
                        whose()
                    )));
                }
            },
        };
        Ok(Terms { rate_cap: self.max_rate, ends })
    }

    /// In a line.
    pub(super) fn describe(&self) -> String {
        let hosts = match &self.hosts {
            None => "all hosts".to_string(),
            Some(patterns) => patterns.iter().map(Pattern::to_string).collect::<Vec<_>>().join(", "),
        };
        let rate = self.max_rate.map(|rate| format!(", at most {rate}")).unwrap_or_default();
        let hours = self.hours.as_ref().map(|hours| format!(", {hours}")).unwrap_or_default();
        format!("{}: {hosts}{rate}{hours}", self.path.display())
    }
}

/// Which hosts: a name, all names that end so (`*.example.com`), or a network (`10.0.0.0/8`).
#[derive(Clone, PartialEq, Debug)]
enum Pattern {
    Name(String),
    /// With the dot that it begins with.
    Suffix(String),
    Network(IpAddr, u8),
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern> {
        let expected = || {
            format!(
                "hosts: {text:?} is not a host: give a name, an address, \"*.example.com\" or a network such as \
                 \"10.0.0.0/8\""
            )
        };
        if let Some((ip, bits)) = text.split_once('/') {
            let ip: IpAddr = ip.parse().with_context(expected)?;
            let bits: u8 = bits.parse().with_context(expected)?;
            if bits > if ip.is_ipv4() { 32 } else { 128 } {
                bail!(expected());
            }
            return Ok(Pattern::Network(ip, bits));
        }
        let host = |text| super::allow::host(text).map_err(|_| anyhow::anyhow!(expected()));
        match text.strip_prefix("*.") {
            Some(rest) => Ok(Pattern::Suffix(format!(".{}", host(rest)?))),
            None => Ok(Pattern::Name(host(text)?)),
        }
    }

    fn fits(&self, host: &str, ip: IpAddr) -> bool {
        let name = host.trim_end_matches('.').to_lowercase();
        match self {
            Pattern::Name(own) => name == *own || own.parse() == Ok(ip.to_canonical()),
            Pattern::Suffix(end) => name.ends_with(end.as_str()),
            Pattern::Network(network, bits) => match (network, ip.to_canonical()) {
                (IpAddr::V4(network), IpAddr::V4(ip)) => {
                    let rest = 32 - u32::from(*bits);
                    (network.to_bits() ^ ip.to_bits()).checked_shr(rest).unwrap_or(0) == 0
                }
                (IpAddr::V6(network), IpAddr::V6(ip)) => {
                    let rest = 128 - u32::from(*bits);
                    (network.to_bits() ^ ip.to_bits()).checked_shr(rest).unwrap_or(0) == 0
                }
                _ => false,
            },
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pattern::Name(name) => f.write_str(name),
            Pattern::Suffix(end) => write!(f, "*{end}"),
            Pattern::Network(ip, bits) => write!(f, "{ip}/{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Result<Policy> {
        Policy::new(Path::new("p.toml"), toml::from_str(text)?)
    }

    #[test]
    fn hosts_fit_by_name_suffix_and_network() {
        let of = policy(
            "hosts = [\"a.test\", \"*.stage.test\", \"10.1.0.0/16\", \"fd00::/8\", \"192.0.2.7\", \"0.0.0.0/0\"]",
        )
        .unwrap();
        let patterns = of.hosts.unwrap();
        let fits = |n: usize, host: &str, ip: &str| patterns[n].fits(host, ip.parse().unwrap());
        assert!(fits(0, "A.test.", "192.0.2.1") && !fits(0, "b.a.test", "192.0.2.1"));
        assert!(fits(1, "x.y.stage.test", "192.0.2.1"));
        assert!(!fits(1, "stage.test", "192.0.2.1") && !fits(1, "evilstage.test", "192.0.2.1"));
        assert!(fits(2, "any", "10.1.255.1") && !fits(2, "any", "10.2.0.1") && !fits(2, "any", "fd00::1"));
        assert!(fits(2, "any", "::ffff:10.1.0.1"));
        assert!(fits(3, "any", "fdff::1") && !fits(3, "any", "fe80::1"));
        assert!(fits(4, "any", "192.0.2.7") && !fits(4, "any", "192.0.2.8"));
        assert!(fits(5, "any", "203.0.113.1"));
    }

    /// No variable of a user's gives a name that is allowed an address that is not.
    #[test]
    fn a_name_that_may_lead_elsewhere_is_not_allowed_by_name() {
        let mut of = policy("hosts = [\"build-target\", \"10.1.0.0/16\", \"192.0.2.7\"]").unwrap();
        let is_allowed = |of: &Policy, host: &str, ip: &str| {
            of.terms(host, ip.parse().unwrap(), Timestamp::UNIX_EPOCH)
                .map(drop)
                .map_err(|why| why.to_string())
        };
        assert_eq!(is_allowed(&of, "build-target", "203.0.113.9"), Ok(()));
        of.renaming = Some("LOCALDOMAIN");
        let said = is_allowed(&of, "build-target", "203.0.113.9").unwrap_err();
        assert!(said.contains("LOCALDOMAIN may make the name lead elsewhere"), "{said}");
        for (host, ip) in [("build-target", "10.1.2.3"), ("other", "192.0.2.7"), ("192.0.2.7", "192.0.2.7")] {
            assert_eq!(is_allowed(&of, host, ip), Ok(()), "{host}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_policy_is_said() {
        for (text, part) in [
            ("hosts = [\"http://a/\"]", "\"http://a/\" is not a host"),
            ("hosts = [\"10.0.0.0/33\"]", "10.0.0.0/33"),
            ("max-rate = \"fast\"", "max-rate"),
            ("hours = [\"late\"]", "\"late\""),
            ("hours = [\"22:00-06:00\"]\ntime-zone = \"Mars/Base\"", "Mars/Base"),
            ("time-zone = \"UTC\"", "time-zone is for hours"),
            ("rate = 5", "rate"),
        ] {
            let said = crate::explain_error(&policy(text).expect_err(text));
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}

//! Who may be put under load, how much and when: the user's list of public hosts, and the policies of this machine.
//! Looked at where addresses become known, before the first packet.

mod address;
mod allow;
mod command;
mod hours;
mod policy;

pub(crate) use command::allow;

use crate::clock;
use crate::errors::refused;
use address::Reach;
use allow::AllowList;
use anyhow::Result;
use jiff::Timestamp;
use policy::Policy;
use std::net::IpAddr;
use std::sync::OnceLock;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use unblink_engine::target::Address;

/// What this process was told at its start: it holds for its own machine, too.
static ONLY: OnceLock<Policy> = OnceLock::new();

/// From now on no load goes to other hosts than these, if there are any.
pub(crate) fn only(hosts: &[String]) -> Result<()> {
    if !hosts.is_empty() {
        let _ = ONLY.set(only_of(hosts)?);
    }
    Ok(())
}

/// Whether `host` is an address, and one of the public network. What a name stands for is known where it is resolved.
pub(crate) fn is_public_address(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().is_ok_and(|ip| address::reach(ip) == Reach::Public)
}

/// Refuses what are no hosts for `only`.
pub(crate) fn check_only(hosts: &[String]) -> Result<()> {
    only_of(hosts).map(drop)
}

fn only_of(hosts: &[String]) -> Result<Policy> {
    let policy = Policy::only("of this agent's --allow-target", hosts);
    policy.map_err(|error| refused(&["allow-target"], format!("--allow-target: {error}")))
}

/// All that says where load may go, as it was when the command began.
#[derive(Default, Debug)]
pub(crate) struct Guard {
    list: AllowList,
    policies: Vec<Policy>,
    /// What is sent is no load.
    is_free: bool,
}

/// What holds for the load on a place.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Terms {
    /// All requests of the run together.
    pub rate_cap: Option<Rate>,
    /// No load after this, and who says so.
    ends: Option<(Timestamp, String)>,
}

/// A place that may not be put under load. It names the place and what would have to change.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Forbidden(String);

impl Guard {
    /// Reads all of it. What can't be read allows nothing.
    pub(crate) fn read() -> Result<Guard> {
        Ok(Guard { list: AllowList::read()?, policies: policy::all()?, is_free: false })
    }

    /// For a question every now and then, which may go anywhere.
    pub(crate) fn of_questions() -> Guard {
        Guard { is_free: true, ..Guard::default() }
    }

    /// What holds for connections to `addresses`, which is what `host` has come to.
    ///
    /// # Errors
    /// One of them may not be put under load, or not now.
    pub(crate) fn terms(&self, host: &str, addresses: &[Address]) -> Result<Terms, Forbidden> {
        self.terms_at(host, addresses, clock::timestamp())
    }

    fn terms_at(&self, host: &str, addresses: &[Address], now: Timestamp) -> Result<Terms, Forbidden> {
        let ips = addresses.iter().filter_map(|address| match address {
            Address::Tcp(address) => Some(address.ip()),
            Address::Unix(_) => None,
        });
        let mut terms = Terms::default();
        if let Some(only) = ONLY.get().filter(|_| !self.is_free) {
            only_hosts(addresses)?;
            ips.clone().try_for_each(|ip| only.terms(host, ip, now).map(drop))?;
        }
        for ip in ips.filter(|_| !self.is_free) {
            let reach = address::reach(ip);
            if reach == Reach::Own {
                continue;
            }
            for policy in &self.policies {
                terms.add(policy.terms(host, ip, now)?);
            }
            // What was said of a host holds wherever it is.
            if let Some(found) = self.list.terms(host, ip, now) {
                terms.add(found?);
            } else if reach == Reach::Public {
                return Err(Forbidden(unasked(host, ip)));
            }
        }
        Ok(terms)
    }
}

impl Terms {
    /// Both hold.
    pub(crate) fn add(&mut self, other: Terms) {
        self.rate_cap = [self.rate_cap, other.rate_cap].into_iter().flatten().min();
        self.ends = [self.ends.take(), other.ends].into_iter().flatten().min();
    }

    /// Refuses a load of this length that would go on for longer than it may.
    pub(crate) fn check_end(&self, load: Nanos) -> Result<(), Forbidden> {
        let Some((end, whose)) = &self.ends else { return Ok(()) };
        let left = end.duration_since(clock::timestamp());
        if u128::from(load.0) <= u128::try_from(left.as_nanos()).unwrap_or(0) {
            return Ok(());
        }
        Err(Forbidden(format!(
            "{whose} allows load until {end:.0}, and this one would go on for longer: make it shorter, or start it earlier"
        )))
    }

    /// `other` asks for less than these, under which the load was begun.
    pub(crate) fn is_less(&self, other: &Terms) -> bool {
        other.rate_cap.is_some_and(|cap| self.rate_cap.is_none_or(|own| cap < own))
    }
}

/// Who names hosts has not thought of sockets, behind which there may be more than a server: with that of a container engine whoever
/// can write to it has the machine.
fn only_hosts(addresses: &[Address]) -> Result<(), Forbidden> {
    match addresses.iter().find(|address| matches!(address, Address::Unix(_))) {
        None => Ok(()),
        Some(socket) => Err(Forbidden(format!(
            "{socket} may not be put under load: --allow-target of this agent allows hosts, and no Unix sockets; leave \
             --unix-socket out, or start the agent without --allow-target"
        ))),
    }
}

fn unasked(host: &str, ip: IpAddr) -> String {
    let ip = ip.to_canonical();
    let (host, at) = match host.parse::<IpAddr>() {
        Ok(_) => (ip.to_string(), String::new()),
        Err(_) => (host.to_string(), format!(" ({ip})")),
    };
    format!(
        "{host}{at} is a public address, and nobody has said that it may be put under load; if it is yours to test, say so \
         once: unblink allow {host} (in CI: UNBLINK_ALLOW={host})"
    )
}

#[cfg(test)]
mod tests;

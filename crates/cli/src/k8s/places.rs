//! Where pods connect to: what their policies let through, and what agents may put load on.

use crate::args::k8s::ClusterArgs;
use crate::args::run::RunArgs;
use crate::errors::refused;
use crate::request::template::json_body::UNKNOWN_VARIABLE;
use crate::request::url::Url;
use crate::{guard, output, run};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use unblink_store::Location;

/// What decides whether load goes on, and where the run is kept.
pub(super) fn asked_by_coordinator(run: &RunArgs) -> Result<BTreeSet<(String, u16)>> {
    let store = match &run.keep.store.store {
        Some(Location::Server(url)) => Some(("--store", url)),
        Some(Location::File(_)) | None => None,
    };
    let kill_url = run.target.guards.kill_url.as_ref().map(|url| ("--kill-url", url));
    let mut places = BTreeSet::new();
    for (flag, url) in kill_url.into_iter().chain(store) {
        let origin = Url::parse(url).with_context(|| format!("{flag}: no URL"))?.origin;
        // A database is asked where it is.
        let own = match flag {
            "--store" => BTreeSet::from([(origin.host, origin.port)]),
            _ => run::destinations(run, [&origin])?,
        };
        if own.iter().any(is_unknown) {
            output::note(format_args!(
                "note: {flag} is taken from the environment, so the policy of the coordinator does not let it through: add a rule \
                 to its NetworkPolicy"
            ));
            continue;
        }
        places.extend(own);
    }
    Ok(places)
}

/// All or part of a host is taken from the environment: `${TARGET}`, or `http://api.${DOMAIN}`.
fn is_unknown((host, _): &(String, u16)) -> bool {
    host.contains(UNKNOWN_VARIABLE)
}

/// Hosts that agents may put load on.
pub(super) fn allowed(cluster: &ClusterArgs, places: &BTreeSet<(String, u16)>) -> Result<Vec<String>> {
    if !cluster.allow_target.is_empty() {
        return Ok(cluster.allow_target.clone());
    }
    if places.iter().any(is_unknown) {
        return Err(refused(
            &["allow-target"],
            "the plan takes its target, or a part of it, from the environment, so nobody knows here where load may go: name the host with --allow-target",
        ));
    }
    let hosts: BTreeSet<&String> = places.iter().map(|(host, _)| host).collect();
    if let Some(host) = hosts.iter().find(|host| guard::is_public_address(host)) {
        return Err(refused(
            &["allow-target"],
            format!(
                "{host} is a public address, and agents put no load on one that is not named: --allow-target {host} says that it is yours to test"
            ),
        ));
    }
    Ok(hosts.into_iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::url::UNKNOWN_ADDRESS;

    #[test]
    fn a_host_is_unknown_by_what_stands_in_for_a_variable_alone() {
        let is_unknown_in = |url: &str| {
            let origin = Url::parse(url).expect("a URL").origin;
            is_unknown(&(origin.host, origin.port))
        };
        let part = format!("http://api.{UNKNOWN_VARIABLE}:8080/");
        assert!(is_unknown_in(UNKNOWN_ADDRESS) && is_unknown_in(&part));
        assert!(!is_unknown_in("http://variable.example.com/") && !is_unknown_in("http://h/variable~"));
    }
}

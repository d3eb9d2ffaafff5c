//! How many connections a run may open to each origin.

use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::value::Connections;
use anyhow::Result;
use unblink_artifact::document::MachineLimit;
use unblink_core::dispatch::{AUTO_CONNECTIONS_MAX, Pool, ports_found_quickly};
use unblink_engine::limits::Limits;
use unblink_engine::target::{Address, LOOPBACK_SOURCES_MAX, Target};

/// The pool that was asked for, or what this machine allows for and what it lacks for more. `users`: of a closed load.
pub(super) fn pool(
    args: &RunArgs,
    users: Option<u32>,
    limits: &Limits,
    targets: &[Target],
    threads: u32,
) -> Result<(Pool, Option<MachineLimit>)> {
    // Of the connections of all machines, those of the shares that are here.
    let shares = args.share.share.map(|share| (share.threads(), share.of));
    let of_all = |here: u32| shares.map_or(here, |(threads, of)| here.div_ceil(threads).saturating_mul(of));
    let here = |all: u32| shares.map_or(all, |(threads, of)| all.div_ceil(of).saturating_mul(threads));
    let threads_asked = args.threads().unwrap_or(1);
    let fitting = limits.connections(threads) / targets.len() as u64;
    // Each origin has a pool of its own, and they are of the same size: local ports are found for each place anew, and
    // descriptors are shared.
    let by_ports = targets.iter().map(|target| ports_for(target, limits));
    let (by_ports, quick) = by_ports.min().unwrap_or((u64::MAX, u64::MAX));
    if let Some((_, n)) = args.pool_by_default() {
        // Nobody asked for so many: fewer will do where there is no room for them.
        let most = of_all(u32::try_from(fitting.min(by_ports)).unwrap_or(u32::MAX));
        let parts = args.parts(threads);
        return Ok((Pool::Fixed { n: n.min(most).max(parts) }, None));
    }
    let (asked, pool) = match args.connections() {
        Connections::Auto(None) => {
            let (max, limited_by) = auto_limit(users.map(here), fitting, quick);
            return Ok((Pool::Auto { max: of_all(max.max(threads_asked)) }, limited_by));
        }
        Connections::Auto(Some(max)) => (here(max), Pool::Auto { max }),
        Connections::Fixed(n) => (here(n), Pool::Fixed { n }),
    };
    if u64::from(asked) > fitting {
        refuse!(
            ["connections"],
            "{asked} connections{} need more file descriptors than this process may have: {} ({} of them kept \
             back); raise the hard limit (ulimit -Hn) or ask for at most {fitting} connections",
            if targets.len() > 1 { " to each origin" } else { "" },
            limits.descriptors,
            limits.descriptors - limits.connections(threads).min(limits.descriptors),
        );
    }
    if u64::from(asked) > by_ports {
        refuse!(
            ["connections"],
            "{asked} connections need more local ports than there are for this target: {by_ports}; widen \
             net.ipv4.ip_local_port_range or ask for fewer connections"
        );
    }
    Ok((pool, None))
}

/// The pool without what this machine's limits have to do with it.
pub(super) fn planned_pool(args: &RunArgs, threads: u32) -> Pool {
    match args.connections() {
        Connections::Auto(max) => Pool::Auto { max: max.unwrap_or(AUTO_CONNECTIONS_MAX).max(threads) },
        Connections::Fixed(n) if args.pool_by_default().is_some() => {
            Pool::Fixed { n: n.max(args.parts(threads)) }
        }
        Connections::Fixed(n) => Pool::Fixed { n },
    }
}

/// Connections to one origin that the local ports allow for, and those of them whose ports are found quickly.
fn ports_for(target: &Target, limits: &Limits) -> (u64, u64) {
    match (&target.addresses[0], target.per_source) {
        (Address::Unix(_), _) => (u64::MAX, u64::MAX),
        (_, Some(per_source)) => {
            let all = u64::from(per_source) * u64::from(LOOPBACK_SOURCES_MAX);
            (all, all)
        }
        (_, None) => {
            let all = u64::from(limits.ports) * target.addresses.len() as u64;
            (all, ports_found_quickly(all))
        }
    }
}

/// How many connections `auto` may open with so many descriptors, and with so many local ports that are found quickly,
/// and what this machine lacks for more.
fn auto_limit(users: Option<u32>, fitting: u64, quick: u64) -> (u32, Option<MachineLimit>) {
    // A closed population can't use more connections than it has users.
    let useful = users.unwrap_or(AUTO_CONNECTIONS_MAX).min(AUTO_CONNECTIONS_MAX);
    let (limit, by) = match fitting <= quick {
        true => (fitting, MachineLimit::FileDescriptors),
        false => (quick, MachineLimit::LocalPorts),
    };
    match u64::from(useful) <= limit {
        true => (useful, None),
        false => (limit as u32, Some(by)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_auto_is_named() {
        let (plenty, ports, descriptors) =
            (u64::MAX, Some(MachineLimit::LocalPorts), Some(MachineLimit::FileDescriptors));
        assert_eq!(auto_limit(None, plenty, plenty), (AUTO_CONNECTIONS_MAX, None));
        assert_eq!(auto_limit(None, plenty, ports_found_quickly(28_232)), (12_690, ports));
        assert_eq!(auto_limit(None, 964, ports_found_quickly(28_232)), (964, descriptors));
        assert_eq!(auto_limit(Some(10), 964, ports_found_quickly(28_232)), (10, None));
        assert_eq!(auto_limit(Some(1000), 964, ports_found_quickly(28_232)), (964, descriptors));
    }
}

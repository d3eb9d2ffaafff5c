//! How far an address reaches.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where connections to an address end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// On this machine.
    Own,
    /// In a network that is not the public one.
    Private,
    /// Anywhere.
    Public,
}

/// By the registries of addresses (RFC 6890). What is not known to be private is public.
pub(super) fn reach(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(ip) => of_v4(ip),
        // `::ffff:a.b.c.d` is sent as IPv4.
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or_else(|| of_v6(ip), of_v4),
    }
}

fn of_v4(ip: Ipv4Addr) -> Reach {
    let [a, b, ..] = ip.octets();
    // Linux connects an address of zeros to this machine.
    if ip.is_loopback() || ip.is_unspecified() {
        Reach::Own
    } else if ip.is_private() || ip.is_link_local() || (a == 100 && b & 0xc0 == 64) {
        // The last is a provider's own network (100.64.0.0/10, RFC 6598), which many clusters use.
        Reach::Private
    } else {
        Reach::Public
    }
}

fn of_v6(ip: Ipv6Addr) -> Reach {
    if ip.is_loopback() || ip.is_unspecified() {
        Reach::Own
    } else if ip.is_unique_local() || ip.is_unicast_link_local() {
        Reach::Private
    } else {
        Reach::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_reach_so_far() {
        for (reach, addresses) in [
            (Reach::Own, &["127.0.0.1", "127.255.255.254", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"][..]),
            (
                Reach::Private,
                &[
                    "10.0.0.1",
                    "10.255.255.255",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.0.1",
                    "169.254.1.1",
                    "100.64.0.0",
                    "100.127.255.255",
                    "fc00::1",
                    "fdff::1",
                    "fe80::1",
                    "febf::1",
                    "::ffff:10.0.0.1",
                ],
            ),
            (
                Reach::Public,
                &[
                    "9.255.255.255",
                    "11.0.0.0",
                    "172.15.255.255",
                    "172.32.0.0",
                    "192.167.1.1",
                    "192.169.0.1",
                    "100.63.255.255",
                    "100.128.0.0",
                    "169.253.1.1",
                    "128.0.0.1",
                    "0.0.0.1",
                    "192.0.2.1",
                    "203.0.113.1",
                    "224.0.0.1",
                    "255.255.255.255",
                    "::ffff:8.8.8.8",
                    "::127.0.0.1",
                    "::2",
                    "fec0::1",
                    "fbff::1",
                    "fe00::1",
                    "2001:db8::1",
                    "64:ff9b::a00:1",
                    "2002:a00:1::1",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(super::reach(address.parse().expect(address)), reach, "{address}");
            }
        }
    }
}

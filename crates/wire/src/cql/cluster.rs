//! The nodes of a cluster, and the ring that they make for a keyspace.

use super::table::{Row, Table};
use crate::ring::Ring;
use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

/// A node, as another one or it itself tells of it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    /// Nothing where nobody says where it listens.
    address: Option<SocketAddr>,
    data_center: String,
    rack: String,
    tokens: Vec<i64>,
}

/// How rows of a keyspace are kept several times.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Replication {
    /// At so many nodes that follow each other on the ring.
    Simple(usize),
    /// At so many of each data centre.
    ByDataCenter(BTreeMap<String, usize>),
    /// Not known, or of a kind of its own: only the first is.
    First,
}

/// A cluster as a node sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The one that was asked comes first.
    nodes: Vec<Node>,
    replication: Replication,
    is_murmur3: bool,
    schema: String,
}

impl Cluster {
    /// Of the rows of `system.local`, `system.peers` (of either version) and those of the keyspace; the node that was asked is reached
    /// at `asked`. Nothing if it does not tell of itself.
    pub(super) fn of(local: &Table, peers: &Table, keyspace: &Table, asked: SocketAddr) -> Option<Cluster> {
        let own = local.rows().next()?;
        let mut nodes = vec![Node { address: Some(asked), ..Node::of(own, asked.port()) }];
        nodes.extend(peers.rows().map(|row| Node::of(row, asked.port())));
        Some(Cluster {
            nodes,
            replication: Replication::of(keyspace.rows().next()),
            is_murmur3: own.text("partitioner").is_some_and(|name| name.ends_with("Murmur3Partitioner")),
            schema: own.text("schema_version").map_or_else(
                || {
                    own.uuid("schema_version")
                        .map_or_else(String::new, |id| format!("{:x}", u128::from_be_bytes(id)))
                },
                str::to_string,
            ),
        })
    }

    /// Tokens are of the kind that is known here.
    pub fn has_known_tokens(&self) -> bool {
        self.is_murmur3
    }

    /// Changes with each change of the schema.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The data centre of the node that was asked.
    pub fn data_center(&self) -> &str {
        &self.nodes[0].data_center
    }

    /// Nodes of that data centre that tokens belong to, and of these, those that say where they listen.
    pub fn nodes_of(&self, data_center: &str) -> (usize, usize) {
        let mine =
            || self.nodes.iter().filter(|node| node.data_center == data_center && !node.tokens.is_empty());
        (mine().count(), mine().filter(|node| node.address.is_some()).count())
    }

    /// How the keyspace is replicated, in words.
    pub fn replication(&self) -> String {
        match &self.replication {
            Replication::Simple(n) => n.to_string(),
            Replication::ByDataCenter(each) => {
                let each: Vec<String> = each.iter().map(|(name, n)| format!("{name}: {n}")).collect();
                each.join(", ")
            }
            Replication::First => "first replica only".into(),
        }
    }

    /// Where the nodes of `data_center` listen that `may_go` allows, and what each of them has.
    pub fn ring(&self, data_center: &str, may_go: impl Fn(SocketAddr) -> bool) -> Ring {
        let mut addresses: Vec<SocketAddr> = Vec::new();
        let numbers: Vec<Option<u16>> = (self.nodes.iter())
            .map(|node| {
                let address =
                    node.address.filter(|_| node.data_center == data_center && !node.tokens.is_empty())?;
                let known = addresses.iter().position(|one| *one == address);
                let place = match known {
                    Some(place) => place,
                    None if may_go(address) => {
                        addresses.push(address);
                        addresses.len() - 1
                    }
                    None => return None,
                };
                u16::try_from(place).ok()
            })
            .collect();
        let mut owners: Vec<(i64, usize)> = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            owners.extend(node.tokens.iter().map(|&token| (token, place)));
        }
        owners.sort_unstable();
        let ranges = (0..owners.len()).map(|from| {
            let onwards = owners[from..].iter().chain(&owners[..from]).map(|&(_, node)| node);
            let replicas = self.replicas(onwards);
            (owners[from].0, replicas.into_iter().filter_map(|node| numbers[node]).collect())
        });
        let ranges = ranges.collect();
        Ring::new(addresses, ranges)
    }

    /// Which of the nodes have a range, given those of the ring from its end onwards (`SimpleStrategy` and `NetworkTopologyStrategy` of
    /// Cassandra 4 and 5).
    fn replicas(&self, onwards: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut replicas = Vec::new();
        let each = match &self.replication {
            Replication::First => return onwards.take(1).collect(),
            Replication::Simple(n) => {
                for node in onwards {
                    if replicas.len() >= (*n).min(self.nodes.len()) {
                        break;
                    }
                    if !replicas.contains(&node) {
                        replicas.push(node);
                    }
                }
                return replicas;
            }
            Replication::ByDataCenter(each) => each,
        };
        let mut wanted: BTreeMap<&str, Wanted<'_>> =
            each.iter().map(|(name, &n)| (&**name, self.wanted(name, n))).collect();
        for node in onwards {
            if wanted.values().all(|one| one.left == 0) {
                break;
            }
            let Node { data_center, rack, .. } = &self.nodes[node];
            let Some(one) = wanted.get_mut(&**data_center).filter(|one| one.left > 0) else { continue };
            if replicas.contains(&node) {
                continue;
            }
            if !one.racks.insert(rack) {
                if one.of_same_rack == 0 {
                    continue;
                }
                one.of_same_rack -= 1;
            }
            one.left -= 1;
            replicas.push(node);
        }
        replicas
    }

    /// So many replicas in a data centre: each rack has one before any has two.
    fn wanted(&self, name: &str, n: usize) -> Wanted<'_> {
        let mine = || self.nodes.iter().filter(|node| node.data_center == name && !node.tokens.is_empty());
        let racks: BTreeSet<&str> = mine().map(|node| &*node.rack).collect();
        Wanted {
            left: n.min(mine().count()),
            of_same_rack: n.saturating_sub(racks.len()),
            racks: BTreeSet::new(),
        }
    }
}

/// What is still to be found of a range's replicas in a data centre.
struct Wanted<'a> {
    left: usize,
    /// So many of them may be in a rack that has one already.
    of_same_rack: usize,
    racks: BTreeSet<&'a str>,
}

impl Node {
    /// Of a row of `system.local`, `system.peers_v2` or `system.peers`. Where the row does not say, it listens at `port`.
    fn of(row: Row<'_>, port: u16) -> Node {
        let tokens = row.texts("tokens", 1).unwrap_or_default();
        let ip = row.address("native_address").or_else(|| {
            // One that listens everywhere is where its peers find it. Without any address it is not all there.
            let is_said = row.has("rpc_address") || row.has("native_address");
            row.address("rpc_address").or(row.address("peer").filter(|_| is_said))
        });
        Node {
            address: ip.map(|ip| SocketAddr::new(ip, row.port("native_port").unwrap_or(port))),
            data_center: row.text("data_center").unwrap_or_default().to_string(),
            rack: row.text("rack").unwrap_or_default().to_string(),
            tokens: tokens.iter().filter_map(|token| token.parse().ok()).collect(),
        }
    }
}

impl Replication {
    fn of(keyspace: Option<Row<'_>>) -> Replication {
        let Some(words) = keyspace.and_then(|row| row.texts("replication", 2)) else {
            return Replication::First;
        };
        let mut all: BTreeMap<&str, &str> = words.chunks(2).map(|pair| (&*pair[0], &*pair[1])).collect();
        // Of transient replicas the number stands behind a slash.
        let number = |text: &str| text.split('/').next().and_then(|n| n.trim().parse::<usize>().ok());
        let class = all.remove("class").unwrap_or_default();
        match class.rsplit('.').next() {
            Some("SimpleStrategy") => {
                let n = all.get("replication_factor").and_then(|text| number(text));
                n.map_or(Replication::First, Replication::Simple)
            }
            Some("NetworkTopologyStrategy") => Replication::ByDataCenter(
                all.iter().filter_map(|(name, n)| Some((name.to_string(), number(n)?))).collect(),
            ),
            _ => Replication::First,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(n: u8, (data_center, rack): (&str, &str), tokens: &[i64]) -> Node {
        let address = Some(SocketAddr::from(([127, 0, 0, n], 9042)));
        Node { address, data_center: data_center.into(), rack: rack.into(), tokens: tokens.into() }
    }

    fn cluster(nodes: Vec<Node>, replication: Replication) -> Cluster {
        Cluster { nodes, replication, is_murmur3: true, schema: String::new() }
    }

    /// Last parts of the addresses of the replicas of a token.
    fn of(ring: &Ring, token: i64) -> Vec<u8> {
        let last =
            |address: &SocketAddr| address.to_string().split([':', '.']).nth(3).unwrap().parse().unwrap();
        ring.replicas(token).iter().map(|&node| last(&ring.nodes()[usize::from(node)])).collect()
    }

    #[test]
    fn replicas_follow_each_other_on_the_ring() {
        let here = ("a", "r");
        let nodes = vec![node(1, here, &[0, 30]), node(2, here, &[10]), node(3, here, &[20])];
        let mut all = cluster(nodes, Replication::Simple(2));
        let ring = all.ring("a", |_| true);
        assert_eq!(
            [of(&ring, 0), of(&ring, 5), of(&ring, 25), of(&ring, 31)],
            [[1, 2], [2, 3], [1, 2], [1, 2]]
        );
        all.replication = Replication::Simple(9);
        assert_eq!(of(&all.ring("a", |_| true), 1), [2, 3, 1]);
        all.replication = Replication::First;
        assert_eq!(of(&all.ring("a", |_| true), 1), [2]);
        // One that says nothing of where it listens, or where no load may go, keeps what it has.
        all.nodes[1].address = None;
        assert!(of(&all.ring("a", |_| true), 1).is_empty());
        assert_eq!(all.ring("a", |address| address.ip().to_string() != "127.0.0.3").nodes().len(), 1);
        assert_eq!(all.nodes_of("a"), (3, 2));
    }

    #[test]
    fn a_rack_has_two_replicas_only_when_each_has_one() {
        let nodes = vec![
            node(1, ("a", "r1"), &[0]),
            node(2, ("a", "r1"), &[10]),
            node(3, ("b", "r1"), &[15]),
            node(4, ("a", "r2"), &[20]),
            node(5, ("a", "r1"), &[30]),
        ];
        let by = |a: usize, b: usize| Replication::ByDataCenter([("a".into(), a), ("b".into(), b)].into());
        let mut all = cluster(nodes, by(2, 1));
        assert_eq!(of(&all.ring("a", |_| true), 0), [1, 4], "the second of the first rack comes too late");
        all.replication = by(3, 0);
        assert_eq!(of(&all.ring("a", |_| true), 0), [1, 2, 4]);
        all.replication = by(1, 1);
        assert_eq!((of(&all.ring("a", |_| true), 11), of(&all.ring("b", |_| true), 11)), (vec![4], vec![3]));
        assert!(of(&all.ring("c", |_| true), 11).is_empty());
    }
}

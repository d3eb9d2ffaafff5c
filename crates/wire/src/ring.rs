//! A ring of tokens: which nodes of a cluster have which keys.

use core::net::SocketAddr;

/// Which nodes have which keys, as it was at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ring {
    nodes: Vec<SocketAddr>,
    /// Where ranges end: a token belongs to the first that is not below it, and one above all to the first of all.
    ends: Vec<i64>,
    /// Of each range, where its replicas begin in `replicas`; one more at the end.
    begins: Vec<u32>,
    /// Numbers of nodes.
    replicas: Vec<u16>,
}

impl Ring {
    /// Of these nodes. Each range has its end and the numbers of the nodes that hold it.
    pub fn new(nodes: Vec<SocketAddr>, mut ranges: Vec<(i64, Vec<u16>)>) -> Ring {
        ranges.sort();
        let mut ring = Ring { nodes, ..Ring::default() };
        for (end, replicas) in ranges {
            ring.ends.push(end);
            ring.begins.push(ring.replicas.len() as u32);
            ring.replicas.extend(replicas);
        }
        ring.begins.push(ring.replicas.len() as u32);
        ring
    }

    /// Where its nodes are.
    pub fn nodes(&self) -> &[SocketAddr] {
        &self.nodes
    }

    /// Of each range its end, and in order the nodes that hold it.
    pub fn by_range(&self) -> impl Iterator<Item = (i64, Vec<SocketAddr>)> + '_ {
        self.ends.iter().map(|&end| {
            let mut nodes: Vec<_> =
                self.replicas(end).iter().map(|&node| self.nodes[usize::from(node)]).collect();
            nodes.sort_unstable();
            (end, nodes)
        })
    }

    /// The numbers of the nodes that hold what has this token.
    #[inline]
    pub fn replicas(&self, token: i64) -> &[u16] {
        let range = self.ends.partition_point(|&end| end < token);
        let range = if range == self.ends.len() { 0 } else { range };
        match self.begins.get(range..range + 2) {
            Some(&[from, to]) => &self.replicas[from as usize..to as usize],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_the_first_that_is_not_below_it() {
        let nodes = vec![([127, 0, 0, 1], 1).into(), ([127, 0, 0, 2], 1).into()];
        let ring = Ring::new(nodes, vec![(10, vec![1]), (-10, vec![0]), (i64::MAX, vec![1, 0])]);
        for (token, replicas) in
            [(i64::MIN, &[0][..]), (-10, &[0]), (-9, &[1]), (10, &[1]), (11, &[1, 0]), (i64::MAX, &[1, 0])]
        {
            assert_eq!(ring.replicas(token), replicas, "{token}");
        }
        let wraps = Ring::new(ring.nodes().to_vec(), vec![(5, vec![0]), (7, vec![1])]);
        assert_eq!((wraps.replicas(8), wraps.replicas(-8)), (&[0][..], &[0][..]));
        assert!(Ring::default().replicas(0).is_empty());
    }
}

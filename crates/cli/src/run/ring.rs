//! The ring of a cluster, which is read before the load and followed while it goes on.

use super::job::AnyJob;
use crate::args::run::RunArgs;
use crate::args::target::TokenAware;
use crate::clock;
use crate::guard::{Guard, Terms};
use crate::output;
use crate::value::Connections;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use unblink_artifact::document::{RingChange, RingSeen, WhatChanged};
use unblink_core::time::Nanos;
use unblink_engine::clock::{Clock, WallTime};
use unblink_engine::control::{Telling, takes_connections};
use unblink_engine::routing::Routing;
use unblink_engine::target::{Address, Target};
use unblink_wire::cql::{Change, Cluster, Session, Told};
use unblink_wire::ring::Ring;

/// A node that tells nothing for so long is not asked any longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nodes tell of one change in several events. They are asked once these have come.
const QUIET: Duration = Duration::from_millis(200);
/// How often nodes that failed are looked at, and lost connections replaced.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A node that has told nothing for so long is asked how the cluster is. If that is not answered as soon, another one is asked.
const SILENCE: Duration = Duration::from_secs(10);
/// Changes that are listed; those beyond are counted.
const CHANGES_MAX: usize = 64;

/// What it takes to read the ring of a run's target.
pub(crate) struct Reading {
    guard: Arc<Guard>,
    terms: Terms,
    /// Where the URL leads: load may go there.
    known: Vec<Address>,
    connections: Connections,
}

/// How it is read, if requests are to go where their rows are. Whoever says where connections go wants them there, and the requests
/// of a journey with a connection of its own go over that one alone.
pub(super) fn reading(args: &RunArgs, guard: &Arc<Guard>, terms: &Terms) -> Option<Reading> {
    let target = &args.target;
    let says_where = !target.connect_to.is_empty()
        || target.unix_socket.is_some()
        || target.resolve_every.is_some()
        || args.journeys.iter().any(|journey| journey.own_connection);
    (target.token_aware == TokenAware::On && !says_where).then(|| Reading {
        guard: guard.clone(),
        terms: terms.clone(),
        known: Vec::new(),
        connections: args.connections(),
    })
}

/// A ring that is followed until the load has ended.
pub(crate) struct Following {
    seen: Arc<Mutex<Seen>>,
    /// Its end is what the thread waits for.
    _alive: Sender<()>,
}

struct Seen {
    ring: RingSeen,
    changes: Vec<(WallTime, WhatChanged)>,
}

impl Reading {
    /// Reads the ring of a cluster of several nodes, and lets the job's connections go to all of them. Where there is one node, or it can't be
    /// read, everything stays as it is.
    pub(super) fn follow(mut self, job: &mut AnyJob) -> Option<Following> {
        let (target, session) = job.of_cluster()?;
        self.known.clone_from(&target.addresses);
        let (telling, cluster) = match first(target, &session) {
            Ok(told) => told,
            Err(why) => {
                output::note(format_args!(
                    "warning: the ring of the cluster can't be read: {why}; requests go to any node (--token-aware off says so)"
                ));
                return None;
            }
        };
        let data_center = cluster.data_center().to_string();
        let (nodes, _) = cluster.nodes_of(&data_center);
        if nodes < 2 {
            return None;
        }
        if let Connections::Fixed(n) = self.connections
            && (n as usize) < nodes
        {
            output::note(format_args!(
                "warning: {n} connections can't reach all {nodes} nodes, and requests for rows of the others go by way of these: -c {nodes}"
            ));
        }
        if !cluster.has_known_tokens() {
            output::note(format_args!(
                "warning: the cluster does not use Murmur3Partitioner; requests go to any node (--token-aware off says so)"
            ));
            return None;
        }
        let ring = RingSeen {
            nodes: nodes as u64,
            data_center: data_center.clone(),
            replication: cluster.replication(),
            ..RingSeen::default()
        };
        let seen = Arc::new(Mutex::new(Seen { ring, changes: Vec::new() }));
        let ring = cluster.ring(&data_center, |node| self.may_go(node));
        let (alive, ended) = channel();
        let mut follower = Follower {
            reading: self,
            target: target.clone(),
            session,
            routing: Arc::new(Routing::new(ring.clone())),
            data_center,
            ring,
            schema: cluster.schema().to_string(),
            seen: seen.clone(),
        };
        target.addresses = follower.ring.nodes().iter().map(|&node| Address::Tcp(node)).collect();
        target.routing = Some(follower.routing.clone());
        if !target.is_loopback() {
            target.per_source = None;
        }
        std::thread::spawn(move || follower.follow(telling, &ended));
        Some(Following { seen, _alive: alive })
    }

    /// Whether load may go there that began under the run's terms.
    fn may_go(&self, node: SocketAddr) -> bool {
        let address = Address::Tcp(node);
        let terms =
            |address: &Address| self.guard.terms(&node.ip().to_string(), std::slice::from_ref(address));
        self.known.contains(&address) || terms(&address).is_ok_and(|terms| !self.terms.is_less(&terms))
    }
}

impl Following {
    /// What was seen of the ring in a load that began then.
    pub(super) fn end(self, began: WallTime) -> RingSeen {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let since = |at: WallTime| at.duration_since(began).map_or(0, |since| since.as_nanos() as u64);
        let changes = seen.changes.iter().map(|&(at, what)| RingChange { at_ns: since(at), what });
        RingSeen { changes: changes.collect(), ..seen.ring.clone() }
    }
}

/// The first node that tells of its cluster.
fn first(target: &Target, session: &Arc<Session>) -> Result<(Telling, Cluster), String> {
    let mut why = "it has no address".to_string();
    for address in &target.addresses {
        let Address::Tcp(node) = address else { continue };
        match ask(target, *node, session) {
            Ok(told) => return Ok(told),
            Err(error) => why = format!("{address}: {error}"),
        }
    }
    Err(why)
}

fn ask(target: &Target, node: SocketAddr, session: &Arc<Session>) -> Result<(Telling, Cluster), String> {
    let telling = Telling::open(target, node, session.clone(), PATIENCE);
    let mut telling = telling.map_err(|error| error.to_string())?;
    loop {
        match telling.told(PATIENCE)? {
            Some(Told::Cluster(cluster)) => return Ok((telling, cluster)),
            Some(Told::Changed(_)) => {}
            None => return Err("it does not answer".into()),
        }
    }
}

/// What the thread that follows a ring has.
struct Follower {
    reading: Reading,
    target: Target,
    session: Arc<Session>,
    routing: Arc<Routing>,
    data_center: String,
    ring: Ring,
    schema: String,
    seen: Arc<Mutex<Seen>>,
}

impl Follower {
    fn follow(&mut self, telling: Telling, ended: &Receiver<()>) {
        let mut telling = Some(telling);
        // Something has changed, and it has not been asked what.
        let mut has_changed = false;
        let clock = Clock::start();
        // When it last told something, or was asked because it had not.
        let mut heard = clock.now();
        while ended.try_recv() == Err(TryRecvError::Empty) {
            let Some(one) = &mut telling else {
                telling = self.another();
                heard = clock.now();
                if telling.is_none() && ended.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                self.look_at_failing();
                continue;
            };
            let told = one.told(if has_changed { QUIET } else { LOOK_EVERY });
            let now = clock.now();
            let is_silent = now.since(heard) >= Nanos(SILENCE.as_nanos() as u64);
            if matches!(told, Ok(Some(_))) || is_silent {
                heard = now;
            }
            match told {
                Ok(Some(Told::Changed(change))) => {
                    // One that is down keeps its rows, and workers notice by themselves.
                    has_changed |= change != Change::Down;
                    match change {
                        Change::Up => self.note(WhatChanged::NodeUp),
                        Change::Down => self.note(WhatChanged::NodeDown),
                        // Noted once it is known to be one.
                        Change::Schema | Change::Topology => {}
                    }
                }
                Ok(Some(Told::Cluster(cluster))) => self.take(&cluster),
                Ok(None) if is_silent => {
                    if !one.ask() {
                        telling = self.lost();
                    }
                }
                Ok(None) if has_changed => has_changed = !one.ask(),
                Ok(None) => self.look_at_failing(),
                Err(_) => telling = self.lost(),
            }
        }
    }

    fn lost(&mut self) -> Option<Telling> {
        self.with_seen(|seen| seen.ring.connections_lost += 1);
        None
    }

    /// A connection to any node that tells.
    fn another(&mut self) -> Option<Telling> {
        let nodes = self.ring.nodes().to_vec();
        let (telling, cluster) =
            nodes.into_iter().find_map(|node| ask(&self.target, node, &self.session).ok())?;
        self.take(&cluster);
        Some(telling)
    }

    fn take(&mut self, cluster: &Cluster) {
        let ring = cluster.ring(&self.data_center, |node| self.reading.may_go(node));
        if cluster.schema() != self.schema {
            self.schema = cluster.schema().to_string();
            self.note(WhatChanged::Schema);
        }
        if !is_same(&ring, &self.ring) && !ring.nodes().is_empty() {
            self.note(WhatChanged::Ring);
            self.ring = ring;
            self.routing.set(self.ring.clone());
        }
    }

    /// Nodes to which workers could open no connection take some again.
    fn look_at_failing(&self) {
        for node in self.routing.failing() {
            if takes_connections(node, LOOK_EVERY) {
                self.routing.is_back(node);
            }
        }
    }

    fn note(&self, what: WhatChanged) {
        let now = clock::now_by_the_wall();
        self.with_seen(|seen| match seen.changes.len() < CHANGES_MAX {
            true => seen.changes.push((now, what)),
            false => seen.ring.changes_beyond += 1,
        });
    }

    fn with_seen(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The same nodes have the same, whichever of them was asked first.
fn is_same(one: &Ring, other: &Ring) -> bool {
    one.by_range().eq(other.by_range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_the_same_whoever_tells_of_it() {
        let node = |n: u8| SocketAddr::from(([127, 0, 0, n], 9042));
        let one = Ring::new(vec![node(1), node(2)], vec![(1, vec![0, 1]), (2, vec![1])]);
        let other = Ring::new(vec![node(2), node(1)], vec![(1, vec![0, 1]), (2, vec![0])]);
        let changed = Ring::new(vec![node(2), node(1)], vec![(1, vec![0, 1]), (2, vec![1])]);
        assert!(is_same(&one, &other) && !is_same(&one, &changed));
        assert!(!is_same(&one, &Ring::new(vec![node(1), node(2)], vec![(1, vec![0, 1])])));
    }
}

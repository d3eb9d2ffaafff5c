//! A world from its seed.

use super::lease::Lease;
use super::life::{Clock, Life, Stepped, Wall};
use super::load::Asked;
use super::{MS, Node, SECOND, TIMEOUT, World, record};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use unblink_cluster::agent::Agent;
use unblink_cluster::coordinator::{Coordinator, GATHER_FOR, Task, Then};
use unblink_cluster::message::{Machine, Reading};
use unblink_core::schedule::Process;

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World::of(seed, None)
    }

    /// So many agents with a share each, which offer nothing, over a bus that loses one word of a hundred and does nothing else.
    pub(crate) fn crowd(seed: u64, agents: u64) -> World {
        World::of(seed, Some(agents))
    }

    /// One in which nothing happens but that the bus is gone for a while, and comes back with nothing that it had kept. The coordinator
    /// had stood still, so that the bus had more than it. Both together are shorter than a lease.
    pub(crate) fn forgetful(seed: u64) -> World {
        let mut world = World::new(seed);
        (world.loss, world.interrupted_at) = (0.0, None);
        for node in &mut world.nodes {
            (node.life, node.parted, node.refuses) = (Life::default(), None, false);
        }
        let from = 4 * SECOND + world.random.next_u64() % (world.asked.length + 8 * SECOND);
        let to = from + MS + world.random.next_u64() % (2 * SECOND);
        let stands_still = Some((from - world.random.next_u64() % (3 * SECOND / 2), from));
        world.life = Life { stands_still, ..Life::default() };
        World { bus_gone: Some((from, to)), forgets: true, ..world }
    }

    fn of(seed: u64, crowd: Option<u64>) -> World {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut below = |n: u64| random.next_u64() % n.max(1);
        let agents = 1 + below(5);
        let agents = crowd.unwrap_or(agents);
        let length = (2 + below(20)) * SECOND;
        let is_hostile = below(3) > 0 && crowd.is_none();
        let mut window = |is_there: bool, longest: u64| {
            is_there.then(|| {
                let from = below(40) * SECOND / 2 + below(SECOND);
                (from, from + below(longest) + MS)
            })
        };
        let bus_gone = window(is_hostile && seed.is_multiple_of(7), 20 * SECOND);
        let coordinator_still = window(is_hostile && seed.is_multiple_of(11), 10 * SECOND);
        let nodes = (0..agents).map(|number| {
            let shares = if crowd.is_some() { 1 } else { 1 + (seed + number) % 3 };
            let trouble = if is_hostile { (seed / 3 + number * 5) % 12 } else { 11 };
            let parted = window(trouble == 0 || trouble == 1, 15 * SECOND);
            let stands_still = window(trouble == 2, 12 * SECOND);
            let dies_at = window(trouble == 3, 1).map(|(from, _)| from);
            // While all make ready, mostly.
            let leaves_at = window(trouble == 4, 1).map(|(from, _)| from / 4);
            let clock = Clock {
                ahead: (seed.wrapping_mul(number + 3) % (200 * SECOND)) as i64 - 100 * SECOND as i64,
                drift_ppm: (seed.wrapping_mul(7 + number) % 101) as i64 - 50,
            };
            Node {
                machine: Agent::new(
                    format!("a{number}"),
                    Machine::new("1", "h".into(), shares as u32),
                    clock.at(0),
                ),
                clock,
                wall: Wall { ahead: 0, step: stepped(seed, number) },
                life: Life { dies_at, back_at: None, stands_still },
                parted,
                prepared_at: None,
                refuses: is_hostile && (seed + number).is_multiple_of(29),
                leaves_at,
                offer: None,
                asked_at: None,
                start_at: None,
                told: 0,
                told_by_wall: 0,
                ready_at: None,
                reading: Reading::default(),
                load: None,
                lease: Lease::default(),
                looked_at: 0,
                stopped_at: None,
                shares,
                ended: false,
                has_left: false,
                was_offered: false,
                said: BTreeMap::new(),
                known_until: 0,
                orphan: None,
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        let dies_at = window(is_hostile && seed % 3 == 1, 1).map(|(from, _)| from);
        // Mostly while leases last, which is 5 s; and sometimes long after.
        let back_at = dies_at
            .filter(|_| seed % 4 != 1)
            .map(|at| at + below([4, 4, 4, 60][(seed / 6 % 4) as usize] * SECOND));
        let clock = Clock { ahead: 0, drift_ppm: (seed % 41) as i64 - 20 };
        let task = task(seed, agents, length);
        let asked = Asked {
            per_s: [5, 11, 20, 30][(seed / 5 % 4) as usize],
            process: if seed / 2 % 4 == 3 { Process::Poisson { seed } } else { Process::Even },
            connections: [1, 2, 8][(seed / 7 % 3) as usize],
            length,
            tolerates: seed / 3 % 2 == 1,
        };
        World {
            now: 0,
            loss: match (crowd, is_hostile) {
                (Some(_), _) => 0.01,
                (None, true) => [0.0, 0.01, 0.1, 0.3][(seed % 4) as usize],
                (None, false) => 0.0,
            },
            doubled: if is_hostile { 0.1 } else { 0.0 },
            delay: [MS / 10, 10 * MS, 100 * MS][(seed / 4 % 3) as usize],
            liar: false,
            bus_gone,
            forgets: seed.is_multiple_of(2),
            keeps: true,
            noticed_at: 0,
            missed: 0,
            coordinator: Coordinator::new(task.clone(), clock.at(0)),
            task,
            kept: (None, None),
            was_resumed: false,
            clock,
            life: Life { dies_at, back_at, stands_still: coordinator_still },
            nodes,
            words: BTreeMap::new(),
            sent: 0,
            kept_pieces: Vec::new(),
            inboxes: BTreeMap::new(),
            place: crowd.is_none().then(record::place),
            crowd: None,
            asked,
            interrupted_at: (seed % 13 == 5 && crowd.is_none()).then(|| below(20 * SECOND)),
            outcome: None,
            seed,
            broken: None,
            random,
        }
    }
}

fn task(seed: u64, agents: u64, length: u64) -> Task {
    Task {
        run: "r".into(),
        signed_by: "UOWN".into(),
        version: "1".into(),
        agents: agents as u32,
        gather_for: GATHER_FOR,
        length: length + TIMEOUT,
        drain: TIMEOUT,
        arguments: vec!["plan.toml".into()],
        files: Vec::new(),
        run_seed: seed,
        shares_max: 1024,
        per_s_max: 0,
        users: None,
        connections: Default::default(),
        part: None,
        command: "c".into(),
        is_first: true,
        is_local: false,
        then: Then::Leave,
        fetched: BTreeMap::new(),
    }
}

/// Of every second machine the wall clock is set once, forward or back, by seconds or by hours.
fn stepped(seed: u64, number: u64) -> Option<(Stepped, i64)> {
    let by = [2, -3, 3_600, -7_200, 90, -1][(seed.wrapping_add(number) / 3 % 6) as usize] * SECOND as i64;
    let moments = [Stepped::AtJoin, Stepped::WhenArmed, Stepped::InRun];
    let moment = moments.get(((seed / 2 + number) % 6) as usize)?;
    Some((*moment, by))
}

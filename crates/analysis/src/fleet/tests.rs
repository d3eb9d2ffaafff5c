//! The planner against closed forms, and what must hold whatever the load is.

use super::*;
use proptest::prelude::*;

const PLAIN: Requests =
    Requests { tls: false, sent_bytes: 0, answer_bytes: 0, per_connection: None, operations: 1 };
const TEN_MILLION: Load = Load {
    per_s: 10e6,
    latency_s: 0.02,
    stall_s: 1.0,
    dealt: Dealt::Streams,
    requests: PLAIN,
    addresses: 1,
    open_before: false,
};
const MACHINE: Machine = Machine { cores: 4, nic_bits_per_s: 10e9 };

fn sized(load: &Load) -> Fleet {
    size(load, &MACHINE, &Constants::default(), None)
}

fn bound(fleet: &Fleet, limit: Limit) -> &Bound {
    fleet.bounds.iter().find(|bound| bound.limit == limit).unwrap()
}

/// 10⁷ connections and 28,232 ports for each agent: 354.2 agents. Poisson's streams have 9,765.625 connections each, of which two
/// fit an agent. 99.2 processors of 4 are 24.8 agents.
#[test]
fn ports_bind_ten_million_a_second_through_a_second() {
    let fleet = sized(&TEN_MILLION);
    assert!(fleet.is_enough);
    assert_eq!((fleet.agents_if_equal, fleet.agents, fleet.workers_per_agent), (Some(355), 512, 2));
    assert_eq!(fleet.largest.streams, Some(2));
    assert_eq!((fleet.largest.connections, fleet.largest.connections_max), (19_532, 28_232));
    assert_eq!(bound(&fleet, Limit::Processor).agents_if_equal, 25);
    assert_eq!((fleet.bounds[0].limit, fleet.bounds[0].agents_if_equal), (Limit::Ports, 355));
    // 47.96 µs of each stream's 9,765.625 are 0.468 of a worker; 479.6 processors are 119.9 agents.
    let opening = bound(&fleet, Limit::Opening);
    assert_eq!((opening.agents_if_equal, opening.stall_s_max, &fleet.if_open_before), (120, None, &None));
    assert!((opening.per_s_max - 1_024e6 / 47.96).abs() < 1e-3, "{opening:?}");
    assert!((fleet.largest.worker_busy_in_stall - 9_765.625 * 47.96e-6).abs() < 1e-12);
    // 28,232 of 19,531.25.
    assert!((fleet.per_s_max - 28_232.0 * 512.0).abs() < 1e-3);
    assert!((fleet.stall_s_max - 1.445_478_4).abs() < 1e-9, "{}", fleet.stall_s_max);
    // Half of each may be busy: 49.6 are with requests, and 0.06 of each agent with its record and its bus.
    assert!((fleet.total.cores - 2.0 * (49.6 + 0.06 * 512.0)).abs() < 1e-9);
    assert!((fleet.largest.cores_busy - 0.06 - 4.96 * 19.531_25e-3).abs() < 1e-9);
    assert_eq!((fleet.total.connections, fleet.total.connections_at_rest), (10_000_000, 200_000));
    assert!((fleet.total.merge_cores_busy - 0.256).abs() < 1e-12);
    // Even arrivals are dealt equally.
    let even = sized(&Load { dealt: Dealt::Equally, ..TEN_MILLION });
    assert_eq!((even.agents, even.workers_per_agent, even.largest.streams), (355, 2, None));
}

/// A stream is 9,765.625/s, and opening a connection for each over TLS takes 165.68 µs: 1.618 of a worker's processor, and no share is
/// less than a stream.
#[test]
fn no_fleet_is_enough_where_connections_are_opened_too_slowly() {
    let load = Load { requests: Requests { tls: true, answer_bytes: 2_048, ..PLAIN }, ..TEN_MILLION };
    let opening_us = 7.53 + 74.6 * 2_048e-6 + 158.0;
    let fleet = sized(&load);
    assert_eq!((fleet.is_enough, fleet.agents, fleet.workers_per_agent), (false, 256, 4));
    let first = &fleet.bounds[0];
    assert_eq!((first.limit, first.agents_if_equal), (Limit::Opening, 415));
    assert!((first.per_s_max - 1_024e6 / opening_us).abs() < 1e-3 && first.per_s_max == fleet.per_s_max);
    assert!((fleet.largest.worker_busy_in_stall - 9_765.625e-6 * opening_us).abs() < 1e-12);
    // A stall that is no longer than answers take opens none, and any longer one does.
    assert_eq!((first.stall_s_max, fleet.stall_s_max), (Some(0.02), 0.02));
    // Equal shares are no smaller: there are 1,024 at most.
    assert_eq!(
        (fleet.agents_if_equal, sized(&Load { dealt: Dealt::Equally, ..load }).is_enough),
        (None, false)
    );
    // 1,024 shares with 9,766 connections each.
    let pool = OpenBefore { agents: 512, connections: 10_000_384 };
    assert_eq!(fleet.if_open_before, Some(pool));

    let before = sized(&Load { open_before: true, ..load });
    assert_eq!((before.is_enough, before.agents, before.workers_per_agent), (true, 512, 2));
    assert!(before.bounds.iter().all(|bound| bound.limit != Limit::Opening));
    assert_eq!((before.largest.connections, &before.if_open_before), (19_532, &None));
    assert_eq!((before.total.connections, before.total.connections_at_rest), (10_000_384, 10_000_384));
    assert!((before.stall_s_max - 1.445_478_4).abs() < 1e-9, "{}", before.stall_s_max);

    assert_eq!(before.auto_max, None);

    let calm = sized(&Load { stall_s: 0.02, ..load });
    assert!(calm.is_enough && calm.bounds.iter().all(|bound| bound.limit != Limit::Opening));
    assert_eq!((calm.stall_s_max, &calm.if_open_before), (0.02, &None));
    assert!(sized(&Load { stall_s: 0.02, open_before: true, ..load }).stall_s_max > 0.02);
}

/// A million over TLS: 165.53 µs each are 165.5 processors, of one each, where 36 agents have ports enough.
#[test]
fn a_fleet_grows_for_opening_connections() {
    let tls = Requests { tls: true, ..PLAIN };
    let load = Load { per_s: 1e6, dealt: Dealt::Equally, requests: tls, ..TEN_MILLION };
    let one = Machine { cores: 1, ..MACHINE };
    let fleet = size(&load, &one, &Constants::default(), None);
    assert_eq!((fleet.is_enough, fleet.agents, fleet.bounds[0].limit), (true, 166, Limit::Opening));
    // 36 times 27,778.
    assert_eq!(fleet.if_open_before, Some(OpenBefore { agents: 36, connections: 1_000_008 }));
    let few = size(&load, &one, &Constants::default(), Some(165));
    let of_few = few.if_open_before.map(|before| before.agents);
    assert_eq!((few.is_enough, few.bounds[0].limit, of_few), (false, Limit::Opening, Some(165)));
    assert!(!size(&load, &one, &Constants::default(), Some(35)).is_enough);
}

/// `auto` stops by itself at 45 % of 28,232 ports, or at 20,000 connections; what is said instead is dealt equally.
#[test]
fn a_stall_may_take_more_connections_than_a_run_opens_by_itself() {
    let fleet = sized(&TEN_MILLION);
    assert_eq!((fleet.largest.connections, fleet.auto_max), (19_532, Some(10_000_384)));
    let by_itself = |stall_s| sized(&Load { stall_s, per_s: 10_000.0, ..TEN_MILLION });
    assert_eq!((by_itself(1.269).agents, by_itself(1.269).auto_max), (1, None));
    assert_eq!((by_itself(1.2691).agents, by_itself(1.2691).auto_max), (1, Some(4 * 3_173)));
    let two_addresses = |stall_s| sized(&Load { stall_s, per_s: 10_000.0, addresses: 2, ..TEN_MILLION });
    assert_eq!(two_addresses(2.0).auto_max, None);
    assert_eq!(two_addresses(2.001).auto_max, Some(4 * 5_003));
}

/// Each share of a pool has as many connections: enough for the share with most streams, of which an agent's others have fewer.
#[test]
fn a_pool_is_dealt_equally() {
    let load = Load { per_s: 3e6, open_before: true, ..TEN_MILLION };
    let dealing = Dealing { dealt: Dealt::Streams, agents: 341, workers: 3 };
    let constants = Constants::default();
    let of = |load: &Load| Bounds::of(load, &MACHINE, &constants).fleet(dealing);
    // 1,023 shares: one has two streams, 5,859.375/s.
    let (before, opened) = (of(&load), of(&Load { open_before: false, ..load }));
    assert_eq!((before.largest.connections, before.total.connections), (3 * 5_860, 1_023 * 5_860));
    assert_eq!((opened.largest.connections, opened.total.connections), (11_719, 3_000_000));
    // 9,410 for each of three workers, of 28,232.
    assert!((bound(&before, Limit::Ports).per_s_max - 9_410.0 * 512.0).abs() < 1e-3);
    assert!((bound(&opened, Limit::Ports).per_s_max - 28_232.0 * 256.0).abs() < 1e-3);
}

/// On paper up to the highest rate: one stream is 97,657 connections then, so one address is not enough for any fleet. A coordinator
/// that merges more agents than there are streams is given, and connections are opened before.
#[test]
fn a_hundred_million_take_four_addresses() {
    let load = Load { per_s: 100e6, open_before: true, ..TEN_MILLION };
    let mut constants = Constants::default();
    constants.set("merge_ms_per_agent_second", 0.4, "here").unwrap();
    let sized = |load: &Load| size(load, &MACHINE, &constants, None);
    let none = sized(&load);
    assert!(!none.is_enough);
    assert_eq!((none.agents, none.largest.streams, none.largest.connections), (1_024, Some(1), 97_657));
    assert!((none.per_s_max - 28_232.0 * 1_024.0).abs() < 1e-3);
    assert!((none.stall_s_max - 28_232.0 * 1_024.0 / 100e6).abs() < 1e-12);
    let four = sized(&Load { addresses: 4, ..load });
    assert!(four.is_enough);
    assert_eq!((four.agents, four.workers_per_agent), (1_024, 1));
    // Over TLS a worker can't carry one stream: 97,656 × 7.53 µs is 0.74 of its processor.
    let tls = sized(&Load { requests: Requests { tls: true, ..PLAIN }, addresses: 4, ..load });
    assert_eq!((tls.is_enough, tls.bounds[0].limit, tls.stall_s_max), (false, Limit::Processor, 0.0));
    assert!((tls.per_s_max - 1_024.0 * 0.5e6 / 7.53).abs() < 1e-3);
    // Nor can it open 97,656 connections a second.
    let opening = sized(&Load { open_before: false, addresses: 4, ..load });
    assert_eq!((opening.is_enough, opening.bounds[0].limit), (false, Limit::Opening));
    assert!((opening.per_s_max - 1_024e6 / 47.96).abs() < 1e-3);
    assert_eq!(opening.if_open_before, Some(OpenBefore { agents: 1_024, connections: 1_024 * 97_657 }));
}

/// Agents have a worker for each core, as they do by themselves: no line takes one for all of them.
#[test]
fn agents_use_all_their_cores() {
    let two_million = Load { per_s: 2e6, ..TEN_MILLION };
    let twenty = size(&two_million, &MACHINE, &Constants::default(), Some(20));
    assert_eq!((twenty.workers_per_agent, twenty.largest.streams), (4, Some(52)));
    let processors = bound(&twenty, Limit::Processor);
    // 80 shares, of which the largest have 13 streams.
    assert!((processors.per_s_max - 0.5e6 / 4.96 * 1_024.0 / 13.0).abs() < 1.0, "{processors:?}");
    assert!(processors.agents_if_equal <= 20 && processors.per_s_max > two_million.per_s);
    let few = size(&Load { per_s: 50e3, stall_s: 0.5, ..TEN_MILLION }, &MACHINE, &Constants::default(), None);
    assert_eq!((few.agents, few.workers_per_agent), (1, 4));
    assert!(few.largest.worker_busy_in_stall < 1.0, "{}", few.largest.worker_busy_in_stall);
    // Three streams for each of 342, which two workers have not. One worker can't open their connections in time.
    let wider = Load { stall_s: 0.96, open_before: true, ..TEN_MILLION };
    let fewer = sized(&wider);
    assert_eq!((fewer.agents, fewer.workers_per_agent, fewer.largest.streams), (342, 1, Some(3)));
    let opening = sized(&Load { open_before: false, ..wider });
    assert_eq!((opening.agents, opening.workers_per_agent, opening.largest.streams), (512, 2, Some(2)));
    assert_eq!(opening.if_open_before, Some(OpenBefore { agents: 342, connections: 342 * 28_125 }));
}

#[test]
fn each_limit_binds_where_it_must() {
    let calm = Load { stall_s: 0.0, ..TEN_MILLION };
    // 25 agents of 4 workers by their processors: 100 shares have 11 streams, which are 107,422/s, too much for one.
    let fleet = sized(&calm);
    assert_eq!((fleet.agents_if_equal, fleet.bounds[0].limit), (Some(25), Limit::Processor));
    // 10 streams are 97,656/s, and 103 shares have no more.
    assert_eq!((fleet.agents, fleet.workers_per_agent, fleet.largest.streams), (26, 4, Some(40)));
    // A body of 2 kB: 2,298 bytes in two frames, 198.24 Gbit/s of 7 each.
    let body = Requests { answer_bytes: 2_048, ..PLAIN };
    let fleet = sized(&Load { requests: body, ..calm });
    assert_eq!((bound(&fleet, Limit::Network).agents_if_equal, fleet.bounds[0].limit), (29, Limit::Network));
    let mut constants = Constants::default();
    constants.set("descriptors", 1_064.0, "here").unwrap();
    // 44 shares: the largest agent has 96 streams, which are 938 connections.
    let fleet = size(&Load { per_s: 10_000.0, ..TEN_MILLION }, &MACHINE, &constants, None);
    assert_eq!(
        (fleet.agents, fleet.bounds[0].limit, fleet.largest.descriptors),
        (11, Limit::Descriptors, 1_002)
    );
}

/// A second of half a processor merges what 1,000 agents report in a second, and the bus takes 87.5 MB of it.
#[test]
fn with_enough_agents_what_all_of_them_meet_breaks_first() {
    let given = |load: &Load, agents| size(load, &MACHINE, &Constants::default(), Some(agents));
    let calm = Load { stall_s: 0.0, ..TEN_MILLION };
    for (agents, is_enough) in [(1_000, true), (1_001, false), (1_024, false)] {
        let fleet = given(&calm, agents);
        let merge = bound(&fleet, Limit::Merge);
        assert_eq!((merge.agents_max, fleet.is_enough), (Some(1_000), is_enough));
        // So many agents with as much to do as these. Those that are merged may do what else they can.
        let expected = if is_enough { fleet.per_s_max } else { 10e6 * 1_000.0 / f64::from(agents) };
        assert!((merge.per_s_max - expected).abs() < 1e-3, "{merge:?}");
        assert_eq!(fleet.bounds[0].limit == Limit::Merge, !is_enough, "{fleet:?}");
    }
    let fleet = given(&calm, 1_001);
    assert_eq!((fleet.per_s_max, fleet.stall_s_max), (0.0, 0.0));
    // Fifty operations: 0.5 + 49 × 0.07 ms for each agent.
    let fifty = Load { requests: Requests { operations: 50, ..PLAIN }, ..calm };
    let fleet = given(&fifty, 200);
    assert_eq!(
        (fleet.bounds[0].limit, fleet.bounds[0].agents_max, fleet.is_enough),
        (Limit::Merge, Some(127), false)
    );
    // Where no fleet is small enough to be merged, the largest that is says what it carries.
    let through_a_stall = Load { stall_s: 1.0, ..fifty };
    let none = sized(&through_a_stall);
    assert!(!none.is_enough && none.agents <= 127 && none.agents_if_equal.is_none());
    assert!(none.per_s_max > 0.0 && none.per_s_max < 10e6);

    // A slow bus: 1 MB/s of 14 kB for each of these agents.
    let mut constants = Constants::default();
    constants.set("bus_bytes_per_s", 1e6, "here").unwrap();
    let fleet = size(&calm, &MACHINE, &constants, Some(512));
    let bytes = PLAIN.bus_bytes(10e6 / 512.0, &constants);
    let first = &fleet.bounds[0];
    assert_eq!((first.limit, first.agents_max), (Limit::Bus, Some((1e6 / bytes) as u64)));
    assert!((first.per_s_max - 10e6 * 1e6 / bytes / 512.0).abs() < 1e-3);
    assert!(!fleet.is_enough && fleet.per_s_max == 0.0, "512 agents say more at any rate");
    // 100 agents may say 10 kB each, which is what they say at 6,918/s.
    let fleet = size(&calm, &MACHINE, &constants, Some(100));
    let per_s = PLAIN.bus_per_s(10e3, &constants);
    assert!((fleet.per_s_max - per_s / fleet.largest.per_s * 10e6).abs() < 1.0, "{fleet:?}");
}

#[test]
fn a_fleet_that_is_given_is_judged() {
    let given = |load: &Load| size(load, &MACHINE, &Constants::default(), Some(400));
    let fleet = given(&Load { open_before: true, ..TEN_MILLION });
    assert!(!fleet.is_enough && fleet.agents == 400);
    // Three streams each for some: 28,232 connections are all that one has.
    assert_eq!((fleet.largest.streams, fleet.bounds[0].limit), (Some(3), Limit::Ports));
    assert!((fleet.stall_s_max - 28_232.0 / (10e6 * 3.0 / 1_024.0)).abs() < 1e-9);
    // One worker opens connections for 7.1 million a second then, two of two streams each have ports for 7.2.
    let fleet = given(&TEN_MILLION);
    assert_eq!((fleet.workers_per_agent, fleet.largest.streams), (2, Some(4)));
    assert_eq!((fleet.bounds[0].limit, fleet.agents_if_equal), (Limit::Ports, Some(355)));
    assert!((fleet.per_s_max - 28_232.0 * 256.0).abs() < 1e-3);
    assert!(size(&TEN_MILLION, &MACHINE, &Constants::default(), Some(512)).is_enough);
    assert!(size(&TEN_MILLION, &MACHINE, &Constants::default(), Some(1_000)).is_enough);
}

fn any_load() -> impl Strategy<Value = Load> {
    let requests = (any::<bool>(), 0u64..100_000, 0u64..100_000, proptest::option::of(1u64..1_000), 1u32..50)
        .prop_map(|(tls, sent_bytes, answer_bytes, per_connection, operations)| Requests {
            tls,
            sent_bytes,
            answer_bytes,
            per_connection,
            operations,
        });
    let dealt = prop_oneof![Just(Dealt::Streams), Just(Dealt::Equally)];
    (2.0..8.0f64, 1e-4..2.0f64, 0.0..5.0f64, dealt, requests, 1u32..20, any::<bool>()).prop_map(
        |(magnitude, latency_s, stall_s, dealt, requests, addresses, open_before)| Load {
            per_s: 10f64.powf(magnitude).round(),
            latency_s,
            stall_s,
            dealt,
            requests,
            addresses,
            open_before,
        },
    )
}

fn any_machine() -> impl Strategy<Value = Machine> {
    (1u32..64, 1e9..1e11f64).prop_map(|(cores, nic_bits_per_s)| Machine { cores, nic_bits_per_s })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn more_never_needs_fewer_agents(load in any_load(), machine in any_machine(), more in 1.0..3.0f64) {
        let constants = Constants::default();
        let of = |load: &Load, machine: &Machine| {
            let fleet = size(load, machine, &constants, None);
            if fleet.is_enough { u64::from(fleet.agents) } else { u64::MAX }
        };
        let agents = of(&load, &machine);
        let mut body = load.requests;
        body.answer_bytes = (body.answer_bytes as f64 * more) as u64;
        for harder in [
            Load { per_s: load.per_s * more, ..load },
            Load { stall_s: load.stall_s * more, ..load },
            // Answers that take longer than the stall would open no connection in it.
            Load { latency_s: load.latency_s * more, stall_s: load.stall_s * more, ..load },
            Load { requests: Requests { tls: true, ..load.requests }, ..load },
            Load { requests: body, ..load },
        ] {
            prop_assert!(of(&harder, &machine) >= agents, "{harder:?}");
        }
        for easier in [
            Machine { cores: machine.cores + 1, ..machine },
            Machine { nic_bits_per_s: machine.nic_bits_per_s * more, ..machine },
        ] {
            prop_assert!(of(&load, &easier) <= agents, "{easier:?}");
        }
        let wider = of(&Load { addresses: load.addresses + 1, ..load }, &machine);
        prop_assert!(wider <= agents, "{} with another address", wider);
    }

    #[test]
    fn a_fleet_that_is_enough_is_the_smallest(load in any_load(), machine in any_machine()) {
        let constants = Constants::default();
        let fleet = size(&load, &machine, &constants, None);
        let judged = |agents| size(&load, &machine, &constants, Some(agents)).is_enough;
        prop_assert!(u64::from(fleet.agents) * u64::from(fleet.workers_per_agent) <= STREAMS);
        prop_assert!(fleet.workers_per_agent <= machine.cores);
        prop_assert_eq!(judged(fleet.agents), fleet.is_enough);
        if fleet.is_enough {
            prop_assert!(fleet.agents_if_equal.is_some_and(|equal| equal <= fleet.agents));
            prop_assert!(fleet.if_open_before.as_ref().is_none_or(|before| before.agents < fleet.agents));
            prop_assert!(fleet.largest.connections <= fleet.largest.connections_max);
            let opens = !load.open_before && load.stall_s > load.latency_s;
            prop_assert!(!opens || fleet.largest.worker_busy_in_stall <= 1.0 + 1e-6);
            for fewer in [fleet.agents - 1, fleet.agents / 2] {
                prop_assert!(fewer == 0 || !judged(fewer), "{} would do", fewer);
            }
            // What it carries is no more than its bounds say: it breaks beyond, and not before.
            prop_assert!(fleet.per_s_max >= load.per_s * (1.0 - 1e-6));
            prop_assert!(fleet.stall_s_max >= load.stall_s.max(load.latency_s) * (1.0 - 1e-6));
        }
    }

    #[test]
    fn what_a_fleet_carries_at_most_it_carries(load in any_load(), machine in any_machine()) {
        let constants = Constants::default();
        let fleet = size(&load, &machine, &constants, None);
        let carries = |load: Load| {
            let bounds = Bounds::of(&load, &machine, &constants);
            let dealing = Dealing { dealt: load.dealt, agents: fleet.agents, workers: fleet.workers_per_agent };
            bounds.fleet(dealing).is_enough
        };
        let rate = |part: f64| carries(Load { per_s: fleet.per_s_max * part, ..load });
        prop_assert_eq!([rate(0.999), rate(1.001)], [true, false]);
        if fleet.stall_s_max > 0.0 && fleet.bounds.iter().all(|b| b.stall_s_max.is_some() || b.per_s_max > load.per_s) {
            let stall = |part: f64| carries(Load { stall_s: fleet.stall_s_max * part, ..load });
            prop_assert_eq!([stall(0.999), stall(1.001)], [true, false]);
        }
    }
}

/// One agent that has next to nothing to do is not kept from more by how many of it could be merged.
#[test]
fn few_requests_do_not_make_merging_the_first_limit() {
    for per_s in [1.0, 20.0, 5_000.0] {
        let fleet = size(&Load { per_s, ..TEN_MILLION }, &MACHINE, &Constants::default(), Some(1));
        let first = &fleet.bounds[0];
        assert_eq!((first.limit, first.per_s_max), (Limit::Ports, 28_232.0), "{per_s}");
        assert!(bound(&fleet, Limit::Merge).per_s_max >= fleet.per_s_max, "{per_s}");
    }
}

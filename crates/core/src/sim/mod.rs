//! A deterministic world on virtual time around the real dispatcher and the real recorder.
//!
//! A simulation is a plan (what is offered), a server, a network, the machine of the load generator and a
//! seed. Nothing here reads a clock or starts a thread: a minute of load takes milliseconds, and the same
//! seed gives the same intervals to the last bit.

mod client;
mod content;
mod crowding;
mod honest;
mod intervals;
mod lasting;
mod limit;
mod random;
mod server;
mod service;
mod tool;
mod users;
mod watch;
mod window;
mod world;

pub use client::{ClientSpec, simulate_client, simulate_client_watched};
pub use content::{Content, Holds, Hops};
pub use crowding::Crowding;
pub use lasting::LastingWorld;
pub use limit::Limit;
pub use random::Random;
pub use server::ServerSpec;
pub use service::{EventSpec, Service};
pub use tool::{ClockFrom, Correct, Late, Pacing, ToolSpec};
pub use users::{Return, UsersSpec};
pub use watch::{Sight, SimPart, Taken, Watch};
pub use window::{RandomWindows, Windows};

use crate::dispatch::{Dispatch, Policy, Room};
use crate::load::Load;
use crate::plan::Plan;
use crate::record::Interval;
use crate::time::{Instant, Nanos};
use honest::Honest;
use intervals::Intervals;
use server::Server;
use std::cell::Cell;
use std::ops::ControlFlow;
use world::{Client, World};

/// The way between client and server.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NetworkSpec {
    /// One way.
    pub latency: Nanos,
    /// Mean of an exponential time that is added to each way.
    pub jitter: Nanos,
}

/// The machine of the load generator.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct GeneratorSpec {
    /// Stretches in which it does nothing at all.
    pub pauses: Option<Windows>,
    /// Its processor's time for each event and each request.
    pub cpu_per_event: Nanos,
}

/// Everything around the client.
#[derive(Clone, PartialEq, Debug)]
pub struct WorldSpec {
    /// The target; of several origins the first, and each that has no server of its own.
    pub server: ServerSpec,
    /// The servers of the other origins, in order.
    pub others: Vec<ServerSpec>,
    /// What the answers to steps of journeys say, whichever server gives them.
    pub content: Content,
    /// The way to it.
    pub network: NetworkSpec,
    /// The client's machine.
    pub generator: GeneratorSpec,
    /// What a connection takes at once. Load tools other than the real dispatcher have one request on each.
    pub room: Room,
    /// Of every draw in the world; that of a Poisson schedule is the plan's.
    pub seed: u64,
}

impl WorldSpec {
    /// A server behind a perfect network, loaded from a perfect machine.
    pub fn new(server: ServerSpec) -> WorldSpec {
        let (network, generator) = (NetworkSpec::default(), GeneratorSpec::default());
        let (others, content) = (Vec::new(), Content::default());
        WorldSpec { server, others, content, network, generator, room: Room::SINGLE, seed: 1 }
    }
}

impl WorldSpec {
    /// A server for each origin of `plan`. They draw independently.
    fn servers(&self, plan: &Plan) -> Vec<Server> {
        let specs = (0..plan.spec().origins.count()).map(|origin| match origin.checked_sub(1) {
            Some(other) => self.others.get(other).unwrap_or(&self.server),
            None => &self.server,
        });
        let seeds = (0..).map(|origin: u64| self.seed ^ origin << 56);
        specs.zip(seeds).map(|(spec, seed)| Server::new(spec.clone(), ZERO, seed)).collect()
    }
}

/// How a simulated run ended, beside what its intervals say.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SimSummary {
    /// The last `ok` arrival, after the schedule's zero.
    pub last_ok: Option<Nanos>,
    /// Events that client and server have seen.
    pub events: u64,
}

/// The schedule's zero: a fixed pool is opened before it.
pub const ZERO: Instant = Instant(1 << 40);

/// Runs `plan` against `world` with one worker and hands every interval to `each`.
pub fn simulate(plan: &Plan, world: &WorldSpec, each: impl FnMut(&Interval)) -> SimSummary {
    simulate_part(plan, world, SimPart::default(), (), each)
}

/// The same for one of several workers, for a run that is ended early, or under the eyes of `watch`.
pub fn simulate_part(
    plan: &Plan,
    world: &WorldSpec,
    part: SimPart,
    watch: impl Watch,
    each: impl FnMut(&Interval),
) -> SimSummary {
    let intervals = Intervals::new(plan, ZERO, each);
    let mut around = World::new(world, world.servers(plan), ZERO, world.seed, watch);
    drive_load(plan, part, &mut around, ZERO, None, intervals).summary
}

/// The same whole, for as long as `look` lets the load go on. Gives, beside the summary, for how long it was offered,
/// after the schedule's zero.
pub fn simulate_until(
    plan: &Plan,
    world: &WorldSpec,
    watch: impl Watch,
    look: impl FnMut(&Interval) -> ControlFlow<()>,
) -> (SimSummary, Nanos) {
    let mut around = World::new(world, world.servers(plan), ZERO, world.seed, watch);
    let driven = drive_until(plan, &mut around, ZERO, look);
    (driven.summary, driven.offered(plan, ZERO))
}

/// How the load of a run went to its end.
struct Driven {
    summary: SimSummary,
    /// When nothing was left to do.
    end: Instant,
    /// When the load was ended by whoever looks on.
    ended: Option<Instant>,
}

impl Driven {
    /// For how long the load was offered.
    fn offered(&self, plan: &Plan, zero: Instant) -> Nanos {
        self.ended.map_or(plan.load_length(), |ended| ended.since(zero).min(plan.load_length()))
    }
}

/// The whole of `plan`, for as long as `look` lets the load go on.
fn drive_until<W: Watch>(
    plan: &Plan,
    world: &mut World<W>,
    zero: Instant,
    mut look: impl FnMut(&Interval) -> ControlFlow<()>,
) -> Driven {
    let enough = Cell::new(false);
    let each = |interval: &Interval| enough.set(look(interval).is_break() || enough.get());
    drive_load(plan, SimPart::default(), world, zero, Some(&enough), Intervals::new(plan, zero, each))
}

fn drive_load<W: Watch, F: FnMut(&Interval)>(
    plan: &Plan,
    part: SimPart,
    world: &mut World<W>,
    zero: Instant,
    enough: Option<&Cell<bool>>,
    intervals: Intervals<F>,
) -> Driven {
    if let Some(load) = plan.journeys_load(zero, part.worker) {
        return drive(plan, part, world, zero, enough, load, intervals);
    }
    match (plan.open_load(zero, part.worker), plan.closed_load(zero, part.worker)) {
        (Some(load), _) => drive(plan, part, world, zero, enough, load, intervals),
        (None, Some(load)) => drive(plan, part, world, zero, enough, load, intervals),
        (None, None) => Driven { summary: SimSummary::default(), end: zero, ended: None },
    }
}

fn drive<L: Load, W: Watch, F: FnMut(&Interval)>(
    plan: &Plan,
    part: SimPart,
    world: &mut World<W>,
    zero: Instant,
    enough: Option<&Cell<bool>>,
    load: L,
    intervals: Intervals<F>,
) -> Driven {
    let stop = part.stop.map(|stop| zero + stop);
    let policy = Policy { room: world.room(), ..plan.policy(part.worker) };
    let intervals = intervals.with_room(policy.room.places);
    let dispatch = Dispatch::new(policy);
    let mut client = Honest { dispatch, intervals, looked: zero, stop, enough, ended: None };
    if let Some(stop) = stop {
        // Known ahead, since a turn may send beyond it before the next one begins.
        client.intervals.recorder().end_load(stop);
    }
    client.intervals.recorder().set_streams(vec![world.has_events()]);
    // A fixed pool is opened before the start.
    world.tick(&mut client, Instant(0));
    world.run(&mut client, Instant(0), |client| !client.dispatch.is_prewarming());
    client.dispatch.start(load);
    let end = world.run(&mut client, zero, Client::is_finished);
    let gauges = client.dispatch.gauges();
    client.intervals.finish(end, gauges);
    let last_ok = client.intervals.recorder().last_ok().map(|at| at.since(zero));
    let ended = client.ended;
    Driven { summary: SimSummary { last_ok, events: world.events() }, end, ended }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Pool;
    use crate::plan::{LoadSpec, PlanSpec};
    use crate::schedule::{Phase, Process, Rate};

    /// However many answers end in a reset after their first events, and whoever had given them up before.
    #[test]
    fn nothing_is_remembered_of_answers_that_are_over() {
        for timeout in [Nanos::from_secs(30), Nanos::from_millis(120)] {
            let plan = Plan::new(PlanSpec {
                drain: Some(Nanos::from_secs(30)),
                ..PlanSpec::plain(
                    LoadSpec::Open {
                        phases: vec![Phase::hold(Rate::per_second(20), Nanos::from_secs(20))],
                        process: Process::Even,
                    },
                    Pool::Auto { max: 1_000 },
                    timeout,
                )
            });
            let plan = plan.expect("a plan");
            let events = Some(EventSpec { count: 10, gap: Service::Constant(Nanos::from_millis(20)) });
            let service = Service::Constant(Nanos::from_millis(10));
            let server = ServerSpec { events, reset_one_in: 3, ..ServerSpec::new(service) };
            let spec = WorldSpec::new(server);
            let mut world = World::new(&spec, spec.servers(&plan), ZERO, spec.seed, ());
            let mut resets = 0;
            let intervals = Intervals::new(&plan, ZERO, |interval: &Interval| {
                resets += interval.bank.counters.measured.failed_total();
            });
            drive_load(&plan, SimPart::default(), &mut world, ZERO, None, intervals);
            assert!(resets > 50 || timeout < Nanos::from_secs(1), "{resets}");
            // What the run's end leaves open is no more than is under way at once.
            assert!(world.heard() <= 5, "{} with a timeout of {timeout:?}", world.heard());
        }
    }
}

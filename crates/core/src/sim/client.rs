//! Simulated clients other than the real dispatcher.

use super::intervals::Intervals;
use super::tool::{Correct, Tool, ToolSpec};
use super::users::{Users, UsersSpec};
use super::watch::Watch;
use super::world::{Client, World};
use super::{SimSummary, WorldSpec, ZERO};
use crate::plan::Plan;
use crate::record::Interval;
use crate::time::{Instant, Nanos};

/// Who offers the load of an open plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientSpec {
    /// A load tool, right or wrong.
    Tool(ToolSpec),
    /// Users who try again.
    Users(UsersSpec),
}

/// Runs the open `plan` with `client` in the place of the dispatcher, and hands every interval to `each`. A closed
/// plan has no schedule that a tool could keep, and one with several loads has no single one; both give an empty run.
pub fn simulate_client(
    plan: &Plan,
    world: &WorldSpec,
    client: &ClientSpec,
    each: impl FnMut(&Interval),
) -> SimSummary {
    simulate_client_watched(plan, world, client, (), each)
}

/// The same under the eyes of `watch`.
pub fn simulate_client_watched(
    plan: &Plan,
    world: &WorldSpec,
    client: &ClientSpec,
    watch: impl Watch,
    mut each: impl FnMut(&Interval),
) -> SimSummary {
    match client {
        ClientSpec::Users(spec) => users(plan, world, *spec, watch, each),
        ClientSpec::Tool(spec) if spec.correct == Correct::Backfill => {
            // The interval is known after the run alone, and the corrected values stand in it all the same.
            let (_, first) = tool(plan, world, *spec, None, (), |_| {});
            let each_sent = first.answered / u64::from(spec.workers.unwrap_or(1).max(1));
            let runtime = if spec.by_count { first.end } else { plan.load_length() };
            let interval = runtime.0.checked_div(each_sent).map(Nanos);
            tool(plan, world, *spec, interval, watch, &mut each).0
        }
        ClientSpec::Tool(spec) => tool(plan, world, *spec, None, watch, each).0,
    }
}

/// What a first pass tells the second.
#[derive(Clone, Copy, Default)]
struct Pass {
    /// Whole answers.
    answered: u64,
    /// When the last one came, after the schedule's zero.
    end: Nanos,
}

fn tool(
    plan: &Plan,
    world: &WorldSpec,
    spec: ToolSpec,
    interval: Option<Nanos>,
    watch: impl Watch,
    each: impl FnMut(&Interval),
) -> (SimSummary, Pass) {
    let Some(schedule) = plan.schedule() else { return Default::default() };
    let intervals = Intervals::new(plan, ZERO, each);
    let mut client = Tool::new(spec, plan, schedule, interval, ZERO, intervals);
    let (end, events) = drive(plan, world, &mut client, watch);
    let gauges = client.gauges(end);
    client.intervals.finish(end, gauges);
    let pass = Pass { answered: client.answered(), end: end.since(ZERO) };
    (summary(&mut client.intervals, events), pass)
}

fn users(
    plan: &Plan,
    world: &WorldSpec,
    spec: UsersSpec,
    watch: impl Watch,
    each: impl FnMut(&Interval),
) -> SimSummary {
    let Some(load) = plan.open_load(ZERO, 0) else { return SimSummary::default() };
    let mut client = Users::new(spec, plan, load, Intervals::new(plan, ZERO, each));
    let (end, events) = drive(plan, world, &mut client, watch);
    let gauges = client.gauges();
    client.intervals.finish(end, gauges);
    summary(&mut client.intervals, events)
}

fn drive<C: Client>(plan: &Plan, world: &WorldSpec, client: &mut C, watch: impl Watch) -> (Instant, u64) {
    let mut around = World::new(world, world.servers(plan), ZERO, world.seed, watch);
    let end = around.run(client, ZERO, Client::is_finished);
    (end, around.events())
}

fn summary<F: FnMut(&Interval)>(intervals: &mut Intervals<F>, events: u64) -> SimSummary {
    SimSummary { last_ok: intervals.recorder().last_ok().map(|at| at.since(ZERO)), events }
}

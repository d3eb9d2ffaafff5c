//! From flags to a job: everything is checked here, before anything is sent.

use super::guards::{self, Guards};
use super::held;
use super::job::{AnyJob, Whole};
use super::objectives::Asked;
use super::pool::{planned_pool, pool};
use super::requests::{Requests, requests};
use super::setup;
use super::share as of_share;
use super::version::{agreed, check_streams, check_web_socket};
use super::way::Ways;
use super::{
    by_answers, codes, cql, cross_check, events, failures, grpc, objectives, postgres, redis, ring, watch,
};
use crate::args::run::RunArgs;
use crate::args::steady::Warmup;
use crate::errors::refuse;
use crate::guard::Guard;
use crate::request::version::{Operations, Version};
use crate::request::{lets, share};
use crate::{config, environment, journey, load, precision, retry, script, secrets, values_sent};
use anyhow::Result;
use unblink_analysis::steady::INTERVALS_MIN;
use unblink_artifact::document::{self, MachineLimit, TracePlan};
use unblink_artifact::header::{ConnectionPlan, OriginPlan, RunHeader};
use unblink_core::dispatch::Pool;
use unblink_core::mix::Mix;
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanSpec, highest_together};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use unblink_engine::limits::Limits;
use unblink_engine::pacing::Pacing;
use unblink_engine::target::Target;
use unblink_report::format;
use unblink_workload::{Globals, Values};

/// A thread offers no more than this unless told to: above it one thread is not enough.
const RATE_PER_THREAD: u64 = 50_000;

/// A run that can start.
pub(crate) struct Prepared {
    pub job: AnyJob,
    /// How the ring of its cluster is read, if requests go by it.
    pub ring: Option<ring::Reading>,
    /// Without the start time, which the engine sets.
    pub header: RunHeader,
    /// One plain line each, to print before the run.
    pub target_line: String,
    /// What is asked beside the load.
    pub setup: Option<super::setup::Asked>,
    /// What shows requests that fail.
    pub showing: Option<failures::Showing>,
    /// What the targets say of themselves before the run.
    pub health: grpc::Health,
    /// No load on these targets may have a higher rate.
    pub rate_cap: Option<Rate>,
    /// What may stop it.
    pub guards: Guards,
    /// What is asked of the service's own metrics.
    pub cross_check: Option<cross_check::CrossCheck>,
    /// When t = 0 is to be, if that was said.
    pub start_at: Option<jiff::Timestamp>,
}

/// Checks `args` and turns them into a job that offers no more than the user's config file allows.
pub(crate) fn prepare(args: &RunArgs) -> Result<Prepared> {
    prepare_under(args, config::max_rate()?)
}

/// The same under another cap on the rate, or under none.
pub(crate) fn prepare_under(args: &RunArgs, rate_cap: Option<Rate>) -> Result<Prepared> {
    check_spoken(args)?;
    let source = script::read(args)?;
    // What agents offer, they check against their own.
    let limits = match args.agents.agents {
        Some(_) => unblink_engine::limits::Limits::OF_OTHERS,
        None => unblink_engine::limits::raise(),
    };
    let (mut requests, Ways { targets, terms, moved, guard }) = agreed(args, &limits, Guard::read()?)?;
    source.iter().for_each(|source| requests.made_by(source));
    let rate_cap = [rate_cap, terms.rate_cap].into_iter().flatten().min();
    let (plan, limited_by) = plan(args, &requests, &limits, &targets, rate_cap)?;
    terms.check_end(plan.load_length())?;
    let ring = ring::reading(args, &guard, &terms);
    let guards = guards::prepare(args, &plan, rate_cap, moved, &limits)?;
    let operations = requests.operations_apart(&plan);
    lets::refuse_unused(unused(args, &requests)?.as_deref())?;
    let trace_seed = of_share::run_seed(args).unwrap_or_else(lets::unique);
    let values = requests.values(&plan, args.load.seed)?.map(|values| values.tracing(trace_seed));
    of_share::check_values(args, values.as_ref())?;
    let of_all =
        script::Threads { here: plan.threads(), shares: plan.shares(), stops: of_share::stops(args) };
    let script = source.map(|source| source.open(&targets[0], of_all, &guard, &terms, &args.load));
    let script = script.transpose()?;
    of_share::check_script(args, script.as_deref())?;
    let expects = match script.as_ref().is_some_and(|script| script.hears()) {
        true => requests.expects().hearing_all(),
        false => requests.expects(),
    };
    let in_journeys = journeys(args, &requests, &operations);
    let asked = objectives::asked(
        &args.objectives,
        &args.figure_rules(),
        &requests,
        &plan,
        &operations,
        in_journeys,
    )?;
    let objectives = (&asked.slos.slo[..], &asked.rules[..]);
    events::check(&args.load, objectives, requests.has_events(), "--stream")?;
    let whole = Whole { plan, targets, values, script: script.clone(), expects };
    let version = requests.operations.version();
    let rendered = std::mem::replace(&mut requests.operations, Operations::new(version));
    let job = AnyJob::new(whole, rendered, &args.target);
    let mut header = header(args, &job, &requests, operations, &limits, &asked);
    for OriginPlan { connections, .. } in &mut header.origins {
        connections.limited_by = limited_by;
        connections.by_default = args.pool_by_default().map(|(database, _)| database);
        connections.streams = job.streams();
        connections.web_socket = job.web_socket(&args.target.web_socket);
        connections.redis = job.redis();
        connections.postgres = job.postgres();
        connections.cql = job.cql();
        connections.age_ns = args.target.connection_age.map(|age| age.0);
        connections.resolve_every_ns = args.target.resolve_every.map(|every| every.0);
    }
    header.plan.traces = traces(args, &job, trace_seed)?;
    header.plan.values.extend(script.as_deref().map(script::describe));
    header.plan.by_answers = by_answers::of(args, &job, script.as_deref());
    header.watch = watch::plan(args)?;
    let metric_rules = args.metric_rules().into_iter().map(|(_, rule)| rule.to_string());
    header.objectives.abort_on.extend(metric_rules);
    let target_line = match header.target_count() {
        1 => format!("{} {}", header.targets[0].method, header.targets[0].url),
        n => {
            let order = match header.plan.order {
                None => "in turn",
                Some(document::Order::Shuffled { .. }) => "shuffled",
                Some(document::Order::Random { .. }) => "in random order",
            };
            format!("{n} targets at {}, {order}", requests.places())
        }
    };
    let globals = job.values().map(|values| values.globals().clone());
    let captured = args.setup.first().map_or(0, |one| one.request.lets.captured_count());
    let showing = failures::prepare(args, job.plan(), globals.clone())?;
    let setup = setup::prepare(args, &limits, &globals.unwrap_or_else(|| Globals::new(captured).into()))?;
    let health = grpc::Health::of(args, &requests.origin_of, job.targets())?;
    let cross_check = cross_check::prepare(args, job.plan().load_length(), &limits)?;
    header.agents = of_share::agent(args, job.plan(), &header)?;
    let start_at = args.share.start_at;
    Ok(Prepared {
        job,
        ring,
        header,
        target_line,
        setup,
        showing,
        health,
        rate_cap,
        guards,
        cross_check,
        start_at,
    })
}

/// Refuses what the protocol of the run does not know.
fn check_spoken(args: &RunArgs) -> Result<()> {
    check_web_socket(args)?;
    grpc::check(args)?;
    cql::check(args)?;
    redis::check(args)?;
    postgres::check(args)?;
    held::check(args)?;
    codes::check(args)
}

/// What flags come to, as far as that can be told without the network and this machine's limits.
pub(crate) struct Planned {
    pub plan: Plan,
    /// The load in one line.
    pub summary: String,
    /// As HTTP/1.1 writes them.
    pub requests: Requests,
    /// What differs from one arrival to the next, if anything does.
    pub values: Option<Values>,
    /// The first named value that nothing uses.
    pub unused: Option<String>,
    /// Of what is drawn.
    pub seed: u64,
    /// The share of each request that stands alone and of each journey, by name, if they were given shares.
    pub shares: Vec<(String, f64)>,
}

/// What `args` come to.
pub(crate) fn planned(args: &RunArgs) -> Result<Planned> {
    check_spoken(args)?;
    match args.other_than_http() {
        None => check_streams(&args.target)?,
        Some(Version::Grpc) => grpc::check_with_files(args)?,
        // What it alone refuses.
        Some(version) => drop(requests(args, version)?),
    }
    if args.target.http.stated() == Some(Version::Two) {
        // What HTTP/2 alone refuses.
        requests(args, Version::Two)?;
    }
    let mut requests = requests(args, Version::One)?;
    script::read(args)?.iter().for_each(|source| requests.made_by(source));
    cross_check::check(args)?;
    let threads = args.threads().unwrap_or(1);
    let pool = planned_pool(args, threads);
    let plan = core_plan(args, &requests, load_spec(args, &requests)?, pool, threads, config::max_rate()?)?;
    let unused = unused(args, &requests)?;
    let values = requests.values(&plan, args.load.seed)?;
    let operations = requests.operations_apart(&plan);
    let in_journeys = journeys(args, &requests, &operations);
    let rules = args.figure_rules();
    objectives::asked(&args.objectives, &rules, &requests, &plan, &operations, in_journeys)?;
    let objectives = (&args.objectives.slo[..], &rules[..]);
    events::check(&args.load, objectives, requests.has_events(), "--stream")?;
    let (described, _) = describe(args, &plan, &requests.targets);
    let names = requests.targets.iter().take(requests.plain).map(|target| target.name.clone());
    let names = names.chain(args.journeys.iter().map(|journey| journey.name.clone()));
    let shares = requests.weights.iter().flat_map(|weights| share::parts(weights));
    let shares = names.zip(shares).collect();
    Ok(Planned { plan, summary: described.summary, requests, values, unused, seed: args.load.seed, shares })
}

/// The first named value that nothing uses. A file of targets may stand in the place of the requests that do.
fn unused(args: &RunArgs, requests: &Requests) -> Result<Option<String>> {
    if args.targets.is_some() {
        return Ok(None);
    }
    let setup = args.setup.iter().map(|one| Ok(one.request.render(Version::One)?.1));
    let setup = setup.collect::<Result<Vec<_>>>()?;
    Ok(lets::unused(&requests.lets, requests.compositions.iter().chain(&setup).flatten()))
}

/// The plan, and what this machine lacks for more connections.
fn plan(
    args: &RunArgs,
    requests: &Requests,
    limits: &Limits,
    targets: &[Target],
    rate_cap: Option<Rate>,
) -> Result<(Plan, Option<MachineLimit>)> {
    let load = load_spec(args, requests)?;
    let rate_max_per_s = match &load {
        LoadSpec::RecordedUsers(users) => users.recorded().most_in_a_second() as f64,
        load => highest_together(&load.open_parts()),
    };
    let wanted = args.threads().unwrap_or_else(|| threads(rate_max_per_s, &load));
    let (pool, limited_by) = pool(args, load.users(), limits, targets, wanted)?;
    let (Pool::Auto { max } | Pool::Fixed { n: max }) = pool;
    let threads = args.threads().unwrap_or(wanted.min(max));
    Ok((core_plan(args, requests, load, pool, threads, rate_cap)?, limited_by))
}

/// What offers the load. Loads name their requests as objectives do.
fn load_spec(args: &RunArgs, requests: &Requests) -> Result<LoadSpec> {
    if args.load.replay.recorded.replay.is_none() && !args.target.path_template.is_empty() {
        refuse!(
            ["path-template"],
            "--path-template is about the paths of a replay: add --replay TRACE, or leave it out"
        );
    }
    if args.load.replay.recorded.replay.is_some() && args.precision.precision.is_some() {
        refuse!(
            ["precision", "replay"],
            "--replay and --precision exclude each other: the trace says how long it lasts"
        );
    }
    let mut load = precision::lasting(&args.precision, &args.load)?;
    for name in load.loads.iter_mut().flat_map(|one| &mut one.only) {
        *name = requests.called(name);
    }
    load::spec(&load, &requests.targets)
}

fn core_plan(
    args: &RunArgs,
    requests: &Requests,
    load: LoadSpec,
    pool: Pool,
    threads: u32,
    rate_cap: Option<Rate>,
) -> Result<Plan> {
    of_share::check_dealt(args, pool, load.users())?;
    let plan = load::plan(PlanSpec {
        load,
        warmup: args.load.warmup.planned(),
        limit: args.load.requests,
        timeout: args.load.timeout,
        drain: args.load.drain,
        pool,
        threads,
        retry: retry::spec(&args.load.retry, args.load.seed)?,
        idempotent: requests.idempotent.clone(),
        mix: Mix {
            journeys: journey::specs(
                &args.journeys,
                args.load.seed,
                args.under_way.journeys_max,
                &requests.redirected,
            ),
            ..share::mix(requests.weights.as_deref(), args.target.order, args.load.seed)
        },
        origins: args.paced(
            Origins::new(&requests.origin_of)
                .expect("no more origins than a run may have")
                .with_sockets(&requests.sockets),
        ),
        rate_cap: [args.load.max_rate, rate_cap].into_iter().flatten().min(),
    })?;
    let plan = of_share::of_plan(args, plan)?;
    if args.load.warmup == Warmup::Auto {
        if plan.journeys().is_some() {
            refuse!(
                ["warmup"],
                "--warmup auto would cut through journeys: give the warm-up a time (journeys that begin in it are left out)"
            );
        }
        check_transient(&plan)?;
    }
    Ok(plan)
}

fn describe(
    args: &RunArgs,
    plan: &Plan,
    names: &[document::Requested],
) -> (document::RunPlan, Vec<document::LoadPlan>) {
    let (mut described, loads) = load::describe(&args.load, plan, names);
    described.pacing = Some(match args.target.pacing.mode() {
        Pacing::Precise => document::Pacing::Precise,
        Pacing::Balanced => document::Pacing::Balanced,
        Pacing::Frugal => document::Pacing::Frugal,
    });
    precision::describe(&args.precision, &mut described);
    if let (Some(replay), Some(found)) = (&mut described.replay, args.load.replay.known(args.load.seed)) {
        replay.made_up_ids = found.made_up_ids(&args.target.path_template);
    }
    (described, loads)
}

/// The end of a transient can only be found in a load that holds, and not in a short one.
pub(crate) fn check_transient(plan: &Plan) -> Result<()> {
    let parts = plan.spec().load.open_parts();
    let holds = |part: &OpenPart| {
        let first = part.phases[0].from;
        part.start == Nanos::ZERO && part.phases.iter().all(|phase| [phase.from, phase.to] == [first; 2])
    };
    let length = |part: &OpenPart| part.phases.iter().map(|phase| phase.duration.0).sum::<u64>();
    if parts.iter().any(|part| !holds(part) || length(part) != length(&parts[0])) {
        refuse!(
            ["warmup", "rate"],
            "--warmup auto needs one constant rate: a ramp or steps have no steady state, nor have loads that begin or end \
             at different times; give it a time"
        );
    }
    let needed = Nanos::from_secs(INTERVALS_MIN as u64);
    if plan.load_length() < needed {
        refuse!(
            ["warmup", "duration"],
            "--warmup auto needs at least {} of load, this run has {}: measure for longer (-d), or give --warmup \
             a time",
            format::plain(&format::moment(needed.0)),
            format::plain(&format::moment(plan.load_length().0))
        );
    }
    Ok(())
}

fn threads(rate_per_s: f64, load: &LoadSpec) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let wanted = (rate_per_s / RATE_PER_THREAD as f64).ceil().max(1.0).min(cores as f64) as u32;
    load.users().map_or(wanted, |users| wanted.min(users))
}

fn header(
    args: &RunArgs,
    job: &AnyJob,
    requests: &Requests,
    operations: Vec<document::OperationPlan>,
    limits: &Limits,
    asked: &Asked,
) -> RunHeader {
    let connections = ConnectionPlan::of(job.plan().pool_here());
    let origins = requests.origin_names().map(|name| OriginPlan { name, connections: connections.clone() });
    let (mut plan, loads) = describe(args, job.plan(), &requests.targets);
    plan.values = job.values().into_iter().flat_map(values_sent::plans).collect();
    RunHeader {
        tool: environment::tool(),
        started_at: String::new(),
        command: secrets::mask_command(environment::arguments()),
        environment: environment::describe(limits),
        agents: Vec::new(),
        plan,
        loads,
        origins: origins.collect(),
        targets: requests.targets.clone(),
        targets_beyond: requests.beyond.clone(),
        protocol_failures: job.violations().iter().copied().map(String::from).collect(),
        codes: job.codes(),
        journeys: journeys(args, requests, &operations),
        operations,
        operations_are_whole: true,
        has_sizes: true,
        objectives: asked.slos.document(&asked.rules),
        watch: Default::default(),
        fanout: args.exports.fanout,
        simulated: None,
    }
}

/// How requests name their traces, if some do.
fn traces(args: &RunArgs, job: &AnyJob, seed: u64) -> Result<Option<TracePlan>> {
    let traces = |values: &Values| (0..job.operations() as u32).any(|operation| values.traces(operation));
    if job.values().is_some_and(traces) {
        return Ok(Some(TracePlan::new(seed, args.trace_link.clone())));
    }
    if args.trace_link.is_some() {
        refuse!(["trace-link"], "--trace-link: no request of this run names a trace: add --traceparent");
    }
    Ok(None)
}

fn journeys(
    args: &RunArgs,
    requests: &Requests,
    operations: &[document::OperationPlan],
) -> Vec<document::JourneyPlan> {
    let steps = operations.iter().skip(requests.plain).map(|operation| operation.name.as_str());
    let shares = requests.weights.iter().flat_map(|weights| share::parts(weights)).skip(requests.plain);
    journey::describe(&args.journeys, args.under_way.journeys_max, steps, &requests.redirected, shares)
}

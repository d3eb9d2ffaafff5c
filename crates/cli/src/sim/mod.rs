//! `unblink sim`: a run in virtual time, recorded and reported like a real one.

mod answer;
mod bounds;
pub(crate) mod client;
pub(crate) mod mix;
mod record;
mod scripted;
mod sending;
pub(crate) mod server;
mod stage;
pub(crate) mod wanted;
mod words;

use crate::args::load::LoadArgs;
use crate::args::sim::{SimArgs, WorldArgs};
use crate::args::steady::Warmup;
use crate::errors::refuse;
use crate::folder::Folder;
use crate::scenario::{self, Scenario};
use crate::unshown::Shown;
use crate::value::{Connections, Shape};
use crate::values_sent::{self, Laws};
use crate::{clock, environment, exit, history, load, output, precision, retry, run, script, secrets};
use anyhow::Result;
use client::Client;
use mix::Asked;
use scripted::Scripted;
use sending::{Sending, Watching};
pub(crate) use stage::stage;
use std::collections::VecDeque;
use std::path::Path;
use unblink_artifact::document::RunDocument;
use unblink_artifact::folder::{FolderWriter, leave_out_transient};
use unblink_artifact::header::{ConnectionPlan, OriginPlan, RunHeader};
use unblink_artifact::simulated::SimulatedWorld;
use unblink_artifact::tally::Tally;
use unblink_core::dispatch::{Pool, Room};
use unblink_core::load::Load;
use unblink_core::plan::{Plan, PlanSpec};
use unblink_core::schedule::Rate;
use unblink_core::sim::{ClientSpec, Correct, Watch, WorldSpec};
use unblink_core::time::{Instant, Nanos};
use unblink_workload::Values;
use unblink_workload::script::Script;
use words::one_space;

/// A simulated machine has no limit of ports or descriptors; this one keeps the memory bounded.
const AUTO_CONNECTIONS_MAX: u32 = 1_000_000;

/// Simulates and reports. Gives the exit code.
pub(crate) fn sim(args: &SimArgs) -> Result<u8> {
    let mut simulation = simulation(args)?;
    simulation.open_script(args)?;
    args.load.replay.tell(args.load.seed);
    simulation.tell(args);
    simulation.header.fanout = args.exports.fanout;
    output::check_exports(&args.exports)?;
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-runs")?;
    output::check_folder(&folder)?;
    let (document, tally) = simulation.run_into(&folder)?;
    let shown =
        Shown::of(output::present(&document, &tally, &args.exports, Some(&folder)), &folder, output::PAGE);
    history::keep(&args.keep, std::slice::from_ref(&*folder));
    Ok(shown.code(exit::of_run(&document)))
}

/// What `args` come to: the plan, and the load in one line.
pub(crate) fn planned(args: &SimArgs) -> Result<(Plan, String)> {
    scripted::read(args)?;
    simulation(args).map(Simulation::planned)
}

/// What `args` ask for, checked.
fn simulation(args: &SimArgs) -> Result<Simulation> {
    let mut described = Described::new(&args.world)?;
    described.world.room = server::room(args)?;
    let asked = Asked::of(args)?;
    let load = precision::lasting(&args.precision, &args.load)?;
    let mut simulation = described.simulation(&described.load(&load), &args.client, &asked)?;
    if args.precision.precision.is_some() && simulation.client.is_some() {
        refuse!(
            ["precision", "client"],
            "--precision is about what users feel; with --client give the load a length (-d)"
        );
    }
    precision::describe(&args.precision, &mut simulation.header.plan);
    let rules = args.rules()?;
    simulation.header.objectives =
        asked.objectives(&args.objectives, &rules, &simulation.plan, &simulation.header)?;
    let has_events = simulation.world.server.events.is_some();
    run::events::check(
        &args.load,
        (&args.objectives.slo, &rules),
        has_events,
        "events=N gap=TIME in --server",
    )?;
    if has_events && simulation.client.is_some() {
        refuse!(["client"], "events= in --server are timed by the ideal client alone: leave --client out");
    }
    Ok(simulation)
}

/// The world as it was described, and in which words.
pub(crate) struct Described {
    pub world: WorldSpec,
    pub scenario: Option<Scenario>,
    pub server: String,
    network: String,
    generator: String,
}

/// A run that can be simulated.
pub(crate) struct Simulation {
    plan: Plan,
    world: WorldSpec,
    client: Option<ClientSpec>,
    /// Of the ideal client, which sends what a real run sends.
    values: Option<Values>,
    /// What makes its requests, if they are made by a script.
    script: Option<Script>,
    pub header: RunHeader,
}

impl Described {
    pub(crate) fn new(args: &WorldArgs) -> Result<Described> {
        Described::of(args, "server")
    }

    /// `flag` is the one that describes the server.
    pub(crate) fn of(args: &WorldArgs, flag: &'static str) -> Result<Described> {
        let scenario = args.scenario.as_deref().map(scenario::by_name).transpose()?;
        let server = match (&args.server, &scenario) {
            (Some(server), _) => one_space(server),
            (None, Some(scenario)) => scenario.server.clone(),
            (None, None) => refuse!(
                ["server", "scenario"],
                "which server? Add --scenario NAME ({}), or --server 'slots=1 service=1ms' in words",
                scenario::names().collect::<Vec<_>>().join(", ")
            ),
        };
        let mut world = WorldSpec::new(server::parse(flag, &server)?);
        world.network = server::network(&args.network)?;
        world.generator = server::generator(&args.generator)?;
        let (network, generator) = (one_space(&args.network), one_space(&args.generator));
        Ok(Described { world, scenario, server, network, generator })
    }

    /// The load that was asked for; without one, that for which the scenario was made.
    pub(crate) fn load(&self, args: &LoadArgs) -> LoadArgs {
        let mut load = args.clone();
        if !load.loads.is_empty() || load.replay.recorded.replay.is_some() {
            return load;
        }
        let says_how_much = load.rate.is_some() || load.closed.is_some() || load.trace.trace.is_some();
        if let Some(scenario) = self.scenario.as_ref().filter(|_| !says_how_much) {
            load.rate = Some(Shape::Hold(Rate::per_second(scenario.rate_per_s)));
        }
        if let Some(scenario) =
            self.scenario.as_ref().filter(|_| load.duration.is_none() && load.requests.is_none())
        {
            load.duration = Some(Nanos::from_secs(scenario.seconds));
        }
        load
    }

    /// Checks everything.
    pub(crate) fn simulation(&self, args: &LoadArgs, client_text: &str, asked: &Asked) -> Result<Simulation> {
        let client_text = one_space(client_text);
        let client = client::parse(&client_text, args.connections.unwrap_or(Connections::Auto(None)))?;
        let load = load::spec(&asked.with_names(args), asked.names())?;
        let by_default = asked.pool_by_default(args).map(|(_, n)| Connections::Fixed(n));
        let pool = match args.connections.or(by_default).unwrap_or(Connections::Auto(None)) {
            // A simulated connection takes neither port nor descriptor: each user has one.
            Connections::Auto(max) => {
                let users = load.users().unwrap_or_default();
                Pool::Auto { max: max.unwrap_or(AUTO_CONNECTIONS_MAX.max(users)) }
            }
            Connections::Fixed(n) => Pool::Fixed { n },
        };
        let plan = load::plan(PlanSpec {
            load,
            warmup: args.warmup.planned(),
            limit: args.requests,
            timeout: args.timeout,
            drain: args.drain,
            pool,
            threads: 1,
            retry: retry::spec(&args.retry, args.seed)?,
            idempotent: asked.idempotent(),
            mix: asked.mix(args.seed),
            origins: asked.origins(),
            // The user's config file caps what is sent, and nothing is.
            rate_cap: args.max_rate,
        })?;
        if args.warmup == Warmup::Auto {
            if client != Client::Ideal {
                refuse!(
                    ["warmup", "client"],
                    "--warmup auto finds the transient of what users feel; with --client give it a time, such as \
                     --warmup 5s"
                );
            }
            run::check_transient(&plan)?;
        }
        let is_felt = client::is_felt(&client);
        if client != Client::Ideal && args.retry.attempts > 1 {
            refuse!(
                ["attempts", "client"],
                "--attempts and --client exclude each other: retries are those of the ideal client, and the client \
                 retry has its own, as in --client 'retry attempts=3'"
            );
        }
        asked.check(args, client != Client::Ideal)?;
        let client = self.fitted(client, args, &plan)?;
        let mut world = WorldSpec { seed: args.seed, ..self.world.clone() };
        // Each origin has a server of its own, and all are alike.
        world.server.service_of.clone_from(&asked.services);
        world.content.clone_from(&asked.content);
        bounds::check(&plan, &world, client.as_ref())?;
        let discard = match &client {
            Some(ClientSpec::Tool(tool)) => tool.discard,
            _ => Nanos::ZERO,
        };
        let scheduled = plan.scheduled(plan.measured_from() + discard, plan.load_length());
        let values = asked.values(&plan, args.seed)?.filter(|_| client.is_none());
        let mut header = self.header(args, &plan, client.as_ref(), asked);
        header.plan.values = values.iter().flat_map(values_sent::plans).collect();
        header.journeys = asked.described(&header.operations);
        header.simulated = Some(SimulatedWorld {
            server: self.server.clone(),
            services: asked.in_words.clone(),
            answers: asked.answers_in_words.clone(),
            network: self.network.clone(),
            generator: self.generator.clone(),
            client: if client_text.is_empty() { "ideal".into() } else { client_text },
            is_felt,
            moves_schedule: client::moves_schedule(client.as_ref()),
            seed: args.seed,
            planned: scheduled.map(|s| s.measured),
        });
        Ok(Simulation { plan, world, client, values, script: None, header })
    }

    /// The client with what it takes from the load.
    fn fitted(&self, client: Client, args: &LoadArgs, plan: &Plan) -> Result<Option<ClientSpec>> {
        let Client::Other { mut spec, by_planned_interval } = client else { return Ok(None) };
        if args.replay.recorded.replay.is_some() {
            refuse!(
                ["client", "replay"],
                "--client imitates a tool with a schedule of its own, and a replay has that of its trace: leave one of \
                 them out"
            );
        }
        if !args.loads.is_empty() {
            refuse!(
                ["client"],
                "--client imitates a tool with one load: leave it out, or put one load into [load] in the place of \
                 [[loads]]"
            );
        }
        if plan.spec().origins.count() > 1 {
            refuse!(
                ["client"],
                "--client imitates a tool with connections to one server, and the plan's requests have {} origins: leave \
                 it out, or give them one origin",
                plan.spec().origins.count()
            );
        }
        if self.world.room != Room::SINGLE {
            refuse!(
                ["http", "client"],
                "--client imitates a tool with one request at a time on each connection: leave it out, or --http 2"
            );
        }
        if args.closed.is_some() {
            refuse!(
                ["closed", "client"],
                "--closed and --client exclude each other: give the rate that users would offer (-R), and closed=N in \
                 --client for a tool with N users who wait"
            );
        }
        if self.world.server.refuse_one_in > 0 || !self.world.server.accept_stalled.is_empty() {
            refuse!(
                ["server", "client"],
                "refuse= and accept-stall= in --server have no effect on a --client whose connections are always \
                 open; leave them out, or --client"
            );
        }
        if let ClientSpec::Tool(tool) = &mut spec {
            tool.by_count = args.requests.is_some() && args.duration.is_none();
            if by_planned_interval {
                tool.correct = Correct::ExpectedInterval(client::planned_interval(tool, args)?);
            }
            if plan.measured_from() + tool.discard >= plan.load_length() {
                refuse!(
                    ["client", "duration"],
                    "this client leaves out its first {} s, and the load lasts {} s: nothing would be measured (give a \
                     longer -d, or discard=0s in --client)",
                    tool.discard.as_secs_f64(),
                    plan.load_length().as_secs_f64()
                );
            }
        }
        Ok(Some(spec))
    }

    fn header(&self, args: &LoadArgs, plan: &Plan, client: Option<&ClientSpec>, asked: &Asked) -> RunHeader {
        let (mut run_plan, mut loads) = load::describe(args, plan, asked.names());
        let mut pool = plan.spec().pool;
        if let Some(ClientSpec::Tool(tool)) = client {
            client::describe_tool(tool, &mut run_plan, &mut loads);
            pool = match tool.workers {
                None => Pool::Auto { max: AUTO_CONNECTIONS_MAX },
                Some(n) => Pool::Fixed { n },
            };
        }
        let mut connections = ConnectionPlan::of(pool);
        connections.by_default =
            asked.pool_by_default(args).filter(|_| client.is_none()).map(|(database, _)| database);
        connections.streams =
            Some(self.world.room).filter(|room| *room != Room::SINGLE).map(|room| room.places);
        let origin = |name| OriginPlan { name, connections: connections.clone() };
        RunHeader {
            tool: environment::tool(),
            started_at: clock::now(),
            command: secrets::mask_command(environment::arguments()),
            environment: environment::describe(&unblink_engine::limits::raise()),
            agents: Vec::new(),
            plan: run_plan,
            loads,
            origins: asked.origin_names().into_iter().map(origin).collect(),
            targets_beyond: asked.requests.as_ref().and_then(|requests| requests.beyond.clone()),
            targets: asked.targets(&self.server),
            protocol_failures: Vec::new(),
            codes: None,
            operations: asked.operations(plan),
            journeys: Vec::new(),
            operations_are_whole: true,
            has_sizes: false,
            objectives: Default::default(),
            watch: Default::default(),
            fanout: None,
            simulated: None,
        }
    }
}

impl Simulation {
    /// Says what of `args` nobody heeds.
    fn tell(&self, args: &SimArgs) {
        if self.client.is_some() && !args.abort_on.is_empty() {
            output::note(format_args!(
                "--abort-on: the load of a simulated --client is not ended early, so no rule stops it"
            ));
        }
    }

    /// The plan, and the load in one line.
    pub(crate) fn planned(self) -> (Plan, String) {
        (self.plan, self.header.plan.summary)
    }

    /// Intended times after the schedule's zero, in order; nothing of a closed load.
    pub(crate) fn intended(&self) -> impl Iterator<Item = Nanos> + '_ {
        let mut load = self.plan.open_load(Instant(0), 0);
        let mut due = VecDeque::new();
        std::iter::from_fn(move || {
            let load = load.as_mut()?;
            if due.is_empty() {
                let next = load.next_due()?;
                load.advance(next, |arrival| due.push_back(arrival.intended.since(Instant(0))));
            }
            due.pop_front()
        })
    }

    /// Before the measured part.
    pub(crate) fn warmup(&self) -> Nanos {
        self.plan.measured_from()
    }

    /// Runs, and keeps no record.
    pub(crate) fn run(&self) -> (RunDocument, Tally) {
        self.run_watched(())
    }

    /// The same under the eyes of `watch`, which sees the ideal client only.
    pub(crate) fn run_watched(&self, watch: impl Watch) -> (RunDocument, Tally) {
        let (tally, ending) = self.record(watch, &mut None::<FolderWriter>);
        (tally.document(&ending), tally)
    }

    /// Runs, and leaves the record and the page of a run in `folder`.
    pub(crate) fn run_into(&self, folder: &Path) -> Result<(RunDocument, Tally)> {
        let mut writer = FolderWriter::create(folder, &self.header)?;
        let laws = self.values.as_ref().map(Laws::of);
        let mut sending = self.values.as_ref().map(|values| Sending::new(&self.plan, values));
        let acting = self.script.as_ref().and_then(Scripted::new);
        let (tally, mut ending) = self.record(Watching(sending.as_mut(), acting), &mut writer);
        if let (Some(laws), Some(sending)) = (laws, sending) {
            ending.values_sent = laws.beside(&sending.into_sent());
        }
        let tally = leave_out_transient(folder, tally, &ending);
        let document = tally.document(&ending);
        if let Err(error) = writer.finish(&document) {
            output::note(format_args!("warning: {error}"));
        }
        output::write_page(folder, &document);
        if let Some(script) = &self.script {
            script::tell_failed(script);
            script::end(script, &document, &tally);
        }
        Ok((document, tally))
    }
}

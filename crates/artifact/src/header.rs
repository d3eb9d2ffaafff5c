//! What is known about a run when it starts.

use crate::codes::{self, NamedCodes};
use crate::document::{
    AgentPlan, ConnectionMode, CqlPlan, Database, Environment, JourneyPlan, LoadModel, LoadPlan,
    MachineLimit, Objectives, OperationPlan, OriginName, PostgresPlan, RedisPlan, Requested, RunPlan,
    TargetsBeyond, Tool, WatchPlan, WebSocketPlan,
};
use crate::simulated::SimulatedWorld;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::code::Code;
use unblink_core::dispatch::Pool;
use unblink_core::failure::FailureKind;
use unblink_core::journey::JOURNEYS_MAX;
use unblink_core::origins::ORIGINS_MAX;
use unblink_core::outcome::Outcome;
use unblink_core::plan::{LOADS_MAX, OPERATIONS_APART_MAX, SHARES_MAX};
use unblink_core::record::{Apart, Layout};

/// Everything known at the start. Secrets are masked by whoever fills it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// Which tool measures.
    pub tool: Tool,
    /// When t = 0 is, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The machine that offers the load.
    pub environment: Environment,
    /// The machines, where this one has only a share of the load, or several were merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentPlan>,
    /// What it is to do.
    pub plan: RunPlan,
    /// What is offered.
    pub loads: Vec<LoadPlan>,
    /// Where requests go.
    pub origins: Vec<OriginPlan>,
    /// What is requested.
    pub targets: Vec<Requested>,
    /// Those of them that are not listed, where there are very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_beyond: Option<TargetsBeyond>,
    /// Names of the codec's violations by number, so that failures can be named again.
    pub protocol_failures: Vec<String>,
    /// Names of the codes of answers; absent where these are the statuses of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codes: Option<NamedCodes>,
    /// The operations that are recorded apart; one at least.
    pub operations: Vec<OperationPlan>,
    /// The journeys. The operations of their steps are the last, in the order of the journeys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<JourneyPlan>,
    /// Outcomes, codes and service times are recorded by operation. False in a record of the build that had response
    /// times and failures alone.
    #[serde(skip, default = "yes")]
    #[schemars(skip)]
    pub operations_are_whole: bool,
    /// The record has the sizes of answers by operation, too. Missing in earlier versions, and where nothing has a size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_sizes: bool,
    /// What is asked of the run.
    #[serde(default, skip_serializing_if = "Objectives::is_empty")]
    pub objectives: Objectives,
    /// What a soak looks at beside the answers.
    #[serde(default, skip_serializing_if = "WatchPlan::is_empty")]
    pub watch: WatchPlan,
    /// Requests that a page needs, if the report is to say what such pages feel (`--fanout`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<u32>,
    /// What was simulated, if the run is not real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedWorld>,
}

/// What objectives may speak of beside requests, by name.
#[derive(Clone, Debug, Default)]
pub struct PartNames {
    /// Of the loads; empty where one has none.
    pub loads: Vec<String>,
    /// Of the origins.
    pub origins: Vec<String>,
    /// The journeys.
    pub journeys: Vec<JourneyPlan>,
}

impl PartNames {
    /// A journey, or `load NAME`, `journey NAME`, or `origin URL`, of which the scheme may be left out.
    pub fn called(&self, name: &str) -> Option<(Apart, usize)> {
        self.recorded_as_journey(name).or_else(|| self.called_in_full(name))
    }

    /// A journey, by its time, or a step that is asked again and again, by its time to done.
    fn recorded_as_journey(&self, name: &str) -> Option<(Apart, usize)> {
        let waits =
            self.journeys.iter().flat_map(|journey| &journey.steps).filter(|step| step.until.is_some());
        let journeys = self.journeys.iter().map(|journey| &journey.name);
        let place = journeys.chain(waits.map(|step| &step.operation)).position(|known| known == name)?;
        Some((Apart::Journey, place))
    }

    /// A step that is asked again and again: an objective called like it is about its time to done.
    pub fn is_wait(&self, name: &str) -> bool {
        self.recorded_as_journey(name).is_some_and(|(_, place)| place >= self.journeys.len())
    }

    fn called_in_full(&self, name: &str) -> Option<(Apart, usize)> {
        let place =
            |names: &[String], is_it: &dyn Fn(&str) -> bool| names.iter().position(|name| is_it(name));
        if let Some(journey) = name.strip_prefix("journey ") {
            let place = self.journeys.iter().position(|known| known.name == journey)?;
            return Some((Apart::Journey, place));
        }
        if let Some(load) = name.strip_prefix("load ").filter(|load| !load.is_empty()) {
            return Some((Apart::Load, place(&self.loads, &|name| name == load)?));
        }
        let origin = name.strip_prefix("origin ")?.trim_end_matches('/');
        let is_it =
            |name: &str| name == origin || name.split_once("://").is_some_and(|(_, host)| host == origin);
        Some((Apart::Origin, place(&self.origins, &is_it)?))
    }

    /// As objectives call them.
    pub fn all(&self) -> impl Iterator<Item = String> + '_ {
        let journeys = self.journeys.iter().map(|journey| journey.name.clone());
        let loads = self.loads.iter().filter(|name| !name.is_empty()).map(|name| format!("load {name}"));
        journeys.chain(loads).chain(
            self.origins.iter().filter(|_| self.origins.len() > 1).map(|name| format!("origin {name}")),
        )
    }
}

fn yes() -> bool {
    true
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OriginPlan {
    /// Its name.
    #[serde(flatten)]
    pub name: OriginName,
    /// How many connections there may be.
    pub connections: ConnectionPlan,
}

/// How many connections there may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionPlan {
    /// Who decides how many there are.
    pub mode: ConnectionMode,
    /// Limit (auto) or number (fixed), over all workers.
    pub limit: u64,
    /// What this machine lacks for a higher limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<MachineLimit>,
    /// Nobody has said how many: the number is the default for this database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_default: Option<Database>,
    /// Requests at once on a connection, as asked for; nothing where it takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// How messages went over WebSockets; absent of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_socket: Option<WebSocketPlan>,
    /// How commands went to Redis; absent of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<RedisPlan>,
    /// How transactions went to PostgreSQL; absent of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresPlan>,
    /// How statements of CQL went; absent of other protocols.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cql: Option<CqlPlan>,
    /// A connection is used for so long, if a time was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ns: Option<u64>,
    /// The target's name is resolved again this often, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve_every_ns: Option<u64>,
}

impl ConnectionPlan {
    /// As in the plan of the run.
    pub fn of(pool: Pool) -> ConnectionPlan {
        let (mode, limit) = match pool {
            Pool::Auto { max } => (ConnectionMode::Auto, max),
            Pool::Fixed { n } => (ConnectionMode::Fixed, n),
        };
        ConnectionPlan {
            mode,
            limit: u64::from(limit),
            limited_by: None,
            by_default: None,
            streams: None,
            web_socket: None,
            redis: None,
            postgres: None,
            cql: None,
            age_ns: None,
            resolve_every_ns: None,
        }
    }

    /// Requests at once on a connection, as asked for.
    pub fn places(&self) -> u64 {
        let ConnectionPlan { streams, web_socket, redis, postgres, cql, .. } = self;
        let places = streams
            .or(web_socket.as_ref().map(|plan| plan.depth))
            .or(redis.as_ref().map(|plan| plan.depth))
            .or(postgres.as_ref().map(|plan| plan.depth))
            .or(cql.as_ref().map(|plan| plan.streams));
        u64::from(places.unwrap_or(1).max(1))
    }
}

impl RunHeader {
    /// The stable name of the failure kind at `index`.
    pub fn failure_code(&self, index: usize) -> String {
        let number = match FailureKind::code_at(index) {
            Ok(name) => return name.to_string(),
            Err(number) => number,
        };
        let violations = &self.protocol_failures;
        let of_code = |number| self.codes.as_ref().and_then(|codes| codes.failure(number));
        match (violations.get(number), number.checked_sub(violations.len()).and_then(of_code)) {
            (Some(violation), _) => format!("protocol_{violation}"),
            (None, Some(of_code)) => of_code,
            (None, None) => "protocol_other".to_string(),
        }
    }

    /// How an arrival ended.
    pub(crate) fn outcome_name(&self, outcome: Outcome) -> String {
        match outcome {
            Outcome::Ok => "ok".to_string(),
            Outcome::TimedOut => "timed_out".to_string(),
            Outcome::Unfinished => "unfinished".to_string(),
            Outcome::Unsent => "unsent".to_string(),
            Outcome::Failed(kind) => self.failure_code(kind.index()),
        }
    }

    /// What the code of an answer is called.
    pub(crate) fn code_name(&self, code: Code) -> String {
        codes::name_of(code, self.codes.as_ref())
    }

    /// The name of a target by its number, from 0 on; where it is not listed, that number as people count.
    pub fn target_name(&self, index: usize) -> String {
        match self.targets.get(index) {
            Some(target) => target.name.clone(),
            None if index < self.target_count() as usize => format!("target {}", index + 1),
            None => format!("operation {index}"),
        }
    }

    /// The place of the operation called `name` among those that are recorded apart; `Some(None)` when the run has no
    /// other, `None` when there is none.
    pub fn operation_called(&self, name: &str) -> Option<Option<usize>> {
        let place = self.operations.iter().position(|operation| operation.name == name)?;
        Some((self.operations.len() > 1).then_some(place))
    }

    /// What objectives may speak of beside its operations.
    pub fn part_names(&self) -> PartNames {
        let loads = self.loads.iter().map(|load| load.name.clone().unwrap_or_default());
        let origins = self.origins.iter().map(|origin| origin.name.to_string());
        PartNames { loads: loads.collect(), origins: origins.collect(), journeys: self.journeys.clone() }
    }

    /// What an objective called `name` speaks of, as it is recorded apart: a journey, a step's time to done, the operation of
    /// this name, or else `load NAME`, or `origin URL`. `Some(None)` when the run has no other, `None` when there is none.
    pub fn part_called(&self, name: &str) -> Option<Option<(Apart, usize)>> {
        let parts = self.part_names();
        if let Some(place) = parts.recorded_as_journey(name) {
            return Some(Some(place));
        }
        if let Some(operation) = self.operation_called(name) {
            return Some(operation.map(|place| (Apart::Operation, place)));
        }
        let (by, place) = parts.called_in_full(name)?;
        let is_only = match by {
            Apart::Operation | Apart::Journey => false,
            Apart::Load => self.loads.len() == 1,
            Apart::Origin => self.origins.len() == 1,
        };
        Some((!is_only).then_some((by, place)))
    }

    /// Who decides when a request starts: the same in all loads of a run.
    pub fn model(&self) -> LoadModel {
        self.loads.first().map_or(LoadModel::Open, LoadPlan::model)
    }

    /// What its banks keep apart.
    pub fn layout(&self) -> Layout {
        Layout {
            operations: self.operations.len(),
            loads: self.loads.len(),
            journeys: self.journeys.len() + self.waits(),
            steps: self.steps(),
            redirected: self.redirected(),
            origins: self.origins.len(),
        }
    }

    /// Those of their steps that are asked again and again.
    fn waits(&self) -> usize {
        let steps = self.journeys.iter().flat_map(|journey| &journey.steps);
        steps.filter(|step| step.until.is_some()).count()
    }

    /// Operations of redirected requests.
    fn redirected(&self) -> usize {
        let steps = self.journeys.iter().flat_map(|journey| &journey.steps);
        steps.flat_map(|step| &step.redirects).map(|redirects| redirects.operations.len()).sum()
    }

    /// Steps of all journeys.
    fn steps(&self) -> usize {
        self.journeys.iter().map(|journey| journey.steps.len()).sum()
    }

    /// Users of a closed load.
    pub fn users(&self) -> Option<u32> {
        self.loads.first().and_then(LoadPlan::users)
    }

    /// Those of them who are there at once: all, unless each comes and goes as it was recorded.
    pub(crate) fn users_at_once(&self) -> Option<u64> {
        let all = u64::from(self.users()?);
        let recorded = self.plan.replay.as_ref().and_then(|replay| replay.by_user.as_ref());
        // Whoever asked once only was there, too.
        Some(recorded.map_or(all, |by_user| (by_user.users_mean.ceil() as u64).clamp(1, all.max(1))))
    }

    /// How many connections there may be to the only origin.
    pub fn connections(&self) -> &ConnectionPlan {
        &self.origins[0].connections
    }

    /// A header that anybody may have written has what each must have.
    pub(crate) fn check(self) -> Result<RunHeader, String> {
        let lists = [
            ("loads", self.loads.is_empty()),
            ("origins", self.origins.is_empty()),
            ("operations", self.operations.is_empty()),
        ];
        // Each of them takes memory, before anything is read of it.
        if self.operations.len() > OPERATIONS_APART_MAX {
            return Err(format!("{} `operations` are more than are recorded apart", self.operations.len()));
        }
        if self.loads.len() > LOADS_MAX {
            return Err(format!("{} `loads` are more than are recorded apart", self.loads.len()));
        }
        if self.origins.len() > ORIGINS_MAX {
            return Err(format!("{} `origins` are more than a run has", self.origins.len()));
        }
        if self.journeys.len() > JOURNEYS_MAX {
            return Err(format!("{} `journeys` are more than are recorded apart", self.journeys.len()));
        }
        if self.steps() > self.operations.len() {
            return Err("`journeys` have more steps than there are `operations`".to_string());
        }
        if !self.agents.iter().all(AgentPlan::is_possible) || self.agents.len() > SHARES_MAX as usize {
            return Err("`agents` have shares that can't be".to_string());
        }
        match lists.iter().find(|(_, is_empty)| *is_empty) {
            Some((name, _)) => Err(format!("`{name}` is empty")),
            None => Ok(self),
        }
    }

    /// How many targets there are, listed or not.
    pub fn target_count(&self) -> u64 {
        self.targets.len() as u64 + TargetsBeyond::count_of(self.targets_beyond.as_ref())
    }
}

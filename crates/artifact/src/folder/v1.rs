//! `unblink.run/1`, the document of earlier builds, read as the present one. Nothing else knows of it.

use crate::document::{
    self, ArrivalProcess, ArrivalTimes, Arrivals, Connections, Distribution, Load, LoadKind, LoadModel,
    LoadPhase, LoadPlan, LoadShape, Operation, OperationArrivals, OperationPlan, Origin, OriginName, Pacing,
    PrecisionGoal, Process, Protocol, Requested, RunDocument, RunPlan, Scheme,
};
use crate::header::{ConnectionPlan, OriginPlan, RunHeader};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value, to_value};
use std::collections::BTreeMap;

/// Its version.
pub(super) const SCHEMA: &str = "unblink.run/1";

type Object = Map<String, Value>;
type Result<T> = serde_json::Result<T>;

/// A document of a run that has ended.
pub(super) fn document(mut old: Object) -> Result<RunDocument> {
    #[derive(Deserialize)]
    struct Process1 {
        arrivals: u64,
        intended: ArrivalTimes,
        sent: ArrivalTimes,
    }
    let load: Load1 = take(&mut old, "load")?;
    let connections: Connections = take(&mut old, "connections")?;
    let preflight: Option<String> = take(&mut old, "preflight")?;
    let codes: BTreeMap<String, u64> = take(&mut old, "statuses")?;
    let operations: Vec<Operation1> = take(&mut old, "operations")?;
    let arrival_process: Option<Process1> = take(&mut old, "arrival_process")?;
    let common = Common::of(&old)?;

    let only = || -> Result<Operation> {
        let arrivals: Arrivals = get(&old, "arrivals")?;
        Ok(Operation {
            plan: common.operation(None),
            arrivals: OperationArrivals::of_all(&arrivals),
            failures: get(&old, "failures")?,
            codes: codes.clone(),
            response_time: get(&old, "response_time")?,
            service_time: Some(get(&old, "service_time")?),
            events: None,
            retries: None,
            body_bytes: None,
            spilled: 0,
        })
    };
    let operations: Vec<Operation> = match operations.is_empty() {
        true => vec![only()?],
        false => operations.into_iter().map(|operation| operation.now(&common)).collect(),
    };
    let loads = [Load {
        plan: load.plan(),
        arrivals: OperationArrivals::of_all(&get(&old, "arrivals")?),
        warmup: get(&old, "warmup")?,
        arrival_process: arrival_process.map(|process| ArrivalProcess {
            arrivals: process.arrivals,
            intended: process.intended,
            sent: process.sent,
        }),
        response_time: None,
        service_time: None,
    }];
    let origins = [Origin::of_all(common.origin(), connections, preflight)];
    let fields = [
        ("schema", to_value(document::SCHEMA)?),
        ("plan", to_value(load.run())?),
        ("loads", to_value(loads)?),
        ("origins", to_value(origins)?),
        ("codes", to_value(codes)?),
        ("operations", to_value(operations)?),
    ];
    old.extend(fields.map(|(name, value)| (name.to_string(), value)));
    serde_json::from_value(Value::Object(old))
}

/// What was known when a run began.
pub(super) fn header(mut old: Object) -> Result<RunHeader> {
    let load: Load1 = take(&mut old, "load")?;
    let connections: ConnectionPlan = take(&mut old, "connections")?;
    let names: Vec<String> = take(&mut old, "operations")?;
    let common = Common::of(&old)?;
    let operations = match names.is_empty() {
        true => vec![common.operation(None)],
        false => names.into_iter().map(|name| common.operation(Some(name))).collect(),
    };
    let origins = [OriginPlan { name: common.origin(), connections }];
    let fields = [
        ("plan", to_value(load.run())?),
        ("loads", to_value([load.plan()])?),
        ("origins", to_value(origins)?),
        ("operations", to_value(operations)?),
    ];
    old.extend(fields.map(|(name, value)| (name.to_string(), value)));
    let header: RunHeader = serde_json::from_value(Value::Object(old))?;
    Ok(RunHeader { operations_are_whole: header.operations.len() < 2, ..header })
}

fn take<T: DeserializeOwned>(object: &mut Object, name: &str) -> Result<T> {
    serde_json::from_value(object.remove(name).unwrap_or(Value::Null))
}

fn get<T: DeserializeOwned>(object: &Object, name: &str) -> Result<T> {
    serde_json::from_value(object.get(name).cloned().unwrap_or(Value::Null))
}

/// What header and document have in common.
struct Common {
    targets: Vec<Requested>,
    is_simulated: bool,
}

impl Common {
    fn of(object: &Object) -> Result<Common> {
        let simulated: Option<IgnoredAny> = get(object, "simulated")?;
        Ok(Common { targets: get(object, "targets")?, is_simulated: simulated.is_some() })
    }

    /// All operations spoke the same; the only one is called as its target.
    fn operation(&self, name: Option<String>) -> OperationPlan {
        let only = || self.targets.first().map_or_else(String::new, |target| target.name.clone());
        let protocol = if self.is_simulated { Protocol::Simulated } else { Protocol::Http11 };
        OperationPlan { name: name.unwrap_or_else(only), protocol, origin: None, share: None }
    }

    /// All targets shared one; it stands in their URLs.
    fn origin(&self) -> OriginName {
        let found =
            self.targets.first().filter(|_| !self.is_simulated).and_then(|target| origin(&target.url));
        found.unwrap_or_default()
    }
}

fn origin(url: &str) -> Option<OriginName> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let at = authority.rsplit_once('@').map_or(authority, |(_, at)| at);
    let (host, port) = match at.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (at, scheme.port()),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
    Some(OriginName { scheme: Some(scheme), host: Some(host), port: Some(port) })
}

/// A run had one load, and what it was to do stood in it.
#[derive(Deserialize)]
struct Load1 {
    model: LoadModel,
    summary: String,
    process: Option<String>,
    seed: Option<u64>,
    shape: Option<LoadShape>,
    phases: Vec<LoadPhase>,
    users: Option<u32>,
    think_ns: Option<u64>,
    ramp_up_ns: Option<u64>,
    warmup_ns: u64,
    #[serde(default)]
    warmup_auto: bool,
    precision: Option<PrecisionGoal>,
    duration_ns: u64,
    timeout_ns: u64,
    drain_ns: u64,
    threads: u32,
    pacing: Option<Pacing>,
    requests_max: Option<u64>,
}

impl Load1 {
    fn run(&self) -> RunPlan {
        RunPlan {
            summary: self.summary.clone(),
            order: None,
            replay: None,
            values: Vec::new(),
            by_answers: Vec::new(),
            traces: None,
            shape: self.shape,
            phases: self.phases.clone(),
            warmup_ns: self.warmup_ns,
            warmup_auto: self.warmup_auto,
            precision: self.precision.clone(),
            duration_ns: self.duration_ns,
            timeout_ns: self.timeout_ns,
            drain_ns: self.drain_ns,
            threads: self.threads,
            pacing: self.pacing,
            requests_max: self.requests_max,
            retry: None,
        }
    }

    fn plan(&self) -> LoadPlan {
        let kind = match self.model {
            LoadModel::Open => LoadKind::Open {
                process: match (self.process.as_deref(), self.seed) {
                    (Some("poisson"), Some(seed)) => Process::Poisson { seed },
                    _ => Process::Even,
                },
                phases: self.phases.clone(),
                start_ns: 0,
                only: Vec::new(),
            },
            LoadModel::Closed => LoadKind::Closed {
                users: self.users,
                think_ns: self.think_ns.unwrap_or(0),
                ramp_up_ns: self.ramp_up_ns,
                is_recorded: false,
            },
        };
        LoadPlan { name: None, kind }
    }
}

/// Of several operations the answered and the failed were told apart.
#[derive(Deserialize)]
struct Operation1 {
    name: String,
    failed: u64,
    response_time: Distribution,
}

impl Operation1 {
    fn now(self, common: &Common) -> Operation {
        let Distribution { count, censored, .. } = self.response_time;
        Operation {
            plan: common.operation(Some(self.name)),
            arrivals: OperationArrivals {
                ok: count.saturating_sub(censored),
                failed: self.failed,
                ..OperationArrivals::default()
            },
            failures: BTreeMap::new(),
            codes: BTreeMap::new(),
            response_time: self.response_time,
            service_time: None,
            events: None,
            retries: None,
            body_bytes: None,
            spilled: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_stand_in_urls() {
        let found = |url: &str| {
            let OriginName { scheme, host, port } = origin(url)?;
            Some((scheme?, host?, port?))
        };
        assert_eq!(found("http://a.example/x:1@y"), Some((Scheme::Http, "a.example".into(), 80)));
        assert_eq!(found("https://***@b:8443?x=***"), Some((Scheme::Https, "b".into(), 8443)));
        assert_eq!(found("http://[::1]:8080/"), Some((Scheme::Http, "::1".into(), 8080)));
        assert_eq!(found("http://[::1]/"), Some((Scheme::Http, "::1".into(), 80)));
        assert_eq!(found("slots=1 service=1ms"), None);
    }
}

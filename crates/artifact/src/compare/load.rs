//! What the loads of two runs differ in, in words.

use crate::document::{
    ConnectionMode, Journey, JourneyPlan, LoadKind, LoadPhase, LoadPlan, OperationPlan, Pacing, Process,
    RunDocument, RunPlan, StepPlan,
};
use crate::header::RunHeader;

/// What a run was to do.
#[derive(Clone, Copy)]
pub struct Offered<'a> {
    plan: &'a RunPlan,
    loads: &'a [LoadPlan],
    operations: &'a [OperationPlan],
}

impl<'a> Offered<'a> {
    /// By its header.
    pub fn of(header: &'a RunHeader) -> Offered<'a> {
        Offered { plan: &header.plan, loads: &header.loads, operations: &header.operations }
    }
}

/// More phases than these are too many to be told one by one.
const PHASES_TOLD_MAX: usize = 10;

/// What two runs differ in beside their targets.
pub(super) fn difference(a: &RunDocument, b: &RunDocument) -> Option<String> {
    let connections = |run: &RunDocument| match run.origin().connections.mode {
        ConnectionMode::Fixed => Told::exact(format!("{} connections", run.origin().connections.limit)),
        ConnectionMode::Auto => Told::exact("connections as needed".to_string()),
    };
    let streams = |run: &RunDocument| {
        let said = |n| format!("in HTTP/2, {n} at once on a connection");
        let connections = &run.origin().connections;
        let over_ws = connections.web_socket.as_ref().map(|plan| format!("over {}", plan.describe()));
        let to_redis = connections.redis.as_ref().map(|plan| format!("to {}", plan.describe()));
        let to_postgres = connections.postgres.as_ref().map(|plan| format!("to {}", plan.describe()));
        let in_cql = connections.cql.as_ref().map(|plan| format!("in {}", plan.describe()));
        let in_http = || connections.streams.map_or("one at a time on a connection".into(), said);
        Told::exact(over_ws.or(to_redis).or(to_postgres).or(in_cql).unwrap_or_else(in_http))
    };
    let real = |run: &RunDocument| Told::exact(real(run));
    let pairs = [
        ("is", real(a), real(b)),
        ("sends requests", streams(a), streams(b)),
        ("has", connections(a), connections(b)),
        ("has journeys that are", journeys(a), journeys(b)),
    ];
    let [loads_a, loads_b] = [a, b].map(RunDocument::load_plans);
    let [operations_a, operations_b] =
        [a, b].map(|run| run.operations.iter().map(|of| of.plan.clone()).collect::<Vec<_>>());
    let a = Offered { plan: &a.plan, loads: &loads_a, operations: &operations_a };
    let b = Offered { plan: &b.plan, loads: &loads_b, operations: &operations_b };
    joined([load_differences(a, b), differing(pairs)].concat())
}

/// Its journeys with all their steps.
fn journeys(run: &RunDocument) -> Told {
    let said = |journey: &Journey| {
        let JourneyPlan { name, share, under_way_max: _, cookies, own_connection, hold_connection, steps } =
            journey.plan();
        let steps: Vec<String> = steps
            .iter()
            .map(|StepPlan { operation, think, repeat_min, repeat_max, chance, exit, until, redirects, captures }| {
                let think = think.as_deref().unwrap_or("nothing");
                format!(
                    "{operation} (thinking {think}, {repeat_min} to {repeat_max} times, chance {chance:?}, exit {exit:?}, \
                     until {until:?}, {}taking {captures:?})",
                    redirects.as_ref().map_or(String::new(), |redirects| format!("{redirects:?}, "))
                )
            })
            .collect();
        let held = if hold_connection { ", holding its connection" } else { "" };
        format!(
            "{name} {share:?}, cookies {cookies}, own connection {own_connection}{held}: {}",
            steps.join(", ")
        )
    };
    let all: Vec<String> = run.journeys.iter().map(said).collect();
    Told::exact(if all.is_empty() { "none".into() } else { all.join("; ") })
}

/// What two loads differ in, seeds and threads aside.
pub fn load_difference(x: Offered<'_>, y: Offered<'_>) -> Option<String> {
    joined(load_differences(x, y))
}

fn load_differences(x: Offered<'_>, y: Offered<'_>) -> Vec<String> {
    let model = |load: Offered<'_>| {
        let models = load.loads.iter().map(|load| format!("{:?}", load.model()).to_lowercase());
        Told::exact(models.collect::<Vec<_>>().join(" and "))
    };
    let time = |ns: u64| Told { exact: format!("{ns} ns"), short: format!("{} s", short(ns as f64 / 1e9)) };
    let at_most = |n: Option<u64>| Told::exact(n.map_or("none".to_string(), |n| n.to_string()));
    let precision = |plan: &RunPlan| {
        Told::exact(plan.precision.as_ref().map_or("none".into(), |goal| format!("{goal:?}")))
    };
    let warmup =
        |plan: &RunPlan| if plan.warmup_auto { Told::exact("auto".into()) } else { time(plan.warmup_ns) };
    let pacing = |plan: &RunPlan| {
        Told::exact(plan.pacing.map_or("as it was before there was a choice", Pacing::name).into())
    };
    let (models, offers, mixes) = ([x, y].map(model), [x, y].map(offered), [x, y].map(mix));
    let (x, y) = (x.plan, y.plan);
    let ([model_x, model_y], [offer_x, offer_y], [mix_x, mix_y]) = (models, offers, mixes);
    differing([
        ("has a load that is", model_x, model_y),
        ("was offered", offer_x, offer_y),
        ("asks for its requests", mix_x, mix_y),
        ("draws", drawn(x), drawn(y)),
        ("was measured for", time(x.duration_ns), time(y.duration_ns)),
        ("has a warm-up of", warmup(x), warmup(y)),
        ("was paced", pacing(x), pacing(y)),
        ("has a timeout of", time(x.timeout_ns), time(y.timeout_ns)),
        ("has a limit of requests of", at_most(x.requests_max), at_most(y.requests_max)),
        ("tries its requests", retries(x), retries(y)),
        ("ends at a precision of", precision(x), precision(y)),
    ])
}

/// What its requests are filled in with.
fn drawn(plan: &RunPlan) -> Told {
    let said: Vec<String> =
        plan.values.iter().map(|value| format!("{} from {}", value.name, value.law)).collect();
    Told::exact(if said.is_empty() { "nothing for its requests".into() } else { said.join(", ") })
}

/// How often, and when.
fn retries(plan: &RunPlan) -> Told {
    let Some(retry) = &plan.retry else { return Told::exact("once".into()) };
    Told { exact: format!("{retry:?}"), short: format!("up to {} times", retry.attempts) }
}

/// In which order, and how often each. Seeds do not tell.
fn mix(load: Offered<'_>) -> Told {
    let Some(order) = load.plan.order else { return Told::exact("in turn".into()) };
    let shares = load.operations.iter().filter_map(|operation| operation.share);
    let said: Vec<String> = shares.map(|share| format!("{} %", short(share * 100.0))).collect();
    Told::exact(format!("{} with {}", order.name(), said.join(", ")))
}

fn offered(load: Offered<'_>) -> Told {
    let all: Vec<Told> = load.loads.iter().map(of_one).collect();
    let joined = |text: fn(&Told) -> &str| all.iter().map(text).collect::<Vec<_>>().join(" and ");
    Told { exact: joined(|told| &told.exact), short: joined(|told| &told.short) }
}

fn of_one(load: &LoadPlan) -> Told {
    match &load.kind {
        LoadKind::Closed { users, is_recorded: true, .. } => {
            Told::exact(format!("{} recorded users with their pauses", users.unwrap_or_default()))
        }
        LoadKind::Closed { users, think_ns, .. } => {
            let users = users.map_or("some".to_string(), |users| users.to_string());
            Told {
                exact: format!("{users} users thinking {think_ns} ns"),
                short: format!("{users} users thinking {} s", short(*think_ns as f64 / 1e9)),
            }
        }
        LoadKind::Open { process, phases, start_ns, only } => {
            let Told { mut exact, mut short } = open(*process, phases);
            if *start_ns > 0 {
                exact += &format!(" from {start_ns} ns on");
                short += &format!(" from {} s on", self::short(*start_ns as f64 / 1e9));
            }
            if !only.is_empty() {
                let asked = format!(" of only {}", only.join(" and "));
                exact += &asked;
                short += &asked;
            }
            Told { exact, short }
        }
    }
}

fn open(process: Process, phases: &[LoadPhase]) -> Told {
    let rates = |number: fn(f64) -> f64| {
        let phase = |p: &LoadPhase| match p.from_per_s == p.to_per_s {
            true => format!("{}/s", number(p.from_per_s)),
            false => format!("{}..{}/s", number(p.from_per_s), number(p.to_per_s)),
        };
        let rates = phases.iter().map(phase).collect::<Vec<_>>().join(", ");
        format!("{rates} {}", process.exact())
    };
    // Phases of other lengths are another load, too.
    let lengths: Vec<String> =
        phases.iter().map(|phase| format!("{} s", phase.duration_ns as f64 / 1e9)).collect();
    let lengths = lengths.join(", ");
    let short = match phases.len() {
        0..=PHASES_TOLD_MAX => rates(short),
        many => format!("{many} phases {}", process.exact()),
    };
    Told { exact: format!("{} for {lengths}", rates(|rate| rate)), short }
}

/// What is compared, and how it is said.
struct Told {
    exact: String,
    short: String,
}

impl Told {
    fn exact(text: String) -> Told {
        Told { short: text.clone(), exact: text }
    }
}

/// A rate or a time as it was meant: four digits, but never fewer than its whole part has.
fn short(value: f64) -> f64 {
    let digits = 3 - value.abs().max(1e-9).log10().floor() as i32;
    let scale = 10f64.powi(digits.max(0));
    (value * scale).round() / scale
}

fn differing<const N: usize>(pairs: [(&str, Told, Told); N]) -> Vec<String> {
    let in_words = |(verb, a, b): (&str, Told, Told)| {
        // What only further digits tell apart is said with all of them.
        let (a, b) = if a.short == b.short { (a.exact, b.exact) } else { (a.short, b.short) };
        format!("the first {verb} {}, the other {verb} {}", a.trim(), b.trim())
    };
    pairs.into_iter().filter(|(_, a, b)| a.exact != b.exact).map(in_words).collect()
}

fn joined(differences: Vec<String>) -> Option<String> {
    (!differences.is_empty()).then(|| differences.join("; "))
}

fn real(run: &RunDocument) -> String {
    if run.simulated.is_some() { "simulated".into() } else { "real".into() }
}

//! What the loads of two runs differ in, in words.

use crate::document::{Load, LoadPhase, RunDocument};

/// What two runs differ in beside their targets.
pub(super) fn difference(a: &RunDocument, b: &RunDocument) -> Option<String> {
    let connections = |run: &RunDocument| match run.connections.mode.as_str() {
        "fixed" => Told::exact(format!("{} connections", run.connections.limit)),
        _ => Told::exact("connections as needed".to_string()),
    };
    let real = |run: &RunDocument| Told::exact(real(run));
    let pairs = [("is", real(a), real(b)), ("has", connections(a), connections(b))];
    load_difference(&a.load, &b.load).or_else(|| in_words(pairs))
}

/// What two loads differ in, seeds and threads aside.
pub fn load_difference(x: &Load, y: &Load) -> Option<String> {
    let model = |load: &Load| Told::exact(format!("{:?}", load.model).to_lowercase());
    let time = |ns: u64| Told { exact: format!("{ns} ns"), short: format!("{} s", short(ns as f64 / 1e9)) };
    let at_most = |n: Option<u64>| Told::exact(n.map_or("none".to_string(), |n| n.to_string()));
    let precision =
        |load: &Load| Told::exact(load.precision.as_ref().map_or("none".into(), |goal| format!("{goal:?}")));
    let warmup =
        |load: &Load| if load.warmup_auto { Told::exact("auto".into()) } else { time(load.warmup_ns) };
    let pacing = |load: &Load| {
        Told::exact(load.pacing.clone().unwrap_or_else(|| "as it was before there was a choice".into()))
    };
    let pairs = [
        ("has a load that is", model(x), model(y)),
        ("was offered", offered(x), offered(y)),
        ("was measured for", time(x.duration_ns), time(y.duration_ns)),
        ("has a warm-up of", warmup(x), warmup(y)),
        ("was paced", pacing(x), pacing(y)),
        ("has a timeout of", time(x.timeout_ns), time(y.timeout_ns)),
        ("has a limit of requests of", at_most(x.requests_max), at_most(y.requests_max)),
        ("ends at a precision of", precision(x), precision(y)),
    ];
    in_words(pairs)
}

fn offered(load: &Load) -> Told {
    if let Some(users) = load.users {
        let thinking = load.think_ns.unwrap_or(0);
        return Told {
            exact: format!("{users} users thinking {thinking} ns"),
            short: format!("{users} users thinking {} s", short(thinking as f64 / 1e9)),
        };
    }
    let phases = |number: fn(f64) -> f64| {
        let phase = |p: &LoadPhase| match p.from_per_s == p.to_per_s {
            true => format!("{}/s", number(p.from_per_s)),
            false => format!("{}..{}/s", number(p.from_per_s), number(p.to_per_s)),
        };
        let phases = load.phases.iter().map(phase).collect::<Vec<_>>().join(", ");
        format!("{phases} {}", load.process.as_deref().unwrap_or(""))
    };
    // Phases of other lengths are another load, too.
    let lengths: Vec<String> =
        load.phases.iter().map(|phase| format!("{} s", phase.duration_ns as f64 / 1e9)).collect();
    let lengths = lengths.join(", ");
    Told { exact: format!("{} for {lengths}", phases(|rate| rate)), short: phases(short) }
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

fn in_words<const N: usize>(pairs: [(&str, Told, Told); N]) -> Option<String> {
    let (verb, a, b) = pairs.into_iter().find(|(_, a, b)| a.exact != b.exact)?;
    // What only further digits tell apart is said with all of them.
    let (a, b) = if a.short == b.short { (a.exact, b.exact) } else { (a.short, b.short) };
    Some(format!("the first {verb} {}, the other {verb} {}", a.trim(), b.trim()))
}

fn real(run: &RunDocument) -> String {
    if run.simulated.is_some() { "simulated".into() } else { "real".into() }
}

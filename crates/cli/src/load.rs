//! From the flags of a load to what a plan needs, and to what the run document says of it.

use crate::args::load::{Arrivals, LoadArgs};
use crate::args::steady::Warmup;
use crate::args::value::Shape;
use crate::errors::{refuse, refused};
use crate::shape as named;
use anyhow::{Result, bail};
use unblink_artifact::document::{self, LoadKind, LoadPhase, LoadPlan, RunPlan, Target};
use unblink_core::mix::Order;
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanError, PlanSpec, Stretch, together};
use unblink_core::schedule::{HOLD_LENGTH_MAX, Phase, Process, Rate, Schedule};
use unblink_core::time::Nanos;
use unblink_report::format;

const DURATION_DEFAULT: Nanos = Nanos::from_secs(30);

/// What offers the load.
pub(crate) fn spec(args: &LoadArgs) -> Result<LoadSpec> {
    let duration = args.duration.unwrap_or(DURATION_DEFAULT);
    let named = named::phases(args, duration);
    match (&args.rate, args.closed) {
        (Some(_), Some(_)) => refuse!(
            ["rate", "closed"],
            "-R and --closed exclude each other: -R offers load by schedule (open), --closed by users who wait"
        ),
        (None, None) => bail!(
            "how much load? Add -R RATE for a rate that nothing the target does can change (such as -R 100), \
             or --closed USERS for users who each wait for their answer"
        ),
        (None, Some(users)) => {
            named?;
            if args.arrivals == Arrivals::Poisson {
                refuse!(
                    ["arrivals", "closed"],
                    "--arrivals poisson needs a rate (-R): closed users come when their answers do"
                );
            }
            // Without a length, -n ends the run; the longest phase is the bound.
            let default = if args.requests.is_some() { HOLD_LENGTH_MAX } else { DURATION_DEFAULT };
            let duration = args.duration.unwrap_or(default);
            let mut load = LoadSpec::closed(users, args.think.unwrap_or(Nanos::ZERO), duration);
            if let (LoadSpec::Closed { ramp_up, .. }, Some(asked)) = (&mut load, args.ramp_up) {
                *ramp_up = asked;
            }
            Ok(load)
        }
        (Some(_), None) if args.think.is_some() => refuse!(
            ["think"],
            "--think is for users who wait (--closed USERS); with -R the schedule alone says when requests start: \
             leave --think out"
        ),
        (Some(_), None) if args.ramp_up.is_some() => refuse!(
            ["ramp-up"],
            "--ramp-up is for users who wait (--closed USERS); for a rate that rises give both of its ends, such as \
             -R 0..100, and leave --ramp-up out"
        ),
        (Some(shape), None) => {
            let named = named?;
            let endless = args.requests.is_some() && args.duration.is_none();
            if endless && !matches!(shape, Shape::Hold(_)) {
                refuse!(["rate", "requests"], "a ramp or steps need a length: add -d TIME");
            }
            let default = if endless { HOLD_LENGTH_MAX } else { DURATION_DEFAULT };
            let phases = named.unwrap_or_else(|| shape.over(args.duration.unwrap_or(default)));
            if let (true, Some(n), Shape::Hold(rate)) = (endless, args.requests, shape) {
                check_requests(n, *rate)?;
            }
            let process = match args.arrivals {
                Arrivals::Even => Process::Even,
                Arrivals::Poisson => Process::Poisson { seed: args.seed },
            };
            Ok(LoadSpec::Open { phases, process })
        }
    }
}

/// The plan that `spec` is. Each refusal names its fields.
pub(crate) fn plan(spec: PlanSpec) -> Result<Plan> {
    let ramp_up = match spec.load {
        LoadSpec::Closed { ramp_up, .. } => Some(ramp_up),
        LoadSpec::Open { .. } | LoadSpec::Several(_) => None,
    };
    let warmup = spec.warmup;
    Plan::new(spec).map_err(|error| {
        let fields: &[&str] = match &error {
            PlanError::RateZero | PlanError::RateTooHigh(_) | PlanError::RatesTooFine => &["rate"],
            PlanError::AboveCap { .. } | PlanError::SumAboveCap { .. } => &["rate", "max-rate"],
            PlanError::TooManyLoads(_) => &["loads"],
            PlanError::LimitOfSeveral => &["requests"],
            PlanError::ClosedAboveCap { .. } => &["closed", "think", "max-rate"],
            PlanError::WarmupWithoutRate => &["warmup", "rate"],
            PlanError::DurationZero => &["duration"],
            PlanError::TooLong { length, .. } if *length == warmup => &["warmup"],
            PlanError::TooLong { length, .. } if Some(*length) == ramp_up => &["ramp-up"],
            PlanError::TooLong { .. } => &["duration"],
            PlanError::TimeoutZero | PlanError::TimeoutTooLong(_) => &["timeout"],
            PlanError::NoUsers | PlanError::TooManyUsers(_) => &["closed"],
            PlanError::LimitZero | PlanError::LimitTooHigh(_) => &["requests"],
            PlanError::NoThreads | PlanError::TooManyThreads(_) => &["threads"],
            PlanError::NoOperations => &[],
            PlanError::Mix(_) => &["order"],
            PlanError::FewerConnectionsThanThreads { .. } => &["connections", "threads"],
            PlanError::FewerUsersThanThreads { .. } => &["threads", "closed"],
        };
        refused(fields, error.to_string())
    })
}

/// The last of `n` requests falls due before the longest load ends.
fn check_requests(n: u64, rate: Rate) -> Result<()> {
    let last = rate.time_of(n - 1);
    if last >= HOLD_LENGTH_MAX {
        let said = |ns| format::plain(&format::moment(ns));
        refuse!(
            ["requests", "rate"],
            "-n {n} at {} takes {}, and a run lasts {} at the most: raise the rate, or lower -n to {}",
            format::plain(&format::rate(rate.as_per_s())),
            said(rate.time_of(n).0),
            said(HOLD_LENGTH_MAX.0),
            Schedule::new(&[Phase::hold(rate, HOLD_LENGTH_MAX)], Process::Even, u64::MAX)
                .count_before(HOLD_LENGTH_MAX)
        );
    }
    Ok(())
}

/// What the document says of it: of the run, and of each load. `names` are those of the operations.
pub(crate) fn describe(args: &LoadArgs, plan: &Plan, names: &[Target]) -> (RunPlan, Vec<LoadPlan>) {
    let spec = plan.spec();
    let length = plan.load_length() - plan.measured_from();
    let until = match (spec.limit, args.duration) {
        (Some(n), None) => {
            let are = if n == 1 { "is" } else { "are" };
            let until = format!("until {} {are} sent", format::plural(n, "request", "requests"));
            // Nobody knows how fast closed users send.
            match spec.load {
                LoadSpec::Open { .. } | LoadSpec::Several(_) => until,
                LoadSpec::Closed { .. } => {
                    format!("{until}, {} at the most", format::moment(HOLD_LENGTH_MAX.0))
                }
            }
        }
        (Some(n), Some(d)) => format!("for {} or {} requests", format::moment(d.0), format::count(n)),
        (None, _) => format!("for {}", format::moment(length.0)),
    };
    let (loads, phases, offered) = match &spec.load {
        LoadSpec::Open { phases, process } => {
            let (kind, phases, words) = open(args, phases, *process);
            (vec![LoadPlan { name: None, kind }], phases, words)
        }
        LoadSpec::Several(parts) => several(args, parts, names),
        LoadSpec::Closed { users, think, ramp_up, .. } => {
            let people = if *users == 1 { "user" } else { "users" };
            let thinking =
                if think.0 == 0 { String::new() } else { format!(" thinking {}", format::duration(think.0)) };
            let kind =
                LoadKind::Closed { users: Some(*users), think_ns: think.0, ramp_up_ns: Some(ramp_up.0) };
            (vec![LoadPlan { name: None, kind }], Vec::new(), format!("closed, {users} {people}{thinking}"))
        }
    };
    let mut summary = format!("{offered}, {until}");
    if let (LoadSpec::Closed { ramp_up, .. }, Some(_)) = (&spec.load, args.ramp_up) {
        summary += &format!(", who begin over {}", format::moment(ramp_up.0));
    }
    if spec.warmup.0 > 0 {
        summary += &format!(", after {} of warm-up", format::moment(spec.warmup.0));
    }
    if args.warmup == Warmup::Auto {
        summary += ", the transient left out";
    }
    let plan = RunPlan {
        summary,
        order: match spec.mix.order {
            _ if spec.idempotent.len() == 1 => None,
            Order::Turn => None,
            Order::Shuffled { seed } => Some(document::Order::Shuffled { seed }),
            Order::Random { seed } => Some(document::Order::Random { seed }),
        },
        shape: args.shape.map(named::document),
        phases,
        warmup_ns: plan.measured_from().0,
        warmup_auto: args.warmup == Warmup::Auto,
        precision: None,
        duration_ns: length.0,
        timeout_ns: spec.timeout.0,
        drain_ns: plan.drain().0,
        threads: spec.threads,
        pacing: None,
        requests_max: spec.limit,
    };
    (plan, loads)
}

/// Several open loads: each with its name, what they ask for together, and all of it in words.
fn several(args: &LoadArgs, parts: &[OpenPart], names: &[Target]) -> (Vec<LoadPlan>, Vec<LoadPhase>, String) {
    let described = parts.iter().map(|part| {
        let (mut kind, _, words) = open(args, &part.phases, part.process);
        if let LoadKind::Open { start_ns, only, .. } = &mut kind {
            *start_ns = part.start.0;
            let numbers = part.only.iter().flatten();
            *only = numbers.filter_map(|&n| Some(names.get(n as usize)?.name.clone())).collect();
        }
        let name = part.name.clone().unwrap_or_default();
        let begins = match part.start {
            Nanos::ZERO => String::new(),
            start => format!(" from {}", format::moment(start.0)),
        };
        (LoadPlan { name: part.name.clone(), kind }, format!("{name} ({words}{begins})"))
    });
    let (loads, words): (Vec<_>, Vec<_>) = described.unzip();
    let phase = |stretch: &Stretch| LoadPhase {
        from_per_s: stretch.from_per_s,
        to_per_s: stretch.to_per_s,
        duration_ns: stretch.length.0,
    };
    let phases = together(parts).iter().map(phase).collect();
    (loads, phases, format!("{} loads: {}", parts.len(), words.join(", ")))
}

/// An open load: its kind, its shape, and both in words.
fn open(args: &LoadArgs, phases: &[Phase], process: Process) -> (LoadKind, Vec<LoadPhase>, String) {
    let rate = |r: Rate| format::rate_asked(r.as_per_s());
    let rates =
        |rates: Vec<Rate>| format::rates_asked(&rates.into_iter().map(|r| r.as_per_s()).collect::<Vec<_>>());
    let named = args.shape.and_then(|name| named::summary(name, phases));
    let shape = match phases {
        _ if named.is_some() => named.unwrap_or_default(),
        [hold] if hold.from == hold.to => rate(hold.from),
        [ramp] => rates(vec![ramp.from, ramp.to]).join(" to "),
        steps => rates(steps.iter().map(|p| p.from).collect()).join(", "),
    };
    let process = match process {
        Process::Even => document::Process::Even,
        Process::Poisson { seed } => document::Process::Poisson { seed },
    };
    let phase = |p: &Phase| LoadPhase {
        from_per_s: p.from.as_per_s(),
        to_per_s: p.to.as_per_s(),
        duration_ns: p.duration.0,
    };
    let phases: Vec<LoadPhase> = phases.iter().map(phase).collect();
    let words = format!("open, {shape}, {} arrivals", process.name());
    (LoadKind::Open { process, phases: phases.clone(), start_ns: 0, only: Vec::new() }, phases, words)
}

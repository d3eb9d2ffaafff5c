//! From the flags of a load to what a plan needs, and to what the run document says of it.

use crate::args::arrivals::Arrivals;
use crate::args::load::{LoadArgs, PlannedLoad, ShapeName};
use crate::args::steady::Warmup;
use crate::errors::{self, refuse, refused, refused_value};
use crate::value::Shape;
use crate::{replay, retry, shape as named, trace};
use anyhow::{Result, bail};
use unblink_artifact::document::{self, LoadKind, LoadPhase, LoadPlan, Requested, RunPlan};
use unblink_artifact::names::few;
use unblink_core::mix::Order;
use unblink_core::plan::{Length, LoadSpec, OpenPart, Plan, PlanError, PlanSpec, Stretch, together};
use unblink_core::recorded::Recorded;
use unblink_core::recorded_users::RecordedUsers;
use unblink_core::schedule::{HOLD_LENGTH_MAX, Phase, Process, Rate, Schedule, recorded_phases};
use unblink_core::time::Nanos;
use unblink_report::format;

/// More steps are told by their lowest and highest rate.
const STEPS_TOLD_MAX: usize = 10;

const DURATION_DEFAULT: Nanos = Nanos::from_secs(30);

/// What offers the load. `targets` are those that a load may be restricted to.
pub(crate) fn spec(args: &LoadArgs, targets: &[Requested]) -> Result<LoadSpec> {
    if let Some(found) = args.replay.read(args.seed)? {
        replay::check(args)?;
        return found.load(args.duration);
    }
    if args.loads.is_empty() {
        return one(args);
    }
    let part = |(number, load)| part(args, load, targets).map_err(|error| errors::of_load(number, error));
    errors::all(args.loads.iter().enumerate().map(part)).map(LoadSpec::Several)
}

/// One of several loads: what it says of itself, and for the rest what `args` say of all.
fn part(args: &LoadArgs, load: &PlannedLoad, targets: &[Requested]) -> Result<OpenPart> {
    if load.shape == Some(ShapeName::Soak) {
        refuse!(
            ["shape"],
            "a soak looks for drift in a run of one load: put it into [load], or give a load that holds its rate \
             among others no shape"
        );
    }
    let alone = LoadArgs {
        loads: Vec::new(),
        rate: load.rate.clone(),
        shape: load.shape,
        peak_for: load.peak_for,
        period: load.period,
        trace: load.trace.clone(),
        arrivals: load.arrivals,
        duration: Some(load.duration),
        ..args.clone()
    };
    let LoadSpec::Open { phases, process } = one(&alone)? else {
        refuse!(["closed"], "users who wait (--closed) are a load that stands alone");
    };
    let mut numbers = Vec::new();
    for (place, name) in load.only.iter().enumerate() {
        if load.only[..place].contains(name) {
            let message =
                format!("{name:?} is there already: give each request once, and its share with the request");
            return Err(refused_value("only", place, message));
        }
        let so_called = (0..).zip(targets).filter(|(_, target)| target.name == *name);
        let before = numbers.len();
        numbers.extend(so_called.map(|(number, _)| number));
        if numbers.len() == before {
            let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
            let message = format!("no request is called {name:?}; there are {}", few(&names));
            return Err(refused_value("only", place, message));
        }
    }
    let only = (!load.only.is_empty()).then_some(numbers);
    Ok(OpenPart { name: load.name.clone(), phases, process, start: load.start, only })
}

fn one(args: &LoadArgs) -> Result<LoadSpec> {
    let duration = args.duration.unwrap_or(DURATION_DEFAULT);
    let named = named::phases(args, duration);
    if args.trace.trace.is_some() && args.closed.is_some() {
        refuse!(
            ["trace", "closed"],
            "--trace and --closed exclude each other: users who wait come when their answers do"
        );
    }
    // What is wrong with the flags is told before the file is read.
    let named = if args.trace.trace.is_some() { Ok(named?) } else { named };
    if let Some(phases) = trace::phases(&args.trace, args.rate.as_ref(), args.duration, DURATION_DEFAULT)? {
        check_open(args)?;
        return Ok(LoadSpec::Open { phases, process: args.arrivals.process(args.seed) });
    }
    match (&args.rate, args.closed) {
        (Some(_), Some(_)) => refuse!(
            ["rate", "closed"],
            "-R and --closed exclude each other: -R offers load by schedule (open), --closed by users who wait"
        ),
        (None, None) => bail!(
            "how much load? Add -R RATE for a rate that nothing the target does can change (such as -R 100), \
             --closed USERS for users who each wait for their answer, or --replay TRACE for what was recorded"
        ),
        (None, Some(users)) => {
            named?;
            if args.arrivals != Arrivals::Even {
                refuse!(
                    ["arrivals", "closed"],
                    "--arrivals {} needs a rate (-R): closed users come when their answers do",
                    args.arrivals.name()
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
        (Some(shape), None) => {
            check_open(args)?;
            let named = named?;
            let endless = args.requests.is_some() && args.duration.is_none();
            if endless && !matches!(shape, Shape::Hold(_)) {
                refuse!(["rate", "requests"], "a ramp or steps need a length: add -d TIME");
            }
            if endless && matches!(args.arrivals, Arrivals::Bursty(_)) {
                refuse!(
                    ["arrivals", "requests"],
                    "bursts are drawn for the whole length of a load before its start: add -d TIME to -n"
                );
            }
            let default = if endless { HOLD_LENGTH_MAX } else { DURATION_DEFAULT };
            let phases = named.unwrap_or_else(|| shape.over(args.duration.unwrap_or(default)));
            if let (true, Some(n), Shape::Hold(rate)) = (endless, args.requests, shape) {
                check_requests(n, *rate)?;
            }
            Ok(LoadSpec::Open { phases, process: args.arrivals.process(args.seed) })
        }
    }
}

/// Nothing that only users who wait have.
fn check_open(args: &LoadArgs) -> Result<()> {
    if args.think.is_some() {
        refuse!(
            ["think"],
            "--think is for users who wait (--closed USERS); with -R the schedule alone says when requests start: \
             leave --think out"
        );
    }
    if args.ramp_up.is_some() {
        refuse!(
            ["ramp-up"],
            "--ramp-up is for users who wait (--closed USERS); for a rate that rises give both of its ends, such as \
             -R 0..100, and leave --ramp-up out"
        );
    }
    Ok(())
}

/// The plan that `spec` is. Each refusal names its fields.
pub(crate) fn plan(spec: PlanSpec) -> Result<Plan> {
    retry::check(&spec)?;
    Plan::new(spec).map_err(|error| {
        let (of, blamed) = match &error {
            PlanError::OfLoad { load, error } => (Some(*load), &**error),
            error => (None, error),
        };
        let fields: &[&str] = match blamed {
            PlanError::RateZero | PlanError::RateTooHigh(_) | PlanError::RatesTooFine => &["rate", "trace"],
            PlanError::AboveCap { .. }
            | PlanError::SumAboveCap { .. }
            | PlanError::JourneysAboveCap { .. } => &["rate", "trace", "max-rate"],
            PlanError::RecordedAboveCap { .. } => &["replay", "speed", "scale", "max-rate"],
            PlanError::WarmupOfRecorded => &["warmup", "replay"],
            PlanError::BurstsWithoutTime
            | PlanError::BurstsImpossible { .. }
            | PlanError::TooManyBursts { .. }
            | PlanError::BurstsTooHigh { .. } => &["arrivals", "rate"],
            PlanError::BurstsAboveCap { .. } => &["arrivals", "rate", "max-rate"],
            PlanError::TooManyPhases(_) => &["rate"],
            PlanError::TooManyLoads(_) => &["loads"],
            PlanError::LimitOfSeveral => &["requests"],
            PlanError::OfLoad { .. } => &[],
            PlanError::ClosedAboveCap { .. } => &["closed", "think", "max-rate"],
            PlanError::WarmupWithoutRate => &["warmup", "rate"],
            PlanError::DurationZero => &["duration"],
            PlanError::TooLong { what: Length::BeforeLoad, .. } => &["start"],
            PlanError::TooLong { what: Length::Warmup, .. } => &["warmup"],
            PlanError::TooLong { what: Length::RampUp, .. } => &["ramp-up"],
            PlanError::TooLong { what: Length::Load(_), .. } => &["duration"],
            PlanError::TimeoutZero | PlanError::TimeoutTooLong(_) => &["timeout"],
            PlanError::Attempts(_) => &["attempts"],
            PlanError::TryTimeoutZero => &["try-timeout"],
            PlanError::TryTimeoutTooLong { .. } => &["try-timeout", "timeout"],
            PlanError::RetriesOnNothing => &["retry-on", "try-timeout"],
            PlanError::NoUsers | PlanError::TooManyUsers(_) => &["closed"],
            PlanError::TooManyRecordedUsers(_) => &["per-user-order", "replay"],
            PlanError::LimitZero | PlanError::LimitTooHigh(_) => &["requests"],
            PlanError::NoThreads | PlanError::TooManyThreads(_) => &["threads"],
            PlanError::NoOperations => &[],
            PlanError::Mix(_) => &["order"],
            PlanError::Journeys(_) => &["journeys-max"],
            PlanError::TooManyShares(_) | PlanError::NoSuchShare { .. } => &["share"],
            PlanError::FewerConnectionsThanThreads { .. } => &["connections", "threads"],
            PlanError::FewerUsersThanThreads { .. } => &["threads", "closed"],
        };
        let refused = refused(fields, error.to_string());
        match of {
            Some(load) => errors::of_load(load, refused),
            None => refused,
        }
    })
}

/// The last of `n` requests falls due before the longest load ends.
fn check_requests(n: u64, rate: Rate) -> Result<()> {
    let last = rate.time_of(n - 1);
    if last >= HOLD_LENGTH_MAX {
        let said = |ns| format::plain(&format::moment(ns));
        refuse!(
            ["requests", "rate"],
            "-n {n} at {} takes {}, and a run lasts at most {}: raise the rate, or lower -n to {}",
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
pub(crate) fn describe(args: &LoadArgs, plan: &Plan, names: &[Requested]) -> (RunPlan, Vec<LoadPlan>) {
    let spec = plan.spec();
    let length = plan.load_length() - plan.measured_from();
    let until = match (spec.limit, args.duration) {
        (Some(n), None) => {
            let are = if n == 1 { "is" } else { "are" };
            let until = format!("until {} {are} sent", format::plural(n, "request", "requests"));
            // Nobody knows how fast closed users send.
            match spec.load {
                LoadSpec::Open { .. }
                | LoadSpec::Several(_)
                | LoadSpec::Recorded(_)
                | LoadSpec::RecordedUsers(_) => until,
                LoadSpec::Closed { .. } => {
                    format!("{until}, at most {}", format::moment(HOLD_LENGTH_MAX.0))
                }
            }
        }
        (Some(n), Some(d)) => format!("for {} or {} requests", format::moment(d.0), format::count(n)),
        (None, _) => format!("for {}", format::moment(length.0)),
    };
    let (loads, phases, offered) = match &spec.load {
        LoadSpec::Open { phases, process } => {
            let (kind, words) = open(args.shape, phases, *process);
            (
                vec![LoadPlan { name: None, kind }],
                phases.iter().map(phase).collect(),
                format!("open, {words}"),
            )
        }
        LoadSpec::Several(parts) => several(parts, length, names),
        LoadSpec::Recorded(recorded) => of_recorded(args, recorded),
        LoadSpec::RecordedUsers(users) => of_recorded_users(args, users),
        LoadSpec::Closed { users, think, ramp_up, .. } => {
            let people = if *users == 1 { "user" } else { "users" };
            let thinking =
                if think.0 == 0 { String::new() } else { format!(" thinking {}", format::duration(think.0)) };
            let kind = LoadKind::Closed {
                users: Some(*users),
                think_ns: think.0,
                ramp_up_ns: Some(ramp_up.0),
                is_recorded: false,
            };
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
    if let Some(retries) = retry::summary(spec, names) {
        summary += &format!(", {retries}");
    }
    if plan.journeys().is_some() {
        summary += &format!(", then up to {} for journeys under way", format::moment(plan.drain().0));
    }
    let plan = RunPlan {
        summary,
        order: match spec.mix.order {
            _ if spec.idempotent.len() == 1 => None,
            Order::Turn => None,
            Order::Shuffled { seed } => Some(document::Order::Shuffled { seed }),
            Order::Random { seed } => Some(document::Order::Random { seed }),
        },
        values: Vec::new(),
        by_answers: Vec::new(),
        traces: None,
        replay: args
            .replay
            .known(args.seed)
            .map(|replay| replay.document(plan.operations_apart(), plan.load_length())),
        shape: args.shape.map(named::document),
        phases,
        warmup_ns: plan.measured_from().0,
        warmup_auto: args.warmup == Warmup::Auto,
        precision: None,
        duration_ns: length.0,
        timeout_ns: spec.timeout.0,
        drain_ns: plan.drain().0,
        retry: retry::describe(&args.retry),
        threads: spec.threads,
        pacing: None,
        requests_max: spec.limit,
    };
    (plan, loads)
}

/// A replay: how many requests of which trace, and how they were placed.
fn of_recorded(args: &LoadArgs, recorded: &Recorded) -> (Vec<LoadPlan>, Vec<LoadPhase>, String) {
    let phases = recorded_phases(recorded);
    let (kind, words) = open(None, &phases, Process::Recorded);
    let requests = format::plural(recorded.count(), "recorded request", "recorded requests");
    let placed = args.replay.known(args.seed).map(|replay| replay.in_words(&args.replay)).unwrap_or_default();
    let words = format!("open, {requests}{placed}, {words}");
    (vec![LoadPlan { name: None, kind }], phases.iter().map(phase).collect(), words)
}

/// The same by user.
fn of_recorded_users(args: &LoadArgs, users: &RecordedUsers) -> (Vec<LoadPlan>, Vec<LoadPhase>, String) {
    let requests = format::plural(users.recorded().count(), "recorded request", "recorded requests");
    let people = format::plural(users.users(), "user", "users");
    let placed = args.replay.known(args.seed).map(|replay| replay.in_words(&args.replay)).unwrap_or_default();
    let words = format!("closed, {requests} of {people}, each in its order and with its pauses{placed}");
    let kind = LoadKind::Closed {
        users: u32::try_from(users.users()).ok(),
        think_ns: 0,
        ramp_up_ns: None,
        is_recorded: true,
    };
    (vec![LoadPlan { name: None, kind }], Vec::new(), words)
}

/// Several open loads: each with its name, what they ask for together, and all of it in words. The longest ends after
/// `length`.
fn several(
    parts: &[OpenPart],
    length: Nanos,
    names: &[Requested],
) -> (Vec<LoadPlan>, Vec<LoadPhase>, String) {
    let described = parts.iter().map(|part| {
        let (mut kind, _) = open(None, &part.phases, part.process);
        if let LoadKind::Open { start_ns, only, .. } = &mut kind {
            *start_ns = part.start.0;
            let numbers = part.only.iter().flatten();
            *only = numbers.filter_map(|&n| Some(names.get(n as usize)?.name.clone())).collect();
        }
        let load = LoadPlan { name: part.name.clone(), kind };
        let name = part.name.as_deref().unwrap_or_default();
        let said = format!("{name} ({})", unblink_report::load_in_words(&load, length.0));
        (load, said)
    });
    let (loads, words): (Vec<_>, Vec<_>) = described.unzip();
    let stretch = |stretch: &Stretch| LoadPhase {
        from_per_s: stretch.from_per_s,
        to_per_s: stretch.to_per_s,
        duration_ns: stretch.length.0,
    };
    let phases = together(parts).iter().map(stretch).collect();
    let count = format::plural(parts.len() as u64, "open load", "open loads");
    (loads, phases, format!("{count}: {}", words.join(", ")))
}

fn phase(phase: &Phase) -> LoadPhase {
    LoadPhase {
        from_per_s: phase.from.as_per_s(),
        to_per_s: phase.to.as_per_s(),
        duration_ns: phase.duration.0,
    }
}

/// An open load, and its rate and arrivals in words.
fn open(shape: Option<ShapeName>, phases: &[Phase], process: Process) -> (LoadKind, String) {
    let rate = |r: Rate| format::rate_asked(r.as_per_s());
    let rates =
        |rates: Vec<Rate>| format::rates_asked(&rates.into_iter().map(|r| r.as_per_s()).collect::<Vec<_>>());
    let described: Vec<LoadPhase> = phases.iter().map(phase).collect();
    let named = shape.and_then(|name| named::summary(name, phases));
    let shape = match phases {
        _ if named.is_some() => named.unwrap_or_default(),
        [hold] if hold.from == hold.to => rate(hold.from),
        [ramp] => rates(vec![ramp.from, ramp.to]).join(" to "),
        steps if steps.len() <= STEPS_TOLD_MAX => rates(steps.iter().map(|p| p.from).collect()).join(", "),
        _ => unblink_report::rates_in_words(&described),
    };
    let process = document::Process::of(process);
    let words = format!("{shape}, {}", unblink_report::process_in_words(process));
    (LoadKind::Open { process, phases: described, start_ns: 0, only: Vec::new() }, words)
}

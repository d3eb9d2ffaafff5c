//! One trial of a search, as the run that it is.

use super::recorded;
use crate::args::arrivals::Arrivals;
use crate::args::knee::{KneeArgs, Level};
use crate::args::load::LoadArgs;
use crate::args::run::RunArgs;
use crate::args::steady::Warmup;
use crate::value::Shape;
use anyhow::Result;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// Each trial has arrivals of its own.
pub(super) fn with_seed(args: RunArgs, number: u32) -> RunArgs {
    let seed = args.load.seed.wrapping_add(u64::from(number));
    RunArgs { load: LoadArgs { seed, ..args.load }, ..args }
}

pub(super) fn run_args(args: &KneeArgs, rate: Rate, settle: Nanos, measure: Nanos) -> Result<RunArgs> {
    let traffic = recorded::traffic(args)?;
    let replay = traffic.map(|traffic| recorded::replayed(args, &traffic, rate, settle, measure));
    let is_replay = replay.is_some();
    let load = LoadArgs {
        loads: Vec::new(),
        rate: (!is_replay).then_some(Shape::Hold(rate)),
        closed: None,
        think: None,
        ramp_up: None,
        shape: None,
        peak_for: None,
        period: None,
        trace: Default::default(),
        replay: replay.unwrap_or_default(),
        duration: (!is_replay).then_some(measure),
        requests: None,
        warmup: Warmup::Time(settle),
        // The trace has its own.
        arrivals: if is_replay { Arrivals::Even } else { args.arrivals },
        seed: args.seed,
        // What a replay may have in its busiest second is more than its mean.
        max_rate: match args.max {
            _ if !args.journeys.is_empty() => args.max_requests,
            Some(Level::Rate(max)) if !is_replay => Some(max),
            _ => None,
        },
        connections: args.connections,
        timeout: args.timeout,
        drain: None,
        retry: args.retry.clone(),
    };
    let run = RunArgs::of_experiment(args.requests.clone(), load, args.target.clone(), args.quiet);
    Ok(RunArgs {
        agents: args.agents.clone(),
        setup: args.setup.clone(),
        journeys: args.journeys.clone(),
        under_way: args.under_way.clone(),
        ..run
    })
}

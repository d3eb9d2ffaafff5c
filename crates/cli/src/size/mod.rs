//! `unblink size`: how many machines a load takes, and what breaks first.

mod calibrate;
mod constants;
mod load;

use crate::agents::Ceilings;
use crate::args::size::SizeArgs;
use crate::{exit, output, signals};
use anyhow::Result;
use std::sync::atomic::Ordering;
use unblink_analysis::fleet::{self, Machine};
use unblink_artifact::size::{SIZE_SCHEMA, SizeDocument, SizeLoad, SizeMachine};

/// What a machine can carry, as an agent asks for it.
pub(crate) const CEILINGS: Ceilings =
    Ceilings { of_file: constants::carries_per_s, measured: measured_per_s };

/// Requests per second that so many workers carry, by what is measured now. `None` where that was to end.
fn measured_per_s(workers: u32, is_stopped: &dyn Fn() -> bool) -> Result<Option<u64>> {
    let measured = calibrate::measure(is_stopped, |_, _| {})?;
    measured.map(|document| constants::of_document(&document, workers)).transpose()
}

/// Answers, or measures. Gives the exit code.
pub(crate) fn size(args: &SizeArgs) -> Result<u8> {
    let mut constants = constants::given(args)?;
    if args.calibrate {
        let stop = signals::flag()?;
        let is_stopped = || stop.load(Ordering::Relaxed);
        let tell = |number: String, name: &str| output::note(format_args!("{number}  {name}"));
        let Some(measured) = calibrate::measure(&is_stopped, tell)? else { return Ok(exit::INTERRUPTED) };
        if let Some(path) = &args.output {
            output::write(path, &(output::to_json(&measured)? + "\n"))?;
        }
        if args.rate.is_none() && args.plan.is_none() {
            match args.json {
                // What stands on standard output already need not stand there twice.
                _ if args.output.as_deref().is_some_and(output::is_stdout) => {}
                true => output::print_json(&measured)?,
                false => output::print_report(&unblink_report::size::measured(&measured, &output::style()))?,
            }
            return Ok(exit::OK);
        }
        constants::measured(&mut constants, &measured)?;
        constants::set(&mut constants, args)?;
    }
    let asked = load::asked(args)?;
    let machine = Machine { cores: args.cores, nic_bits_per_s: args.nic };
    let document = SizeDocument {
        schema: SIZE_SCHEMA.into(),
        load: SizeLoad {
            per_s: asked.per_s,
            latency_ns: args.latency.0,
            stall_ns: args.stall.0,
            dealt: asked.dealt,
            tls: asked.requests.tls,
            request_body_bytes: args.request_body,
            answer_body_bytes: args.body,
            requests_per_connection: args.requests_per_connection,
            operations: asked.requests.operations,
            addresses: args.addresses,
            open_before: asked.open_before,
            agents_asked: args.agents,
        },
        machine: SizeMachine { cores: args.cores, nic_bits_per_s: args.nic },
        fleet: fleet::size(&asked, &machine, &constants, args.agents),
        constants: constants.all().to_vec(),
    };
    match args.json {
        true => output::print_json(&document)?,
        false => output::print_report(&unblink_report::size::render(&document, &output::style()))?,
    }
    Ok(if document.fleet.is_enough { exit::OK } else { exit::FAILED })
}

//! What an agent can carry at the most, by what was measured on its machine.

use crate::args::agents::AgentArgs;
use crate::output;
use crate::signals::Interruptions;
use anyhow::Result;
use std::path::Path;
use std::time::Duration;
use unblink_report::format;

/// Requests per second that so many workers carry.
#[derive(Clone, Copy)]
pub(crate) struct Ceilings {
    /// By the constants in a file.
    pub of_file: fn(&Path, u32) -> Result<u64>,
    /// By what is measured now, unless that is to end.
    pub measured: fn(u32, &dyn Fn() -> bool) -> Result<Option<u64>>,
}

/// What is known of this machine.
pub(super) enum Ceiling {
    Unknown,
    PerS(u64),
    /// Somebody wanted out while it was measured.
    Interrupted,
}

impl Ceiling {
    pub(super) fn per_s(&self) -> Option<u64> {
        if let Ceiling::PerS(per_s) = self { Some(*per_s) } else { None }
    }
}

impl Ceilings {
    pub(super) fn of(self, args: &AgentArgs, workers: u32, interruptions: &Interruptions) -> Result<Ceiling> {
        if let Some(path) = &args.constants {
            return Ok(Ceiling::PerS((self.of_file)(path, workers)?));
        }
        if !args.calibrate {
            return Ok(Ceiling::Unknown);
        }
        if !args.quiet {
            output::note(format_args!("measuring this machine before it joins, for about ten seconds"));
        }
        // What was started for it is waited for.
        interruptions.defer("stopping");
        let is_stopped = || !interruptions.wait(Duration::ZERO);
        let measured = (self.measured)(workers, &is_stopped)?;
        let Some(per_s) = measured.filter(|_| !is_stopped()) else { return Ok(Ceiling::Interrupted) };
        interruptions.defer_no_more();
        if !args.quiet {
            let (per_s, workers) = (format::plain(&format::count(per_s)), workers.to_string());
            let of = if workers == "1" { "processor" } else { "processors" };
            output::note(format_args!("measured: a run may ask this agent for {per_s}/s, on {workers} {of}"));
        }
        Ok(Ceiling::PerS(per_s))
    }
}

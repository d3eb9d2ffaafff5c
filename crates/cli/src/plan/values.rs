//! `[let]`: the values that a plan names.

use super::file::{Let, PlanFile};
use super::source::Wrong;
use super::{journeys, setup};
use crate::errors;
use crate::request::lets::{Named, of_flags, read, run_id};
use crate::request::references::explained;
use anyhow::{Result, anyhow};
use std::path::Path;
use std::sync::Arc;
use unblink_workload::Lets;

/// The values of the plan, and those of the command line, which win over those of the same name.
pub(super) fn table(plan: &PlanFile, flags: &[String]) -> Result<Arc<Lets>> {
    let flags = of_flags(flags)?;
    let folder = plan.path.parent().unwrap_or(Path::new(""));
    let is_replaced = |name: &str| flags.iter().any(|flag| flag.name == name);
    let own = plan.lets.iter().filter(|one| !is_replaced(&one.name.raw));
    let all: Vec<(&str, &str)> = own
        .clone()
        .map(|one| (&*one.name.raw, &*one.value.raw))
        .chain(flags.iter().map(|flag| (&*flag.name, &*flag.text)))
        .collect();
    let sources = errors::all(own.map(|Let { name, value }| {
        let source = read(&value.raw, folder).map_err(|error| {
            let why = explained(&name.raw, &all).unwrap_or_else(|| error.to_string());
            // Behind the quote, if there is one.
            let written = &plan.source.text[value.at.clone()];
            let at = match written.find(&value.raw) {
                Some(inside) => {
                    let start = value.at.start + inside;
                    start + error.range.start..start + error.range.end.max(error.range.start + 1)
                }
                None => value.at.clone(),
            };
            plan.source.error_hiding(&Wrong::new(at, why), &plan.hidden)
        })?;
        Ok((name, source))
    }))?;
    let mut table = Lets::default();
    for (name, source) in sources {
        table.add(&name.raw, source).map_err(|why| plan.error(name, why))?;
    }
    for Named { name, text } in &flags {
        let wrong = |error| anyhow!("--let {name}: {}", explained(name, &all).unwrap_or(error));
        let source = read(text, Path::new("")).map_err(|error| wrong(error.to_string()))?;
        table.add(name, source).map_err(|why| anyhow!("--let: {why}"))?;
    }
    setup::add_captured(plan, &mut table)?;
    journeys::add_taken(plan, &mut table)?;
    Ok(Arc::new(table.of_run(run_id(plan.value("seed").is_some()))))
}

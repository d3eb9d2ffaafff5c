//! Before a workload is run: are its records there?

use super::asking::Asking;
use super::ranges;
use crate::args::Cli;
use crate::errors::refuse;
use crate::request::Request;
use crate::request::url::Speaks;
use crate::ycsb::requests::INDEX;
use crate::ycsb::workload::Workload;
use crate::ycsb::{Given, bare};
use anyhow::{Context, Result, bail};
use unblink_analysis::experiment::interleaved::Side;

/// The command line, whose workload asks for as many records as there are. Those that it names must be there.
pub(crate) fn counted(mut cli: Cli) -> Result<Cli> {
    if let Some(given) = Given::of(&mut cli)?.filter(|given| !given.is_simulated) {
        compare_with_stores(given)?;
    }
    Ok(cli)
}

/// Counts the records of each store, and lets the workload ask for them where it does not say how many there are.
fn compare_with_stores(mut given: Given<'_>) -> Result<()> {
    let workload = Workload::read(given.workload)?;
    let Some(target) = given.target else { return Ok(()) };
    if target.no_preflight && workload.records.is_some() {
        return Ok(());
    }
    let stores: Vec<Request> = given.stores.iter().filter_map(|asked| asked.first()).map(bare).collect();
    let mut all = Vec::new();
    for (side, store) in stores.iter().enumerate() {
        let asking = Asking::new(store.clone(), |own| *own = target.clone())?;
        let counted = count(&asking, &workload)
            .context("the records of the workload can't be counted (unblink fill writes them)")
            .and_then(|counted| check(&workload, counted).map(|()| counted));
        all.push(match stores.len() {
            1 => counted?,
            _ => counted.with_context(|| format!("the {}", Side::ALL[side].name()))?,
        });
    }
    if workload.records.is_some() {
        return Ok(());
    }
    let records = agreed(&all)?;
    if given.has_agents {
        refuse!(
            ["agents"],
            "agents ask for the records that they are told of, and the workload does not say how many: add --set \
             recordcount={records}, as many as the store has"
        );
    }
    given.workload.set.push(format!("recordcount={records}"));
    given.expand()
}

/// As many as each store has. Stores with other numbers of records would be asked for other keys.
fn agreed(all: &[u64]) -> Result<u64> {
    let (Some(least), Some(most)) = (all.iter().min(), all.iter().max()) else { bail!("there is no store") };
    if least != most {
        bail!(
            "the stores have {} records, and both sides would not ask for the same: say --set recordcount={least}, or fill them \
             alike",
            all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
        );
    }
    Ok(*least)
}

/// How many records of `workload` the store has.
pub(super) fn count(asking: &Asking, workload: &Workload) -> Result<u64> {
    match asking.speaks {
        Speaks::Redis => asking.number(&format!("ZCARD {INDEX}")),
        Speaks::Cql => ranges::count(asking, workload),
        _ => asking.number(&format!("SELECT count(*) FROM {}", workload.table)),
    }
}

fn check(workload: &Workload, counted: u64) -> Result<()> {
    match workload.records {
        _ if counted == 0 => bail!("the store has no records of this workload: unblink fill writes them"),
        Some(records) if counted < records => bail!(
            "the store has {counted} records, and the workload asks for {records}: fill it, or say --set recordcount={counted}"
        ),
        Some(records) if counted > records && workload.inserts() => bail!(
            "the store has {counted} records, and the workload would insert those after the first {records} again: \
             say --set recordcount={counted}, or leave that out"
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::workload::{WorkloadArgs, WorkloadName};

    #[test]
    fn both_sides_ask_for_the_same_records() {
        assert_eq!((agreed(&[5]).unwrap(), agreed(&[7, 7]).unwrap()), (5, 7));
        let error = agreed(&[500, 400]).unwrap_err().to_string();
        assert!(error.contains("500 and 400 records") && error.contains("recordcount=400"), "{error}");
    }

    #[test]
    fn records_must_be_there_before_they_are_asked_for() {
        let workload = |name, records| Workload {
            records,
            ..Workload::read(&WorkloadArgs { workload: Some(name), ..WorkloadArgs::default() }).unwrap()
        };
        for (name, records, counted, part) in [
            (WorkloadName::A, None, 5, ""),
            (WorkloadName::A, None, 0, "has no records"),
            (WorkloadName::A, Some(5), 4, "has 4 records, and the workload asks for 5"),
            (WorkloadName::A, Some(5), 6, ""),
            (WorkloadName::D, Some(5), 6, "would insert"),
            (WorkloadName::D, Some(5), 5, ""),
        ] {
            let said = check(&workload(name, records), counted);
            let said = said.map_or_else(|error| error.to_string(), |()| String::new());
            assert!(said.contains(part) && said.is_empty() == part.is_empty(), "{said}");
        }
    }
}

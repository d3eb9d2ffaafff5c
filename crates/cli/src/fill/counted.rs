//! Before a workload is run: are its records there?

use super::asking::Asking;
use super::ranges;
use crate::args::{Cli, Command};
use crate::request::url::Speaks;
use crate::ycsb;
use crate::ycsb::requests::INDEX;
use crate::ycsb::workload::Workload;
use anyhow::{Context, Result, bail};

/// The command line, whose workload asks for as many records as there are. Those that it names must be there.
pub(crate) fn counted(mut cli: Cli) -> Result<Cli> {
    let (lines, urls, target, requests, load) = match &mut cli.command {
        Command::Knee(args) if args.simulate => return Ok(cli),
        Command::Knee(args) => (&mut args.lines, &args.urls, &args.target, &mut args.requests, None),
        other => match other.run_mut() {
            Some(args) => (&mut args.lines, &args.urls, &args.target, &mut args.requests, Some(&args.load)),
            None => return Ok(cli),
        },
    };
    if !lines.workload.is_given() {
        return Ok(cli);
    }
    let workload = Workload::read(&lines.workload)?;
    if load.is_none() && workload.inserts() {
        bail!(
            "this workload inserts records, and a search asks for it several times: the second time they would be there"
        );
    }
    let [url] = urls.as_slice() else { return Ok(cli) };
    if target.no_preflight && workload.records.is_some() {
        return Ok(cli);
    }
    let asking = Asking::new(url, |own| *own = target.clone())?;
    let counted = count(&asking, &workload);
    let counted =
        counted.context("the records of the workload can't be counted (unblink fill writes them)")?;
    check(&workload, counted)?;
    if workload.records.is_none() {
        lines.workload.set.push(format!("recordcount={counted}"));
        *requests = ycsb::asked(lines, urls, &target.request, load)?;
    }
    Ok(cli)
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

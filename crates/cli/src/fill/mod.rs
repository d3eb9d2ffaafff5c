//! `unblink fill`: writes the records that a workload asks for.

mod asking;
mod cassandra;
mod counted;
mod progress;
mod ranges;
mod records;
mod sample;

use crate::args::fill::FillArgs;
use crate::request::Request;
use crate::request::url::Speaks;
use crate::run::Prepared;
use crate::ycsb::requests::columns;
use crate::ycsb::workload::Workload;
use crate::{exit, output, secrets, signals};
use anyhow::{Context, Result, anyhow, bail};
use asking::Asking;
pub(crate) use counted::counted;
use progress::Progress;
use records::Writing;
use sample::Sample;
use serde::Serialize;
use std::sync::atomic::Ordering;
use unblink_core::time::Nanos;
use unblink_engine::feeding::FeedError;
use unblink_report::format;

/// Requests under way on a connection, to Redis or Cassandra.
const DEPTH: u32 = 32;
/// Of 100 rows each.
const DEPTH_POSTGRES: u32 = 4;

/// A store that answers nothing for so long is given up.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// Of what is wrong, so many are told.
const WRONG_TOLD: usize = 3;

/// What was done, as JSON.
#[derive(Serialize)]
struct Filled {
    schema: &'static str,
    url: String,
    records: u64,
    /// Of these, written now and not before an interruption.
    written: u64,
    seconds: f64,
    records_per_s: f64,
    counted: u64,
    sampled: u64,
    sampled_wrong: u64,
}

/// Fills, and reads some of it again. Gives the exit code.
pub(crate) fn fill(args: &FillArgs) -> Result<u8> {
    if !args.workload.is_given() {
        bail!("no workload is given: add --workload ycsb-a or another, or -P FILE with YCSB's properties");
    }
    let workload = Workload::read(&args.workload)?;
    if workload.is_empty {
        bail!("recordcount=0: there is nothing to write; give --set recordcount=1M");
    }
    let Some(records) = workload.records else {
        bail!("the number of records is missing: add --set recordcount=1M");
    };
    let asking = Asking::new(Request::new(None, &args.url)?, |target| {
        target.set_tls(&args.tls);
        target.unix_socket.clone_from(&args.unix_socket);
    })?;
    let database = match asking.speaks {
        Speaks::Postgres => Some(crate::request::postgres::database(&args.url)?),
        _ => None,
    };
    let begun = Progress::new(args, database, &workload, records);
    let progress = match args.resume {
        true => begun.resumed(&args.progress)?,
        false => {
            begun.refuse_another(&args.progress)?;
            make_room(&asking, &workload, args.create)?;
            begun
        }
    };
    progress.write(&args.progress)?;
    let stop = signals::flag()?;
    let depth = args.depth.unwrap_or(match asking.speaks {
        Speaks::Postgres => DEPTH_POSTGRES,
        _ => DEPTH,
    });
    let prepared = asking.prepared(records::requests(&asking, &workload)?, args.connections, depth)?;
    let began_with = progress.written;
    let mut writing = Writing::new(
        (&asking, &workload),
        (progress, &args.progress),
        (records, args.seed),
        (&stop, args.quiet),
    );
    let fed = prepared.job.feed(args.connections, PATIENCE, &mut writing);
    output::clear_live();
    let Writing { progress, failure, unkept, .. } = writing;
    progress.write(&args.progress)?;
    let written = progress.written;
    let so_far = || {
        format!(
            "{} of {} records are there; --resume goes on",
            format::plain(&format::count(written)),
            format::plain(&format::count(records))
        )
    };
    if let Some(error) = unkept {
        return Err(error);
    }
    if let Some(kind) = failure {
        bail!("a record was not taken ({}): {}", prepared.header.failure_code(kind.index()), so_far());
    }
    let took = fed.map_err(|error| anyhow!("{}: {}", told(&prepared, &error), so_far()))?;
    if written < records || stop.load(Ordering::Relaxed) {
        output::note(format_args!("interrupted: {}", so_far()));
        return Ok(exit::INTERRUPTED);
    }
    let (counted, sample) = verified(args, &asking, &workload, records)?;
    let seconds = took.as_secs_f64();
    let filled = Filled {
        schema: "unblink/filled/1",
        url: secrets::mask_url(&args.url),
        records,
        written: written - began_with,
        seconds,
        records_per_s: (written - began_with) as f64 / seconds.max(1e-9),
        counted,
        sampled: sample.read,
        sampled_wrong: sample.wrong.len() as u64,
    };
    std::fs::remove_file(&args.progress)
        .with_context(|| format!("can't remove {}", args.progress.display()))?;
    report(args, &filled)?;
    let is_right = counted == records && sample.wrong.is_empty();
    if counted != records {
        output::note(format_args!("error: the store has {counted} records, and {records} were written"));
    }
    for (number, kind) in sample.wrong.iter().take(WRONG_TOLD) {
        let why = match kind {
            Some(kind) => prepared.header.failure_code(kind.index()),
            None => "it holds something else than was written".to_string(),
        };
        output::note(format_args!("error: record {number}: {why}"));
    }
    Ok(if is_right { exit::OK } else { exit::FAILED })
}

/// Creates what is asked for, and refuses a store that has something in it.
fn make_room(asking: &Asking, workload: &Workload, creates: bool) -> Result<()> {
    let table = &workload.table;
    let (found, what) = match asking.speaks {
        Speaks::Redis => (asking.number("DBSIZE")?, "the database has keys".to_string()),
        Speaks::Cql => {
            let has_rows = cassandra::make_room(asking, workload, creates)?;
            (u64::from(has_rows), format!("the table {table} has rows"))
        }
        _ => {
            let is_there = asking.ask(&format!("SELECT to_regclass('{table}') IS NOT NULL"))?.trim() == "t";
            match (is_there, creates) {
                (false, false) => bail!("there is no table {table}: --create creates it"),
                (false, true) => {
                    let fields: String = (0..workload.fields).map(|n| format!(", FIELD{n} TEXT")).collect();
                    let create = format!("CREATE TABLE {table} (YCSB_KEY VARCHAR(255) PRIMARY KEY{fields})");
                    asking.ask(&create).with_context(|| format!("can't create the table {table}"))?;
                }
                (true, _) => {
                    let probe = format!("SELECT {} FROM {table} WHERE false", columns(workload));
                    asking.ask(&probe).with_context(|| format!("the table {table} is not a workload's"))?;
                }
            }
            let some =
                asking.number(&format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1) AS one"))?;
            (some, format!("the table {table} has rows"))
        }
    };
    match found {
        0 => Ok(()),
        _ => bail!("{what} already, and only an empty store is filled: empty it, or name another by the URL"),
    }
}

/// How many records there are, and some of them read again.
fn verified<'a>(
    args: &FillArgs,
    asking: &Asking,
    workload: &'a Workload,
    records: u64,
) -> Result<(u64, Sample<'a>)> {
    let counted = counted::count(asking, workload)?;
    let prepared = asking.prepared(vec![sample::request(asking, workload)?], 1, 1)?;
    let prepared = Prepared { job: prepared.job.hearing_all(), ..prepared };
    let mut sample = Sample::new(asking, workload, records, args.seed);
    let fed = prepared.job.feed(1, PATIENCE, &mut sample);
    fed.map_err(|error| anyhow!("reading some again: {}", told(&prepared, &error)))?;
    Ok((counted, sample))
}

fn told(prepared: &Prepared, error: &FeedError) -> String {
    match error {
        FeedError::Connection { kind, .. } => {
            format!("{error} ({})", prepared.header.failure_code(kind.index()))
        }
        error => error.to_string(),
    }
}

fn report(args: &FillArgs, filled: &Filled) -> Result<()> {
    if args.json {
        return output::print_json(filled);
    }
    let line = format!(
        "{} records written in {:.1} s ({}); {} counted, {} read again, {} of these wrong\n",
        format::count(filled.written),
        filled.seconds,
        format::rate(filled.records_per_s),
        format::count(filled.counted),
        format::count(filled.sampled),
        format::count(filled.sampled_wrong)
    );
    output::print(&format::plain(&line))
}

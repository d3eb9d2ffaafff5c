//! What an agent does of a run: from the offer to its record.

use super::causes::by_guard;
use super::led::Led;
use super::{RECORD, beside, unchanged};
use crate::args::Exports;
use crate::args::agents::{AgentArgs, AgentsArgs};
use crate::args::run::RunArgs;
use crate::args::share::{ShareArgs, ShareOf};
use crate::inputs::Readable;
use crate::run::lead::UNBEGUN;
use crate::signals::Interruptions;
use crate::{config, environment, exit, inputs, output, replay, run};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use unblink_artifact::document::{Aborted, GuardKind};
use unblink_cluster::agent::Known;
use unblink_cluster::message::{Ended, Offer, OfferedFile};
use unblink_cluster::record;
use unblink_core::schedule::Rate;

/// Finds the run that a command line asks for, or one of those.
pub(super) type RunOf = fn(Vec<OsString>, Option<&serde_json::Value>) -> Result<RunArgs>;

/// What came of a run that was offered.
pub(super) struct Offered {
    pub ended: Ended,
    /// Nobody was heard who led it, so its load ended early; or its record is not whole.
    pub fell_short: bool,
    /// The files that were fetched for it.
    pub known: Known,
}

/// Where the files of a run are put, beside its record.
pub(super) const FILES: &str = "files";

/// The run that was offered, from its plan to its record.
pub(super) fn offered(
    args: &AgentArgs,
    run_of: RunOf,
    offer: &Offer,
    files: Vec<Arc<Vec<u8>>>,
    folder: &Path,
    interruptions: &Interruptions,
    led: &mut Led<'_>,
) -> Result<Offered> {
    let folder = std::path::absolute(folder).context("there is no current folder")?;
    led.folder = folder.clone();
    let own = std::env::current_dir().context("there is no current folder")?;
    if !args.in_place {
        let place = beside(&folder, FILES);
        write(&place, offer, files)?;
        std::env::set_current_dir(&place).with_context(|| format!("can't go to {place:?}"))?;
    }
    let mut done = taken(args, run_of, offer, &folder, interruptions, led);
    std::env::set_current_dir(own).context("the folder from which this began is gone")?;
    if !args.in_place {
        let place = beside(&folder, FILES);
        if let Ok(offered) = &mut done {
            offered.known = still_there(&place, offer);
        }
        // A plan may hold what is nobody else's business.
        let _ = std::fs::remove_dir_all(place);
    }
    done
}

fn write(place: &Path, offer: &Offer, files: Vec<Arc<Vec<u8>>>) -> Result<()> {
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("can't create the folder {parent:?}"))?;
    }
    let made = std::fs::DirBuilder::new().mode(0o700).create(place);
    made.with_context(|| format!("can't create the folder {place:?} (-o names another)"))?;
    for (file, bytes) in offer.files.iter().zip(files) {
        if !super::offered::is_beneath(Path::new(&file.name)) || record::sha256(&bytes) != file.sha256 {
            bail!("the file {:?} of the run is not what was offered", file.name);
        }
        let path = place.join(&file.name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("can't create the folder {parent:?}"))?;
        }
        std::fs::write(&path, &*bytes).with_context(|| format!("can't write {path:?}"))?;
    }
    Ok(())
}

/// The files of a run that is over, which the next one of the command reads, too. In memory from now on, and not before: while load goes
/// on that is better used.
fn still_there(place: &Path, offer: &Offer) -> Known {
    let read = |file: &OfferedFile| {
        let bytes = std::fs::read(place.join(&file.name)).ok()?;
        // A script may have written to it.
        (record::sha256(&bytes) == file.sha256).then(|| (file.sha256.clone(), Arc::new(bytes)))
    };
    offer.files.iter().filter_map(read).collect()
}

fn taken(
    args: &AgentArgs,
    run_of: RunOf,
    offer: &Offer,
    folder: &Path,
    interruptions: &Interruptions,
    led: &mut Led<'_>,
) -> Result<Offered> {
    begin_reading(args.in_place, offer);
    let words = ["unblink"].into_iter().chain(offer.arguments.iter().map(String::as_str));
    let argv: Vec<OsString> = words.map(OsString::from).collect();
    let asked = run_of(argv.clone(), offer.part.as_ref()).or_else(|error| {
        check_in_place(args, offer)?;
        Err(error)
    })?;
    check_script(args, &asked)?;
    check_certificates(args, &asked)?;
    let mut run_args = RunArgs {
        share: ShareArgs {
            share: Some(ShareOf { first: offer.first, last: offer.last, of: offer.of }),
            start_at: None,
            run_seed: Some(offer.run_seed),
        },
        // What is judged of all machines stands in the record of each.
        agents: AgentsArgs { tolerate_lost: asked.agents.tolerate_lost, ..AgentsArgs::default() },
        exports: Exports::default(),
        quiet: true,
        ..asked
    };
    // The coordinator looks at them, for all: a thousand agents would ask a thousand times.
    let guards = &mut run_args.target.guards;
    (guards.kill_file, guards.kill_url) = (None, None);
    // By the command line of the run, so that the record can be made again from it.
    environment::begin_part(Some(argv));
    let prepared = run::prepare_under(&run_args, cap(args, offer)?);
    check_in_place(args, offer)?;
    let prepared = match args.max_rate {
        Some(max) => {
            prepared.with_context(|| format!("(--max-rate {max} of this agent is for its own part)"))?
        }
        None => prepared?,
    };
    let no_preflight = run_args.target.no_preflight;
    let watched = run::Watched { no_preflight, quiet: true, experiment: None, lead: Some(&mut *led) };
    let (document, _) = run::execute_watched(prepared, folder, interruptions, watched)?;
    output::write_page(folder, &document);
    // Not what the coordinator has said, which knows.
    let by_itself = |by: &&Aborted| {
        !matches!(by.guard, None | Some(GuardKind::Coordinator | GuardKind::Lease)) && !led.was_told(by)
    };
    let stopped_by = document.aborted.as_ref().filter(by_itself);
    let stopped_by = stopped_by.and_then(|by| Some((by_guard(by.guard?), by.rule.clone())));
    let files = record::ends(folder, &RECORD).context("can't read the record again")?;
    let was_left_alone = document.aborted.as_ref().is_some_and(|by| by.guard == Some(GuardKind::Lease));
    let (error, notes) = (led.unwritten.take(), led.notes());
    let fell_short = was_left_alone || error.is_some();
    let is_unbegun =
        stopped_by.as_ref().is_some_and(|(_, why)| why == UNBEGUN) && !interruptions.wait(Duration::ZERO);
    let code = if is_unbegun { exit::INTERRUPTED } else { exit::of_run(&document) };
    let ended = Ended { code, stopped_by, error, notes, files };
    Ok(Offered { ended, fell_short, known: Known::new() })
}

/// Refuses the script of a run unless this agent's own user lets it run, before any of it is. Whoever signs a plan says where load
/// goes; a script can do whatever the user of the agent can.
fn check_script(args: &AgentArgs, asked: &RunArgs) -> Result<()> {
    let Some(script) = &asked.target.script.script else { return Ok(()) };
    if !args.allow_scripts {
        bail!(
            "the run has the script {script:?}, a program that can read files and start others, and this agent runs none: start it with \
             --allow-scripts if whoever has the operator's key may do that on its machine, or let a template make the requests"
        );
    }
    Ok(())
}

/// They never travel, so here they would be an agent's own, and no coordinator of good will names one.
fn check_certificates(args: &AgentArgs, asked: &RunArgs) -> Result<()> {
    let target = &asked.target;
    let named = [&target.cacert, &target.cert, &target.key].into_iter().flatten().next();
    match named.filter(|_| !args.in_place) {
        Some(file) => bail!(
            "the run names {file:?} (--cacert, --cert, --key), and this agent lets no plan say which of its own files are read: let \
             its machine trust the certificate (SSL_CERT_FILE)"
        ),
        None => Ok(()),
    }
}

/// What was read where it is, is what whoever leads has read.
fn check_in_place(args: &AgentArgs, offer: &Offer) -> Result<()> {
    if args.in_place { unchanged::check_read(&offer.files) } else { Ok(()) }
}

/// What is read from now on is this run's, and what stood in it makes parts of it known as such. What was fetched was hashed then.
fn begin_reading(in_place: bool, offer: &Offer) {
    let readable = if in_place { Readable::All } else { Readable::Known };
    let known = offer.files.iter().map(|file| (file.name.clone().into(), file.sha256.clone()));
    inputs::begin_with(known, readable);
    replay::forget();
    if in_place {
        inputs::hash();
    }
}

/// What the whole load may have at most, so that this agent's part of it keeps below its own limit.
fn cap(args: &AgentArgs, offer: &Offer) -> Result<Option<Rate>> {
    let shares = u64::from(offer.last - offer.first + 1);
    let own = args.max_rate.map(|rate| Rate::from_milli(rate.milli_per_s() / shares * u64::from(offer.of)));
    Ok([own, config::max_rate()?].into_iter().flatten().min())
}

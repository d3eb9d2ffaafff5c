//! `unblink agent`: waits on the bus for a run, takes part in it, and leaves.

use super::{RECORD, beside, keys};
use crate::args::agents::AgentArgs;
use crate::args::run::RunArgs;
use crate::args::share::{ShareArgs, ShareOf};
use crate::args::{Command, Exports};
use crate::clock::OwnTime;
use crate::errors::PreflightFailed;
use crate::folder::Folder;
use crate::observe::{End, Observer};
use crate::run::guards::Stopper;
use crate::run::lead::{Begun, Lead};
use crate::signals::Interruptions;
use crate::{config, environment, exit, guard, inputs, output, plan, run, signals};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use unblink_artifact::document::{GuardKind, named_shares};
use unblink_artifact::tally::Tally;
use unblink_cluster::agent::{Action, Event, Left};
use unblink_cluster::bus::{AgentBus, join};
use unblink_cluster::message::{Ended, Machine, Offer, Refusal, Time};
use unblink_cluster::{PROTOCOL, record};
use unblink_core::record::Interval;
use unblink_core::schedule::Rate;
use unblink_core::time::{Instant, Nanos};

/// Where the files of a run are put, beside its record.
const FILES: &str = "files";

/// Waits for one run. Gives the exit code.
pub(crate) fn agent(args: &AgentArgs) -> Result<u8> {
    let time = OwnTime::start();
    let options = keys::options(&args.bus)?;
    // Known before anybody counts on it.
    if let Some(folder) = &args.output {
        output::check_folder(folder)?;
    }
    guard::only(&args.allow_target)?;
    let interruptions = signals::listen()?;
    let machine = Machine {
        protocol: PROTOCOL,
        version: env!("UNBLINK_VERSION").to_string(),
        host: host(),
        shares: args.shares.unwrap_or_else(cores),
    };
    let stopping = Arc::new(Stopping { time, inner: Mutex::default() });
    let (actions, todo) = channel();
    let stopped = stopping.clone();
    let url = options.url.clone();
    let act = move |action: Action| match action {
        // At once, whatever the run is doing.
        Action::StopLoad { at, by_lease, why } => {
            let kind = if by_lease { GuardKind::Lease } else { GuardKind::Coordinator };
            stopped.stop(at, kind, why);
        }
        other => drop(actions.send(other)),
    };
    let now = Arc::new(move || time.now());
    let bus = join(options, keys::unique()?, machine, args.accept_from.clone(), now, act)?;
    if args.in_place {
        leave_with_input(stopping.clone())?;
    }
    if !args.quiet {
        output::note(format_args!("waiting for a run on {url}"));
    }
    let code = part(args, time, &bus, &todo, &stopping, &interruptions);
    bus.end();
    code
}

/// Takes part in one run.
fn part(
    args: &AgentArgs,
    time: OwnTime,
    bus: &AgentBus,
    todo: &Receiver<Action>,
    stopping: &Arc<Stopping>,
    interruptions: &Interruptions,
) -> Result<u8> {
    loop {
        match todo.recv() {
            Ok(Action::Prepare(offer, files)) => {
                let folder = Folder::named_or_new(args.output.as_ref(), "unblink-runs")?;
                if !args.quiet {
                    let shares = named_shares(offer.first, offer.last, offer.of);
                    output::note(format_args!("taking part in a run: {shares}"));
                }
                let path = folder.to_path_buf();
                let mut led = Led { time, bus, todo, stopping, interruptions, folder: path, due: 0, ok: 0 };
                let (code, has_run) = match offered(args, &offer, files, &folder, interruptions, &mut led) {
                    Ok(Offered { ended, was_left_alone }) => {
                        // Whoever started it must not take what ended early for done. What the load came to is for the
                        // whole run to say.
                        let code = match ended.code {
                            exit::INTERRUPTED => exit::INTERRUPTED,
                            _ if was_left_alone => exit::INVALID,
                            _ => exit::OK,
                        };
                        bus.tell(Event::Ended(ended));
                        (code, true)
                    }
                    Err(error) if error.is::<NotBegun>() => {
                        output::note(format_args!("error: {error}"));
                        return Ok(exit::INVALID);
                    }
                    Err(error) => {
                        let by_target = error.is::<PreflightFailed>();
                        let why = crate::explain_error(&error);
                        output::note(format_args!("error: {why}"));
                        let refusal = Refusal { reasons: vec![why.clone()], by_target };
                        bus.tell(Event::Prepared(Err(refusal)));
                        // Once the start is settled, a refusal is none.
                        let error = Some(why);
                        let code = if by_target { exit::FAILED } else { exit::INVALID };
                        bus.tell(Event::Ended(Ended { code, stopped_by: None, error, files: Vec::new() }));
                        (code, false)
                    }
                };
                return left(todo, code, &folder, args.quiet, has_run);
            }
            Ok(Action::Leave(Left::Because(why))) => {
                output::note(format_args!("error: this agent took no part: {why}"));
                return Ok(exit::INVALID);
            }
            Ok(_) => {}
            Err(_) => bail!("the bus has gone"),
        }
    }
}

/// Waits until the record has been fetched; then it ends with this code.
fn left(todo: &Receiver<Action>, code: u8, folder: &Path, quiet: bool, has_run: bool) -> Result<u8> {
    while let Ok(action) = todo.recv() {
        match action {
            Action::Leave(Left::Done) => {
                if !quiet && has_run {
                    output::note(format_args!(
                        "the record has been fetched; it is in {}, too",
                        folder.display()
                    ));
                }
                return Ok(code);
            }
            Action::Leave(Left::Because(why)) => {
                if !quiet && has_run {
                    output::note(format_args!("the record is in {} (unblink merge)", folder.display()));
                }
                output::note(format_args!("error: this agent leaves: {why}"));
                return Ok(if code == exit::OK { exit::INVALID } else { code });
            }
            _ => {}
        }
    }
    Ok(code)
}

/// What came of a run that was offered.
struct Offered {
    ended: Ended,
    /// Nobody was heard who led it, so its load ended early.
    was_left_alone: bool,
}

/// The run that was offered, from its plan to its record.
fn offered(
    args: &AgentArgs,
    offer: &Offer,
    files: Vec<Vec<u8>>,
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
    let done = taken(args, offer, &folder, interruptions, led);
    std::env::set_current_dir(own).context("the folder from which this began is gone")?;
    if !args.in_place {
        // A plan may hold what is nobody else's business.
        let _ = std::fs::remove_dir_all(beside(&folder, FILES));
    }
    done
}

fn write(place: &Path, offer: &Offer, files: Vec<Vec<u8>>) -> Result<()> {
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
        std::fs::write(&path, bytes).with_context(|| format!("can't write {path:?}"))?;
    }
    Ok(())
}

fn taken(
    args: &AgentArgs,
    offer: &Offer,
    folder: &Path,
    interruptions: &Interruptions,
    led: &mut Led<'_>,
) -> Result<Offered> {
    let words = ["unblink", "run"].into_iter().chain(offer.arguments.iter().map(String::as_str));
    let argv: Vec<OsString> = words.map(OsString::from).collect();
    let Command::Run(run_args) = plan::stage_line(argv.clone())?.command else {
        bail!("what is offered is no run")
    };
    let run_args = RunArgs {
        share: ShareArgs {
            share: Some(ShareOf { first: offer.first, last: offer.last, of: offer.of }),
            start_at: None,
            run_seed: Some(offer.run_seed),
        },
        agents: Default::default(),
        exports: Exports::default(),
        quiet: true,
        ..*run_args
    };
    // By the command line of the run, so that the record can be made again from it.
    environment::begin_part(Some(argv));
    let prepared = run::prepare_under(&run_args, cap(args, offer)?);
    let prepared = match args.max_rate {
        Some(max) => {
            prepared.with_context(|| format!("(--max-rate {max} of this agent is for its own part)"))?
        }
        None => prepared?,
    };
    if !args.in_place
        && let Some(other) =
            inputs::other_than(|name| offer.files.iter().any(|file| Path::new(&file.name) == name))
    {
        bail!("the run reads {other:?}, which was not offered: this agent gives no file of its own away");
    }
    let no_preflight = run_args.target.no_preflight;
    let watched = run::Watched { no_preflight, quiet: true, experiment: None, lead: Some(led) };
    let (document, _) = run::execute_watched(prepared, folder, interruptions, watched)?;
    output::write_page(folder, &document);
    let stopped_by = document
        .aborted
        .as_ref()
        .filter(|by| !matches!(by.guard, Some(GuardKind::Coordinator | GuardKind::Lease)))
        .map(|by| by.rule.clone());
    let files = record::ends(folder, &RECORD).context("can't read the record again")?;
    let was_left_alone = document.aborted.as_ref().is_some_and(|by| by.guard == Some(GuardKind::Lease));
    let ended = Ended { code: exit::of_run(&document), stopped_by, error: None, files };
    Ok(Offered { ended, was_left_alone })
}

/// What the whole load may have at most, so that this agent's part of it keeps below its own limit.
fn cap(args: &AgentArgs, offer: &Offer) -> Result<Option<Rate>> {
    let shares = u64::from(offer.last - offer.first + 1);
    let own = args.max_rate.map(|rate| Rate::from_milli(rate.milli_per_s() / shares * u64::from(offer.of)));
    Ok([own, config::max_rate()?].into_iter().flatten().min())
}

/// The run never began, because nobody said so.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NotBegun(String);

/// A run that the coordinator leads.
struct Led<'a> {
    time: OwnTime,
    bus: &'a AgentBus,
    todo: &'a Receiver<Action>,
    stopping: &'a Arc<Stopping>,
    interruptions: &'a Interruptions,
    folder: PathBuf,
    due: u64,
    ok: u64,
}

impl Lead for Led<'_> {
    fn begin(&mut self) -> Result<Begun> {
        self.bus.tell(Event::Prepared(Ok(())));
        while let Ok(action) = self.todo.recv() {
            match action {
                Action::Begin { start_at, told, reading } => {
                    self.stopping.lock().start_at = Some(start_at);
                    let (at, told) = (self.time.wall(start_at), OwnTime::told(told));
                    return Ok(Begun { at, told, offset_ns: reading.offset_ns, error_ns: reading.error_ns });
                }
                Action::Leave(Left::Because(why)) => {
                    return Err(NotBegun(format!("the run does not begin: {why}")).into());
                }
                _ => {}
            }
        }
        bail!("the bus has gone")
    }

    fn follow(&mut self, stopper: Stopper, start: Instant) {
        // Once the load is over, its record is still to be fetched.
        self.interruptions.defer("waiting until the record is fetched (Ctrl-C again to quit at once)");
        self.stopping.attach(stopper, start);
        self.bus.record(self.folder.clone(), &RECORD);
    }
}

impl Observer for Led<'_> {
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        let counters = &interval.bank.counters;
        for of in [&counters.measured, &counters.warmup] {
            self.due += of.due;
            self.ok += of.ok;
        }
        self.bus.tell(Event::Progress { due: self.due, ok: self.ok });
        None
    }
}

/// Ends the load when the coordinator says so or is not heard any more, from the bus's own thread.
struct Stopping {
    time: OwnTime,
    inner: Mutex<Stop>,
}

#[derive(Default)]
struct Stop {
    start_at: Option<Time>,
    running: Option<(Stopper, Instant)>,
    /// What came before the load could be stopped.
    told: Option<(Time, GuardKind, String)>,
}

impl Stopping {
    fn lock(&self) -> std::sync::MutexGuard<'_, Stop> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attach(&self, stopper: Stopper, start: Instant) {
        let mut stop = self.lock();
        stop.running = Some((stopper, start));
        if let Some((at, kind, why)) = stop.told.take() {
            self.apply(&stop, at, kind, why);
        }
    }

    fn stop(&self, at: Time, kind: GuardKind, why: String) {
        let mut stop = self.lock();
        match &stop.running {
            Some(_) => self.apply(&stop, at, kind, why),
            None => stop.told = Some((at, kind, why)),
        }
    }

    fn apply(&self, stop: &Stop, at: Time, kind: GuardKind, why: String) {
        let (Some((stopper, start)), Some(start_at)) = (&stop.running, stop.start_at) else { return };
        let instant = match at.checked_sub(start_at) {
            Some(after) => *start + Nanos(after),
            None => *start,
        };
        let wait = Duration::from_nanos(at.saturating_sub(self.time.now()));
        stopper.stop_from(instant, wait, kind, why);
    }
}

/// An agent that was started beside its coordinator ends with it.
fn leave_with_input(stopping: Arc<Stopping>) -> Result<()> {
    let life = move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        if stopping.lock().running.is_none() {
            std::process::exit(exit::INVALID.into());
        }
        stopping.stop(stopping.time.now(), GuardKind::Coordinator, "the coordinator is gone".into());
        // Its record stays where it is; a run that is over has been fetched by now.
        std::thread::sleep(Duration::from_secs(60));
        std::process::exit(exit::INVALID.into());
    };
    let thread = std::thread::Builder::new().name("input".into()).spawn(life);
    thread.map(drop).context("can't watch standard input")
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

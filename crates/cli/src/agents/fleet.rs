//! Agents that do what one command line asks for, one run after the other.

use super::causes::by_guard;
use super::kept::{self, Kept};
use super::local::{self, Local};
use super::together::Together;
use super::told::{ToldOf, told_by};
use super::watched::{Seen, Shown, Watching, watched};
use super::{NOTHING_KNOWN, RECORD, beside, gathered, keys, offered, or_records, refused, unchanged};
use crate::args::agents::{Agents, AgentsArgs, Fetched, Series};
use crate::clock::OwnTime;
use crate::observe::Observer;
use crate::run::guards::Guards;
use crate::signals::Interruptions;
use crate::{exit, merge, output};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, PoisonError};
use unblink_artifact::document::RunDocument;
use unblink_cluster::agent::SCRIPT_STOPS;
use unblink_cluster::bus::{Coordinating, Keep, Options, Resumed, coordinate};
use unblink_cluster::coordinator::{Connections, FleetOutcome, GATHER_FOR, NotBegun, Task, Then};
use unblink_cluster::message::{OfferedFile, Time};
use unblink_core::dispatch::{AUTO_CONNECTIONS_MAX, Pool};
use unblink_core::plan::{Plan, SHARES_MAX, highest_together};

/// So many agents, here or elsewhere, and what they are to know.
pub(crate) struct Fleet {
    count: u32,
    /// They are waited for so long.
    gather_for: Time,
    quiet: bool,
    options: Options,
    local: Option<Local>,
    arguments: Vec<String>,
    files: Vec<OfferedFile>,
    contents: Arc<offered::Contents>,
    time: OwnTime,
    /// What the runs of this command are called together.
    command: String,
    /// How many runs it has led.
    led: u32,
    /// Agents are there for another command afterwards.
    stays: bool,
    /// A run whose coordinator has died is taken up.
    resumes: bool,
    /// The command goes on when this is over.
    goes_on: bool,
    /// They are there for the next run of this one.
    is_awaited: bool,
    fetched: Fetched,
}

/// A run to be led.
pub(crate) struct Leading<'a> {
    pub plan: &'a Plan,
    /// Which of the runs of the command line it is, where that asks for several.
    pub part: Option<serde_json::Value>,
    /// Each origin is one address of another machine.
    pub to_one_address: bool,
    /// Nothing that they look at keeps the load from beginning: whoever leads has looked.
    pub guards: Guards,
    /// Where the record of all will be; those of the agents go beside it.
    pub folder: &'a Path,
    /// What the run is a trial of.
    pub experiment: Option<&'a mut dyn Observer>,
}

/// What has come of a run.
pub(crate) enum Led {
    NotBegun(NotBegun),
    /// The folders of the records that there are.
    Run {
        from: Vec<PathBuf>,
        told: ToldOf,
    },
}

impl Led {
    /// Merges the records into `folder`, which the page and what the coordinator knows join.
    ///
    /// # Errors
    /// There are none: then nothing can be said of the target.
    pub(crate) fn merged(self, folder: &Path) -> Result<(RunDocument, ToldOf)> {
        let (from, told) = match self {
            Led::NotBegun(NotBegun { reasons, .. }) => return Err(exit::NoVerdict(reasons.join("; ")).into()),
            Led::Run { from, .. } if from.is_empty() => {
                return Err(exit::NoVerdict(NOTHING_KNOWN.into()).into());
            }
            Led::Run { from, told } => (from, told),
        };
        let document = or_records(merge::merged(&from, folder), folder)?;
        output::write_page(folder, &document);
        told.write(folder);
        Ok((document, told))
    }
}

/// Lets agents go that a command has left waiting for its next run. Those that can't be reached leave by themselves, later.
pub(crate) fn let_go(args: &AgentsArgs, series: Series) {
    let done = keys::options(&args.bus).and_then(|options| {
        let mut fleet = Fleet::elsewhere(options, 1, true)?;
        (fleet.command, fleet.fetched) = (series.command, series.fetched);
        fleet.dismiss()
    });
    tell_of_left(done);
}

fn tell_of_left(dismissed: Result<()>) {
    if let Err(error) = dismissed {
        output::note(format_args!("warning: agents may still wait for another run: {error:#}"));
    }
}

impl Fleet {
    fn elsewhere(options: Options, count: u32, quiet: bool) -> Result<Fleet> {
        Ok(Fleet {
            count,
            gather_for: GATHER_FOR,
            quiet,
            options,
            local: None,
            arguments: Vec::new(),
            files: Vec::new(),
            contents: Arc::default(),
            time: OwnTime::start(),
            command: keys::unique()?,
            led: 0,
            stays: false,
            resumes: false,
            goes_on: false,
            is_awaited: false,
            fetched: Fetched::default(),
        })
    }

    /// Those that `args` ask for, which are started where they are local. What the command line reads has been read. They keep
    /// what they need beside `folder`, which another process may have left if this `goes_on` with an experiment.
    ///
    /// # Errors
    /// Something would travel that must not, or there is no bus.
    pub(crate) fn of(args: &AgentsArgs, quiet: bool, folder: &Path, goes_on: bool) -> Result<Fleet> {
        // Each agent that is started here has a pipe to this process, and the bus a connection of each.
        unblink_engine::limits::raise();
        let (count, is_local) = match args.agents {
            Some(Agents::Local(count)) => (count, true),
            Some(Agents::Anywhere(count)) => (count, false),
            None => bail!("--agents is not given"),
        };
        let arguments = offered::arguments(is_local)?;
        let (files, contents) = match is_local {
            true => (offered::files_in_place()?, Default::default()),
            false => offered::files()?,
        };
        unchanged::check_offered(&files)?;
        let local = match is_local {
            true => {
                let dir = local::folder_beside(folder, goes_on)?;
                let dir = std::path::absolute(dir).context("there is no current folder")?;
                Some(Local::start(count, args.nats_server.as_ref(), dir)?)
            }
            false => None,
        };
        let options = match &local {
            Some(local) => local.options.clone(),
            None => keys::options(&args.bus)?,
        };
        // Known before anybody counts on it.
        keys::pair(options.seed.as_deref().unwrap_or_default())?;
        let mut fleet = Fleet::elsewhere(options, count, quiet)?;
        (fleet.local, fleet.arguments, fleet.files) = (local, arguments, files);
        fleet.gather_for = args.agents_within.map_or(GATHER_FOR, |within| within.0);
        (fleet.contents, fleet.stays, fleet.resumes) =
            (Arc::new(contents), args.agents_stay, args.agents_resume);
        if let Some(Series { command, before, goes_on, fetched }) = &args.series {
            (fleet.command, fleet.led, fleet.goes_on) = (command.clone(), *before, *goes_on);
            fleet.fetched = fetched.clone();
        }
        Ok(fleet)
    }

    /// Leads one run, after which agents are there for another one if there are to be `more`.
    ///
    /// # Errors
    /// There is no bus, or something is in the way of the records.
    pub(crate) fn lead(
        &mut self,
        leading: Leading<'_>,
        more: bool,
        interruptions: &Interruptions,
    ) -> Result<Led> {
        let Leading { plan, part, to_one_address, guards, folder, experiment } = leading;
        if self.local.is_some() && self.led > 0 {
            unchanged::check(&self.files)?;
        }
        let records = beside(folder, "agents");
        let asked = kept::asked(&self.arguments, &self.files);
        let kept = if self.resumes { Kept::of(&records, &asked)? } else { None };
        match &kept {
            None => refused::check_free(&records, self.local.is_some())?,
            Some((resumed, time)) => {
                (self.time, self.command) = (*time, resumed.saved.command.clone());
                if !self.quiet {
                    output::note(format_args!("going on with the run whose coordinator has died"));
                }
            }
        }
        let resumed = kept.map(|(resumed, _)| resumed);
        interruptions.defer("stopping: all agents end at one instant (Ctrl-C again to quit at once)");
        let is_first = self.led == 0;
        self.led += 1;
        let run = match &resumed {
            Some(resumed) => resumed.saved.run.clone(),
            None => keys::unique()?,
        };
        let load = plan.load_length();
        let task = Task {
            length: load.0 + plan.drain().0,
            drain: plan.drain().0,
            // Of the open loads: how often users come back is for their target to decide.
            per_s_max: (highest_together(&plan.spec().load.open_parts()) * plan.requests_per_arrival()).ceil()
                as u64,
            users: plan.users(),
            connections: connections(plan, to_one_address),
            arguments: self.arguments.clone(),
            part,
            files: self.files.clone(),
            is_first,
            then: match (more || self.goes_on, self.stays) {
                (true, _) => Then::Again,
                (false, true) => Then::Stay,
                (false, false) => Then::Leave,
            },
            ..self.task(&run)
        };
        let (tell, told) = channel();
        let keep = match self.local {
            // They end with this process.
            Some(_) => nobody_comes_after(),
            None => Kept::keeper(records.clone(), asked, self.time)?,
        };
        let coordinating = self.coordinating(task, records, (resumed, keep))?;
        let bus =
            coordinate(self.options.clone(), coordinating, self.now(), move |what| drop(tell.send(what)))?;
        let stop = bus.stopper();
        let (switches, spending) = guards.watch_for(move |guard, rule| stop(by_guard(guard), rule))?;
        let shown = Shown { time: self.time, load: load.0, count: self.count, quiet: self.quiet };
        let is_trial = experiment.is_some();
        let together = Together::new(self.quiet, load, spending, experiment);
        let watching =
            Watching { bus: &bus, told: &told, interruptions, local: self.local.as_mut(), shown, together };
        self.is_awaited = more;
        let Seen { outcome, folders, mut notes, rule } = watched(watching)?;
        drop(switches);
        bus.end();
        interruptions.defer("stopping");
        if matches!(outcome, FleetOutcome::Run { .. }) {
            let all = outcome.fetched().map(|agent| (agent.clone(), run.clone()));
            *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = all.collect();
        }
        if let FleetOutcome::Run { parts, stopped, .. } = &outcome {
            if is_trial && stopped.as_deref() == Some(SCRIPT_STOPS) {
                bail!("{SCRIPT_STOPS}, and a search needs all of it: take that out of the script");
            }
            notes.extend(told_by(parts));
        }
        Ok(match outcome {
            FleetOutcome::NotBegun(why) => Led::NotBegun(why),
            FleetOutcome::Run { start_at, parts, stopped } => {
                let mut from = gathered::mergeable(folders, &parts, &mut notes);
                if let Some(local) = self.local.as_ref().filter(|_| parts.iter().any(|part| part.is_lost)) {
                    from = gathered::with_own(from, local.records(self.led), &mut notes);
                }
                Led::Run { from, told: ToldOf { run, start_at, parts, stopped, notes, rule } }
            }
        })
    }

    /// Lets agents go that are there for another run, which won't come.
    fn dismiss(&self) -> Result<()> {
        let task = Task { then: Then::Dismiss, ..self.task(&keys::unique()?) };
        let (done, is_done) = channel();
        let coordinating = self.coordinating(task, PathBuf::new(), (None, nobody_comes_after()))?;
        let bus = coordinate(self.options.clone(), coordinating, self.now(), move |what| {
            if matches!(what, unblink_cluster::bus::Told::Done(..)) {
                let _ = done.send(());
            }
        })?;
        let _ = is_done.recv();
        bus.end();
        Ok(())
    }

    fn task(&self, run: &str) -> Task {
        Task {
            run: run.to_string(),
            signed_by: String::new(),
            version: env!("UNBLINK_VERSION").into(),
            agents: self.count,
            gather_for: self.gather_for,
            length: 0,
            drain: 0,
            arguments: Vec::new(),
            part: None,
            files: Vec::new(),
            run_seed: u64::from_str_radix(&run[..16], 16).unwrap_or_default() | 1,
            shares_max: SHARES_MAX,
            per_s_max: 0,
            users: None,
            connections: Connections::default(),
            command: self.command.clone(),
            is_first: true,
            is_local: self.local.is_some(),
            then: Then::Leave,
            fetched: self.fetched.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn coordinating(
        &self,
        task: Task,
        records: PathBuf,
        (resumed, keep): (Option<Resumed>, Keep),
    ) -> Result<Coordinating> {
        let signer = keys::pair(self.options.seed.as_deref().unwrap_or_default())?;
        let files = self.contents.clone();
        let task = Task { signed_by: signer.public_key(), ..task };
        Ok(Coordinating { task, signer, files, records, names: &RECORD, resumed, keep })
    }

    fn now(&self) -> unblink_cluster::bus::Now {
        let time = self.time;
        Arc::new(move || time.now())
    }
}

impl Drop for Fleet {
    /// However the command ends. Those that are local go with this.
    fn drop(&mut self) {
        if self.local.is_some() || !self.is_awaited || self.goes_on {
            return;
        }
        tell_of_left(self.dismiss());
    }
}

/// Those that were asked for: what opens by itself opens no more than each machine has.
fn connections(plan: &Plan, to_one_address: bool) -> Connections {
    let each = match plan.spec().pool {
        Pool::Fixed { n } => n,
        Pool::Auto { max } if max > AUTO_CONNECTIONS_MAX => max,
        Pool::Auto { .. } => 0,
    };
    let origins = plan.spec().origins.count() as u64;
    Connections { each: each.into(), origins, to_one_address }
}

fn nobody_comes_after() -> Keep {
    Box::new(|_| Ok(()))
}

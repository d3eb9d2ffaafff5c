//! `unblink run`.

pub(crate) mod abort;
mod alive;
mod asking;
mod by_answers;
mod by_default;
mod codes;
mod conditions;
mod cql;
mod cross_check;
mod default_pool;
pub(crate) mod events;
mod failures;
mod fired;
mod grpc;
pub(crate) mod guards;
mod held;
mod job;
mod kill_url;
pub(crate) mod lead;
mod names;
pub(crate) mod objectives;
mod origin_ending;
mod pool;
mod postgres;
pub(crate) mod preflight;
mod prepare;
mod question;
mod redirected;
mod redis;
pub(crate) mod requests;
mod ring;
pub(crate) mod setup;
mod share;
mod sockets;
mod spending;
mod target_file;
mod version;
mod watch;
mod way;

use crate::args::run::RunArgs;
use crate::environment::StealMeter;
use crate::folder::{Folder, Recorder};
use crate::history;
use crate::live::LiveLine;
use crate::observe::{End, Observed, Observer, Why};
use crate::unshown::Shown;
use crate::values_sent::SoFar;
use crate::{clock, exit, output, precision, script, signals};
use anyhow::{Result, bail};
pub(crate) use by_default::by_default;
pub(crate) use default_pool::default_pool;
use origin_ending::{origin_ending, priority};
pub(crate) use prepare::{Planned, Prepared, check_transient, planned, prepare, prepare_under};
pub(crate) use requests::requests;
pub(crate) use share::{Lacking, check as check_shared, check_shared_values, lacking};
use std::io::IsTerminal;
use std::path::Path;
use unblink_artifact::document::{GuardKind, RunDocument, RunStatus};
use unblink_artifact::folder::{ReservedFolder, leave_out_transient};
use unblink_artifact::tally::{Ending, Tally};
use unblink_cluster::agent::{SCRIPT_STOPS, SILENT};
use unblink_core::time::Nanos;
use unblink_engine::run::{StartAt, Starting, Summary};
pub(crate) use way::destinations;

/// Runs and reports. Gives the exit code.
pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let prepared = prepare(args)?;
    share::check_start(args)?;
    args.load.replay.tell(args.load.seed);
    output::check_exports(&args.exports)?;
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-runs")?;
    let interruptions = signals::listen()?;
    let (document, tally) = recorded(args, prepared, &folder, &interruptions)?;
    let shown =
        Shown::of(output::present(&document, &tally, &args.exports, Some(&folder)), &folder, output::PAGE);
    keep(args, &folder, &document);
    Ok(shown.code(exit::of_run(&document)))
}

/// The same as a stage of a sign-off, in a folder of its own and without a word on standard output.
pub(crate) fn stage(
    args: &RunArgs,
    folder: &Path,
    interruptions: &signals::Interruptions,
) -> Result<RunDocument> {
    let prepared = prepare(args)?;
    args.load.replay.tell(args.load.seed);
    let (document, _) = recorded(args, prepared, folder, interruptions)?;
    keep(args, folder, &document);
    Ok(document)
}

/// Runs, and writes record and page. A target that does not answer once has a record, too.
fn recorded(
    args: &RunArgs,
    prepared: Prepared,
    folder: &Path,
    interruptions: &signals::Interruptions,
) -> Result<(RunDocument, Tally)> {
    let header = prepared.header.clone();
    let executed = execute(prepared, folder, args.target.no_preflight, args.quiet, interruptions);
    let run = match executed {
        Ok(run) => run,
        Err(error) => match error.downcast_ref::<crate::errors::PreflightFailed>() {
            Some(failed) => preflight::record(failed, header, folder)?,
            None => return Err(error),
        },
    };
    output::write_page(folder, &run.0);
    Ok(run)
}

/// A run that did not begin has no figure to be found by.
fn keep(args: &RunArgs, folder: &Path, document: &RunDocument) {
    // One share is no run: the merged one is.
    if document.preflight().is_none() && document.agents.is_empty() {
        history::keep(&args.keep, &[folder.to_path_buf()]);
    }
}

/// Asks each target once, with what the setup brings.
pub(crate) fn ask_once(prepared: &Prepared) -> Result<()> {
    if let Some(setup) = &prepared.setup {
        setup.before()?;
    }
    prepared.health.ask()?;
    preflight::all(&prepared.job, &prepared.header.targets).map(drop)
}

/// One whole run, recorded into `folder`.
pub(crate) fn execute(
    prepared: Prepared,
    folder: &Path,
    no_preflight: bool,
    quiet: bool,
    interruptions: &signals::Interruptions,
) -> Result<(RunDocument, Tally)> {
    execute_watched(
        prepared,
        folder,
        interruptions,
        Watched { no_preflight, quiet, experiment: None, lead: None },
    )
}

/// How a run is run, and who looks on.
pub(crate) struct Watched<'a> {
    pub no_preflight: bool,
    pub quiet: bool,
    /// What the run is a trial of.
    pub experiment: Option<&'a mut dyn Observer>,
    /// Who says when it begins, if that is somebody else.
    pub lead: Option<&'a mut dyn lead::Lead>,
}

/// The same as a trial of an experiment, which may end the load.
pub(crate) fn execute_watched(
    prepared: Prepared,
    folder: &Path,
    interruptions: &signals::Interruptions,
    watched: Watched<'_>,
) -> Result<(RunDocument, Tally)> {
    let Watched { no_preflight, quiet, experiment, mut lead } = watched;
    let is_trial = experiment.is_some();
    let Prepared {
        mut job,
        ring,
        mut header,
        target_line,
        setup,
        showing,
        health,
        guards,
        mut cross_check,
        start_at,
        ..
    } = prepared;
    let talks = !quiet && std::io::stderr().is_terminal();
    // A folder that can't be written must be known before any load is offered.
    output::check_folder(folder)?;
    guards.check()?;
    if let Some(setup) = &setup {
        setup.before()?;
    }
    let mut asked_before = 0;
    if !no_preflight {
        if talks {
            output::note(format_args!("asking once before the run: {target_line}"));
        }
        health.ask()?;
        asked_before += preflight::all(&job, &header.targets)?;
        if job.http1().is_some() {
            let origins = header.origins.iter().map(|origin| origin.name.to_string());
            version::tell_of_others(job.targets(), &origins.collect::<Vec<_>>());
        }
    }
    let following = ring.and_then(|ring| ring.follow(&mut job));
    let (mut news, mut stopping) = (cross_check::News::default(), None);
    if let Some(cross_check) = &mut cross_check {
        cross_check.begin()?;
        (header.watch.metrics, news) = cross_check.watched();
        stopping = cross_check.stopping();
    }
    if talks {
        output::note(format_args!("{target_line}: {}", header.plan.summary));
    }
    let begun = lead.as_mut().map(|lead| lead.begin()).transpose()?;
    let asked_at = match begun {
        Some(_) => None,
        None => share::wait(start_at, quiet, interruptions),
    };
    let at = begun.map(|begun| StartAt::Monotonic(begun.at_monotonic_ns)).or(asked_at.map(StartAt::Wall));
    // Before the schedule's zero: a mebibyte takes its time on some disks.
    let reserved = ReservedFolder::make(folder)?;
    let (plan, script) = (job.plan().clone(), job.script().cloned());
    let mut so_far = job.values().map(|values| SoFar::new(values, folder));
    let steal = StealMeter::now();
    let failed_each = showing.as_ref().map_or(0, failures::Showing::each);
    let mut running = job.start(Starting { failed_each, at })?;
    // At once: a stop that is known beforehand must be known to the workers before the schedule's zero.
    let (watching, mut spending) = guards.watch(running.controls(), running.start())?;
    if let Some(late) = running.late() {
        watching.began_late(late);
    }
    let (controls, follows) = (running.controls(), watching.has_followers());
    let again = setup.map(|setup| setup.again(controls, follows)).transpose()?;
    let cross_checking = cross_check.map(cross_check::CrossCheck::watch).transpose()?;
    let started_at = running.started_at();
    if let Some(lead) = &mut lead {
        lead.follow(watching.stopper(), running.start(), script.clone());
    }
    let _listening = interruptions.attach(running.controls(), watching.has_followers());
    // Held against the figures of all machines, by who leads them.
    let is_alone = lead.is_none();
    let goal = header.plan.precision.as_ref().filter(|_| is_alone);
    let mut precision = precision::Watch::new(goal);
    let mut abort = is_alone.then(|| abort::Watch::new(&header));
    // What all machines were told is the same on each to the last digit.
    header.started_at = clock::rfc3339(begun.map(|begun| begun.told).or(asked_at).unwrap_or(started_at));
    share::begun(&mut header, begun);
    let mut writer = match reserved.begin(&header) {
        Ok(writer) => Recorder::new(writer, !is_alone),
        Err(error) => {
            running.controls().abort();
            return Err(error.into());
        }
    };
    let mut watch = watch::Watch::new(&header.watch, news, folder);
    let failed = showing.as_ref().zip(running.take_failed());
    let mut keeping = failed.and_then(|(showing, failed)| failures::Keeping::new(showing, folder, failed));
    // When the last of a fixed number of closed requests is sent, nobody knows beforehand.
    let until = (plan.is_open() || plan.spec().limit.is_none()).then(|| plan.load_length());
    let mut live = LiveLine::new(quiet, until);
    let mut observers: Vec<&mut dyn Observer> = vec![&mut watch, &mut keeping];
    observers.extend(experiment.map(|experiment| experiment as &mut dyn Observer));
    observers.extend(lead.as_deref_mut().map(|lead| lead as &mut dyn Observer));
    observers.extend([
        &mut live as &mut dyn Observer,
        &mut abort,
        &mut stopping,
        &mut spending,
        &mut precision,
        &mut writer,
    ]);
    let mut observed = Observed::new(header, observers);
    let controls = running.controls();
    while let Some(interval) = running.next_interval() {
        observed.take(interval, || controls.stop());
        if observed.is_guarded() {
            watching.cut();
        }
        if let Some(so_far) = &mut so_far {
            so_far.note(&running.sent_so_far());
        }
    }
    let (tally, ended) = observed.finish();
    output::clear_live();
    let summary = running.finish()?;
    let setup = again.map(setup::Again::end).unwrap_or_default();
    let beside = asked_before + setup.iter().map(|one| one.asked).sum::<u64>();
    let cross_check =
        cross_checking.and_then(|watching| watching.end(tally.totals(), beside, started_at, interruptions));
    for (origin, of) in
        summary.origins.iter().zip(&tally.header().origins).filter(|(origin, _)| origin.resolving_failed > 0)
    {
        output::note(format_args!(
            "warning: {:?} could not be resolved again {} times; connections went to the addresses known before",
            of.name.host.as_deref().unwrap_or("the target's name"),
            origin.resolving_failed
        ));
    }
    let steal_share = steal.and_then(StealMeter::share_since);
    // Whoever leads ends the load of all, at another moment.
    let is_stopped = is_alone && script.as_ref().is_some_and(|script| script.is_stopped());
    if is_stopped && is_trial {
        bail!("{SCRIPT_STOPS}, and a search needs all of it: take that out of the script");
    }
    // It has confirmed a start, and then its own user ended it: the others don't go on with less than all of the load.
    let is_unbegun = !is_alone && ended.is_none() && summary.stopped_at == Some(Nanos::ZERO);
    let unbegun = is_unbegun.then(|| (Why::Guard(GuardKind::LateStart), lead::UNBEGUN.to_string()));
    let fired = match summary.lease_ended {
        true => Some((Why::Guard(GuardKind::Lease), SILENT.to_string())),
        false => watching.fired(summary.stopped_at).or(unbegun),
    };
    let ended = match (fired, summary.stopped_at) {
        (Some((why, rule)), Some(at)) => Some(why.end(rule, at)),
        _ => ended,
    };
    let by_guard = ended.as_ref().is_some_and(End::is_guard);
    // A guard does not wait for what others would follow, also of a load that had ended before.
    let is_aborted = matches!(ended, Some(End::Aborted(_)));
    let is_cut = by_guard && watching.has_followers() || is_aborted && watching.has_cut();
    let was_given_up = summary.aborted && !is_cut;
    // One that stops what has been sent already cuts nothing short; nor does the user of one machine of many.
    let is_over = (by_guard || !is_alone && ended.is_none() && !watching.has_followers())
        && plan.is_open()
        && plan.journeys().is_none()
        && summary.stopped_at.is_some_and(|at| at >= plan.load_length());
    let is_complete = (ended == Some(End::Enough) || is_stopped || is_over) && !was_given_up;
    let values_sent = so_far.map_or_else(Vec::new, |so_far| so_far.end(&summary.sent));
    let mut ending = ending(&plan, summary, is_complete, steal_share, &tally);
    let seen = following.map(|following| following.end(started_at));
    ending.origins.iter_mut().take(1).for_each(|origin| origin.ring = seen.clone());
    (ending.values_sent, ending.setup, ending.cross_check) = (values_sent, setup, cross_check);
    if let Some(lead) = &lead {
        (ending.clock_last, ending.bus_behind_ns) = (lead.clock(), Some(lead.bus_behind().0));
    }
    if let Some(End::Aborted(aborted)) = ended.filter(|_| !is_over) {
        ending.withheld = withheld(&plan, ending.ended_after);
        // Whoever then gave up waiting for the last answers has interrupted it all the same.
        ending.status = if was_given_up { RunStatus::Interrupted } else { RunStatus::Aborted };
        ending.aborted = Some(aborted);
    }
    let tally = leave_out_transient(folder, tally, &ending);
    let document = tally.document(&ending);
    if let (Some(why), Some(lead)) = (writer.finish(&document), lead) {
        lead.unwritten(why);
    }
    if let Some(script) = script {
        script::tell_failed(&script);
        // The figures of all, and of the whole load, are told elsewhere.
        if is_alone {
            script::end(&script, &document, &tally);
        }
    }
    Ok((document, tally))
}

/// Measured arrivals from there to the planned end, counted from the schedule; of closed users nobody knows.
pub(crate) fn withheld(plan: &unblink_core::plan::Plan, from: Nanos) -> u64 {
    let planned = plan.scheduled(from.max(plan.measured_from()), plan.load_length());
    planned.map_or(0, |planned| planned.measured)
}

/// What the schedule says of the run that has ended.
fn ending(
    plan: &unblink_core::plan::Plan,
    summary: Summary,
    is_complete: bool,
    steal_share: Option<f64>,
    tally: &Tally,
) -> Ending {
    let recorded_to = tally.end();
    let due = tally.totals().counters.measured.due;
    let length = match (plan.is_open(), plan.limit()) {
        // No schedule says when closed users have sent the last of a fixed number.
        (false, Some(limit)) if due >= limit => plan.load_length().min(recorded_to),
        _ => plan.load_length(),
    };
    // A stop that came after the load's own end cut nothing short.
    let stopped = summary.stopped_at.filter(|&at| at < length || recorded_to <= at);
    let ended_after = stopped.map_or(length, |at| at.min(length));
    let warmup = plan.measured_from();
    let scheduled = plan.scheduled(warmup, ended_after);
    let apart = plan.scheduled_apart(warmup, ended_after).unwrap_or_default();
    Ending {
        status: if summary.stopped_at.is_some() && !is_complete {
            RunStatus::Interrupted
        } else {
            RunStatus::Complete
        },
        scheduled: scheduled.map(|s| s.measured),
        scheduled_warmup: scheduled.filter(|_| warmup > Nanos::ZERO).map(|s| s.warmup),
        scheduled_by_operation: apart.by_operation,
        scheduled_by_load: plan.scheduled_by_load(warmup, ended_after),
        scheduled_by_journey: plan.scheduled_by_journey(warmup, ended_after).unwrap_or_default(),
        scheduled_by_origin: apart.by_origin,
        ended_after,
        last_completion: summary.last_ok,
        steal_share,
        involuntary_switches: summary.involuntary_switches,
        priority: priority(summary.priority),
        kept_awake: summary.kept_awake,
        origins: summary.origins.into_iter().map(origin_ending).collect(),
        aborted: None,
        withheld: 0,
        values_sent: Vec::new(),
        setup: Vec::new(),
        cross_check: None,
        agents: Vec::new(),
        clock_last: None,
        bus_behind_ns: None,
    }
    .with_followed(tally.totals())
}

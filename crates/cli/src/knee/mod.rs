//! `unblink knee`: the highest rate that meets an objective.

mod journeys;
mod led;
mod live;
mod recorded;
mod simulated;
mod trial;

use crate::agents::Fleet;
use crate::args::knee::{KneeArgs, Level};
use crate::errors::refuse;
use crate::folder::Folder;
use crate::unshown::Shown;
use crate::value::Connections;
use crate::{asked, clock, config, environment, exit, history, output, retry, secrets, signals};
use anyhow::{Context, Result, bail};
pub(crate) use led::trial_of;
use std::path::{Path, PathBuf};
use unblink_analysis::experiment::knee::{Knee, Settings};
use unblink_analysis::experiment::{Criterion, Experiment, Step, Trial, TrialOutcome, TrialRunner, drive};
use unblink_artifact::compare::run_folders;
use unblink_artifact::knee::{
    JOURNAL_FILE, Journal, KneeDocument, KneeHeader, KneeQuestion, KneeRefusal, KneeStatus, RefusalCode,
    document,
};
use unblink_core::schedule::{RATE_MAX_PER_S, Rate};
use unblink_core::time::Nanos;
use unblink_report::{format, knee as report};

/// What a search leaves in its folder.
pub(crate) const FILE: &str = "knee.json";
/// A rate is measured for so many times `--measure` at the most, unless told otherwise.
const MEASURE_MAX_TIMES: u64 = 8;
/// Quarters of the window are looked at by themselves, and intervals last a second.
const MEASURE_MIN: Nanos = Nanos::from_secs(4);

/// The first rate unless told otherwise.
const START_PER_S: u64 = 100;

/// Searches and reports. Gives the exit code.
pub(crate) fn knee(args: &KneeArgs) -> Result<u8> {
    let (folder, document) = found(args, signals::listen)?;
    let printed = match args.json {
        true => output::print_json(&document),
        false => output::print_report(&report::terminal(&document, &output::style())),
    };
    let shown =
        Shown::of(printed.and_then(|()| output::say_where(&folder, args.json)), &folder, output::PAGE);
    keep(args, &folder);
    Ok(shown.code(code(&document)))
}

/// The same as a stage of a sign-off, without a word on standard output, and its exit code.
pub(crate) fn stage(args: &KneeArgs, interruptions: &signals::Interruptions) -> Result<(KneeDocument, u8)> {
    let (folder, document) = found(args, || Ok(interruptions.clone()))?;
    keep(args, &folder);
    let code = code(&document);
    Ok((document, code))
}

/// Searches, and gives the folder and the document of the search.
fn found(
    args: &KneeArgs,
    listen: impl FnOnce() -> Result<signals::Interruptions>,
) -> Result<(PathBuf, KneeDocument)> {
    // The user's config file caps what is sent, and to a simulated server nothing is.
    let cap = if is_simulated(args) { None } else { config::max_rate()? };
    let settings = settings(args, cap)?;
    // What is simulated comes from a plan, and needs no address.
    let has_target = match is_simulated(args) {
        true => !args.urls.is_empty() || !args.lines.lines.is_empty(),
        false => !args.requests.is_empty() || !args.journeys.is_empty(),
    };
    if !is_simulated(args) {
        args.services.refuse_without_server()?;
    }
    if args.simulate && !is_simulated(args) {
        bail!("--simulate: there is nothing to simulate: give a plan with [world], or --server in words");
    }
    match (has_target, is_simulated(args)) {
        (false, false) => bail!(
            "which target? Give a URL, or describe a server to search in virtual time: --server 'slots=1 \
             service=exp(1ms)' (see unblink sim --help)"
        ),
        (true, true) => refuse!(
            ["server", "scenario"],
            "a URL and --server or --scenario exclude each other: which is the target?"
        ),
        (false, true) => {
            led::check_simulated(args)?;
            let (runner, listed) = simulated::Runner::new(args)?;
            let target = (
                runner.target.clone(),
                asked::of_world(
                    &args.world,
                    args.connections.unwrap_or(Connections::Auto(None)),
                    retry::describe(&args.retry).as_ref(),
                    &journeys::wanted(args)?.described(),
                    listed.said(),
                ),
            );
            search(args, settings, target, |_, _| Ok(runner))
        }
        (true, false) => {
            led::check(args)?;
            let args = &live::named(args)?;
            let (target, cap) = live::target(args)?;
            let settings = self::settings(args, cap)?;
            let interruptions = listen()?;
            search(args, settings, target, |folder, first| {
                let fleet = match args.agents.agents {
                    Some(_) => {
                        // From here on there is something to take away again.
                        interruptions.defer("stopping");
                        Some(Fleet::of(&args.agents, args.quiet, folder, args.resume.is_some())?)
                    }
                    None => None,
                };
                live::Runner::new(args, folder, first, interruptions, fleet)
            })
        }
    }
}

/// What `args` come to in one line, without anything being sent.
pub(crate) fn planned(args: &KneeArgs) -> Result<String> {
    let settings = settings(args, if is_simulated(args) { None } else { config::max_rate()? })?;
    match is_simulated(args) {
        true => simulated::Runner::new(args).map(drop)?,
        false => live::planned(args)?,
    }
    let asked = if is_simulated(args) { args.slo.clone() } else { live::named(args)?.slo };
    let rate = |rate: Rate| format::rate(rate.as_per_s());
    let foreseen = journeys::foreseen(args)?.map(|said| format!("; {said}")).unwrap_or_default();
    Ok(format!(
        "a search for the highest rate with {}, from {} to at most {}{foreseen}",
        asked.text,
        rate(settings.start),
        rate(settings.max)
    ))
}

/// A runner that goes on with a search, and may know why it could not.
trait Runner: TrialRunner<Trial = Trial, Outcome = TrialOutcome, Error = anyhow::Error> {
    /// Comes to the state in which it was after a trial that has been run before.
    fn replay(&mut self, step: &Step) -> Result<()>;

    /// Why the search can't go on, though the user did not end it.
    fn refusal(&self) -> Option<KneeRefusal> {
        None
    }
}

fn search<R: Runner>(
    args: &KneeArgs,
    settings: Settings,
    target: (String, String),
    runner: impl FnOnce(&Path, u32) -> Result<R>,
) -> Result<(PathBuf, KneeDocument)> {
    if let Some(said) = journeys::foreseen(args)?.filter(|_| !args.quiet) {
        output::note(format_args!("{said}"));
    }
    let question = question(args, &settings, target)?;
    let mut search = Knee::new(settings);
    let (folder, mut journal, header) = open(args, question, &mut search)?;
    let done = search.steps().len();
    if done > 0 && !args.quiet {
        output::note(format_args!("{done} finished trials taken over from {}", folder.display()));
    }
    let mut runner = match runner(&folder, done as u32 + 1) {
        Ok(runner) => runner,
        Err(error) => {
            // What could not even be begun leaves nothing that a next try would find in its way.
            if args.resume.is_none() {
                drop(journal);
                let _ = std::fs::remove_file(folder.join(JOURNAL_FILE));
                let _ = std::fs::remove_dir(&folder);
            }
            return Err(error);
        }
    };
    search.steps().iter().try_for_each(|step| runner.replay(step))?;
    let finished = drive(&mut search, &mut runner, |step| {
        journal.append(&step.into())?;
        if !args.quiet {
            output::note(format_args!("{}", progress(step, args)));
        }
        Ok(())
    })?;
    let stopped = (!finished).then(|| runner.refusal());
    let document = document(header, &search, stopped);
    output::write_beside(&folder.join(FILE), &(output::to_json(&document)? + "\n"));
    output::write_beside(&folder.join("report.html"), &report::html(&document));
    Ok((folder, document))
}

fn keep(args: &KneeArgs, folder: &Path) {
    // A search in virtual time leaves no run folders.
    if let Ok(trials) = run_folders(folder) {
        history::keep(&args.keep, &trials);
    }
}

fn code(document: &KneeDocument) -> u8 {
    if document.status == KneeStatus::Interrupted {
        return exit::INTERRUPTED;
    }
    // A target that does not answer once surely does not meet it, either.
    let is_unanswered =
        document.refused.as_ref().is_some_and(|refused| refused.code == RefusalCode::Preflight);
    if let Some(asked) = document.at_least {
        if is_unanswered {
            return exit::FAILED;
        }
        return match asked.is_reached {
            Some(true) => exit::OK,
            Some(false) => exit::FAILED,
            None => exit::INVALID,
        };
    }
    let ends = document.bracket.map(|bracket| (bracket.good_per_s, bracket.missed_from_per_s));
    match (document.status, ends) {
        (KneeStatus::Found | KneeStatus::AtLeast, _) => exit::OK,
        (KneeStatus::Bracketed, Some((Some(_), Some(_)))) => exit::OK,
        _ => exit::INVALID,
    }
}

/// The search's folder with its journal, begun or gone on with; finished trials are handed to `search`.
fn open(
    args: &KneeArgs,
    question: KneeQuestion,
    search: &mut Knee,
) -> Result<(PathBuf, Journal, KneeHeader)> {
    if let Some(folder) = &args.resume {
        let (journal, header, trials) =
            Journal::resume(folder).with_context(|| format!("can't resume the search in {folder:?}"))?;
        // A search whose time was up goes on when it is given more.
        let header = KneeHeader {
            question: KneeQuestion { within_ns: question.within_ns, ..header.question },
            ..header
        };
        if header.question != question {
            bail!(
                "--resume {}: that search was begun with other flags: {}; give the same ones, or begin anew",
                folder.display(),
                differences(&header.question, &question)
            );
        }
        trials.iter().for_each(|trial| search.observe(trial.into()));
        return Ok((folder.clone(), journal, header));
    }
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-knee")?;
    output::check_folder(&folder)?;
    std::fs::create_dir_all(&*folder).with_context(|| format!("can't create the folder {:?}", *folder))?;
    let header = KneeHeader {
        tool: environment::tool(),
        started_at: clock::now(),
        command: secrets::mask_command(environment::arguments()),
        environment: environment::describe(&unblink_engine::limits::raise()),
        question,
    };
    let journal = Journal::create(&folder, &header)?;
    Ok((folder.to_path_buf(), journal, header))
}

/// What was asked before, where it is not what is asked now.
fn differences(before: &KneeQuestion, now: &KneeQuestion) -> String {
    let fields = |question| serde_json::to_value(question).unwrap_or_default();
    let (before, now) = (fields(before), fields(now));
    let all = before.as_object().into_iter().flatten().filter(|(name, value)| now.get(name) != Some(value));
    let told: Vec<String> = all
        .map(|(name, value)| match name.as_str() {
            "asked" => {
                "what is asked (requests, addresses, connections, pacing, or the simulated world)".into()
            }
            _ => format!("{name} was {value} and is {}", now.get(name).unwrap_or(&serde_json::Value::Null)),
        })
        .collect();
    told.join(", ")
}

fn is_simulated(args: &KneeArgs) -> bool {
    args.world.server.is_some() || args.world.scenario.is_some()
}

fn criterion(args: &KneeArgs) -> Criterion {
    Criterion { quantile: args.slo.quantile, limit: args.slo.limit, of: None }
}

fn rest(args: &KneeArgs) -> Nanos {
    args.rest.unwrap_or(args.settle)
}

/// No rate is tried above `cap`.
fn settings(args: &KneeArgs, cap: Option<Rate>) -> Result<Settings> {
    let traffic = recorded::traffic(args)?;
    let rate = |level: Option<Level>| level.map(|level| recorded::rate(traffic.as_ref(), level)).transpose();
    let (at_least, start) = (rate(args.at_least)?, start(args)?);
    let highest = match &traffic {
        Some(traffic) => recorded::highest(traffic, cap)?,
        None => journeys::highest(args, cap)?.unwrap_or(Rate::per_second(RATE_MAX_PER_S)),
    };
    let max = rate(args.max)?.unwrap_or(highest);
    if max > highest {
        refuse!(
            ["max"],
            "--max {} is above the highest rate that may be offered, {}",
            format::plain(&format::rate(max.as_per_s())),
            format::plain(&format::rate(highest.as_per_s()))
        );
    }
    if let Some(asked) = at_least.filter(|asked| *asked > max) {
        refuse!(
            ["at-least", "max"],
            "--at-least {} is above the highest rate that may be tried, {} (--max)",
            format::plain(&format::rate(asked.as_per_s())),
            format::plain(&format::rate(max.as_per_s()))
        );
    }
    if start > max {
        refuse!(["start", "max"], "--start is above --max: begin at a lower rate");
    }
    if args.measure < MEASURE_MIN {
        refuse!(
            ["measure"],
            "--measure {} is too short to see whether what is in flight grows: give at least 4s; percentiles \
             have an interval from 20s on",
            format::plain(&format::duration(args.measure.0))
        );
    }
    let measure_max = args.measure_max.unwrap_or(Nanos(args.measure.0.saturating_mul(MEASURE_MAX_TIMES)));
    if measure_max < args.measure {
        refuse!(
            ["measure-max", "measure"],
            "--measure-max is below --measure: a rate can't be measured for at most less than at least"
        );
    }
    let shortest = Nanos(args.settle.0.saturating_add(args.measure.0));
    if let Some(within) = args.within.filter(|within| *within < shortest) {
        refuse!(
            ["within", "settle", "measure"],
            "--within {} is not even one trial: --settle and --measure are {} together",
            format::plain(&format::moment(within.0)),
            format::plain(&format::moment(shortest.0))
        );
    }
    if let Some(traffic) = &traffic {
        recorded::check(args, traffic, start)?;
    }
    // A journey has many requests, each with a timeout of its own.
    if args.timeout <= args.slo.limit && !journeys::are_judged(args)? {
        refuse!(
            ["timeout", "slo"],
            "--timeout {} is not above the limit of the objective ({}): what times out could not be told from what \
             is just too slow",
            format::plain(&format::duration(args.timeout.0)),
            secrets::mask_objective(&args.slo.text)
        );
    }
    Ok(Settings {
        quantile: args.slo.quantile,
        limit: args.slo.limit,
        start,
        max,
        resolution: args.resolution,
        settle: args.settle,
        measure: args.measure,
        measure_max,
        seed: args.seed,
        then_latency: args.then_latency,
        within: args.within,
        at_least,
    })
}

fn start(args: &KneeArgs) -> Result<Rate> {
    let traffic = recorded::traffic(args)?;
    match (args.start.or(args.at_least), &traffic) {
        (Some(level), traffic) => recorded::rate(traffic.as_ref(), level),
        (None, Some(traffic)) => Ok(recorded::mean(traffic)),
        (None, None) => Ok(Rate::per_second(START_PER_S)),
    }
}

fn question(args: &KneeArgs, settings: &Settings, (target, asked): (String, String)) -> Result<KneeQuestion> {
    let traffic = recorded::traffic(args)?;
    let process = if traffic.is_some() { "recorded" } else { args.arrivals.name() };
    Ok(KneeQuestion {
        asked: Some(asked),
        target,
        simulated: is_simulated(args),
        objective: args.slo.text.clone(),
        quantile: args.slo.quantile,
        limit_ns: args.slo.limit.0,
        process: process.into(),
        start_per_s: settings.start.as_per_s(),
        max_per_s: settings.max.as_per_s(),
        resolution: settings.resolution,
        settle_ns: settings.settle.0,
        measure_ns: settings.measure.0,
        measure_max_ns: settings.measure_max.0,
        rest_ns: rest(args).0,
        timeout_ns: args.timeout.0,
        seed: settings.seed,
        operation: args.slo.name.clone(),
        has_journeys: !args.journeys.is_empty(),
        at_least_per_s: settings.at_least.map(Rate::as_per_s),
        within_ns: settings.within.map(|within| within.0),
        replay: traffic.as_ref().map(|traffic| recorded::document(args, traffic)),
    })
}

/// A line on stderr as each trial ends.
fn progress(step: &Step, args: &KneeArgs) -> String {
    format::plain(&report::trial_line(&step.into(), args.slo.quantile))
}

//! `unblink signoff`: the stages of a plan one after the other, each an ordinary run or search in a folder of its own.

mod begun;
mod stage;

use crate::args::agents::{Fetched, Series};
use crate::args::signoff::SignoffArgs;
use crate::errors::refuse;
use crate::plan::{self, Stage, Stages};
use crate::unshown::Shown;
use crate::{agents, exit, output, signals};
use anyhow::{Context, Result, bail};
use stage::Conduct;
use std::path::Path;
use std::time::Duration;
use unblink_artifact::document::VerdictStatus;
use unblink_artifact::signoff::{FILE, SignoffDocument, SignoffStatus, StageStatus};
use unblink_report::{format, signoff as report};

/// Runs what is left of the stages and reports all. Gives the exit code.
pub(crate) fn signoff(args: &SignoffArgs) -> Result<u8> {
    agents::check_alone(&args.agents, None)?;
    agents::check_anew(&args.agents)?;
    if args.simulate && args.agents.agents.is_some() {
        refuse!(
            ["simulate", "agents"],
            "--simulate and --agents exclude each other: nothing is sent in virtual time"
        );
    }
    let stages = plan::stages_of(&args.plan, args.simulate)?;
    if args.dry_run {
        output::print(&plan::stages_in_lines(&stages.all))?;
        return Ok(exit::OK);
    }
    let is_on_stdout = args.junit.as_deref() == Some(Path::new("-"));
    if args.json && is_on_stdout {
        bail!("only one of --json and --junit - can go to standard output");
    }
    if let Some(path) = args.junit.as_ref().filter(|_| !is_on_stdout) {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        opened.with_context(|| format!("can't write {path:?}"))?;
    }
    let is_new = args.output.as_ref().is_some_and(|folder| !folder.exists());
    let (folder, mut document) = begun::open(args, &stages)?;
    let interruptions = signals::listen()?;
    interruptions.defer("stopping");
    // Agents elsewhere are there for all stages.
    let is_led = args.agents.agents.is_some() && !args.agents.is_local();
    let series = match is_led {
        true => {
            Some(Series { command: agents::unique()?, before: 0, goes_on: true, fetched: Fetched::default() })
        }
        false => None,
    };
    let mut conduct = Conduct { interruptions: &interruptions, series };
    let ran = run_all(args, &stages, &folder, &mut document, &mut conduct);
    if let Some(series) = conduct.series.filter(|series| series.before > 0) {
        agents::let_go(&args.agents, series);
    }
    crate::environment::begin_part(None);
    // What could not even be begun is no result: the folder goes, or stays as it was.
    if let Err(error) = ran {
        if args.resume.is_none() {
            begun::undo(&folder, is_new);
        }
        return Err(error);
    }
    let shown = Shown::of(report(args, &folder, &document), &folder, output::PAGE);
    Ok(shown.code(code(&document)))
}

/// Runs one stage after the other, until all are over or the user ends it.
fn run_all(
    args: &SignoffArgs,
    stages: &Stages,
    folder: &Path,
    document: &mut SignoffDocument,
    conduct: &mut Conduct<'_>,
) -> Result<()> {
    document.status = SignoffStatus::Running;
    for place in 0..document.stages.len() {
        if document.stages[place].is_over() {
            continue;
        }
        if !conduct.interruptions.wait(Duration::ZERO) {
            document.status = SignoffStatus::Interrupted;
            break;
        }
        let planned = &stages.all[place];
        if let Some(why) = left_out(document, place, planned) {
            say(args, document, place, &format!("not run: {why}"));
            document.stages[place].leave_out(why);
            write(folder, document)?;
            continue;
        }
        let knee = document.knee_before(document.stages[place].number).map(|(per_s, _)| per_s);
        stage::begin(args, planned, knee, folder, &mut document.stages[place]);
        write(folder, document)?;
        say(args, document, place, "begins");
        stage::run(args, planned, knee, folder, document, place, conduct)?;
        let said = report::stage_line(&document.stages[place]);
        say(args, document, place, &format::plain(&said));
        if document.stages[place].status == StageStatus::Interrupted {
            if let Some(cut_off) = &document.stages[place].folder {
                let folder = folder.join(cut_off);
                say(args, document, place, &format!("{} has what came of it", folder.display()));
            }
            document.status = SignoffStatus::Interrupted;
            break;
        }
        write(folder, document)?;
    }
    if document.status == SignoffStatus::Running {
        document.status = SignoffStatus::Complete;
    }
    document.judge();
    write(folder, document)
}

/// Why a stage is not to be run after what came of those before.
fn left_out(document: &SignoffDocument, place: usize, planned: &Stage) -> Option<String> {
    let before = &document.stages[..place];
    if let Some(stopped) = before.iter().find(|stage| stage::is_guarded(stage)) {
        return Some(format!("a guard stopped stage {}", stopped.number));
    }
    let missed =
        before.iter().find(|stage| stage.verdict.is_some_and(|verdict| verdict != VerdictStatus::Pass));
    if let Some(missed) = missed.filter(|_| document.fail_fast) {
        return Some(format!("stage {} did not pass (--fail-fast)", missed.number));
    }
    let needs_knee = planned.rate.as_ref().is_some_and(|rate| rate.needs_knee());
    let has_knee = document.knee_before(document.stages[place].number).is_some();
    (needs_knee && !has_knee).then(|| "the search before it found no knee".to_string())
}

fn say(args: &SignoffArgs, document: &SignoffDocument, place: usize, what: &str) {
    if !args.quiet {
        let (stage, all) = (&document.stages[place], document.stages.len());
        let rate = stage.rate.as_ref().map(|rate| format!(" at {rate}")).unwrap_or_default();
        output::note(format_args!("stage {} of {all}, {}{rate}: {what}", stage.number, stage.name));
    }
}

/// The document as it is now, in one piece: a reader never sees half of it.
fn write(folder: &Path, document: &SignoffDocument) -> Result<()> {
    let (path, new) = (folder.join(FILE), folder.join(".signoff.json.new"));
    let text = output::to_json(document)? + "\n";
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path));
    written.with_context(|| format!("can't write {path:?}"))
}

fn report(args: &SignoffArgs, folder: &Path, document: &SignoffDocument) -> Result<()> {
    let parts = stage::documents(folder, document);
    output::write_beside(&folder.join(output::PAGE), &report::html(document, &parts));
    if let Some(path) = &args.junit {
        output::write(path, &report::junit(document, &parts))?;
    }
    let on_stdout = args.json || args.junit.as_deref() == Some(Path::new("-"));
    if args.json {
        output::print_json(document)?;
    } else if !on_stdout {
        output::print_report(&report::terminal(document, &output::style()))?;
    }
    output::say_where(folder, on_stdout)?;
    if document.status == SignoffStatus::Interrupted {
        output::note(format_args!("to go on, give the same command with --resume {}", folder.display()));
    }
    Ok(())
}

fn code(document: &SignoffDocument) -> u8 {
    match (document.status, document.verdict) {
        (SignoffStatus::Interrupted, _) => exit::INTERRUPTED,
        (_, Some(VerdictStatus::Pass)) => exit::OK,
        (_, Some(VerdictStatus::Fail)) => exit::FAILED,
        (_, Some(VerdictStatus::Inconclusive) | None) => exit::INVALID,
    }
}

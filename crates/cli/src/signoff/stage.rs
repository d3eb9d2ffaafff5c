//! One stage: its command line, its folder, and what came of it.

use crate::args::Command;
use crate::args::agents::Series;
use crate::args::signoff::SignoffArgs;
use crate::plan::{self, Stage};
use crate::{agents, environment, exit, fill, knee, output, run, secrets, signals, sim};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unblink_artifact::bounded::{self, SEARCH_BYTES_MAX};
use unblink_artifact::document::{RunDocument, RunStatus};
use unblink_artifact::folder::read_folder;
use unblink_artifact::knee::{KneeDocument, RefusalCode};
use unblink_artifact::signoff::{SignoffDocument, SignoffStage, StageStatus};
use unblink_report::signoff::StageDocument;

/// What came of a command.
enum Done {
    Run(Box<RunDocument>),
    Knee(Box<KneeDocument>, u8),
}

/// Says in the document what is about to be done. A search that was interrupted goes on in its folder; a run is done again in
/// a new one.
pub(super) fn begin(
    args: &SignoffArgs,
    planned: &Stage,
    knee: Option<f64>,
    root: &Path,
    stage: &mut SignoffStage,
) {
    let is_search = stage.kind == "knee";
    let begun =
        stage.folder.take().filter(|folder| is_search && root.join(folder).join("knee.jsonl").exists());
    let folder = begun.unwrap_or_else(|| new_folder(root, stage));
    stage.rate = planned.rate.as_ref().and_then(|rate| rate.text(knee));
    stage.command = secrets::mask_command(line(args, planned, knee, &root.join(&folder)).unwrap_or_default());
    (stage.folder, stage.status) = (Some(folder), StageStatus::Running);
}

/// One that does not exist yet.
fn new_folder(root: &Path, stage: &SignoffStage) -> String {
    let name = format!("{:02}-{}", stage.number, stage.name.replace(' ', "-"));
    let others = (2..).map(|n| format!("{name}-{n}"));
    let mut all = std::iter::once(name.clone()).chain(others);
    all.find(|folder| agents::is_free(&root.join(folder))).unwrap_or(name)
}

/// The command line that does this stage alone.
fn line(args: &SignoffArgs, planned: &Stage, knee: Option<f64>, folder: &Path) -> Option<Vec<String>> {
    let (command, flags) = planned.line(knee, args.simulate)?;
    let is_resumed = folder.exists();
    let mut line = vec!["unblink".to_string(), command.name().into(), args.plan.display().to_string()];
    line.extend(flags);
    line.push(format!("{}={}", if is_resumed { "--resume" } else { "--output" }, folder.display()));
    if args.quiet && command != plan::For::Sim {
        line.push("--quiet".into());
    }
    if args.keep.no_store {
        line.push("--no-store".into());
    }
    line.extend(args.agents.words());
    line.extend(args.keep.tag.iter().map(|tag| format!("--tag={}={}", tag.key, tag.value)));
    Some(line)
}

/// Who may end a stage, and whose agents offer the load.
pub(super) struct Conduct<'a> {
    pub interruptions: &'a signals::Interruptions,
    pub series: Option<Series>,
}

/// Runs it, and takes over what came of it. That it could not be run is a result, too.
///
/// # Errors
/// It is for the user to mend, and no stage before it has a result yet: then there is no sign-off.
pub(super) fn run(
    args: &SignoffArgs,
    planned: &Stage,
    knee: Option<f64>,
    root: &Path,
    document: &mut SignoffDocument,
    place: usize,
    conduct: &mut Conduct<'_>,
) -> Result<()> {
    let is_first = !document.stages.iter().any(SignoffStage::is_over);
    let stage = &mut document.stages[place];
    let folder = root.join(stage.folder.as_ref().context("a stage that has begun has a folder")?);
    let argv = line(args, planned, knee, &folder).context("a stage that has begun has a rate")?;
    match done(args, conduct, argv, &folder) {
        Ok(Done::Run(run)) => {
            // What the user of one of its agents has ended, its report judges.
            let is_own = !conduct.interruptions.wait(Duration::ZERO);
            let is_interrupted = is_own && run.status == RunStatus::Interrupted;
            let code = if is_interrupted { exit::INTERRUPTED } else { exit::of_report(&run) };
            stage.take_run(&run, is_interrupted, code);
            document.target.get_or_insert_with(|| target(&run));
        }
        Ok(Done::Knee(search, code)) => {
            stage.take_knee(&search, code);
            document.target.get_or_insert_with(|| search.header.question.target.clone());
        }
        Err(error) if is_first && exit::of_error(&error) == exit::USAGE => return Err(error),
        // Its load had not begun: it is not over, and has its turn again.
        Err(_) if !conduct.interruptions.wait(Duration::ZERO) => {
            stage.folder = stage.folder.take().filter(|_| folder.exists());
            stage.interrupt();
        }
        Err(error) => {
            output::note(format_args!("error: {}", crate::explain_error(&error)));
            stage.folder = stage.folder.take().filter(|_| folder.exists());
            stage.leave_out(crate::explain_error(&error));
        }
    }
    Ok(())
}

fn done(args: &SignoffArgs, conduct: &mut Conduct<'_>, argv: Vec<String>, folder: &Path) -> Result<Done> {
    let Conduct { interruptions, series } = conduct;
    let argv: Vec<OsString> = argv.into_iter().map(OsString::from).collect();
    environment::begin_part(Some(argv.clone()));
    let mut cli = fill::counted(plan::stage_line(argv)?)?;
    // It may hold a password, so that it stands in no command line.
    match &mut cli.command {
        Command::Run(run) => run.keep.store = args.keep.store.clone(),
        Command::Sim(sim) => sim.keep.store = args.keep.store.clone(),
        Command::Knee(knee) => knee.keep.store = args.keep.store.clone(),
        _ => {}
    }
    let agents = match &mut cli.command {
        Command::Run(run) => Some(&mut run.agents),
        Command::Knee(knee) => Some(&mut knee.agents),
        _ => None,
    };
    if let Some(agents) = agents {
        agents.series = series.clone();
    }
    let done = match &cli.command {
        Command::Run(args) if args.agents.agents.is_some() => {
            Done::Run(Box::new(agents::stage(args, folder, interruptions)?))
        }
        Command::Run(args) => Done::Run(Box::new(run::stage(args, folder, interruptions)?)),
        Command::Sim(args) => Done::Run(Box::new(sim::stage(args, folder)?)),
        Command::Knee(args) => {
            let (search, code) = knee::stage(args, interruptions)?;
            Done::Knee(Box::new(search), code)
        }
        _ => bail!("a stage is a run, a simulation or a search"),
    };
    // From here on they wait for what follows.
    series.iter_mut().for_each(|series| series.before += 1);
    Ok(done)
}

/// What was asked for, in a line.
fn target(run: &RunDocument) -> String {
    let (first, all) = (run.targets.first(), run.targets.len());
    let url = first.map(|target| target.url.clone()).unwrap_or_default();
    if all > 1 { format!("{url} and {} more", all - 1) } else { url }
}

/// A guard stopped it: then nothing more is to be sent.
pub(super) fn is_guarded(stage: &SignoffStage) -> bool {
    let refused = stage.knee.as_ref().and_then(|search| search.refused.as_ref());
    refused.is_some_and(|refused| refused.code == RefusalCode::Guard)
        || stage.run.as_ref().is_some_and(|run| run.stopped_by_guard)
}

/// The documents of all stages that have one, for the page. One that can't be read any more is left out.
pub(super) fn documents(root: &Path, document: &SignoffDocument) -> Vec<Option<StageDocument>> {
    let of = |stage: &SignoffStage| -> Option<StageDocument> {
        let folder: PathBuf = root.join(stage.folder.as_ref()?);
        if stage.kind == "knee" {
            let text = bounded::read_text(&folder.join(knee::FILE), SEARCH_BYTES_MAX).ok()?;
            return Some(StageDocument::Knee(Box::new(serde_json::from_str(&text).ok()?)));
        }
        Some(StageDocument::Run(Box::new(read_folder(&folder).ok()?.final_document?)))
    };
    document.stages.iter().map(of).collect()
}

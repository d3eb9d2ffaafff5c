//! `unblink lab run`: cell by cell, and what they come to.

use super::{tap, tools};
use crate::args::lab::run::RunArgs;
use crate::unshown::Shown;
use crate::{clock, environment, exit, output, signals};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use unblink_artifact::lab::{LAB_SCHEMA, LabCell, LabDocument, LabSkipped};
use unblink_core::time::Nanos;
use unblink_engine::limits;
use unblink_lab::{
    CELL_FILE, Case, CellError, Definition, Found, Job, Places, Processors, Scenario, TRUTH_FILE, Truth,
    requests, rows,
};
use unblink_report::lab;

/// The short profile.
const SHORT: Duration = Duration::from_secs(15);
/// Tools take whole seconds, and a shorter run meets no event.
const SHORTEST: Duration = Duration::from_secs(1);

/// Runs what is missing and shows everything.
pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let length = if args.short { SHORT } else { length(args.length)? };
    let cases = cases(&args.scenarios, length)?;
    let places = tools::places(&args.definitions)?;
    let definitions = tools::chosen(tools::definitions(&args.definitions)?, &args.tools)?;
    // Whoever speaks something else has no part in it.
    let fits = |definition: &Definition| cases.iter().any(|case| definition.can_meet(&case.scenario));
    let (fitting, others): (Vec<_>, Vec<_>) = definitions.into_iter().partition(fits);
    if fitting.is_empty() {
        bail!("{}", nobody(&others));
    }
    let (present, skipped) = who_is_here(fitting, &places);
    let folder = args.output.clone().unwrap_or_else(|| format!("unblink-lab-{}s", length.as_secs()).into());
    let lab = Lab { args, places, folder, stop: signals::flag()? };
    for LabSkipped { tool, reason, .. } in &skipped {
        output::note(format_args!("{tool}: left out, {reason}"));
    }
    if present.is_empty() {
        bail!("none of these tools is here: unblink lab tools says how to install them");
    }
    let cells = lab.all(&cases, &present)?;
    if cells.is_empty() {
        return Ok(exit::INTERRUPTED);
    }
    let document = lab.document(cells, skipped)?;
    std::fs::write(lab.folder.join("lab.json"), output::to_json(&document)?)
        .with_context(|| format!("can't write into {:?}", lab.folder))?;
    // A log that is gone takes its dots with it, and nothing else.
    let drawn = lab::Drawn::new(&document, |cell| {
        let folder = cell_folder(&lab.folder, &cell.scenario.name, &cell.tool.name, cell.run);
        requests(folder.join(TRUTH_FILE)).ok()
    });
    output::write_beside(&lab.folder.join("report.html"), &drawn.html());
    output::write_beside(&lab.folder.join("results.md"), &drawn.markdown());
    for (name, picture) in drawn.svg() {
        output::write_beside(&lab.folder.join(format!("{name}.svg")), &picture);
    }
    let shown = Shown::of(show(&document, &lab.folder, args.json), &lab.folder, output::PAGE);
    Ok(shown.code(match document.rows.iter().any(|row| row.problem.is_some()) {
        _ if lab.stop.load(Ordering::Relaxed) => exit::INTERRUPTED,
        true => exit::INVALID,
        false => exit::OK,
    }))
}

fn show(document: &LabDocument, folder: &Path, as_json: bool) -> Result<()> {
    if as_json {
        return output::print_json(document);
    }
    output::print_report(&lab::terminal(document, &output::style()))?;
    output::print(&format!("\nCells   {0}\nReport  {0}/report.html\n", folder.display()))
}

/// Why none of these can be served.
fn nobody(definitions: &[Definition]) -> String {
    let names: Vec<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    format!(
        "none of these tools can be served with these scenarios ({}): `accept` exists over HTTP/1.1 alone, `errors` not over \
         WebSocket, `saturation` and the like not for event streams, and the stalls of databases for their own tools",
        names.join(", ")
    )
}

/// A length that every tool knows.
pub(super) fn length(length: Nanos) -> Result<Duration> {
    let length = Duration::from_nanos(length.0);
    if length < SHORTEST || length.subsec_nanos() != 0 {
        bail!("--length must be whole seconds, at least 1: not every tool accepts less");
    }
    Ok(length)
}

/// By name; `all` stands for all.
pub(super) fn cases(names: &[String], length: Duration) -> Result<Vec<Case>> {
    let all = || Scenario::names().map(str::to_string).collect::<Vec<_>>();
    let wanted = if names == ["all"] { all() } else { names.to_vec() };
    let case = |name: &String| {
        Case::preset(name, length).with_context(|| {
            format!(
                "no scenario is called {name:?}; there are {}, all (of these), {} and, of databases, {}",
                all().join(", "),
                Scenario::ONE_SERVER,
                Scenario::databases().collect::<Vec<_>>().join(" and ")
            )
        })
    };
    let mut cases: Vec<Case> = Vec::new();
    for case in wanted.iter().map(case) {
        let case = case?;
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    Ok(cases)
}

fn who_is_here(definitions: Vec<Definition>, places: &Places) -> (Vec<(Definition, Found)>, Vec<LabSkipped>) {
    let (mut present, mut skipped) = (Vec::new(), Vec::new());
    for definition in definitions {
        match places.find(&definition) {
            Ok(found) => present.push((definition, found)),
            Err(reason) => {
                let install = definition.install_command();
                skipped.push(LabSkipped { tool: definition.name, reason, install });
            }
        }
    }
    (present, skipped)
}

struct Lab<'a> {
    args: &'a RunArgs,
    places: Places,
    folder: PathBuf,
    stop: Arc<AtomicBool>,
}

/// A cell that is to be run.
struct Wanted<'a> {
    case: &'a Case,
    truth: &'a Truth,
    definition: &'a Definition,
    found: &'a Found,
    run: u32,
}

/// Whoever ends, well or badly, leaves nothing to the others: they would go on for hours after an error.
struct EndsOthers<'a> {
    next: &'a AtomicUsize,
    end: usize,
}

impl Drop for EndsOthers<'_> {
    fn drop(&mut self) {
        self.next.store(self.end, Ordering::Relaxed);
    }
}

impl Lab<'_> {
    /// All cells in their order, or those that were finished when somebody stopped it.
    fn all(&self, cases: &[Case], present: &[(Definition, Found)]) -> Result<Vec<LabCell>> {
        let truths: Vec<Truth> = cases.iter().map(Case::truth).collect();
        let mut wanted = Vec::new();
        for (case, truth) in cases.iter().zip(&truths) {
            for (definition, found) in present.iter().filter(|(of, _)| of.can_meet(&case.scenario)) {
                wanted.extend((1..=self.args.runs).map(|run| Wanted { case, truth, definition, found, run }));
            }
        }
        let lanes = Processors::divide((self.args.jobs as usize).min(wanted.len()));
        let (next, done) = (&AtomicUsize::new(0), Mutex::new(Vec::new()));
        let ended: Vec<_> = std::thread::scope(|scope| {
            let (wanted, done) = (&wanted, &done);
            let lane = |processors| scope.spawn(move || self.lane(processors, wanted, next, done));
            let lanes: Vec<_> = lanes.iter().map(lane).collect();
            lanes.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        for lane in ended {
            lane.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        if done.len() < wanted.len() {
            let (done, count) = (done.len(), wanted.len());
            output::note(format_args!("stopped after {done} of {count} cells; the same command goes on"));
        }
        done.sort_by_key(|&(nth, _)| nth);
        Ok(done.into_iter().map(|(_, cell)| cell).collect())
    }

    /// One cell after the other on the same processors, until none is left.
    fn lane(
        &self,
        processors: &Processors,
        wanted: &[Wanted<'_>],
        next: &AtomicUsize,
        done: &Mutex<Vec<(usize, LabCell)>>,
    ) -> Result<()> {
        let _others = EndsOthers { next, end: wanted.len() };
        if self.args.jobs > 1 {
            processors.enter();
        }
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(&Wanted { case, truth, definition, found, run }) = wanted.get(nth) else {
                return Ok(());
            };
            let folder = cell_folder(&self.folder, &case.scenario.name, &definition.name, run);
            let own = &self.places.own;
            let (folder, stop) = (&folder, &*self.stop);
            let tap = tap::open;
            let job = Job { case, truth, definition, found, own, processors, folder, tap, run, stop };
            let Some(cell) = cell(&job, self.args.again)? else { return Ok(()) };
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            say(&cell, done.len() + 1, wanted.len());
            done.push((nth, cell));
        }
    }

    fn document(&self, cells: Vec<LabCell>, skipped: Vec<LabSkipped>) -> Result<LabDocument> {
        Ok(LabDocument {
            schema: LAB_SCHEMA.to_string(),
            tool: environment::tool(),
            finished_at: clock::now(),
            command: std::env::args().collect(),
            environment: environment::describe(&limits::raise()),
            apart: cells.iter().all(|cell| cell.processors.is_some_and(|processors| processors.are_apart)),
            rows: rows(&cells),
            cells,
            skipped,
        })
    }
}

/// Where a cell has its files.
fn cell_folder(folder: &Path, scenario: &str, tool: &str, run: u32) -> PathBuf {
    folder.join(scenario).join(tool).join(run.to_string())
}

/// The cell as it is on disk, if it is the same one; else it is run. `None`: it was stopped.
pub(super) fn cell(job: &Job<'_>, again: bool) -> Result<Option<LabCell>> {
    let path = job.folder.join(CELL_FILE);
    if !again && let Some(known) = known(job, &path) {
        return Ok(Some(known));
    }
    if job.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    // Of a cell that is half there nothing is to be mistaken for this run's.
    if job.folder.exists() {
        std::fs::remove_dir_all(job.folder).with_context(|| format!("can't empty {:?}", job.folder))?;
    }
    let run = if job.run > 1 { format!(", run {}", job.run) } else { String::new() };
    output::note(format_args!("{}: {}{run} …", job.case.scenario.name, job.definition.name));
    let cell = match job.run(clock::now()) {
        Err(CellError::Stopped) => return Ok(None),
        cell => cell?,
    };
    std::fs::write(&path, output::to_json(&cell)?).with_context(|| format!("can't write {path:?}"))?;
    Ok(Some(cell))
}

fn known(job: &Job<'_>, path: &Path) -> Option<LabCell> {
    let text = std::fs::read_to_string(path).ok()?;
    let cell: LabCell = serde_json::from_str(&text).ok()?;
    let same = cell.scenario == job.case.describe()
        && cell.tool == job.planned_tool()
        && cell.processors == Some(job.processors.describe());
    // A tool that failed gets another chance.
    (same && cell.problem.is_none()).then_some(cell)
}

/// A line of progress.
pub(super) fn say(cell: &LabCell, nth: usize, of: usize) {
    output::note(format_args!("[{nth}/{of}] {}", lab::line(cell)));
}

//! The stages of a sign-off: each is a command of its own, whose flags are the fields of its table.

use super::fields::For;
use super::file::{Given, PlanFile, Table, Text, values_of};
use super::lists::STAGES;
use super::picture::wrapped;
use super::source::Wrong;
use super::{Foreseen, checked_as, file, value, workload};
use crate::args::metric_rule::is_of_metric;
use crate::args::signoff::{PlannedStage, StageKind, StageRate};
use crate::errors::{each, several};
use crate::output;
use anyhow::{Error, Result};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use unblink_artifact::fingerprint::fingerprint;
use unblink_core::time::Nanos;
use unblink_report::format;

/// Fields that say which stage it is, and are no flags of its command.
const NO_FLAGS: [&str; 3] = ["kind", "name", "rate"];
const OF_ALL: [&str; 5] = ["kind", "name", "arrivals", "seed", "slo"];
const OF_SEARCH: [&str; 4] = ["at-least", "start", "max", "within"];
const OF_RUN: [&str; 4] = ["rate", "duration", "warmup", "abort-on"];
const OF_PEAK: [&str; 1] = ["peak-for"];
/// Fields of `[load]` that say what kind of load it is: each stage says that for itself.
const OF_STAGE_ALONE: [&str; 2] = ["shape", "requests"];

/// As long as the knee is not known, a plan is checked with one that no limit of it excludes.
const ASSUMED_KNEE_PER_S: f64 = 10.0;

/// One insert that failed in a stage would shift the keys of all stages after it.
const INSERTS: &str = "this workload inserts records, and a sign-off runs several stages on the same store, of which each would begin \
                       with other records than the one before: take a workload that inserts none (ycsb-a, b, c or f), or a single \
                       stage";

/// A plan with stages that is in order.
pub(crate) struct Stages {
    pub all: Vec<Stage>,
    /// Of the plan, without what is secret in it.
    pub fingerprint: String,
}

/// One stage.
#[derive(Debug)]
pub(crate) struct Stage {
    pub name: String,
    pub kind: StageKind,
    pub rate: Option<StageRate>,
    /// In the plan's words.
    pub rate_text: Option<String>,
    /// What it comes to, in a line.
    pub summary: String,
    /// How long its load lasts, warm-up included; of a search only where it has a limit.
    pub lasts: Option<Nanos>,
    own: Vec<String>,
    given: Vec<Given>,
    at: Range<usize>,
}

impl Stage {
    pub(crate) fn kind_name(&self) -> &'static str {
        name_of(self.kind)
    }

    /// The command and its flags; nothing where the knee is not known and needed.
    pub(crate) fn line(&self, knee_per_s: Option<f64>, is_simulated: bool) -> Option<(For, Vec<String>)> {
        if self.kind == StageKind::Knee {
            let simulate = is_simulated.then(|| "--simulate".to_string());
            return Some((For::Knee, simulate.into_iter().chain(self.own.iter().cloned()).collect()));
        }
        let shape = if self.kind == StageKind::Hold { "load" } else { self.kind_name() };
        let mut flags = vec![format!("--shape={shape}")];
        if let Some(rate) = &self.rate {
            flags.push(format!("--rate={}", rate.text(knee_per_s)?));
        }
        // A simulated server has no metrics of its own.
        let is_of_service = |flag: &String| flag.strip_prefix("--abort-on=").is_some_and(is_of_metric);
        flags.extend(self.own.iter().filter(|flag| !is_simulated || !is_of_service(flag)).cloned());
        Some((if is_simulated { For::Sim } else { For::Run }, flags))
    }
}

fn name_of(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Knee => "knee",
        StageKind::Hold => "hold",
        StageKind::Soak => "soak",
        StageKind::Spike => "spike",
        StageKind::Stress => "stress",
    }
}

/// The plan in the file `path`, checked for a sign-off.
pub(crate) fn read(path: &Path, is_simulated: bool) -> Result<Stages> {
    let name = path.display().to_string();
    if !file::is_plan(&name) {
        return Err(file::no_plan(&name));
    }
    let plan = PlanFile { quietly: true, is_simulated, ..file::read(path)? };
    if plan.stages.is_empty() {
        return Err(plan.error_of_all(
            "it has no [[stages]], so there is nothing to sign off: add a stage, such as kind = \"knee\"",
        ));
    }
    if is_simulated && !plan.has_section("world") {
        return Err(plan.error_of_all("there is nothing to simulate: it has no [world]"));
    }
    let all = checked(&plan, is_simulated)?;
    let shown = super::write::json(&plan, &mut super::write::shown);
    Ok(Stages { all, fingerprint: fingerprint(&shown.to_string()) })
}

/// All stages of a plan, each read as its command will.
pub(super) fn checked(plan: &PlanFile, is_simulated: bool) -> Result<Vec<Stage>> {
    let mut stages = of(plan)?;
    let mut bad: Vec<Error> = Vec::new();
    if !is_simulated && stages.len() > 1 {
        let kept = workload::refuse_inserts(plan, INSERTS);
        bad.extend(kept.err().into_iter().flat_map(each));
    }
    for stage in &mut stages {
        let Some((command, flags)) = stage.line(Some(ASSUMED_KNEE_PER_S), is_simulated) else { continue };
        match checked_as(plan, command, &flags, &stage.given) {
            Ok(checked) => {
                stage.lasts = checked.lasts;
                stage.summary = summary(stage, &checked.summary);
            }
            Err(error) => bad.extend(each(error).into_iter().map(|error| placed(plan, stage, error))),
        }
    }
    // Several stages may say the same of what the plan has for all.
    let mut known = BTreeSet::new();
    bad.retain(|error| known.insert(crate::explain_error(error)));
    if bad.is_empty() { Ok(stages) } else { Err(several(bad)) }
}

/// An error without a place of its own is shown at the stage.
fn placed(plan: &PlanFile, stage: &Stage, error: Error) -> Error {
    let pointed = error.downcast_ref::<super::source::Pointed>();
    match pointed.map(|pointed| (pointed.found.line, pointed.found.message.clone())) {
        Some((Some(_), _)) => error,
        Some((None, message)) => wrong(plan, &stage.at, message),
        None => wrong(plan, &stage.at, crate::explain_error(&error)),
    }
}

/// What is said of it beforehand: a rate that is not known yet is named as in the plan.
fn summary(stage: &Stage, of_command: &str) -> String {
    match (&stage.rate, &stage.rate_text) {
        (Some(rate), Some(text)) if rate.needs_knee() => {
            let lasts = stage.lasts.map(|lasts| format!(" for {}", format::moment(lasts.0)));
            format!("{text}{}", lasts.unwrap_or_default())
        }
        _ => of_command.to_string(),
    }
}

fn of(plan: &PlanFile) -> Result<Vec<Stage>> {
    let mut bad: Vec<Error> = Vec::new();
    for field in OF_STAGE_ALONE {
        if let Some(text) = plan.value(field) {
            let message = format!(
                "{field} in [load] contradicts [[{STAGES}]]: each stage says by its kind what it does"
            );
            bad.push(plan.error(text, message));
        }
    }
    let mut stages: Vec<Stage> = Vec::new();
    for table in &plan.stages {
        match one(plan, table) {
            Ok(stage) => stages.push(stage),
            Err(error) => bad.extend(each(error)),
        }
    }
    if !bad.is_empty() {
        return Err(several(bad));
    }
    let mut has_search = false;
    for stage in &stages {
        let text = values_of(&stage.given, "rate").first();
        if let Some(text) =
            text.filter(|_| !has_search && stage.rate.as_ref().is_some_and(StageRate::needs_knee))
        {
            bad.push(
                plan.error(
                    text,
                    "no stage before this one looks for the knee: put one of kind \"knee\" first",
                ),
            );
        }
        has_search |= stage.kind == StageKind::Knee;
    }
    if bad.is_empty() { Ok(stages) } else { Err(several(bad)) }
}

fn one(plan: &PlanFile, table: &Table) -> Result<Stage> {
    let read: PlannedStage = value::read(plan, table, STAGES)?;
    let kind = name_of(read.kind);
    let is_peak = matches!(read.kind, StageKind::Spike | StageKind::Stress);
    let is_for = |name: &str| {
        OF_ALL.contains(&name)
            || (read.kind == StageKind::Knee && OF_SEARCH.contains(&name))
            || (read.kind != StageKind::Knee && OF_RUN.contains(&name))
            || (is_peak && OF_PEAK.contains(&name))
    };
    let odd = table.given.iter().filter(|given| !is_for(&given.field.name)).filter_map(|given| {
        let message = format!("a stage of kind {kind} has no {}: leave it out", given.field.name);
        Some(plan.error(given.values.first()?, message))
    });
    let mut bad: Vec<Error> = odd.collect();
    let has_rate = ["rate", "closed", "trace", "replay"].iter().any(|field| plan.value(field).is_some());
    if read.kind != StageKind::Knee && read.rate.is_none() && !has_rate && plan.loads.is_empty() {
        let message = "this stage has no rate, and neither has [load]: add rate = \"75% of knee\", or requests per second";
        bad.push(wrong(plan, &table.at, message));
    }
    if !bad.is_empty() {
        return Err(several(bad));
    }
    let flags = table.given.iter().filter(|given| !NO_FLAGS.contains(&given.field.name.as_str()));
    let own = flags.flat_map(|Given { field, values }| {
        values.iter().map(move |Text { raw, .. }| format!("--{}={raw}", field.name))
    });
    Ok(Stage {
        name: read.name.unwrap_or_else(|| kind.to_string()),
        kind: read.kind,
        rate_text: values_of(&table.given, "rate").first().map(|text| text.raw.clone()),
        rate: read.rate,
        summary: String::new(),
        lasts: None,
        own: own.collect(),
        given: table.given.clone(),
        at: table.at.clone(),
    })
}

fn wrong(plan: &PlanFile, at: &Range<usize>, message: impl Into<String>) -> Error {
    plan.source.error_hiding(&Wrong::new(at.clone(), message), &plan.hidden)
}

/// The stages in lines that fit the terminal, each with what it comes to.
pub(crate) fn shown(stages: &[Stage]) -> String {
    let columns = usize::from(output::style().width);
    let width = stages.iter().map(|stage| stage.name.len()).max().unwrap_or(0);
    let lines = (1..).zip(stages).map(|(number, stage)| {
        let aside =
            if stage.name == stage.kind_name() { String::new() } else { format!("{}, ", stage.kind_name()) };
        let head = format!("{number:>3}. {:<width$}  ", stage.name);
        let says = format::plain(&format!("{aside}{}", stage.summary));
        let indent = format!("\n{}", " ".repeat(head.len()));
        let says = wrapped(&says, columns.saturating_sub(head.len()));
        format!("{head}{}\n", says.trim_end().replace('\n', &indent))
    });
    let known: u64 = stages.iter().filter_map(|stage| stage.lasts).map(|lasts| lasts.0).sum();
    let without = stages.iter().filter(|stage| stage.lasts.is_none()).count();
    let total = match without {
        0 => format!("{} of load in all.", format::moment(known)),
        _ => format!(
            "{} of load in all, and as long as the search takes: mostly 20 to 30 minutes (within = TIME sets a limit).",
            format::moment(known)
        ),
    };
    format!("{}{}", lines.collect::<String>(), wrapped(&format::plain(&total), columns))
}

/// How long the load of a command lasts, as far as that is known before it.
pub(super) fn lasts(foreseen: &Foreseen) -> Option<Nanos> {
    match foreseen {
        Foreseen::Run(planned) => Some(planned.plan.load_length()),
        Foreseen::Simulated(plan, _) => Some(plan.load_length()),
        Foreseen::Several(_, within) => *within,
    }
}

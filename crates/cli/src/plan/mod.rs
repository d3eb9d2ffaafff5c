//! Plan files: what is on the command line, written down.

mod begin;
mod body;
mod drawn;
mod export;
mod fields;
mod file;
mod first;
mod fitted;
mod holds;
mod init;
mod journeys;
mod lists;
mod loads;
mod overlay;
mod picture;
mod requests;
mod said;
mod schema;
mod search;
mod setup;
mod sockets;
mod source;
mod stages;
#[cfg(test)]
mod tests;
mod texts;
mod tree;
mod unknown;
mod urls;
mod user;
mod value;
mod values;
mod variables;
mod workload;
mod write;
mod yaml;

use crate::args::plan::{CheckArgs, Form, PlanCommand, ShowArgs};
use crate::args::run::RunArgs;
use crate::args::{Cli, Command, short};
use crate::errors::{each, several, without_secrets};
use crate::request::lets;
use crate::{compare, exit, inputs, knee, output, run, sim};
use anyhow::{Context, Result, anyhow, bail};
pub(crate) use begin::init;
use clap::{CommandFactory, FromArgMatches};
pub(crate) use fields::For;
use fields::Kind;
use file::{Given, PlanFile};
use overlay::Overlay;
pub(crate) use source::nearest;
pub(crate) use stages::{Stage, Stages, read as stages_of, shown as stages_in_lines};
use std::ffi::OsString;
use std::path::Path;
use unblink_artifact::plan_check::{PLAN_CHECK_SCHEMA, PlanCheck, PlanCheckDocument, PlanError};
use unblink_core::plan::Plan;
use unblink_core::time::Nanos;
use unblink_report::format;
use urls::with_requests;
use user::User;

/// The command line, with the fields of the plan that it names, if it names one.
pub(crate) fn command_line() -> Result<Cli> {
    command_line_of(std::env::args_os().collect())
}

/// The same of another command line.
pub(crate) fn command_line_of(argv: Vec<OsString>) -> Result<Cli> {
    read_by(argv, false, |command, argv| Ok(crate::parse(command, argv)))
}

/// The flags of a run of this plan, and whether it says what is offered. One that does not is read as if it said `-R 1`.
pub(crate) fn of_run(path: &Path) -> Result<(Box<RunArgs>, bool)> {
    let name = path.display().to_string();
    if !file::is_plan(&name) {
        return Err(file::no_plan(&name));
    }
    let says_load = says_load(&file::read(path)?);
    let mut argv: Vec<OsString> = vec!["unblink".into(), "run".into(), path.into()];
    if !says_load {
        argv.extend(["-R", "1"].map(OsString::from));
    }
    match stage_line(argv)?.command {
        Command::Run(args) => Ok((args, says_load)),
        _ => unreachable!("the command line says run"),
    }
}

/// The command line of a stage. What is wrong with it ends the stage, and not the process.
pub(crate) fn stage_line(argv: Vec<OsString>) -> Result<Cli> {
    read_by(argv, false, parsed)
}

/// The same of a command line that another machine is to run: what this one's environment lacks is taken for granted.
pub(crate) fn line_for_elsewhere(argv: Vec<OsString>) -> Result<Cli> {
    read_by(argv, true, parsed)
}

fn parsed(command: clap::Command, argv: Vec<OsString>) -> Result<Cli> {
    let read = command.try_get_matches_from(argv).and_then(|matches| Cli::from_arg_matches(&matches));
    read.map_err(|error| anyhow!("{}", without_secrets(error)))
}

fn read_by(
    argv: Vec<OsString>,
    is_for_elsewhere: bool,
    parse: impl FnOnce(clap::Command, Vec<OsString>) -> Result<Cli>,
) -> Result<Cli> {
    let Some((command, name)) = user::plan_among(&Cli::command(), &argv)? else {
        let cli = parse(short::command(), argv.clone())?;
        if matches!(&cli.command, Command::Run(args) if args.share.share.is_some()) {
            inputs::hash();
        }
        let mut cli = with_requests(cli, None)?;
        said::note(&mut cli, &argv, None);
        return Ok(cli);
    };
    if !file::is_plan(&name) {
        return Err(file::no_plan(&name));
    }
    inputs::note(Path::new(&name)).with_context(|| format!("can't read the plan {name:?}"))?;
    let mut plan = PlanFile { is_for_elsewhere, ..file::read(Path::new(&name))? };
    let argv = user::without_plan(&Cli::command(), &argv, &name)?;
    let user = User::of(&Cli::command(), command, &argv);
    if command != For::Compare && user.has("request") {
        bail!(
            "--request and a plan exclude each other: write what is requested into the plan, as [[requests]]"
        );
    }
    if user.has("share") {
        inputs::hash();
    }
    plan.is_simulated = user.wants_simulation(command, &plan);
    let overlay = Overlay::of(&plan, command, user)?;
    // Looked at before anything is begun, so that what is wrong with the plan is shown in the plan. Standard input is
    // there once.
    let is_stdin = |text: &file::Text| text.raw == "-";
    let reads_stdin =
        argv.iter().any(|arg| arg == "-") || plan.given.iter().any(|g| g.values.iter().any(is_stdin));
    let cli = overlay.requested(parse(overlay.below(short::command())?, argv.clone())?);
    let cli = with_requests(cli, Some(overlay.lets()));
    let mut cli = cli.map_err(|error| overlay.pointed(error))?;
    said::note(&mut cli, &argv, Some((&plan, overlay.heeded())));
    if !reads_stdin {
        let foreseen = planned(&cli).map_err(|error| overlay.pointed(error))?;
        refuse_unused(&plan, &foreseen)?;
    }
    Ok(cli)
}

/// `unblink plan`.
pub(crate) fn plan(command: &PlanCommand) -> Result<u8> {
    match command {
        PlanCommand::Check(args) => check(args),
        PlanCommand::Show(args) => show(args),
        PlanCommand::Schema => output::print_json(&schema::schema()).map(|()| exit::OK),
    }
}

fn check(args: &CheckArgs) -> Result<u8> {
    if args.json {
        return check_as_json(args);
    }
    let mut errors = Vec::new();
    for path in &args.files {
        match read_to_look_at(path).and_then(|plan| checked(&plan)) {
            Ok(checked) => {
                let line = format!("{} is in order: {}\n", path.display(), checked.summary);
                output::print(&format::plain(&line))?;
            }
            Err(error) => errors.extend(each(error)),
        }
    }
    if errors.is_empty() { Ok(exit::OK) } else { Err(several(errors)) }
}

/// Every plan, also behind one that is not in order.
fn check_as_json(args: &CheckArgs) -> Result<u8> {
    let plans: Vec<PlanCheck> = args
        .files
        .iter()
        .map(|path| {
            let found = read_to_look_at(path).and_then(|plan| checked(&plan));
            let file = path.display().to_string();
            let (load, errors) = match found {
                Ok(checked) => (Some(format::plain(&checked.summary)), Vec::new()),
                Err(error) => (None, each(error).iter().map(plan_error).collect()),
            };
            PlanCheck { file, in_order: errors.is_empty(), load, errors }
        })
        .collect();
    let in_order = plans.iter().all(|plan| plan.in_order);
    let document = PlanCheckDocument { schema: PLAN_CHECK_SCHEMA.into(), in_order, plans };
    output::print_json(&document)?;
    Ok(if in_order { exit::OK } else { exit::USAGE })
}

fn plan_error(error: &anyhow::Error) -> PlanError {
    if let Some(pointed) = error.chain().find_map(|cause| cause.downcast_ref::<source::Pointed>()) {
        return pointed.found.clone();
    }
    PlanError { line: None, column: None, message: crate::explain_error(error), help: None }
}

fn show(args: &ShowArgs) -> Result<u8> {
    let plan = read_to_look_at(&args.file)?;
    let checked = checked(&plan)?;
    match args.form.or(args.json.then_some(Form::Json)) {
        Some(form) => output::print_document(&written(&plan, form)?)?,
        None => {
            let width = usize::from(output::style().width);
            let arrivals =
                checked.arrivals.map(|n| format!(": {}", format::plural(n, "arrival", "arrivals")));
            let summary = format!("{}{}", checked.summary, arrivals.unwrap_or_default());
            let summary = picture::wrapped(&format::plain(&summary), width);
            output::print(&format!("{summary}{}{}", checked.picture, resolved(&plan)))?;
        }
    }
    Ok(exit::OK)
}

/// The plan in another form. What is not to be shown has become a variable, and whoever runs it is told which.
fn written(plan: &PlanFile, form: Form) -> Result<String> {
    let mut variables = export::Variables::default();
    let fields = write::json(plan, &mut |field, text| variables.written(plan, field, text));
    for note in &variables.notes {
        output::note(format_args!("note: {note}: set it in the environment before a run"));
    }
    Ok(match form {
        Form::Json => output::to_json(&fields)? + "\n",
        Form::Yaml => write::yaml(&fields),
        Form::Toml => write::toml(&fields),
    })
}

fn read_to_look_at(path: &Path) -> Result<PlanFile> {
    let name = path.display().to_string();
    if !file::is_plan(&name) {
        return Err(file::no_plan(&name));
    }
    Ok(PlanFile { to_look_at: true, ..file::read(path)? })
}

/// What a command line comes to, without anything being sent.
enum Foreseen {
    /// A run of a target.
    Run(Box<run::Planned>),
    /// The plan of simulated runs, and a line.
    Simulated(Box<Plan>, String),
    /// Runs that are not alike, in a line, and the limit of their load if there is one.
    Several(String, Option<Nanos>),
}

fn planned(cli: &Cli) -> Result<Foreseen> {
    let of_run = |(plan, summary)| Foreseen::Simulated(Box::new(plan), summary);
    match &cli.command {
        Command::Run(args) => run::planned(args).map(|planned| Foreseen::Run(Box::new(planned))),
        Command::Try(args) => run::planned(&args.run).map(|planned| Foreseen::Run(Box::new(planned))),
        Command::Sim(args) => sim::planned(args).map(of_run),
        Command::Knee(args) => Ok(Foreseen::Several(knee::planned(args)?, args.within)),
        Command::Compare(args) => compare::planned(args).map(of_run),
        _ => bail!("a plan is for run, sim, knee and compare"),
    }
}

/// Refuses a named value that no request uses, where it stands. What a body uses that is not known, nobody can tell.
fn refuse_unused(plan: &PlanFile, foreseen: &Foreseen) -> Result<()> {
    let Foreseen::Run(planned) = foreseen else { return Ok(()) };
    if value::lacks_a_body(plan) {
        return Ok(());
    }
    lets::refuse_unused(planned.unused.as_deref()).map_err(|error| {
        let place = plan.lets.iter().find(|one| Some(&one.name.raw) == planned.unused.as_ref());
        let why = crate::explain_error(&error);
        place.map_or_else(|| plan.error_of_all(&why), |one| plan.error(&one.name, why.clone()))
    })
}

/// What a plan comes to.
#[derive(Clone)]
struct Checked {
    summary: String,
    /// Of the measured part, where a schedule says how many.
    arrivals: Option<u64>,
    /// The load, with the warm-up.
    lasts: Option<Nanos>,
    picture: String,
}

/// It says how much is offered, and does not leave that to a flag.
fn says_load(plan: &PlanFile) -> bool {
    let is_said = |field: &&str| plan.value(field).is_some();
    !plan.loads.is_empty() || ["rate", "closed", "replay", "trace"].iter().any(is_said)
}

/// The command lines that the plan is for: a run, the same simulated, a search, a comparison.
fn meant_for(plan: &PlanFile) -> Vec<(For, &'static [&'static str])> {
    let has_world = plan.has_section("world");
    let is_for_knee = plan.has_section("search");
    let is_for_compare = plan.value(fields::CANDIDATE).is_some() || plan.has_section("comparison");
    let is_for_run = says_load(plan) || (!is_for_knee && plan.stages.is_empty());
    let is_real = plan.has_target() || !has_world;
    let all: [(bool, For, &[&str]); 6] = [
        (is_for_run && is_real, For::Run, &[]),
        (is_for_run && has_world, For::Sim, &[]),
        (is_for_knee && is_real, For::Knee, &[]),
        (is_for_knee && has_world, For::Knee, &["--simulate"]),
        (is_for_compare && is_real, For::Compare, &[]),
        (is_for_compare && has_world, For::Compare, &["--simulate"]),
    ];
    all.into_iter().filter(|(is_meant, ..)| *is_meant).map(|(_, command, flags)| (command, flags)).collect()
}

/// Reads the plan as every command would that it is for.
fn checked(plan: &PlanFile) -> Result<Checked> {
    let mut checked = None;
    let mut errors: Vec<anyhow::Error> = Vec::new();
    for (command, flags) in meant_for(plan) {
        let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
        match checked_as(plan, command, &flags, &[]) {
            Ok(one) => {
                let first: &mut Checked = checked.get_or_insert_with(|| one.clone());
                if !first.summary.contains(&one.summary) {
                    first.summary += &format!("; {}", one.summary);
                }
            }
            // Several commands may say the same.
            Err(error) => {
                for error in each(error) {
                    if errors.iter().all(|known| crate::explain_error(known) != crate::explain_error(&error))
                    {
                        errors.push(error);
                    }
                }
            }
        }
    }
    if !plan.stages.is_empty() {
        match stages::checked(plan, !plan.has_target() && plan.has_section("world")) {
            Ok(stages) => {
                let all = stages.len() as u64;
                let said = format!("a sign-off of {}", format::plural(all, "stage", "stages"));
                let (arrivals, lasts, picture) = (None, None, stages::shown(&stages));
                let of_stages = Checked { summary: said, arrivals, lasts, picture };
                checked = Some(match checked {
                    Some(first) => Checked {
                        summary: format!("{}; {}", of_stages.summary, first.summary),
                        picture: of_stages.picture + &first.picture,
                        ..first
                    },
                    None => of_stages,
                });
            }
            Err(error) => {
                let known: Vec<String> = errors.iter().map(crate::explain_error).collect();
                errors.extend(each(error).into_iter().filter(|e| !known.contains(&crate::explain_error(e))));
            }
        }
    }
    if !errors.is_empty() {
        return Err(several(errors));
    }
    checked.ok_or_else(|| plan.error_of_all("there is nothing to run or to simulate"))
}

/// Reads it as one command would. Some of its flags may be fields of the plan, too.
fn checked_as(plan: &PlanFile, command: For, flags: &[String], own: &[Given]) -> Result<Checked> {
    let name = ["unblink", command.name()].map(OsString::from);
    let argv = name.into_iter().chain(flags.iter().map(OsString::from)).collect::<Vec<_>>();
    let overlay = Overlay::of(plan, command, User::of(&Cli::command(), command, &argv))?;
    let matches = overlay.below(Cli::command())?.try_get_matches_from(argv);
    let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = cli.map_err(|error| plan.error_of_all(&without_secrets(error).to_string()))?;
    let of_all = |error: anyhow::Error| match error.is::<source::Pointed>() {
        true => error,
        false => plan.error_of_all(&crate::explain_error(&error)),
    };
    let pointed = |error| plan.pointed(overlay.pointed(error), own, |_| false);
    let foreseen = with_requests(overlay.requested(cli), Some(overlay.lets()))
        .and_then(|cli| planned(&cli))
        .map_err(|error| several(each(pointed(error)).into_iter().map(of_all).collect()))?;
    refuse_unused(plan, &foreseen)?;
    let columns = output::style().width.into();
    let drawn = match &foreseen {
        Foreseen::Run(planned) => drawn::of(planned, columns),
        _ => String::new(),
    };
    let lasts = stages::lasts(&foreseen);
    let (core, summary) = match foreseen {
        Foreseen::Run(planned) => (Some(planned.plan), planned.summary),
        Foreseen::Simulated(plan, summary) => (Some(*plan), summary),
        Foreseen::Several(summary, _) => (None, summary),
    };
    let picture = match &core {
        Some(core) if core.is_open() => picture::of(core, columns),
        Some(_) => "No rate is fixed beforehand: each user waits for its answer.\n".to_string(),
        None => "No rate is fixed beforehand: each follows from what came of those before.\n".to_string(),
    };
    let arrivals = core.and_then(|core| core.scheduled(core.spec().warmup, core.load_length()));
    let arrivals = arrivals.map(|scheduled| scheduled.measured);
    Ok(Checked { summary, arrivals, lasts, picture: picture + &drawn })
}

/// Every field, those that the plan leaves out as comments with what they are then.
fn resolved(plan: &PlanFile) -> String {
    let mut out = String::new();
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let commands: Vec<For> = meant_for(plan).into_iter().map(|(command, _)| command).collect();
    for section in [fields::TOP].into_iter().chain(fields::sections()) {
        let mut lines = String::new();
        for field in fields::of(section) {
            let values: Vec<String> =
                plan.values(&field.name).iter().map(|text| quoted(&write::shown(field, text))).collect();
            lines += &match (values.as_slice(), field.kind, field.default_for(&commands)) {
                ([], _, Some(default)) => format!("# {} = {}\n", field.key(), quoted(default)),
                ([], ..) => continue,
                (_, Kind::Switch, _) => format!("{} = true\n", field.key()),
                (_, Kind::Pairs, _) => {
                    let shown = plan.values(&field.name).iter().map(|text| write::shown(field, text));
                    format!("{} = {}\n", field.key(), write::inline(&write::pairs(shown)))
                }
                (values, Kind::Many, _) => format!("{} = [{}]\n", field.key(), values.join(", ")),
                ([one, ..], Kind::One | Kind::Table, _) => format!("{} = {one}\n", field.key()),
            };
        }
        out += &match (section, lines.is_empty()) {
            (_, true) => continue,
            (fields::TOP, _) => format!("\n{lines}"),
            _ => format!("\n[{section}]\n{lines}"),
        };
    }
    let json = write::json(plan, &mut write::shown);
    if let Some(lets) = json.get(file::LET) {
        out += &format!("\n{}", write::toml(&serde_json::json!({ file::LET: lets })));
    }
    for list in &lists::LISTS {
        if let Some(tables) = json.get(list.name) {
            out += &format!("\n{}", write::toml(&serde_json::json!({ list.name: tables })));
        }
    }
    out
}

//! `unblink lab install`: load tools from their registries.

use super::tools;
use crate::args::lab::run::InstallArgs;
use crate::{exit, output};
use anyhow::Result;
use unblink_lab::{Definition, Places, Registry, steps};

/// Installs what is missing, or is another version than the lab knows.
pub(crate) fn install(args: &InstallArgs) -> Result<u8> {
    let places = tools::places(&args.definitions)?;
    let wanted: &[String] = if args.wanted == ["all"] { &[] } else { &args.wanted };
    let mut definitions = tools::chosen(tools::definitions(&args.definitions)?, wanted)?;
    // Modes of one program are installed once.
    let mut programs = Vec::new();
    definitions.retain(|definition| {
        let is_new = !programs.contains(&definition.program);
        programs.push(definition.program.clone());
        is_new
    });
    let mut failed = 0;
    for definition in &definitions {
        match one(definition, &places, args.dry_run) {
            Ok(line) => output::print(&format!("{}: {line}\n", definition.program))?,
            Err(reason) => {
                failed += 1;
                output::print(&format!("{}: not installed, {reason}\n", definition.program))?;
            }
        }
    }
    Ok(if failed == 0 { exit::OK } else { exit::FAILED })
}

/// What was done, or why it was not.
fn one(definition: &Definition, places: &Places, dry_run: bool) -> Result<String, String> {
    if !places.is_outdated(definition)
        && let Ok(found) = places.find(definition)
    {
        return Ok(format!("is here, {}", found.program.display()));
    }
    let steps = steps(definition, &places.installed)
        .ok_or_else(|| definition.hint.clone().unwrap_or_else(|| "no registry has it".into()))?;
    let shown: Vec<String> = steps.iter().map(unblink_lab::Step::describe).collect();
    let is_apt = definition.install.as_ref().is_some_and(|install| install.from == Registry::Apt);
    if dry_run {
        return Ok(format!("would be installed by\n  {}", shown.join("\n  ")));
    }
    if is_apt && !rustix::process::geteuid().is_root() {
        return Err(format!("as root: {}", shown.join("; ")));
    }
    for step in &steps {
        output::note(format_args!("{}: {}", definition.program, step.describe()));
        step.carry_out(std::io::stderr().into())?;
    }
    let found = places.find(definition)?;
    let version = found.version.map(|version| format!(" {version}")).unwrap_or_default();
    Ok(format!("installed{version}, {}", found.program.display()))
}

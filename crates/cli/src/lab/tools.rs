//! `unblink lab tools`: which load tools are here.

use crate::args::lab::run::{DefinitionArgs, ToolsArgs};
use crate::{exit, output};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use unblink_lab::{Definition, Found, Places};
use unblink_report::lab::{self, ToolLine};

/// Lists them.
pub(crate) fn tools(args: &ToolsArgs) -> Result<u8> {
    let places = places(&args.definitions)?;
    let lines: Vec<ToolLine> = definitions(&args.definitions)?.iter().map(|d| line(d, &places)).collect();
    if args.json {
        let all: Vec<_> = lines
            .iter()
            .map(|line| {
                serde_json::json!({
                    "name": line.name,
                    "about": line.about,
                    "model": line.model,
                    "program": line.program,
                    "version": line.version,
                    "missing": line.missing,
                    "install": line.install,
                })
            })
            .collect();
        output::print_json(&all)?;
    } else {
        output::print_report(&lab::tools(&lines, &output::style()))?;
    }
    Ok(exit::OK)
}

fn line(definition: &Definition, places: &Places) -> ToolLine {
    let found = places.find(definition);
    ToolLine {
        name: definition.name.clone(),
        about: definition.about.clone(),
        model: definition.model,
        program: found.as_ref().ok().map(|Found { program, .. }| program.display().to_string()),
        version: found.as_ref().ok().and_then(|found| found.version.clone()),
        install: definition.install_command().filter(|_| found.is_err()),
        missing: found.err(),
    }
}

/// Ours, with the user's own in place of those of the same name, and the rest of the user's behind them.
pub(super) fn definitions(args: &DefinitionArgs) -> Result<Vec<Definition>> {
    let mut all = Definition::built_in()?;
    for path in files(&args.files)? {
        let own = Definition::load(&path)?;
        match all.iter_mut().find(|definition| definition.name == own.name) {
            Some(ours) => *ours = own,
            None => all.push(own),
        }
    }
    Ok(all)
}

/// The files, and in the place of a folder those in it that end in `.toml`, by name.
fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in given {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = path.read_dir().with_context(|| format!("can't read the folder {path:?}"))?;
        let mut inside: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        inside.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        if inside.is_empty() {
            bail!("there is no tool's definition in {path:?}: their names end in .toml");
        }
        inside.sort();
        all.append(&mut inside);
    }
    Ok(all)
}

/// Those whose name, or whose program's name, is among `wanted`; all when nothing is.
pub(super) fn chosen(all: Vec<Definition>, wanted: &[String]) -> Result<Vec<Definition>> {
    if wanted.is_empty() {
        return Ok(all);
    }
    let fits = |definition: &Definition, name: &str| definition.name == name || definition.program == name;
    if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|definition| fits(definition, name))) {
        let names: Vec<&str> = all.iter().map(|definition| definition.name.as_str()).collect();
        bail!(
            "no tool is called {unknown:?}; there are {}, and --tool FILE brings another",
            names.join(", ")
        );
    }
    Ok(all.into_iter().filter(|definition| wanted.iter().any(|name| fits(definition, name))).collect())
}

/// Where programs are looked for.
pub(super) fn places(args: &DefinitionArgs) -> Result<Places> {
    let own = std::env::current_exe().context("can't find this program's own file")?;
    let installed = match &args.installed {
        Some(folder) => folder.clone(),
        None => Places::usual()
            .context("neither XDG_DATA_HOME nor HOME is set: name a folder with --installed")?,
    };
    // A tool is started in another folder than this.
    Ok(Places { own, installed: std::path::absolute(&installed).unwrap_or(installed) })
}

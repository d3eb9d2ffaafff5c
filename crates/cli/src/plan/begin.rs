//! `unblink init`: a plan to begin with, or one that is fitted to what was recorded.

use super::fitted;
use crate::args::plan::InitArgs;
use crate::errors::refuse;
use crate::{exit, output, recorded};
use anyhow::{Context, Result, anyhow, bail};
use std::io::Write;
use std::path::Path;

/// `unblink init`.
pub(crate) fn init(args: &InitArgs) -> Result<u8> {
    let path = args.to();
    if path.extension().is_none_or(|extension| extension != "toml") {
        bail!("{path:?}: the plan is written as TOML, so its name is to end in .toml");
    }
    let Some(from) = &args.from else {
        if args.log.are_given() {
            refuse!(["from"], "--log-format, --map and --window say how a log is read: add --from LOG");
        }
        write_new(path, &super::init::text())?;
        output::print(&format!("{} is written. What it comes to: unblink plan show {0}\n", path.display()))?;
        return Ok(exit::OK);
    };
    if path.exists() {
        return Err(exists(path));
    }
    let Some(fit) = recorded::fitted(from, args.format, &args.log)? else {
        output::note(format_args!("interrupted; nothing was written"));
        return Ok(exit::INTERRUPTED);
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let fitted = fitted::fitted(&fit, &from.display().to_string(), &stem);
    for (name, text) in &fitted.files {
        write_new(&path.with_file_name(name), text)?;
    }
    write_new(path, &fitted.plan)?;
    output::print(&format!(
        "{}\n{} is written. What it comes to: unblink plan show {1}\n",
        fitted.report,
        path.display()
    ))?;
    Ok(exit::OK)
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!("{path:?} exists and is left alone: name another file")
}

fn write_new(path: &Path, text: &str) -> Result<()> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => anyhow!("can't write {path:?}: {error}"),
    })?;
    file.write_all(text.as_bytes()).with_context(|| format!("can't write {path:?}"))
}

//! Values that requests draw: `--let 'item=zipf(1M)'`.

use super::references::explained;
use crate::{environment, inputs};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use unblink_engine::bounded;
use unblink_workload::{Composition, Lets, Source, SourceError};

/// What a plan or the command line names.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct LetArgs {
    /// Name a value that is drawn for each request, such as 'item=zipf(1M)': {{item}} in a path, header or body is filled in
    /// with it; may be given several times
    #[arg(long = "let", value_name = "NAME=VALUE", help_heading = "Request")]
    pub lets: Vec<String>,

    /// These, and those of a plan that they don't replace
    #[arg(skip)]
    pub named: Arc<Lets>,
}

/// A value as it is named, before it is read.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub name: String,
    pub text: String,
}

/// The values of the command line.
pub(crate) fn of_flags(lets: &[String]) -> Result<Vec<Named>> {
    let named = |one: &String| {
        let (name, text) = one.split_once('=').with_context(|| {
            format!("--let {one:?} has no =: write a name and what is drawn, such as 'item=zipf(1M)'")
        })?;
        Ok(Named { name: name.trim().to_string(), text: text.trim().to_string() })
    };
    lets.iter().map(named).collect()
}

/// What is no regular file, such as a pipe, is read no further than this: it may have no end.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// Reads a value whose files lie in `folder`.
pub(crate) fn read(text: &str, folder: &Path) -> Result<Source, SourceError> {
    Source::parse(text, &mut |name| opened(&folder.join(name)))
}

fn opened(path: &Path) -> io::Result<Box<dyn Read>> {
    let file = inputs::opened(path)?;
    match file.metadata()?.is_file() {
        true => Ok(Box::new(file)),
        false => Ok(Box::new(Cursor::new(bounded::read_from(file, STREAM_BYTES_MAX)?))),
    }
}

/// The table of the values of a command line without a plan.
pub(crate) fn table(lets: &[String]) -> Result<Arc<Lets>> {
    let mut table = Lets::default();
    let named = of_flags(lets)?;
    let all: Vec<(&str, &str)> = named.iter().map(|one| (&*one.name, &*one.text)).collect();
    for Named { name, text } in &named {
        let wrong = |error| anyhow!("--let {name}: {}", explained(name, &all).unwrap_or(error));
        let source = read(text, Path::new("")).map_err(|error| wrong(error.to_string()))?;
        table.add(name, source).map_err(|why| anyhow!("--let: {why}"))?;
    }
    Ok(Arc::new(table.of_run(run_id(false))))
}

/// The first value that none of these needs.
pub(crate) fn unused<'a>(
    lets: &Lets,
    compositions: impl Iterator<Item = &'a Composition> + Clone,
) -> Option<String> {
    let is_used = |number: u32| compositions.clone().any(|one| one.uses().contains(&number));
    (0..).zip(lets.iter()).find(|(number, _)| !is_used(*number)).map(|(_, (name, _))| name.to_string())
}

/// A value that nobody uses may have a template that was misspelt, and is sent as it stands.
pub(crate) fn refuse_unused(unused: Option<&str>) -> Result<()> {
    match unused {
        Some(name) => bail!(
            "let names {name}, and no request uses it: write {{{{{name}}}}} where it belongs, or leave it out"
        ),
        None => Ok(()),
    }
}

/// What makes a run's identifiers its own: 0, so that they can be had again, where its seed is given.
pub(crate) fn run_id(has_seed: bool) -> u64 {
    let is_given =
        has_seed || environment::arguments().iter().any(|arg| arg == "--seed" || arg.starts_with("--seed="));
    if is_given { 0 } else { unique() }
}

/// What tells one run from all others.
pub(crate) fn unique() -> u64 {
    RandomState::new().build_hasher().finish() | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        for text in ["csv(/dev/zero)", "list(/dev/zero)", "histogram(/dev/zero)"] {
            let error = read(text, Path::new("")).unwrap_err().to_string();
            assert!(error.contains("/dev/zero: can't be opened: it has more than"), "{error}");
        }
    }
}

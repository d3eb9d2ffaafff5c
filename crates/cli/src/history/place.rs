//! Where the history is, as flags, environment and the user's folders say.

use crate::args::history::StoreArgs;
use anyhow::{Context, Result};
use std::path::PathBuf;
use unblink_store::Location;

/// Names the history for every command; `none` keeps runs out of any.
const VARIABLE: &str = "UNBLINK_STORE";
const NONE: &str = "none";
const FILE: &str = "unblink/history.db";

/// The place; `None` when there is to be none.
pub(crate) fn chosen(args: &StoreArgs) -> Result<Option<Location>> {
    if let Some(location) = &args.store {
        return Ok(Some(location.clone()));
    }
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) if value == NONE => Ok(None),
        Some(value) => {
            let text = value.to_str().with_context(|| format!("{VARIABLE} is not UTF-8"))?;
            Location::parse(text).map(Some).map_err(anyhow::Error::msg).context(VARIABLE)
        }
        None => default().map(Some).with_context(|| {
            format!(
                "there is no folder for the history: HOME is not set; name a place with --store or {VARIABLE}"
            )
        }),
    }
}

/// By the XDG Base Directory Specification: a path that is not absolute counts for nothing.
fn default() -> Option<Location> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(Location::File(folder.join(FILE)))
}

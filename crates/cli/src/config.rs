//! The user's own config file: limits that no command line may exceed.

use crate::guard;
use anyhow::Result;
use unblink_core::schedule::Rate;

/// What the user's config file says.
#[derive(serde::Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default, deserialize_with = "guard::rate_in_file")]
    max_rate: Option<Rate>,
}

/// The cap on every run's rate, if the user has set one.
pub(crate) fn max_rate() -> Result<Option<Rate>> {
    let Some(folder) = guard::folder() else { return Ok(None) };
    let file: Option<File> = guard::read(&folder.join("config.toml"), "the config file")?;
    Ok(file.and_then(|file| file.max_rate))
}

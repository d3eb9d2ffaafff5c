//! Small TOML files that hold what no flag may exceed, and the user's own config file, which is one of them.

use crate::value;
use anyhow::{Context, Result, anyhow};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use std::path::{Path, PathBuf};
use unblink_core::schedule::Rate;
use unblink_engine::bounded;

/// Far above any such file that somebody wrote.
const BYTES_MAX: u64 = 1 << 20;

/// What the user's config file says.
#[derive(serde::Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default, deserialize_with = "rate")]
    max_rate: Option<Rate>,
}

/// The cap on every run's rate, if the user has set one.
pub(crate) fn max_rate() -> Result<Option<Rate>> {
    let Some(folder) = folder() else { return Ok(None) };
    let file: Option<File> = read(&folder.join("config.toml"), "the config file")?;
    Ok(file.and_then(|file| file.max_rate))
}

/// Where the user's files are: `$XDG_CONFIG_HOME/unblink`, or `~/.config/unblink`.
pub(crate) fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("unblink"))
}

/// What the file says; nothing if there is none. `what` is what it is called in a message.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<Option<T>> {
    let text = match bounded::read(path, BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| anyhow!("{what} {path:?} is not UTF-8, as TOML must be: write it anew"))?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            return Err(e).with_context(|| {
                format!("can't read {what} {path:?}, and what it forbids is not passed over")
            });
        }
    };
    toml::from_str(&text).map(Some).with_context(|| format!("in {what} {path:?}"))
}

/// A rate as a number or as a text, `10k/s`.
pub(crate) fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Rate>, D::Error> {
    let text = match toml::Value::deserialize(from)? {
        toml::Value::Integer(n) => n.to_string(),
        toml::Value::String(text) => text,
        other => {
            let message = format!("max-rate is {other}: expected a rate, such as \"10k/s\"");
            return Err(D::Error::custom(message));
        }
    };
    value::rate(&text).map(Some).map_err(|why| D::Error::custom(format!("max-rate: {why}")))
}

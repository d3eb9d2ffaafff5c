//! The user's own config file: limits that no command line may exceed.

use crate::value;
use anyhow::{Context, Result, anyhow, bail};
use std::path::PathBuf;
use unblink_core::schedule::Rate;
use unblink_engine::bounded;

/// Far above any config file that somebody wrote.
const BYTES_MAX: u64 = 1 << 20;

/// What the user's config file says.
#[derive(serde::Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    max_rate: Option<toml::Value>,
}

/// `$XDG_CONFIG_HOME/unblink/config.toml`, or `~/.config/unblink/config.toml`.
fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("unblink/config.toml"))
}

/// The cap on every run's rate, if the user has set one.
pub(crate) fn max_rate() -> Result<Option<Rate>> {
    let Some(path) = path() else { return Ok(None) };
    let text = match bounded::read(&path, BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| anyhow!("the config file {path:?} is not UTF-8, as TOML must be: write it anew"))?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            return Err(e).with_context(|| {
                format!("can't read the config file {path:?}, which may have a max-rate and nothing else")
            });
        }
    };
    let file: File = toml::from_str(&text).with_context(|| format!("in the config file {path:?}"))?;
    let rate = match file.max_rate {
        None => return Ok(None),
        Some(toml::Value::Integer(n)) => n.to_string(),
        Some(toml::Value::String(text)) => text,
        Some(other) => {
            bail!("in the config file {path:?}: max-rate is {other}: expected a rate, such as \"10k/s\"")
        }
    };
    let rate = value::rate(&rate).map_err(anyhow::Error::msg);
    rate.map(Some).with_context(|| format!("in the config file {path:?}: max-rate"))
}

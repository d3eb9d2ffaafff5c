//! Public hosts that the user has allowed to be put under load: `unblink allow`, and `UNBLINK_ALLOW`.

use super::{Forbidden, Terms};
use crate::config::{folder, rate, read};
use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::de::{Deserialize, Deserializer, Error};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use unblink_core::schedule::Rate;

/// Hosts with a comma in between, for machines on which nobody has a list.
const VARIABLE: &str = "UNBLINK_ALLOW";
/// What the file is called in a message.
const WHAT: &str = "the list of allowed hosts";
/// By RFC 1035.
const NAME_BYTES_MAX: usize = 253;

/// What the user has said of a host.
#[derive(serde::Serialize, serde::Deserialize, Clone, Default, PartialEq, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    /// No run that sends to it may have a higher one.
    #[serde(default, deserialize_with = "rate", serialize_with = "as_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Rate>,
    /// The last day on which it may be put under load, in UTC.
    #[serde(default, deserialize_with = "day", serialize_with = "day_as_text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
}

#[derive(serde::Serialize, serde::Deserialize, Default, Debug)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    hosts: BTreeMap<String, Entry>,
}

/// All of them.
#[derive(Default, Debug)]
pub(super) struct AllowList {
    hosts: BTreeMap<String, Entry>,
    from_environment: Vec<String>,
}

impl AllowList {
    #[cfg(test)]
    pub(super) fn of(hosts: BTreeMap<String, Entry>) -> AllowList {
        AllowList { hosts, from_environment: Vec::new() }
    }

    pub(super) fn read() -> Result<AllowList> {
        let said = match std::env::var(VARIABLE) {
            Ok(text) => text,
            Err(std::env::VarError::NotPresent) => String::new(),
            Err(error) => return Err(error).context(VARIABLE),
        };
        let names = said.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names = names.map(|name| host(name).map_err(|why| anyhow!("{VARIABLE}: {why}")));
        Ok(AllowList { hosts: hosts()?, from_environment: names.collect::<Result<_>>()? })
    }

    /// What holds for `host`, which has come to `ip`; nothing if nobody has spoken of it.
    pub(super) fn terms(&self, host: &str, ip: IpAddr, now: Timestamp) -> Option<Result<Terms, Forbidden>> {
        let name = normal(host);
        let entries = || self.hosts.iter().filter(|(key, _)| is_of(key, &name, ip));
        let is_named = self.from_environment.iter().any(|key| is_of(key, &name, ip));
        if !is_named && entries().next().is_none() {
            return None;
        }
        let mut terms = Terms::default();
        for (key, entry) in entries() {
            let ends = entry.until.map(end_of);
            if let Some(end) = ends.filter(|end| *end <= now) {
                return Some(Err(Forbidden(format!(
                    "{key} was allowed until {}: if it is still yours to test, allow it anew (unblink allow {key})",
                    before(end)
                ))));
            }
            let ends = ends.map(|end| (end, format!("unblink allow {key}")));
            terms.add(Terms { rate_cap: entry.max_rate, ends });
        }
        Some(Ok(terms))
    }

    /// The hosts of the variable.
    pub(super) fn by_variable(&self) -> &[String] {
        &self.from_environment
    }

    /// Those of the file.
    pub(super) fn hosts(&self) -> &BTreeMap<String, Entry> {
        &self.hosts
    }
}

fn is_of(key: &str, name: &str, ip: IpAddr) -> bool {
    key == name || key.parse() == Ok(ip.to_canonical())
}

/// The first moment after that day.
fn end_of(day: Date) -> Timestamp {
    let next = day.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC));
    next.map_or(Timestamp::MAX, |next| next.timestamp())
}

fn before(end: Timestamp) -> String {
    end.strftime("%Y-%m-%d, 00:00 UTC").to_string()
}

/// A host as the list writes it: its name in small letters without a dot at the end, or its address.
pub(super) fn host(text: &str) -> Result<String, String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(ip.to_canonical().to_string());
    }
    let name = normal(text);
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    if name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label) {
        return Ok(name);
    }
    Err(format!(
        "{text:?} is not a host: give its name or address alone, without a scheme, a port or a path, such as \
         staging.example.com"
    ))
}

fn normal(host: &str) -> String {
    host.trim_end_matches('.').to_lowercase()
}

fn as_text<S: serde::Serializer>(rate: &Option<Rate>, to: S) -> Result<S::Ok, S::Error> {
    let text = rate.map(|rate| match rate.seconds() {
        1 => format!("{}/s", rate.requests()),
        seconds => format!("{}/{seconds}s", rate.requests()),
    });
    serde::Serialize::serialize(&text, to)
}

/// A day as a text or as TOML's own.
fn day<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Date>, D::Error> {
    let text = match toml::Value::deserialize(from)? {
        toml::Value::String(text) => text,
        other => other.to_string(),
    };
    let expected = |_| D::Error::custom(format!("until is {text:?}: expected a day, such as \"2027-01-31\""));
    text.parse().map(Some).map_err(expected)
}

fn day_as_text<S: serde::Serializer>(day: &Option<Date>, to: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&day.map(|day| day.to_string()), to)
}

/// Where the list is.
pub(super) fn path() -> Result<PathBuf> {
    let folder = folder().with_context(|| {
        format!("there is no folder for {WHAT}: set HOME or XDG_CONFIG_HOME, or name the hosts in {VARIABLE}")
    })?;
    Ok(folder.join("allow.toml"))
}

fn hosts() -> Result<BTreeMap<String, Entry>> {
    let Ok(path) = path() else { return Ok(BTreeMap::new()) };
    let file: File = read(&path, WHAT)?.unwrap_or_default();
    let known = |(name, entry): (String, Entry)| {
        let name = host(&name).map_err(|why| anyhow!("in {WHAT} {path:?}: {why}"))?;
        Ok((name, entry))
    };
    file.hosts.into_iter().map(known).collect()
}

/// Changes the list. A reader finds the whole list, before or after it.
pub(super) fn change<T>(change: impl FnOnce(&mut BTreeMap<String, Entry>) -> T) -> Result<T> {
    let path = path()?;
    let mut file = File { hosts: hosts()? };
    let changed = change(&mut file.hosts);
    let text = toml::to_string(&file).context("the list can't be written as TOML")?;
    let head = "# Public hosts that unblink may put under load. Written by `unblink allow`.\n\n";
    replace(&path, &format!("{head}{text}")).with_context(|| format!("can't write {WHAT} {path:?}"))?;
    Ok(changed)
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let new = folder.join(format!(".allow.toml.{}", std::process::id()));
    let written = std::fs::File::create(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

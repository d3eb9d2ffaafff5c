//! `unblink allow`.

use super::allow::{self, AllowList, Entry};
use super::policy;
use crate::args::allow::AllowArgs;
use crate::errors::refuse;
use crate::{clock, config, exit, output};
use anyhow::{Result, bail};
use jiff::tz::TimeZone;
use std::fmt::Write;
use unblink_artifact::harmless;

/// Allows a host, takes one back, or shows what holds. Gives the exit code.
pub(crate) fn allow(args: &AllowArgs) -> Result<u8> {
    let text = match (&args.host, &args.remove) {
        (Some(host), _) => add(host, args)?,
        (None, Some(host)) => remove(host)?,
        (None, None) => list()?,
    };
    output::print(&text)?;
    Ok(exit::OK)
}

fn add(host: &str, args: &AllowArgs) -> Result<String> {
    let name = allow::host(host).map_err(anyhow::Error::msg)?;
    if args.until.is_some_and(|day| day < clock::timestamp().to_zoned(TimeZone::UTC).date()) {
        refuse!(["until"], "--until {}: this day is over", args.until.unwrap_or_default());
    }
    let entry = Entry { max_rate: args.max_rate, until: args.until };
    let said = line(&name, &entry);
    allow::change(|hosts| hosts.insert(name, entry))?;
    Ok(format!("allowed: {said}\n"))
}

fn remove(host: &str) -> Result<String> {
    let name = allow::host(host).map_err(anyhow::Error::msg)?;
    if !AllowList::read()?.hosts().contains_key(&name) {
        bail!("{name} is not in the list, so there is nothing to remove (see unblink allow --list)");
    }
    allow::change(|hosts| hosts.remove(&name))?;
    Ok(format!("no longer allowed: {name}\n"))
}

fn list() -> Result<String> {
    let list = AllowList::read()?;
    let mut text = String::new();
    for (name, entry) in list.hosts() {
        writeln!(text, "{}", line(name, entry))?;
    }
    for name in list.by_variable() {
        writeln!(text, "{name}, by UNBLINK_ALLOW")?;
    }
    if text.is_empty() {
        text += "no public host is allowed (unblink allow HOST allows one)\n";
    }
    if let Some(cap) = config::max_rate()? {
        writeln!(text, "config file: at most {cap} on any host")?;
    }
    for policy in policy::all()? {
        writeln!(text, "policy {}", harmless::replaced(&policy.describe()))?;
    }
    Ok(text)
}

fn line(name: &str, entry: &Entry) -> String {
    let rate = entry.max_rate.map(|rate| format!(", at most {rate}")).unwrap_or_default();
    let until = entry.until.map(|day| format!(", until {day}")).unwrap_or_default();
    format!("{name}{rate}{until}")
}

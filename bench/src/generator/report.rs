//! What a tool reports of a load at a rate: read with care, for a number that is misread is worse than none.
//!
//! Only percentiles are read here. How many requests there were, and when, the server knows.

use super::{Generator, Tool};
use crate::process::Ended;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Latency as the tool reports it, in ns. `None`: it does not report this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reported {
    pub p50_ns: Option<u64>,
    pub p95_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p99_9_ns: Option<u64>,
    /// Arrivals that ended as they should, by its own account.
    pub ok: Option<u64>,
    /// Of unblink: its own lateness at the 99th percentile.
    pub late_p99_ns: Option<u64>,
}

impl Generator {
    /// Reads what the tool said, or left in `folder`; `None` for tools that report nothing of this kind.
    pub(crate) fn reported(&self, ended: &Ended, folder: &Path) -> Result<Option<Reported>> {
        let stdout = || String::from_utf8_lossy(&ended.stdout).into_owned();
        let file = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let read = match self.tool {
            Tool::Unblink(_) => unblink(&stdout()),
            Tool::Wrk2 => wrk2(&stdout()),
            Tool::Oha => oha(&stdout()),
            Tool::Fortio => fortio(&file("result.json")?),
            Tool::K6 => k6(&file("summary.json")?),
            Tool::Vegeta => {
                let mut command = Command::new(&self.program);
                let output = command.args(["report", "-type=json"]).arg(folder.join("results")).output()?;
                vegeta(&String::from_utf8_lossy(&output.stdout))
            }
            _ => return Ok(None),
        };
        read.with_context(|| format!("what {} printed is not understood", self.tool.name())).map(Some)
    }
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("no JSON: {}", beginning(text)))
}

/// Enough of a text to recognise it by.
fn beginning(text: &str) -> String {
    format!("{:?}", text.chars().take(200).collect::<String>())
}

fn number(value: &Value, pointer: &str) -> Result<f64> {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("no number at {pointer} in {}", beginning(&value.to_string())))
}

/// A time in `unit_ns` as ns.
fn time(value: &Value, pointer: &str, unit_ns: f64) -> Result<Option<u64>> {
    Ok(Some((number(value, pointer)? * unit_ns).round() as u64))
}

fn unblink(text: &str) -> Result<Reported> {
    let document = json(text)?;
    let quantile = |of: &str, q: f64| -> Result<Option<u64>> {
        let all = document.pointer(&format!("/{of}/quantiles")).and_then(Value::as_array);
        let entry = all.and_then(|all| all.iter().find(|entry| entry["q"].as_f64() == Some(q)));
        let entry = entry.with_context(|| format!("no quantile {q} of {of}"))?;
        if entry["censored"] == true {
            return Ok(None);
        }
        Ok(Some(entry["value"].as_u64().with_context(|| format!("quantile {q} of {of} has no value"))?))
    };
    Ok(Reported {
        p50_ns: quantile("response_time", 0.5)?,
        p95_ns: quantile("response_time", 0.95)?,
        p99_ns: quantile("response_time", 0.99)?,
        p99_9_ns: quantile("response_time", 0.999)?,
        ok: Some(number(&document, "/arrivals/ok")? as u64),
        late_p99_ns: quantile("generator_late", 0.99)?,
    })
}

fn vegeta(text: &str) -> Result<Reported> {
    let document = json(text)?;
    let success = number(&document, "/success")? * number(&document, "/requests")?;
    Ok(Reported {
        p50_ns: time(&document, "/latencies/50th", 1.0)?,
        p95_ns: time(&document, "/latencies/95th", 1.0)?,
        p99_ns: time(&document, "/latencies/99th", 1.0)?,
        ok: Some(success.round() as u64),
        ..Reported::default()
    })
}

fn fortio(text: &str) -> Result<Reported> {
    let document = json(text)?;
    let percentiles = document.pointer("/DurationHistogram/Percentiles").and_then(Value::as_array);
    let percentiles = percentiles.context("no DurationHistogram.Percentiles")?;
    let at = |p: f64| -> Result<Option<u64>> {
        let entry = percentiles.iter().find(|entry| entry["Percentile"].as_f64() == Some(p));
        time(entry.with_context(|| format!("no percentile {p}"))?, "/Value", 1e9)
    };
    Ok(Reported {
        p50_ns: at(50.0)?,
        p95_ns: at(95.0)?,
        p99_ns: at(99.0)?,
        p99_9_ns: at(99.9)?,
        ok: document.pointer("/RetCodes/200").and_then(Value::as_u64),
        ..Reported::default()
    })
}

fn oha(text: &str) -> Result<Reported> {
    let document = json(text)?;
    let at = |name: &str| time(&document, &format!("/latencyPercentiles/{name}"), 1e9);
    Ok(Reported {
        p50_ns: at("p50")?,
        p95_ns: at("p95")?,
        p99_ns: at("p99")?,
        p99_9_ns: at("p99.9")?,
        ok: document.pointer("/statusCodeDistribution/200").and_then(Value::as_u64),
        ..Reported::default()
    })
}

fn k6(text: &str) -> Result<Reported> {
    let document = json(text)?;
    let at = |name: &str| time(&document, &format!("/metrics/http_req_duration/{name}"), 1e6);
    Ok(Reported {
        p50_ns: at("p(50)")?,
        p95_ns: at("p(95)")?,
        p99_ns: at("p(99)")?,
        p99_9_ns: at("p(99.9)")?,
        ..Reported::default()
    })
}

/// The lines ` 99.000%  800.12ms` below `Latency Distribution`.
fn wrk2(text: &str) -> Result<Reported> {
    let mut lines = text.lines().skip_while(|line| !line.contains("Latency Distribution")).skip(1);
    let table: Vec<(&str, &str)> = lines
        .by_ref()
        .map_while(|line| line.trim().split_once('%').map(|(p, value)| (p, value.trim())))
        .collect();
    let at = |p: &str| -> Result<Option<u64>> {
        let found = table.iter().find(|(percent, _)| *percent == p);
        let (_, value) = found.with_context(|| format!("no line {p}% in {}", beginning(text)))?;
        Ok(Some(time_with_unit(value)?))
    };
    // wrk2 prints 50, 75, 90, 99, 99.9, …: no 95.
    Ok(Reported {
        p50_ns: at("50.000")?,
        p99_ns: at("99.000")?,
        p99_9_ns: at("99.900")?,
        ..Reported::default()
    })
}

/// `1.02ms`, `800.00us`, `1.50s`, `1.20m` as ns.
fn time_with_unit(text: &str) -> Result<u64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (value, unit) = text.split_at(unit_at);
    let factor = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => bail!("`{text}` is no time"),
    };
    let value: f64 = value.trim().parse().with_context(|| format!("`{text}` is no time"))?;
    Ok((value * factor).round() as u64)
}

#[cfg(test)]
mod tests;

//! What a tool reports of a load at a rate, read as the lab reads it.
//!
//! Only percentiles are read here. How many requests there were, and when, the server knows.

use super::{Generator, Tool};
use crate::process::Ended;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use unblink_lab::{Output, value_at};

/// Latency as the tool reports it, in ns. `None`: it does not report this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reported {
    pub p50_ns: Option<u64>,
    pub p95_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p99_9_ns: Option<u64>,
    /// Of unblink: arrivals that ended as they should, by its own account.
    pub ok: Option<u64>,
    /// Of unblink: its own lateness at the 99th percentile.
    pub late_p99_ns: Option<u64>,
}

impl Generator {
    /// Reads what the tool said, or left in `folder`; `None` for tools that keep no rate.
    pub(crate) fn reported(&self, ended: &Ended, folder: &Path) -> Result<Option<Reported>> {
        let Some(definition) = &self.definition else { return Ok(None) };
        let keeps_rate = matches!(
            self.tool,
            Tool::Unblink(_) | Tool::Wrk2 | Tool::Oha | Tool::Fortio | Tool::K6 | Tool::Vegeta
        );
        if !keeps_rate {
            return Ok(None);
        }
        if let Some(words) = &definition.convert {
            let place = folder.to_str().context("a path that is not text")?;
            let words = words.iter().map(|word| word.replace("{folder}", place));
            let status = Command::new(&self.program).args(words).status()?;
            ensure!(status.success(), "{} can't read what it wrote: {status}", self.tool.name());
        }
        let text = match definition.output.source().file() {
            Some(name) => {
                let path = folder.join(name);
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?
            }
            None => String::from_utf8_lossy(&ended.stdout).into_owned(),
        };
        let is_ours = matches!(self.tool, Tool::Unblink(_));
        let read = read(&definition.output, &text)
            .and_then(|read| if is_ours { own(read, &text) } else { Ok(read) });
        read.with_context(|| format!("what {} printed is not understood", self.tool.name())).map(Some)
    }
}

fn read(output: &Output, text: &str) -> Result<Reported> {
    let said = output.read(text)?;
    let at = |q: f64| value_at(&said.points, q).filter(|_| said.longer_from.is_none_or(|from| q < from));
    Ok(Reported {
        p50_ns: at(0.5),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        p99_9_ns: at(0.999),
        ..Reported::default()
    })
}

/// What unblink says besides.
fn own(read: Reported, text: &str) -> Result<Reported> {
    let document: Value = serde_json::from_str(text)?;
    let ok = document.pointer("/arrivals/ok").and_then(Value::as_u64).context("no number at /arrivals/ok")?;
    let late = document.pointer("/generator_late/quantiles").and_then(Value::as_array);
    let late = late.and_then(|all| all.iter().find(|entry| entry["q"].as_f64() == Some(0.99)));
    let late_p99_ns = late.context("no quantile 0.99 of generator_late")?["value"].as_u64();
    Ok(Reported { ok: Some(ok), late_p99_ns, ..read })
}

#[cfg(test)]
mod tests {
    use super::super::{PEERS, UNBLINK};
    use super::*;
    use unblink_lab::Definition;

    fn output(name: &str) -> Output {
        let all = Definition::built_in().expect("definitions");
        all.into_iter().find(|definition| definition.name == name).expect(name).output
    }

    const SAID: &str = r#"{"schema": "unblink.run/2", "arrivals": {"scheduled": 400, "ok": 400, "failed": 0},
        "response_time": {"unit": "ns", "count": 400, "mean": 1.0, "max": 28791237, "quantiles": [
            {"q": 0.5, "value": 8798207, "censored": false}, {"q": 0.95, "value": 22773759, "censored": false},
            {"q": 0.99, "value": 26836991, "censored": false}, {"q": 0.999, "value": 28791237, "censored": true}]},
        "spectrum": {"response_time": [{"q": 0.5, "value_ns": 8798207}]},
        "generator_late": {"quantiles": [{"q": 0.5, "value": 9687, "censored": false},
            {"q": 0.99, "value": 3749887, "censored": false}]}}"#;

    #[test]
    fn a_bound_of_a_censored_percentile_is_no_value() {
        let read = own(read(&output(UNBLINK), SAID).unwrap(), SAID).unwrap();
        let expected = Reported {
            p50_ns: Some(8_798_207),
            p95_ns: Some(22_773_759),
            p99_ns: Some(26_836_991),
            p99_9_ns: None,
            ok: Some(400),
            late_p99_ns: Some(3_749_887),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_not_understood_is_quoted_and_never_guessed() {
        for name in PEERS.iter().map(|(_, name)| *name).chain([UNBLINK]) {
            let error = format!("{:#}", read(&output(name), "Usage: tool [options]").unwrap_err());
            assert!(error.contains("Usage: tool"), "{name}: {error}");
        }
        assert!(own(Reported::default(), &SAID.replace("generator_late", "late")).is_err());
    }
}

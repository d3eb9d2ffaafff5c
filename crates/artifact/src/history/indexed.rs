//! One run as the history keeps it.

use crate::document::{
    Arrivals, Distribution, LoadModel, Rate, Requested, RunDocument, RunStatus, TargetsBeyond, Validity,
    Verdict,
};
use crate::folder::{FolderError, read_folder, report_part};
use crate::history::{LabelError, RunLabels, series};
use crate::simulated::SimulatedWorld;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A run in the index. Its figures are those of its document, without what is only drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexedRun {
    /// 16 hexadecimal digits, from what was recorded: the same wherever the folder lies, and whoever indexes it.
    pub id: String,
    /// The same for all runs of one load on one target: what a trend is drawn over.
    pub series: String,
    /// When t = 0 was, RFC 3339 in UTC.
    pub started_at: String,
    /// Where the folder was when it was indexed.
    pub folder: String,
    /// Did the run come to its end?
    pub status: RunStatus,
    /// Can the run be believed?
    pub validity: Validity,
    /// Did it meet what was asked of it? Absent when nothing was asked.
    pub verdict: Option<Verdict>,
    /// No request was sent.
    pub simulated: bool,
    /// Who decides when a request starts.
    pub model: LoadModel,
    /// The load in one line; of a simulated run with its network, generator and client, where these are not perfect.
    pub load: String,
    /// What was requested; secrets masked.
    pub targets: Vec<Requested>,
    /// Those of them that are not listed, where there were very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_beyond: Option<TargetsBeyond>,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The version that measured.
    pub version: String,
    /// Offered, sent and achieved.
    pub rate: Rate,
    /// Where every arrival of the measured part ended.
    pub arrivals: Arrivals,
    /// Intended start to last byte.
    pub response_time: Distribution,
    /// Send to last byte.
    pub service_time: Distribution,
    /// What the user calls it, by key.
    pub tags: BTreeMap<String, String>,
    /// The baselines that it belongs to, each with when it was set (RFC 3339 in UTC).
    pub baselines: BTreeMap<String, String>,
}

impl IndexedRun {
    /// Of a whole run whose record lies in `folder`.
    pub fn of(document: &RunDocument, folder: &Path, labels: RunLabels) -> IndexedRun {
        IndexedRun {
            id: document.id(),
            series: series::name(document),
            started_at: document.started_at.clone(),
            folder: folder.display().to_string(),
            status: document.status,
            validity: document.validity.clone(),
            verdict: document.verdict.clone(),
            simulated: document.simulated.is_some(),
            model: document.model(),
            load: load_in_words(document),
            targets: document.targets.clone(),
            targets_beyond: document.targets_beyond.clone(),
            command: document.command.clone(),
            version: document.tool.version.clone(),
            rate: document.rate.clone(),
            arrivals: document.arrivals.clone(),
            response_time: document.response_time.clone(),
            service_time: document.service_time.clone(),
            tags: labels.tags,
            baselines: labels.baselines,
        }
    }

    /// The share of arrivals that did not end as they should.
    pub fn error_share(&self) -> Option<f64> {
        self.arrivals.error_share()
    }
}

/// Why a run folder can't be indexed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Its record can't be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// What the user has said of it can't.
    #[error(transparent)]
    Label(#[from] LabelError),
}

/// Reads a run folder for the index, that of a killed run, too. The folder is named in full.
pub fn indexed(dir: &Path) -> Result<IndexedRun, IndexError> {
    let document = match read_folder(dir)?.final_document {
        Some(document) => document,
        None => report_part(dir, None, None)?,
    };
    let folder = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    Ok(IndexedRun::of(&document, &folder, RunLabels::read(dir)?))
}

/// What keeps two series apart must be seen in them, also where it is nothing but the timeout or the simulated world.
fn load_in_words(document: &RunDocument) -> String {
    let mut load = document.plan.summary.clone();
    if document.plan.timeout_ns != TIMEOUT_USUAL_NS {
        load += &format!("; timeout: {} s", document.plan.timeout_ns as f64 / 1e9);
    }
    if let Some(simulated) = &document.simulated {
        let SimulatedWorld { network, generator, client, .. } = &simulated.world;
        let client = if client == "ideal" { "" } else { client };
        for (name, words) in [("network", network.as_str()), ("generator", generator), ("client", client)] {
            if !words.is_empty() {
                load += &format!("; {name}: {words}");
            }
        }
    }
    load
}

/// That of a run that is not told otherwise.
const TIMEOUT_USUAL_NS: u64 = 30_000_000_000;

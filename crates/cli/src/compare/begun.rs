//! What a comparison was begun with: it goes on with nothing else. A rule that is chosen when the runs are known finds
//! what it wants, and runs that ask for something else are no runs of the same.

use super::side::Ready;
use crate::args::compare::CompareArgs;
use crate::output;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unblink_artifact::bounded::{self, SMALL_BYTES_MAX};
use unblink_report::format;

const FILE: &str = "begun.json";

/// The rule, and what is asked.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct Begun {
    percentile: f64,
    #[serde(default)]
    request: Option<String>,
    min_effect: f64,
    /// Fingerprints of both sides.
    asked: [String; 2],
}

impl Begun {
    pub(super) fn of(args: &CompareArgs, first: &[Ready; 2]) -> Begun {
        let asked = [first[0].asked.clone(), first[1].asked.clone()];
        Begun {
            percentile: args.percentile,
            request: args.request.clone(),
            min_effect: args.min_effect,
            asked,
        }
    }

    pub(super) fn keep(&self, root: &Path) -> Result<()> {
        output::check_folder(root)?;
        std::fs::create_dir_all(root).with_context(|| format!("can't create the folder {root:?}"))?;
        let path = root.join(FILE);
        std::fs::write(&path, output::to_json(self)?).with_context(|| format!("can't write {path:?}"))
    }

    /// Refuses to go on otherwise.
    pub(super) fn check(&self, root: &Path) -> Result<()> {
        let path = root.join(FILE);
        let text = bounded::read_text(&path, SMALL_BYTES_MAX).with_context(|| {
            format!(
                "{path:?} can't be read: --resume needs the folder that an interrupted comparison has named"
            )
        })?;
        let begun: Begun = serde_json::from_str(&text).with_context(|| format!("can't read {path:?}"))?;
        let differs = |side: usize| begun.asked[side] != self.asked[side];
        let sides = match [differs(0), differs(1)] {
            [false, false] => None,
            [true, true] => Some("targets"),
            [true, false] => Some("baseline"),
            [false, true] => Some("candidate"),
        };
        let rule = (begun.percentile, begun.min_effect) != (self.percentile, self.min_effect);
        let differences = [
            rule.then(|| {
                let percentile = format::quantile_label(begun.percentile);
                format!("with --percentile {percentile} --min-effect {}%", begun.min_effect * 100.0)
            }),
            (begun.request != self.request).then(|| {
                begun.request.map_or("without --request".into(), |name| format!("with --request {name:?}"))
            }),
            sides.map(|sides| {
                format!(
                    "with something else asked of the {sides} (requests, addresses, connections, pacing, or the simulated world)"
                )
            }),
        ];
        let differences: Vec<String> = differences.into_iter().flatten().collect();
        match differences.is_empty() {
            true => Ok(()),
            false => bail!(
                "--resume {}: that comparison was begun {}; give the same flags and URLs",
                root.display(),
                differences.join(", and ")
            ),
        }
    }
}

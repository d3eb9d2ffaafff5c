//! What is reckoned with: the table, what was measured elsewhere, and what was set by hand.

use crate::args::size::SizeArgs;
use crate::plan::nearest;
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;
use unblink_analysis::fleet::constants::TABLE;
use unblink_analysis::fleet::{Constants, Refusal};
use unblink_artifact::size::{CONSTANTS_SCHEMA, ConstantsDocument};
use unblink_engine::bounded;

/// Far above any such file.
const BYTES_MAX: u64 = 1 << 20;

/// Those of the table, of the file and of the command line.
pub(super) fn given(args: &SizeArgs) -> Result<Constants> {
    let mut constants = Constants::default();
    if let Some(path) = &args.constants {
        let document = read(path)?;
        measured(&mut constants, &document).with_context(|| format!("in {path:?}"))?;
    }
    set(&mut constants, args)?;
    Ok(constants)
}

/// Requests per second that so many workers carry, by what was measured and stands in a file.
pub(super) fn carries_per_s(path: &Path, workers: u32) -> Result<u64> {
    of_document(&read(path)?, workers).with_context(|| format!("in {path:?}"))
}

/// The same by what such a file would say.
pub(super) fn of_document(document: &ConstantsDocument, workers: u32) -> Result<u64> {
    let mut constants = Constants::default();
    measured(&mut constants, document)?;
    Ok((constants.worker_per_s() * f64::from(workers)) as u64)
}

/// Those of the command line.
pub(super) fn set(constants: &mut Constants, args: &SizeArgs) -> Result<()> {
    args.set.iter().try_for_each(|(name, value)| put(constants, name, *value, "--set"))
}

/// Those that were measured.
pub(super) fn measured(constants: &mut Constants, document: &ConstantsDocument) -> Result<()> {
    document.constants.iter().try_for_each(|one| put(constants, &one.name, one.value, &one.source))
}

fn put(constants: &mut Constants, name: &str, value: f64, source: &str) -> Result<()> {
    constants.set(name, value, source).map_err(|refusal| match refusal {
        Refusal::Unknown => {
            let names = || TABLE.iter().map(|entry| entry.name);
            match nearest(name, names()) {
                Some(near) => anyhow!("no constant is called {name:?}: did you mean {near:?}?"),
                None => anyhow!(
                    "no constant is called {name:?}: there are {}",
                    names().collect::<Vec<_>>().join(", ")
                ),
            }
        }
        Refusal::Range(max) => anyhow!("the constant {name} is {value}: give one above 0 and at most {max}"),
    })
}

fn read(path: &Path) -> Result<ConstantsDocument> {
    let bytes = bounded::read(path, BYTES_MAX).with_context(|| format!("can't read {path:?}"))?;
    let document: ConstantsDocument = serde_json::from_slice(&bytes)
        .with_context(|| format!("{path:?} is not a file that unblink size --calibrate -o FILE wrote"))?;
    if document.schema != CONSTANTS_SCHEMA {
        bail!(
            "{path:?} is a {:?}, and {CONSTANTS_SCHEMA:?} is expected: measure anew with --calibrate",
            document.schema
        );
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_constant_is_refused() {
        let mut constants = Constants::default();
        let mut error = |name, value| put(&mut constants, name, value, "").unwrap_err().to_string();
        assert_eq!(error("port", 1.0), "no constant is called \"port\": did you mean \"ports\"?");
        assert!(error("x", 1.0).contains("there are cpu_us_per_request, "));
        assert_eq!(
            error("processor_share", 2.0),
            "the constant processor_share is 2: give one above 0 and at most 1"
        );
    }
}

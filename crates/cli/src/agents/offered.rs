//! What travels to agents: the words of the command line and the files that they name.

use crate::errors::refuse;
use crate::{inputs, secrets};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use unblink_cluster::message::OfferedFile;
use unblink_cluster::record;

/// What stands in files, by its SHA-256.
pub(super) type Contents = BTreeMap<String, Vec<u8>>;

/// All files of a run together, which agents keep in memory while they fetch them.
const BYTES_MAX: u64 = 256 << 20;

/// The words after `unblink`.
///
/// # Errors
/// One of them is secret.
pub(super) fn arguments(is_local: bool) -> Result<Vec<String>> {
    let words: Vec<String> = crate::environment::arguments();
    if words.iter().any(|word| word == "-" || word == "@-") {
        refuse!(
            ["agents"],
            "standard input is read once, and all agents need it: write it into a file and name that"
        );
    }
    if !is_local && secrets::mask_command(words.clone()) != words {
        refuse!(
            ["agents"],
            "a secret on the command line would travel over the bus: write ${{NAME}} into a plan, which each agent fills in from its own environment"
        );
    }
    Ok(words.into_iter().skip(1).collect())
}

/// The files that were read so far, and what stands in them.
///
/// # Errors
/// One is not beneath this folder, or all are too large.
pub(crate) fn files() -> Result<(Vec<OfferedFile>, Contents)> {
    let (mut offered, mut contents, mut all) = (Vec::<OfferedFile>::new(), BTreeMap::new(), 0);
    for path in inputs::all() {
        if !is_beneath(&path) {
            refuse!(
                ["agents"],
                "{path:?} is not beneath this folder: agents get what the run reads under the same names, so start the run from a folder that has all of it"
            );
        }
        let name = path.display().to_string();
        if offered.iter().any(|file| file.name == name) {
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("can't read {path:?}"))?;
        all += bytes.len() as u64;
        if all > BYTES_MAX {
            refuse!(
                ["agents"],
                "the files of this run are larger than {} MiB together: put large ones onto the agents' machines beforehand and run there with --share",
                BYTES_MAX >> 20
            );
        }
        let sha256 = record::sha256(&bytes);
        offered.push(OfferedFile { name, bytes: bytes.len() as u64, sha256: sha256.clone() });
        contents.insert(sha256, bytes);
    }
    Ok((offered, contents))
}

/// Whatever folder stands before it, it stays in there.
pub(super) fn is_beneath(path: &Path) -> bool {
    !path.as_os_str().is_empty()
        && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_stay_beneath_a_folder() {
        for good in ["plan.toml", "data/users.csv", "./plan.toml"] {
            assert!(is_beneath(Path::new(good)), "{good}");
        }
        for bad in ["", "/etc/passwd", "../plan.toml", "data/../../x"] {
            assert!(!is_beneath(Path::new(bad)), "{bad}");
        }
    }
}

//! What a coordinator keeps beside the records of its agents, so that the same command can take up a run after it has died.

use crate::clock::OwnTime;
use crate::errors::refuse;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use unblink_cluster::bus::{Keep, Resumed};
use unblink_cluster::message::OfferedFile;
use unblink_cluster::record;

/// Within the folder of the records.
const FILE: &str = "coordinator.json";

/// A run as its coordinator has left it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What the command line asks for, as a SHA-256: it may name what is nobody else's business.
    asked: String,
    /// Which start of which machine the clock belongs to.
    boot: String,
    /// What the coordinator's clock reads less this machine's monotonic one, in ns.
    ahead_ns: u64,
    run: Resumed,
}

impl Kept {
    /// The run that was begun with its records in `records`, if its coordinator has not come to the end. `asked` is what is asked
    /// for now.
    ///
    /// # Errors
    /// It can't be taken up.
    pub(super) fn of(records: &Path, asked: &str) -> Result<Option<(Resumed, OwnTime)>> {
        let path = records.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context(format!("can't read {path:?}")),
        };
        let kept: Kept = serde_json::from_slice(&text)
            .with_context(|| format!("{path:?} is not the record of a coordinator"))?;
        if kept.asked != asked {
            refuse!(
                ["agents-resume"],
                "{path:?} belongs to another command, other files or another build: repeat the original command"
            );
        }
        if kept.boot != boot()? {
            refuse!(
                ["agents-resume"],
                "{path:?} was written by another machine, or before this one was started anew: the run's clock is gone, and so is its lease. The agents' own folders have its record (unblink merge)"
            );
        }
        Ok(Some((kept.run, OwnTime::ahead_of_monotonic(kept.ahead_ns))))
    }

    /// Keeps a run there from now on.
    ///
    /// # Errors
    /// The machine does not say when it was started.
    pub(super) fn keeper(records: PathBuf, asked: String, time: OwnTime) -> Result<Keep> {
        let boot = boot()?;
        Ok(Box::new(move |run: Option<&Resumed>| {
            let path = records.join(FILE);
            let Some(run) = run else {
                return match std::fs::remove_file(&path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                };
            };
            let ahead_ns = time.less_monotonic_ns();
            let kept = Kept { asked: asked.clone(), boot: boot.clone(), ahead_ns, run: run.clone() };
            std::fs::create_dir_all(&records)?;
            let beside = path.with_extension("new");
            std::fs::write(&beside, serde_json::to_vec(&kept)?)?;
            std::fs::rename(&beside, &path)
        }))
    }
}

/// What a command line and its files ask for, of this build.
pub(super) fn asked(arguments: &[String], files: &[OfferedFile]) -> String {
    let words: Vec<&String> = arguments.iter().filter(|word| *word != "--agents-resume").collect();
    let all = serde_json::json!([env!("UNBLINK_VERSION"), words, files]);
    record::sha256(all.to_string().as_bytes())
}

/// Which start of this machine this is.
fn boot() -> Result<String> {
    let path = "/proc/sys/kernel/random/boot_id";
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read {path}"))?;
    Ok(text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_cluster::bus::Since;
    use unblink_cluster::coordinator::Saved;

    fn run() -> Resumed {
        let (run, command, members) = ("r".into(), "c".into(), Vec::new());
        let saved = Saved { run, command, start_at: 7, stop: None, cut: None, members, lost_by_bus: 1 };
        Resumed { saved, since: Since { made_at_ns: 5, from_message: 3 }, times: 0 }
    }

    #[test]
    fn what_is_kept_is_taken_up_with_the_same_clock() {
        let dir = tempfile::tempdir().expect("a folder");
        let records = dir.path().join("whole.agents");
        let words = ["run".to_string(), "plan.toml".to_string()];
        let asked = |words: &[String]| super::asked(words, &[]);
        assert!(Kept::of(&records, &asked(&words)).expect("no error").is_none());
        let time = OwnTime::start();
        let mut keep = Kept::keeper(records.clone(), asked(&words), time).expect("a keeper");
        keep(Some(&run())).expect("written");
        let again = [&words[..], &["--agents-resume".to_string()]].concat();
        let (taken, clock) = Kept::of(&records, &asked(&again)).expect("no error").expect("a run");
        assert_eq!(taken, run());
        let (before, now, after) = (time.now(), clock.now(), time.now());
        assert!(before <= now && now <= after, "{before} {now} {after}");
        let other = Kept::of(&records, &asked(&["knee".to_string()])).unwrap_err();
        assert!(other.to_string().contains("another command"), "{other}");
        let text = std::fs::read_to_string(records.join(FILE)).expect("a file");
        let elsewhere = text.replace(&boot().expect("an id"), "elsewhere");
        std::fs::write(records.join(FILE), elsewhere).expect("written");
        let moved = Kept::of(&records, &asked(&words)).unwrap_err();
        assert!(moved.to_string().contains("another machine"), "{moved}");
        keep(None).expect("gone");
        keep(None).expect("gone already");
        assert!(Kept::of(&records, &asked(&words)).expect("no error").is_none());
    }
}

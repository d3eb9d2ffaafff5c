//! What travels to agents: the words of the command line and the files that they name.

use super::words::{self, Of, Said};
use crate::args::Cli;
use crate::errors::refuse;
use crate::inputs;
use crate::secrets::doubtful;
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use unblink_cluster::message::OfferedFile;
use unblink_cluster::record;

/// What stands in files, by its SHA-256.
pub(super) type Contents = BTreeMap<String, Vec<u8>>;

/// Where the coordinator keeps what came of the run.
const STORE: &str = "store";
/// All files of a run together, which agents keep in memory while they fetch them, and from one run to the next.
const BYTES_MAX: u64 = 256 << 20;

/// The words after `unblink` that agents are to know.
///
/// # Errors
/// One of them may be secret, or is read by the coordinator alone.
pub(super) fn arguments(is_local: bool) -> Result<Vec<String>> {
    travelling(&crate::environment::arguments(), is_local, is_written_down())
}

/// A manifest has the command line in it, and is kept: `unblink k8s render`.
fn is_written_down() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "k8s")
}

/// Those of `words`, of which the first is the program, that agents are to know.
fn travelling(words: &[String], is_local: bool, is_written_down: bool) -> Result<Vec<String>> {
    let said = words::said(&Cli::command(), words);
    if said.iter().any(|said| (said.is_of("targets") && said.value == "-") || said.value == "@-") {
        refuse!(
            ["agents"],
            "standard input is read once, and all agents need it: write it into a file and name that"
        );
    }
    if is_local {
        return Ok(words.iter().skip(1).cloned().collect());
    }
    for one in &said {
        if one.is_of(STORE) {
            // It is the coordinator's own, and no agent hears of it.
            if is_written_down
                && let Some(what) = has_address(&one.value).and_then(|()| doubtful::in_address(&one.value))
            {
                refuse!(
                    ["store"],
                    "--store: {what} may be a secret, and would stand in what is rendered: put the store's URL into a Secret as UNBLINK_STORE, and name that with --env-secret"
                );
            }
            continue;
        }
        let Some(what) = may_be_secret(one) else { continue };
        let place = match &one.of {
            Of::Flag(name) => format!("--{name}: "),
            Of::Alone => String::new(),
            Of::Behind => "behind --: ".into(),
        };
        refuse!(
            ["agents"],
            "{place}{what} may be a secret, and a secret on the command line would travel over the bus: write ${{NAME}} into a plan, which each agent fills in from its own environment"
        );
    }
    let is_own = |at: usize| said.iter().any(|said| said.is_of(STORE) && said.words.contains(&at));
    let left = words.iter().enumerate().skip(1).filter(|(at, _)| !is_own(*at));
    Ok(left.map(|(_, word)| word.clone()).collect())
}

/// What of it may be a secret, in words that don't show it.
fn may_be_secret(said: &Said) -> Option<String> {
    let value = said.value.as_str();
    let Of::Flag(name) = &said.of else {
        return match said.of {
            Of::Behind => doubtful::in_word(value),
            _ => has_address(value).and_then(|()| doubtful::in_address(value)),
        };
    };
    match name.as_str() {
        "header" => doubtful::in_header(value),
        "body" | "message" | "command" | "sql" | "cql" | "expect" => doubtful::in_text(value),
        "request" | "slo" | "abort-on" => doubtful::in_line(value),
        "let" => doubtful::in_let(value),
        "script-arg" => doubtful::in_word(value),
        _ => has_address(value).and_then(|()| doubtful::in_address(value)),
    }
}

/// It has an address in which a user or a parameter may stand.
fn has_address(text: &str) -> Option<()> {
    (text.contains("://") || text.starts_with("//") || (text.contains('@') && text.contains(':')))
        .then_some(())
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

/// The same for agents that read them where they are: nothing of what stands in them travels, so nothing is to be fetched.
///
/// # Errors
/// One can't be read any more.
pub(super) fn files_in_place() -> Result<Vec<OfferedFile>> {
    let mut offered = Vec::<OfferedFile>::new();
    for path in inputs::all() {
        let name = path.display().to_string();
        // A pipe is read once.
        if !path.is_file() || offered.iter().any(|file| file.name == name) {
            continue;
        }
        let sha256 = inputs::sha256(&path).with_context(|| format!("can't read {path:?}"))?;
        offered.push(OfferedFile { name, bytes: 0, sha256 });
    }
    Ok(offered)
}

/// Whatever folder stands before it, it stays in there.
pub(super) fn is_beneath(path: &Path) -> bool {
    !path.as_os_str().is_empty()
        && path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn travelling(line: &[&str], is_local: bool, is_written_down: bool) -> Result<Vec<String>, String> {
        let words: Vec<String> = ["unblink", "run"].iter().chain(line).map(ToString::to_string).collect();
        super::travelling(&words, is_local, is_written_down).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_harmless_travels() {
        for line in [
            &["postgres://u@127.0.0.1/db", "--sql", "SELECT 1"][..],
            &["redis://127.0.0.1/", "--command", "GET {{key}}", "--let", "key=zipf(1M)"],
            &["http://h/?page=3", "--body", "hello", "-H", "X-Page: 3"],
            &["ws://h/", "--message=hi", "--csv", "-", "--junit=-", "--hgrm", "-", "--summary", "-"],
            &["--request", "80% GET /items?page=2", "--slo", "p99 < 10ms", "--expect", "status=200"],
            &["http://h/", "--bus", "nats://10.0.0.5:4222", "--nkey", "operator.nk", "-R", "50"],
        ] {
            let left = travelling(line, false, true).unwrap_or_else(|error| panic!("{line:?}: {error}"));
            assert_eq!(left[1..], *line);
        }
    }

    #[test]
    fn what_may_be_secret_is_named_and_does_not_travel() {
        for (line, named) in [
            (&["http://u:s3cret@h/"][..], "the password of an address"),
            (&["http://h/?sig=s3cret"], "the parameter sig"),
            (&["-H", "Authorization: Bearer s3cret"], "--header: the value of the header Authorization"),
            (&["-kqHX-Foo: s3cret"], "--header: the value of the header X-Foo"),
            (&["--body=password=s3cret"], "--body: "),
            (&["--command", "AUTH s3cret"], "--command: "),
            (&["--kill-url=http://u:s3cret@h/"], "--kill-url: the password"),
            (&["h", "--", "s3cret"], "behind --: "),
        ] {
            let error = travelling(line, false, false).expect_err("it is refused");
            assert!(error.contains(named) && error.contains("${NAME}"), "{line:?}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
            assert!(travelling(line, true, false).is_ok(), "{line:?}: here it travels nowhere");
        }
    }

    #[test]
    fn the_store_is_the_coordinators_own() {
        let store = "postgres://me:s3cret@db/x";
        for line in
            [&["http://h/", "--store", store, "-q"][..], &["http://h/", &format!("--store={store}"), "-q"]]
        {
            assert_eq!(
                travelling(line, false, false),
                Ok(["run", "http://h/", "-q"].map(String::from).into())
            );
            let error = travelling(line, false, true).expect_err("it would be written down");
            assert!(error.contains("UNBLINK_STORE") && error.contains("--env-secret"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        assert!(travelling(&["http://h/", "--store", "postgres://me@db/x"], false, true).is_ok());
    }

    #[test]
    fn only_what_is_read_can_not_be_standard_input() {
        for line in [&["--targets", "-"][..], &["--targets=-"], &["http://h/", "--body", "@-"]] {
            let error = travelling(line, true, false).expect_err("it is refused");
            assert!(error.contains("standard input"), "{error}");
        }
        assert!(travelling(&["http://h/", "--csv", "-", "--ycsb-output=-"], true, false).is_ok());
    }

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

//! Rendered objects in a folder: a file for each, and one that names them all.

use super::keys;
use super::object::Object;
use super::yaml;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The first line of each file. One without it is somebody's own.
const MARK: &str = "# Written by unblink k8s render, which writes it anew.\n";
const ALL: &str = "kustomization.yaml";

/// A file to be.
struct File {
    path: PathBuf,
    text: String,
    mode: u32,
}

/// # Errors
/// A file of somebody else is in the way: then none is written.
pub(super) fn write(folder: &Path, objects: &[Object]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
    let files = files(folder, objects);
    for File { path, .. } in &files {
        if found(path)? == Found::OfOthers {
            bail!(
                "{path:?} is not of unblink k8s render, which overwrites only what it has written: name another folder with -o, or move that file away"
            );
        }
    }
    files.iter().try_for_each(write_file)?;
    // Private keys of a rendering before this one.
    let secrets = keys::SECRETS.into_iter().map(Object::file_of);
    for old in secrets.filter(|old| objects.iter().all(|object| object.file != *old)) {
        let path = folder.join(old);
        if found(&path)? == Found::Rendered {
            std::fs::remove_file(&path)
                .with_context(|| format!("can't remove {path:?}, which has a private key"))?;
        }
    }
    Ok(())
}

fn files(folder: &Path, objects: &[Object]) -> Vec<File> {
    let mut files: Vec<File> = objects
        .iter()
        .map(|object| {
            // A private key may be read by its owner.
            let mode = if object.value["kind"] == "Secret" { 0o600 } else { 0o644 };
            File { path: folder.join(&object.file), text: yaml::document(&object.value), mode }
        })
        .collect();
    let resources: Vec<&str> = objects.iter().map(|object| object.file.as_str()).collect();
    let all = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    });
    files.push(File { path: folder.join(ALL), text: yaml::document(&all), mode: 0o644 });
    files
}

/// What is in the place of a file to be.
#[derive(PartialEq, Eq, Debug)]
enum Found {
    Nothing,
    Rendered,
    OfOthers,
}

fn found(path: &Path) -> Result<Found> {
    let mut file = match std::fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        file => file.with_context(|| format!("can't read {path:?}"))?,
    };
    let mut begin = vec![0; MARK.len()];
    match file.read_exact(&mut begin) {
        Ok(()) if begin == MARK.as_bytes() => Ok(Found::Rendered),
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
            Err(error).with_context(|| format!("can't read {path:?}"))
        }
        _ => Ok(Found::OfOthers),
    }
}

fn write_file(File { path, text, mode }: &File) -> Result<()> {
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(*mode).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{MARK}{text}").as_bytes()));
    written.with_context(|| format!("can't write {path:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Object {
        Object::new("agents", json!({"kind": "Job"}))
    }

    #[test]
    fn what_is_written_may_be_written_again() {
        let dir = tempfile::tempdir().expect("a folder");
        for _ in 0..2 {
            write(dir.path(), &[object()]).expect("its own files");
        }
        let text = std::fs::read_to_string(dir.path().join("agents.yaml")).expect("a file");
        assert_eq!(text, format!("{MARK}kind: Job\n"));
    }

    /// Neither that file nor any other is touched.
    #[test]
    fn files_of_others_stay_as_they_are() {
        for (name, theirs) in [
            ("agents.yaml", "kind: Job\n"),
            (ALL, ""),
            (ALL, "resources: []\n# longer than the mark is, by far\n"),
        ] {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join(name);
            std::fs::write(&path, theirs).expect("a file");
            let refused = write(dir.path(), &[object()]).expect_err("somebody's own").to_string();
            assert!(refused.contains(name) && refused.contains("another folder"), "{refused}");
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), theirs);
            assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 1, "{name}");
        }
    }

    #[test]
    fn only_rendered_keys_are_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let [own, theirs] = keys::SECRETS.map(|name| dir.path().join(Object::file_of(name)));
        std::fs::write(&own, format!("{MARK}kind: Secret\n")).expect("a file");
        std::fs::write(&theirs, "kind: Secret\n").expect("a file");
        write(dir.path(), &[object()]).expect("it is in nobody's way");
        assert!(!own.exists() && theirs.exists());
    }
}

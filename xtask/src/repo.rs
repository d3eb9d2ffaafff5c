//! The repository as the checks see it: paths and texts, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::source::Source;

/// Paths and texts; every path is relative to the root and written with `/`.
pub struct Repo {
    /// Where it lies on disk; `None` for one made of snippets.
    pub root: Option<PathBuf>,
    /// Files and directories.
    pub paths: BTreeSet<String>,
    /// The texts that some check reads: `.md` and `.toml`.
    pub texts: BTreeMap<String, String>,
    /// Every `.rs` file.
    pub rust: Vec<Source>,
}

impl Repo {
    /// Reads the repository that the current directory lies in.
    pub fn read() -> io::Result<Repo> {
        let root = root()?;
        let mut files = Vec::new();
        let mut paths = BTreeSet::new();
        walk(&root, "", &mut paths, &mut files)?;
        let mut repo = Repo::from_files(files);
        repo.paths = paths;
        repo.root = Some(root);
        Ok(repo)
    }

    /// A repository made of `(path, text)` pairs, for trying a check.
    pub fn of(files: &[(&str, &str)]) -> Repo {
        Repo::from_files(files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect())
    }

    /// Every `.md` file with its text.
    pub fn markdown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().filter(|(path, _)| path.ends_with(".md")).map(|(p, t)| (p.as_str(), t.as_str()))
    }

    fn from_files(files: Vec<(String, String)>) -> Repo {
        let mut repo = Repo { root: None, paths: BTreeSet::new(), texts: BTreeMap::new(), rust: Vec::new() };
        for (path, text) in files {
            let mut parent = path.as_str();
            while let Some((up, _)) = parent.rsplit_once('/') {
                repo.paths.insert(up.to_string());
                parent = up;
            }
            repo.paths.insert(path.clone());
            if path.ends_with(".rs") {
                repo.rust.push(Source::new(path, &text));
            } else {
                repo.texts.insert(path, text);
            }
        }
        repo.mark_test_files();
        repo
    }

    /// `#[cfg(test)] mod name;` makes the module's own file, and all below it, test code.
    fn mark_test_files(&mut self) {
        let mut stems = Vec::new();
        for source in &self.rust {
            let stem = match source.path.strip_suffix("/mod.rs").or(source.path.strip_suffix("/lib.rs")) {
                Some(directory) => directory,
                None => source.path.trim_end_matches("/main.rs").trim_end_matches(".rs"),
            };
            stems.extend(source.test_modules.iter().map(|name| format!("{stem}/{name}")));
        }
        for source in &mut self.rust {
            let below = |stem: &String| {
                source
                    .path
                    .strip_prefix(stem.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            if stems.iter().any(below) {
                source.is_test = true;
            }
        }
    }
}

/// The root of the repository that the current directory lies in. Found when run, not when built: two clones
/// that share a target directory share this binary.
pub fn root() -> io::Result<PathBuf> {
    let here = std::env::current_dir()?;
    let root = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    root.map(Path::to_path_buf)
        .ok_or_else(|| io::Error::other(format!("{} is not in the repository", here.display())))
}

fn walk(
    directory: &Path,
    prefix: &str,
    paths: &mut BTreeSet<String>,
    files: &mut Vec<(String, String)>,
) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // Cargo marks its target directories so, wherever they are and whatever they are called.
            let generated = entry.path().join("CACHEDIR.TAG").exists();
            // Cargo leaves its tag out where something else has made its folder before.
            if generated || path == "target" || name == ".git" || name == "node_modules" {
                continue;
            }
            walk(&entry.path(), &path, paths, files)?;
        } else if [".rs", ".md", ".toml"].iter().any(|end| name.ends_with(end)) {
            match std::fs::read_to_string(entry.path()) {
                Ok(text) => files.push((path.clone(), text)),
                // Someone is editing: the file was there a moment ago.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
            }
        }
        paths.insert(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_declared_for_tests_makes_its_files_test_code() {
        let repo = Repo::of(&[
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod worlds;\nmod real;"),
            ("crates/a/src/worlds.rs", ""),
            ("crates/a/src/worlds/deep.rs", ""),
            ("crates/a/src/real.rs", "#[cfg(test)] mod inner;"),
            ("crates/a/src/real/inner.rs", ""),
            ("crates/a/src/worlds_real.rs", ""),
        ]);
        let tests: Vec<_> = repo.rust.iter().filter(|s| s.is_test).map(|s| s.path.as_str()).collect();
        let expected =
            ["crates/a/src/worlds.rs", "crates/a/src/worlds/deep.rs", "crates/a/src/real/inner.rs"];
        assert_eq!(tests, expected);
    }

    #[test]
    fn this_repository_can_be_read_without_what_cargo_generates() {
        let repo = Repo::read().unwrap();
        assert!(repo.paths.contains("xtask/src/repo.rs"));
        assert!(repo.texts.contains_key("Cargo.toml"));
        assert!(!repo.paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
    }
}

//! The modules of each crate, and which file a path in the code leads to.
//!
//! Names that a glob brings in lead to the glob's module, and a module that is written within a file counts as that file.

use std::collections::BTreeMap;

use crate::paths::{self, Named};
use crate::repo::Repo;
use crate::source::Source;

/// A module that has a file of its own: the folder of its crate, then its names from the root down.
pub type Module = Vec<String>;

/// One file naming a thing that lies in another of the same crate.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Import {
    /// The module whose file names it.
    pub from: Module,
    /// The module whose file defines it.
    pub to: Module,
    /// The path of the file that names it.
    pub file: String,
    /// The path of the file that defines it.
    pub target: String,
    /// Counted from 1, in `file`.
    pub line: usize,
    /// The path as it is written.
    pub path: String,
}

/// Every import between two files of one crate, in code that ships.
pub fn imports(repo: &Repo) -> Vec<Import> {
    let modules = Modules::of(repo);
    let mut found = Vec::new();
    for (from, file) in &modules.files {
        for named in file.imported.iter().chain(&file.inline) {
            let Some(to) = modules.resolve(from, &named.segments, 0).filter(|to| to != from) else {
                continue;
            };
            found.push(Import {
                from: from.clone(),
                target: modules.files[&to].path.clone(),
                to,
                file: file.path.clone(),
                line: named.line,
                path: named.segments.join("::"),
            });
        }
    }
    found
}

struct File {
    path: String,
    imported: Vec<Named>,
    inline: Vec<Named>,
}

struct Modules {
    files: BTreeMap<Module, File>,
}

impl Modules {
    fn of(repo: &Repo) -> Modules {
        let sources = repo.rust.iter().filter(|source| !source.is_test);
        let files = sources.filter_map(|source| {
            let (imported, inline) = paths::all(&source.shipped());
            Some((module(source)?, File { path: source.path.clone(), imported, inline }))
        });
        Modules { files: files.collect() }
    }

    /// The module whose file defines what `path`, as `from` writes it, leads to; `None` if it leads out of the crate.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        // A name that is imported from where it is imported to leads nowhere.
        const DEPTH_MAX: usize = 16;
        let (first, rest) = path.split_first().filter(|_| depth < DEPTH_MAX)?;
        let at = match first.as_str() {
            "crate" => from[..1].to_vec(),
            "self" => from.clone(),
            "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                let parent = from[..from.len().saturating_sub(ups).max(1)].to_vec();
                return self.descend(parent, &path[ups..], depth);
            }
            name => self.step(from, name, depth)?,
        };
        self.descend(at, rest, depth)
    }

    /// Follows `path` from `at` as far as it names modules, or things that `at` has from elsewhere.
    fn descend(&self, mut at: Module, path: &[String], depth: usize) -> Option<Module> {
        for name in path {
            match self.step(&at, name, depth) {
                Some(next) => at = next,
                None => break,
            }
        }
        self.files.contains_key(&at).then_some(at)
    }

    /// What `name` means in `at`: a module below it, or what one of its `use` brings in.
    fn step(&self, at: &Module, name: &str, depth: usize) -> Option<Module> {
        let below = [at.as_slice(), &[name.to_string()]].concat();
        if self.files.contains_key(&below) {
            return Some(below);
        }
        let bound =
            |named: &&Named| named.renamed.as_ref().or(named.segments.last()).is_some_and(|n| n == name);
        let mut bindings = self.files.get(at)?.imported.iter().filter(bound);
        // `use serde::serde` is about a crate: a name does not lead to itself.
        bindings.find_map(|n| self.resolve(at, &n.segments, depth + 1).filter(|_| n.segments.len() > 1))
    }
}

/// `crates/a/src/b/c.rs` and `crates/a/src/b/c/mod.rs` are both module `b::c` of crate `a`.
fn module(source: &Source) -> Option<Module> {
    let (folder, file) = source.path.split_once("/src/")?;
    let stem = file.strip_suffix(".rs")?;
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    let names = stem.split('/').filter(|name| !["lib", "main"].contains(name)).map(str::to_string);
    Some([folder.to_string()].into_iter().chain(names).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_file_that_defines_what_they_name() {
        let repo = Repo::of(&[
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use b::Shown;"),
            ("crates/x/src/b/mod.rs", "mod deep;\npub use deep::{Shown, Other as Named};\nuse b::b;"),
            ("crates/x/src/b/deep.rs", ""),
            (
                "crates/x/src/a.rs",
                "use crate::{Shown, b::{self, Named as N, Local}, b::deep::*};\nuse super::super::b;\n\
                 fn f(n: N) { b::deep::f(N::new(), std::b::c, x as crate::b::T) }\nuse b::deep as d;\n\
                 type D = d::D;\nuse crate::nothing::A;",
            ),
        ]);
        let found = imports(&repo);
        let of_a: Vec<_> = found.iter().filter(|i| i.file.ends_with("/a.rs")).collect();
        let told =
            |i: &&Import| (i.line, i.path.clone(), i.target.trim_start_matches("crates/x/src/").to_string());
        let expected = [
            (1, "crate::Shown", "b/deep.rs"),
            (1, "crate::b", "b/mod.rs"),
            (1, "crate::b::Named", "b/deep.rs"),
            (1, "crate::b::Local", "b/mod.rs"),
            (1, "crate::b::deep::*", "b/deep.rs"),
            (2, "super::super::b", "b/mod.rs"),
            (4, "b::deep", "b/deep.rs"),
            (6, "crate::nothing::A", "lib.rs"),
            (3, "b::deep::f", "b/deep.rs"),
            (3, "N::new", "b/deep.rs"),
            (3, "crate::b::T", "b/mod.rs"),
            (5, "d::D", "b/deep.rs"),
        ];
        assert_eq!(
            of_a.iter().map(told).collect::<Vec<_>>(),
            expected.map(|(line, path, file)| (line, path.to_string(), file.to_string()))
        );
    }
}

//! Crates import downwards only, along the edges written here.

use std::collections::BTreeMap;

use crate::complaint::Complaint;
use crate::repo::Repo;

/// Crates from the bottom up; each with what it may import of ours.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("wire", &[]),
    ("workload", &["core"]),
    ("analysis", &["core"]),
    ("trace", &[]),
    ("metrics", &[]),
    ("artifact", &["core", "analysis"]),
    ("engine", &["core", "wire", "workload"]),
    ("report", &["artifact"]),
    ("store", &["artifact"]),
    ("cluster", &[]),
    ("lab", &["artifact"]),
    (
        "cli",
        &[
            "core", "wire", "workload", "analysis", "artifact", "engine", "report", "store", "cluster",
            "lab", "trace", "metrics",
        ],
    ),
    ("xtask", &["core", "analysis"]),
    // It measures the binary from outside, like any other tool; how these are found and read, the lab knows.
    ("bench", &["lab"]),
];

/// What `core` must not be able to do: read a clock, open a socket, be async, serialize.
const NOT_IN_CORE: &[&str] = &[
    "async-",
    "futures",
    "jiff",
    "libc",
    "mio",
    "nix",
    "polling",
    "rustix",
    "schemars",
    "serde",
    "signal-hook",
    "smol",
    "socket2",
    "tokio",
];

/// Complains about a dependency that is not an edge of the table, and about `lab` reaching `wire`.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut crates = BTreeMap::new();
    for (path, text) in repo.texts.iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let folder = path.trim_end_matches("Cargo.toml").trim_end_matches('/');
        let name = match folder.strip_prefix("crates/") {
            Some(name) => name,
            None if ["bench", "xtask"].contains(&folder) => folder,
            None => continue,
        };
        match dependencies(text) {
            Ok(found) => {
                complaints.extend(edges(path, name, &found));
                crates.insert(name.to_string(), found);
            }
            Err(error) => complaints.push(Complaint::new(path, 1, format!("not valid TOML: {error}"))),
        }
    }
    complaints.extend(lab_stays_apart(&crates));
    complaints
}

struct Dependency {
    /// The directory under `crates/` if it is ours, else the name of the package.
    name: String,
    ours: bool,
    dev: bool,
    line: usize,
}

fn edges(path: &str, name: &str, found: &[Dependency]) -> Vec<Complaint> {
    let allowed = MAY_IMPORT.iter().find(|(known, _)| *known == name).map(|(_, allowed)| *allowed);
    if allowed.is_none() {
        let message = format!("crate `{name}` has no place in the layers; add it to xtask/src/layering.rs");
        return vec![Complaint::new(path, 1, message)];
    }
    let allowed = allowed.unwrap_or(&[]);
    let mut complaints = Vec::new();
    for dependency in found.iter().filter(|dependency| !dependency.dev) {
        let to = &dependency.name;
        let message = if dependency.ours && !allowed.contains(&to.as_str()) {
            let may = if allowed.is_empty() { "nothing of ours".to_string() } else { allowed.join(", ") };
            format!(
                "`{name}` must not import `{to}`: it may import {may}; move the code or turn the edge around"
            )
        } else if name == "core" && NOT_IN_CORE.iter().any(|banned| to.starts_with(banned)) {
            format!("`core` has no clock, no IO, no async and no serde; `{to}` belongs in a crate above it")
        } else {
            continue;
        };
        complaints.push(Complaint::new(path, dependency.line, message));
    }
    complaints
}

/// The lab is the truth that the client is judged by: one misreading shared by both would cancel out.
fn lab_stays_apart(crates: &BTreeMap<String, Vec<Dependency>>) -> Option<Complaint> {
    for first in crates.get("lab")? {
        let mut seen = vec![first.name.as_str()];
        let mut next = 0;
        while next < seen.len() {
            let below = crates.get(seen[next]).into_iter().flatten().filter(|d| d.ours && !d.dev);
            for dependency in below {
                if !seen.contains(&dependency.name.as_str()) {
                    seen.push(&dependency.name);
                }
            }
            next += 1;
        }
        if first.ours && seen.contains(&"wire") {
            let through =
                if first.name == "wire" { String::new() } else { format!(" through `{}`", first.name) };
            let message = format!(
                "`lab` reaches `wire`{through}, and must not, not even in tests: run the binary, or another client"
            );
            return Some(Complaint::new("crates/lab/Cargo.toml", first.line, message));
        }
    }
    None
}

fn dependencies(text: &str) -> Result<Vec<Dependency>, toml::de::Error> {
    let manifest: toml::Table = text.parse()?;
    let mut found = Vec::new();
    collect(&manifest, text, &mut found);
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        for target in targets.values().filter_map(toml::Value::as_table) {
            collect(target, text, &mut found);
        }
    }
    Ok(found)
}

fn collect(table: &toml::Table, text: &str, found: &mut Vec<Dependency>) {
    for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let Some(entries) = table.get(section).and_then(toml::Value::as_table) else { continue };
        for (key, value) in entries {
            let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
            let folder = match package {
                "unblink" => Some("cli"),
                _ => package.strip_prefix("unblink-"),
            };
            found.push(Dependency {
                name: folder.unwrap_or(package).to_string(),
                ours: folder.is_some(),
                dev: section == "dev-dependencies",
                line: line_of(text, section, key),
            });
        }
    }
}

/// The line (from 1) on which `key` stands under `[section]`, or the header `[section.key]`.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let mut within = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            within = header == section || header.ends_with(&format!(".{section}"));
            if header.ends_with(&format!("{section}.{key}")) {
                return number;
            }
        } else if within && line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.', '='])) {
            return number;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repo::of(files)).iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn edges_down_are_silent() {
        let files = [
            ("Cargo.toml", "[workspace]\n[workspace.dependencies]\nunblink-wire = {path = \"crates/wire\"}"),
            ("crates/core/Cargo.toml", "[dependencies]\nlibm.workspace = true"),
            ("crates/engine/Cargo.toml", "[dependencies]\nunblink-core.workspace = true\nunblink-wire = {}"),
            ("crates/report/Cargo.toml", "[dependencies]\nunblink-artifact = {}"),
            ("crates/cli/Cargo.toml", "[dependencies]\nunblink-lab = {}\nunblink-engine = {}"),
            ("crates/wire/Cargo.toml", "[dev-dependencies]\nunblink-core = {}\ntokio = {}"),
            ("crates/lab/Cargo.toml", "[dependencies]\nunblink-artifact = {}\n[dev-dependencies]\nx = {}"),
            ("xtask/Cargo.toml", "[dependencies]\ntoml = {}"),
            ("bench/Cargo.toml", "[dependencies]\nrustix = {}"),
        ];
        assert_eq!(complaints(&files), [""; 0]);
    }

    #[test]
    fn an_edge_up_is_named_with_its_line() {
        let found = complaints(&[("crates/core/Cargo.toml", "[package]\n[dependencies]\nunblink-wire = {}")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/core/Cargo.toml:3: `core` must not import `wire`"), "{found:?}");
    }

    #[test]
    fn the_bench_knows_the_binary_alone() {
        let found = complaints(&[("bench/Cargo.toml", "[dependencies]\nunblink-engine = {}")]);
        assert!(found[0].starts_with("bench/Cargo.toml:2: `bench` must not import `engine`"), "{found:?}");
    }

    #[test]
    fn no_way_of_writing_a_dependency_hides_it() {
        for manifest in [
            "[dependencies.unblink-core]\nworkspace = true",
            "[dependencies]\nfast = { package = \"unblink-core\", path = \"../core\" }",
            "[build-dependencies]\nunblink-core = {}",
            "[target.'cfg(unix)'.dependencies]\nunblink-core = {}",
            "[dependencies]\nunblink = {}",
        ] {
            assert_eq!(complaints(&[("crates/report/Cargo.toml", manifest)]).len(), 1, "{manifest}");
        }
    }

    #[test]
    fn core_takes_no_runtime_and_no_serde() {
        for package in ["serde", "serde_json", "tokio", "rustix", "futures-util"] {
            let manifest = format!("[dependencies]\n{package} = \"1\"");
            assert_eq!(complaints(&[("crates/core/Cargo.toml", &manifest)]).len(), 1, "{package}");
        }
    }

    #[test]
    fn lab_must_not_reach_wire_even_in_tests() {
        let direct = complaints(&[("crates/lab/Cargo.toml", "[dev-dependencies]\nunblink-wire = {}")]);
        assert!(direct[0].starts_with("crates/lab/Cargo.toml:2: `lab` reaches `wire`, "), "{direct:?}");
        let through = complaints(&[
            ("crates/lab/Cargo.toml", "[dev-dependencies]\nunblink-engine = {}"),
            ("crates/engine/Cargo.toml", "[dependencies]\nunblink-wire = {}"),
        ]);
        assert!(through[0].contains("through `engine`"), "{through:?}");
    }

    #[test]
    fn a_crate_without_a_layer_and_a_broken_manifest_are_named() {
        assert!(complaints(&[("crates/extra/Cargo.toml", "")])[0].contains("no place in the layers"));
        assert!(complaints(&[("crates/core/Cargo.toml", "[")])[0].contains("not valid TOML"));
    }
}

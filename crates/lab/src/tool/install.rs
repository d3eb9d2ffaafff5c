//! How a tool comes from its registry into a folder of the lab's own: commands, one after the other.

use std::path::{Path, PathBuf};

use super::step::Step;
use super::{Definition, Install, Registry, maven};

/// The steps that bring `definition` into `folder`; `None` when no registry has it.
pub fn steps(definition: &Definition, folder: &Path) -> Option<Vec<Step>> {
    let install = definition.install.as_ref()?;
    let Install { from, package, version, main, java } = install;
    let (bin, own) = (folder.join("bin"), folder.join(&definition.program));
    let link = |to: PathBuf| Step::Link { to, at: bin.join(&definition.program) };
    let run = |program: &Path, folder: &Path, words: &[&str]| Step::Run {
        program: program.to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        folder: folder.to_owned(),
    };
    let at_version = |sign: &str| match version {
        Some(version) => format!("{package}{sign}{version}"),
        None => package.clone(),
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut steps = vec![Step::Folder(bin.clone()), Step::Folder(own.clone())];
    match from {
        Registry::Apt => {
            return Some(vec![run(Path::new("apt-get"), Path::new("/"), &["install", "-y", package])]);
        }
        Registry::Go => {
            let go = Path::new("go");
            // A module of ours, since programs whose own module replaces others can't be installed by their path.
            let module = "module lab\n".to_owned();
            steps.push(Step::File(own.join("go.mod"), module));
            let source = match main {
                Some(main) => format!(
                    "package main\n\nimport called \"{main}\"\n\nfunc main() {{ called.Execute() }}\n"
                ),
                None => "package main\n\nfunc main() {}\n".to_owned(),
            };
            steps.push(Step::File(own.join("main.go"), source));
            steps.push(run(go, &own, &["get", &at_version("@")]));
            let what = if main.is_some() { "." } else { package };
            steps.push(run(go, &own, &["build", "-o", &text(&bin.join(&definition.program)), what]));
        }
        Registry::Cargo => {
            let root = text(folder);
            let mut words = vec!["install", package, "--locked", "--root", &root];
            words.extend(version.iter().flat_map(|version| ["--version", version.as_str()]));
            steps.push(run(Path::new("cargo"), &own, &words));
        }
        Registry::Pip => {
            steps.push(run(Path::new("python3"), &own, &["-m", "venv", "venv"]));
            steps.push(run(&own.join("venv/bin/pip"), &own, &["install", "--quiet", &at_version("==")]));
            steps.push(link(own.join("venv/bin").join(&definition.program)));
        }
        Registry::Npm => {
            // Scripts of packages are not needed by these, and not run.
            let words =
                ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", ".", &at_version("@")];
            steps.push(run(Path::new("npm"), &own, &words));
            steps.push(link(own.join("node_modules/.bin").join(&definition.program)));
        }
        Registry::Maven => {
            let launcher = bin.join(&definition.program);
            steps.extend(maven::steps(install, java.as_ref()?, &definition.program, &own, launcher));
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_stays_in_the_folder_and_names_its_version() {
        for definition in Definition::built_in().expect("definitions") {
            let Some(steps) = steps(&definition, Path::new("/lab")) else { continue };
            let install = definition.install.expect("an origin");
            if install.from == Registry::Apt {
                assert_eq!(steps[0].describe(), format!("apt-get install -y {}", install.package));
                continue;
            }
            let version = install.version.unwrap_or_else(|| panic!("{} is not pinned", definition.name));
            let names_it = |step: &Step| match step {
                Step::File(_, text) => text.contains(&version),
                step => step.describe().contains(&version),
            };
            assert!(steps.iter().any(names_it), "{}", definition.name);
            for step in &steps {
                let place = match step {
                    Step::Folder(path) | Step::File(path, _) | Step::Script(path, _) => path,
                    Step::Link { at: path, .. } => path,
                    Step::Run { folder, .. } => folder,
                };
                assert!(place.starts_with("/lab"), "{step:?}");
            }
        }
    }
}

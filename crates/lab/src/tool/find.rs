//! Where programs are, and which version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Definition, Registry};
use crate::process::{Ended, run_to_end};

/// No tool takes this long to say who it is, on a busy machine either; another of the same name might.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell's status where a program is not there: a script of ours that misses its Java says so.
const NOT_THERE: i32 = 127;

/// What programs say of their version if they were built without one.
const UNSAID: [&str; 3] = ["", "unspecified", "dev"];

/// Where to look.
#[derive(Clone, Debug)]
pub struct Places {
    /// This program itself: what `unblink` stands for.
    pub own: PathBuf,
    /// Installed by the lab: programs in `bin`.
    pub installed: PathBuf,
}

/// A program that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub program: PathBuf,
    /// As it says itself.
    pub version: Option<String>,
}

impl Places {
    /// The folder of installed programs unless another one is named; `None`: neither XDG_DATA_HOME nor HOME is set.
    pub fn usual() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
        Some(data.join("unblink/tools"))
    }

    /// The tool's program, or why it can't be used.
    pub fn find(&self, definition: &Definition) -> Result<Found, String> {
        let program = self.program(&definition.program);
        let program = program.ok_or_else(|| format!("there is no {}", definition.program))?;
        let said = self.version(definition, &program)?;
        Ok(Found { program, version: said })
    }

    /// The folder of programs that the lab installed.
    pub fn bin(&self) -> PathBuf {
        self.installed.join("bin")
    }

    /// The lab has built it, and from another version than the definition asks for.
    pub fn is_outdated(&self, definition: &Definition) -> bool {
        let asked = definition.install.as_ref().and_then(|install| install.version.as_deref()).map(bare);
        self.built(definition).is_some_and(|built| asked.is_some_and(|asked| asked != built))
    }

    /// The version of a Go program that the lab has built: that of the module which has it.
    fn built(&self, definition: &Definition) -> Option<String> {
        let install = definition.install.as_ref().filter(|install| install.from == Registry::Go)?;
        let path = self.installed.join(&definition.program).join("go.mod");
        let text = std::fs::read_to_string(path).ok()?;
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace().filter(|word| *word != "require");
            let rest = install.package.strip_prefix(words.next()?)?;
            let is_inside = rest.is_empty() || rest.starts_with('/');
            words.next().filter(|_| is_inside).map(bare)
        })
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        if name == "unblink" {
            return Some(self.own.clone());
        }
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| path.is_file());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.bin()).chain(std::env::split_paths(&path));
        folders.map(|folder| folder.join(name)).find(|program| program.is_file())
    }

    fn version(&self, definition: &Definition, program: &Path) -> Result<Option<String>, String> {
        let Some(words) = &definition.version.command else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(words).envs(&definition.environment).stdin(Stdio::null());
        let name = program.display();
        let Ended { status, stdout, stderr } = run_to_end(&mut command, PATIENCE)
            .map_err(|error| format!("{name} can't be started: {error}"))?;
        let Some(pattern) = &definition.version.pattern else { return Ok(None) };
        let said = format!("{}\n{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        if status.is_none() {
            return Err(format!("{name} did not say its version within {} s", PATIENCE.as_secs()));
        }
        if status.and_then(|status| status.code()) == Some(NOT_THERE) {
            return Err(said.trim().to_owned());
        }
        match pattern.captures(&said).and_then(|found| found.name("version")) {
            // Some programs forget their own when they are built so.
            Some(version) if UNSAID.contains(&version.as_str()) => {
                Ok(Some(program).filter(|program| program.starts_with(&self.installed)).and_then(|_| {
                    let pinned = definition.install.as_ref()?;
                    match pinned.from {
                        Registry::Go => self.built(definition),
                        _ => pinned.version.as_deref().map(bare),
                    }
                }))
            }
            Some(version) => Ok(Some(version.as_str().to_owned())),
            None => {
                let said: String = said.trim().chars().take(80).collect();
                Err(format!("{name} is another program of that name: it says {said:?}"))
            }
        }
    }
}

/// As programs say it: Go has a letter before it.
fn bare(version: &str) -> String {
    version.trim_start_matches('v').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program that says this when it is asked for its version.
    fn put(folder: &Path, says: &str) {
        std::fs::create_dir_all(folder).expect("a folder");
        let path = folder.join("ghz");
        std::fs::write(&path, format!("#!/bin/sh\necho {says}\n")).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    #[test]
    fn a_program_built_without_a_version_has_that_of_its_module() {
        let place = tempfile::tempdir().expect("a folder");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/grpc/ghz.toml");
        let mut definition = Definition::load(&path).expect("a definition");
        let pinned = definition.install.as_ref().and_then(|install| install.version.clone());
        let pinned = pinned.expect("a version");
        let places = Places { own: "unblink".into(), installed: place.path().join("installed") };
        let module = |version: &str| {
            let text = format!(
                "module lab\n\nrequire (\n\tgithub.com/a/b v1.0.0\n\tgithub.com/bojand/ghz {version} // indirect\n)\n"
            );
            std::fs::write(places.installed.join("ghz/go.mod"), text).expect("a file");
        };
        std::fs::create_dir_all(places.installed.join("ghz")).expect("a folder");
        put(&places.bin(), "dev");
        let found = |definition: &Definition| places.find(definition).expect("it is there").version;
        assert_eq!((found(&definition), places.is_outdated(&definition)), (None, false));
        module("v0.93.0");
        assert_eq!((found(&definition).as_deref(), places.is_outdated(&definition)), (Some("0.93.0"), true));
        module(&pinned);
        assert_eq!((found(&definition), places.is_outdated(&definition)), (Some(bare(&pinned)), false));
        put(&places.bin(), "v0.99.1");
        assert_eq!(found(&definition).as_deref(), Some("0.99.1"));
        // Somebody else's may be any.
        put(&place.path().join("other"), "dev");
        definition.program = place.path().join("other/ghz").display().to_string();
        assert_eq!(found(&definition), None);
    }
}

//! Where programs are, and which version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Definition;
use crate::process::{Ended, run_to_end};

/// No tool takes this long to say who it is, on a busy machine either; another of the same name might.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell's status where a program is not there: a script of ours that misses its Java says so.
const NOT_THERE: i32 = 127;

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
            // Of what the lab installed the version is known; some programs forget their own when they are built so.
            Some(version) if version.is_empty() || version.as_str() == "unspecified" => Ok(definition
                .install
                .as_ref()
                .filter(|_| program.starts_with(&self.installed))
                .and_then(|install| Some(install.version.as_ref()?.trim_start_matches('v').to_owned()))),
            Some(version) => Ok(Some(version.as_str().to_owned())),
            None => {
                let said: String = said.trim().chars().take(80).collect();
                Err(format!("{name} is another program of that name: it says {said:?}"))
            }
        }
    }
}

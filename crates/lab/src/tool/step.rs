//! One thing that is done to install a tool.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is done to install a tool, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A folder is made.
    Folder(PathBuf),
    /// A file is written.
    File(PathBuf, String),
    /// A file is written that can be run.
    Script(PathBuf, String),
    /// A program is run.
    Run {
        /// Its name or path.
        program: PathBuf,
        /// Its words.
        words: Vec<String>,
        /// Where.
        folder: PathBuf,
    },
    /// A link is set to what was installed.
    Link {
        /// What it points to.
        to: PathBuf,
        /// The link.
        at: PathBuf,
    },
}

impl Step {
    /// As a shell would have it, to be shown.
    pub fn describe(&self) -> String {
        match self {
            Step::Folder(path) => format!("mkdir -p {}", path.display()),
            Step::File(path, _) | Step::Script(path, _) => format!("write {}", path.display()),
            Step::Run { program, words, .. } => {
                format!("{} {}", program.display(), words.join(" ")).trim_end().to_owned()
            }
            Step::Link { to, at } => format!("ln -sf {} {}", to.display(), at.display()),
        }
    }

    /// Does it; what a program prints goes to `out`. Says what failed.
    pub fn carry_out(&self, out: Stdio) -> Result<(), String> {
        let fail = |error: std::io::Error| format!("{}: {error}", self.describe());
        match self {
            Step::Folder(path) => std::fs::create_dir_all(path).map_err(fail),
            Step::File(path, text) => std::fs::write(path, text).map_err(fail),
            Step::Script(path, text) => std::fs::write(path, text)
                .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(0o755)))
                .map_err(fail),
            Step::Link { to, at } => {
                let _ = std::fs::remove_file(at);
                std::os::unix::fs::symlink(to, at).map_err(fail)
            }
            Step::Run { program, words, folder } => {
                let mut command = Command::new(program);
                command.args(words).current_dir(folder).stdout(out);
                let status = command.status().map_err(|error| match error.kind() {
                    std::io::ErrorKind::NotFound => is_missing(program),
                    _ => fail(error),
                })?;
                if status.success() {
                    Ok(())
                } else {
                    Err(format!("{} ended with {status}", self.describe()))
                }
            }
        }
    }
}

/// What a program that is needed comes from.
fn is_missing(program: &Path) -> String {
    const PACKAGES: [(&str, &str); 7] = [
        ("cargo", "cargo"),
        ("go", "golang"),
        ("jar", "default-jdk-headless"),
        ("javac", "default-jdk-headless"),
        ("mvn", "maven"),
        ("npm", "npm"),
        ("python3", "python3-venv"),
    ];
    let name = program.display();
    match PACKAGES.iter().find(|(of, _)| program == Path::new(of)) {
        Some((_, package)) => format!("{name} is needed and not here: apt-get install {package}"),
        None => format!("{name} is needed and not here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_said_with_its_command() {
        let run = |program: &str| Step::Run { program: program.into(), words: vec![], folder: "/".into() };
        assert_eq!(run("false").carry_out(Stdio::null()), Err("false ended with exit status: 1".to_owned()));
        assert_eq!(
            run("no-such-program").carry_out(Stdio::null()),
            Err("no-such-program is needed and not here".to_owned())
        );
        assert_eq!(is_missing(Path::new("mvn")), "mvn is needed and not here: apt-get install maven");
    }
}

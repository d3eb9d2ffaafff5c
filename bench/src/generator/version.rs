//! What a tool says of its own version.

use super::Tool;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// No tool takes this long to say who it is; a game might.
const PATIENCE: Duration = Duration::from_secs(10);

/// The version of `program`: what it says itself or, of a Go program that says nothing, what Go wrote into it.
pub(crate) fn of(tool: Tool, program: &Path) -> Result<String> {
    let arguments: &[&str] = match tool {
        Tool::Unblink(_) | Tool::H2load | Tool::Bombardier | Tool::Oha => &["--version"],
        Tool::Wrk | Tool::Wrk2 => &["-v"],
        Tool::Ab => &["-V"],
        Tool::Vegeta => &["-version"],
        Tool::Fortio | Tool::K6 => &["version"],
        Tool::Hey => &[],
        Tool::Raw | Tool::Pace => return Ok(String::new()),
    };
    let said = if arguments.is_empty() { None } else { number_in(&says(program, arguments)?) };
    Ok(said.or_else(|| by_go(program)).unwrap_or_default())
}

/// Everything that `program` prints when it is called so.
pub(crate) fn says(program: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.as_secs().to_string()).arg(program).args(arguments).stdin(Stdio::null());
    let output = command.output().context("cannot start timeout(1)")?;
    if output.status.code() == Some(127) {
        bail!("cannot start {}", program.display());
    }
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// The first word that has a dot between two digits: `[epoll]` has none, `nghttp2/1.64.0` and `4.1.0-4` have. Of a Go
/// program, `go1.26.8` is the version of Go.
fn number_in(text: &str) -> Option<String> {
    let is_number = |word: &&str| {
        let bytes = word.as_bytes();
        !word.starts_with("go1.")
            && bytes.windows(3).any(|w| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit())
    };
    let word = text.split_whitespace().find(is_number)?;
    let word = word.rsplit('/').find(is_number)?;
    Some(word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).trim_start_matches('v').to_string())
}

/// Go binaries carry the versions of their modules; `go version -m` tells them.
fn by_go(program: &Path) -> Option<String> {
    let output = Command::new("go").args(["version", "-m"]).arg(program).output().ok()?;
    module_version(&String::from_utf8_lossy(&output.stdout))
}

/// The version of the module that the main package belongs to.
fn module_version(text: &str) -> Option<String> {
    let lines = || text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let package = lines().find(|words| words.first() == Some(&"path"))?.get(1)?.to_string();
    let of_package = |words: &Vec<&str>| {
        ["mod", "dep"].contains(words.first().unwrap_or(&""))
            && words.get(1).is_some_and(|module| package.starts_with(module))
    };
    let version = lines().find(of_package)?.get(2)?.trim_start_matches('v').to_string();
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        for (text, version) in [
            ("wrk debian/4.1.0-4+b1 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0-4+b1"),
            ("This is ApacheBench, Version 2.3 <$Revision: 1923142 $>", "2.3"),
            ("h2load nghttp2/1.64.0", "1.64.0"),
            ("unblink 0.1.0", "0.1.0"),
            ("Version: v12.12.0\nCommit: \n", "12.12.0"),
        ] {
            assert_eq!(number_in(text).as_deref(), Some(version), "{text}");
        }
        assert_eq!(number_in("Version: \nCommit: \nRuntime: go1.26.8 linux/amd64\n"), None);
        assert_eq!(number_in("bombardier version unspecified linux/amd64"), None);
        assert_eq!(number_in("Usage: hey [options...] <url>"), None);
    }

    #[test]
    fn go_knows_the_module_of_a_program() {
        let text = "/usr/bin/hey: go1.26.8\n\tpath\tgithub.com/rakyll/hey\n\tmod\tbench\t(devel)\n\
                    \tdep\tgithub.com/other/hey\tv9.0.0\th1:x\n\tdep\tgithub.com/rakyll/hey\tv0.1.4\th1:y\n";
        assert_eq!(module_version(text).as_deref(), Some("0.1.4"));
        assert_eq!(module_version("\tpath\tcommand-line\n\tmod\tcommand-line\t(devel)\n"), None);
    }
}

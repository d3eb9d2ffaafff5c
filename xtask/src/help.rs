//! The flags that the binary knows, as its own `--help` tells them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names a binary to ask instead of building one.
const BINARY: &str = "UNBLINK_BIN";

/// Every command with its flags; the empty path is the program itself.
#[derive(Default, Debug)]
pub struct Commands {
    /// From the words of a command (`["lab", "serve"]`) to its flags (`--seed`, `-R`).
    pub flags: BTreeMap<Vec<String>, BTreeSet<String>>,
}

impl Commands {
    /// Asks the binary itself, building it first unless `UNBLINK_BIN` names one.
    pub fn of_binary(root: &Path) -> Result<Commands, String> {
        let binary = match std::env::var_os(BINARY) {
            Some(path) => PathBuf::from(path),
            None => build(root, "unblink")?,
        };
        let mut commands = Commands::default();
        commands.ask(&[binary.into()], Vec::new())?;
        Ok(commands)
    }

    /// Asks `program` (with the arguments it always takes) for the help of `path` and of all below it.
    fn ask(&mut self, program: &[OsString], path: Vec<String>) -> Result<(), String> {
        let asked = format!("`unblink {} --help`", path.join(" "));
        let output = Command::new(&program[0]).args(&program[1..]).args(&path).arg("--help").output();
        let output = output.map_err(|error| format!("{asked}: {error}"))?;
        let help = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || help.trim().is_empty() {
            return Err(format!("{asked} gave no help ({})", output.status));
        }
        let (flags, below) = parse(&help);
        self.flags.insert(path.clone(), flags);
        for name in below.into_iter().filter(|name| name != "help") {
            self.ask(program, [path.as_slice(), &[name]].concat())?;
        }
        Ok(())
    }
}

/// The flags and the commands in one help text of clap.
pub fn parse(help: &str) -> (BTreeSet<String>, Vec<String>) {
    let (mut flags, mut commands) = (BTreeSet::new(), Vec::new());
    let mut section = "";
    for line in help.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if indent == 0 {
            section = line;
        } else if section == "Commands:" && indent == 2 {
            commands.extend(text.split_whitespace().next().map(str::to_string));
        } else if text.starts_with('-') && (indent == 2 || indent == 6) {
            // `-R, --rate <RATE>`; what is described stands deeper, or after two spaces.
            let head = text.split("  ").next().unwrap_or(text);
            flags.extend(
                head.split([',', ' ', '=', '<', '[']).filter(|w| w.starts_with('-')).map(str::to_string),
            );
        }
        if let Some((_, aliases)) = text.split_once("[aliases: ").or(text.split_once("[alias: ")) {
            let names = aliases.trim_end_matches(']').split(", ").filter(|name| name.starts_with('-'));
            flags.extend(names.map(str::to_string));
        }
    }
    (flags, commands)
}

fn build(root: &Path, package: &str) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let arguments = ["build", "--package", package, "--message-format", "json-render-diagnostics"];
    let output = Command::new(cargo).args(arguments).current_dir(root).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{package}` does not build: {}", String::from_utf8_lossy(&output.stderr)));
    }
    // Cargo tells where it put the binary; the target directory may be anywhere.
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut places =
        messages.lines().filter_map(|line| line.split_once("\"executable\":\"")?.1.split('"').next());
    let binary = places.next_back().ok_or("cargo did not say where the binary is")?;
    Ok(PathBuf::from(binary))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Offers load\n\nUsage: unblink run [OPTIONS] <URL>\n\nCommands:\n  run   Runs\n  lab   Serves \
        \n        --deep is text\n  help  Print this\n\nOptions:\n  -R, --rate <RATE>  Offered, see --no\n      --seed <N>\n          \
        --closed is described here [aliases: --users]\n      --think[=<D>]\n  -k\n  -h, --help         Print help\n";

    #[test]
    fn flags_and_commands_are_read_and_descriptions_are_not() {
        let (flags, commands) = parse(HELP);
        assert_eq!(commands, ["run", "lab", "help"]);
        let expected = ["--help", "--rate", "--seed", "--think", "--users", "-R", "-h", "-k"];
        assert_eq!(flags.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_binary_without_help_is_an_error() {
        let mut commands = Commands::default();
        assert!(commands.ask(&["false".into()], Vec::new()).is_err());
        assert!(commands.ask(&["/nowhere/unblink".into()], Vec::new()).is_err());
    }

    #[test]
    fn commands_are_asked_down_to_the_last() {
        let script = "#!/bin/sh\ncase \"$*\" in\n\
            --help) printf 'Commands:\\n  lab  x\\n  help  y\\n\\nOptions:\\n  -h, --help  z\\n' ;;\n\
            'lab --help') printf 'Commands:\\n  serve  x\\n' ;;\n\
            'lab serve --help') printf 'Options:\\n      --port <P>\\n' ;;\n*) exit 1 ;;\nesac\n";
        let path = std::env::temp_dir().join(format!("unblink-help-{}.sh", std::process::id()));
        std::fs::write(&path, script).unwrap();
        // Run through the shell: a file that was just written may still be busy to execute.
        let mut commands = Commands::default();
        let answer = commands.ask(&["sh".into(), path.clone().into()], Vec::new());
        std::fs::remove_file(&path).unwrap();
        answer.unwrap();
        let told: Vec<_> = commands.flags.iter().map(|(path, flags)| (path.join(" "), flags.len())).collect();
        assert_eq!(told, [(String::new(), 2), ("lab".to_string(), 0), ("lab serve".to_string(), 1)]);
    }

    #[test]
    fn cargo_says_where_it_put_a_binary() {
        let root = crate::repo::root().unwrap();
        assert!(build(&root, "xtask").unwrap().ends_with("debug/xtask"));
        assert!(build(&root, "no-such-package").is_err());
    }
}

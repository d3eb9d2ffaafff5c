//! Documents name only commands and flags that exist.
//!
//! Read are calls of `unblink` in code, and flags that stand alone between backticks. A flag of another
//! tool is written with its tool: `wrk2 --latency`.

use std::collections::BTreeSet;

use crate::complaint::Complaint;
use crate::help::Commands;
use crate::markdown::{self, Code, Kind};
use crate::repo::Repo;
use crate::shell;

const README: &str = "README.md";
const DOCUMENTS: &[&str] = &[README, "ARCHITECTURE.md", "TERMINOLOGY.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Complains about documents that name what the binary does not know. Builds the binary if it must.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    // Before there is a README there is no command to describe.
    let Some(root) = repo.root.as_ref().filter(|_| repo.texts.contains_key(README)) else {
        return Vec::new();
    };
    match Commands::of_binary(root) {
        Ok(commands) => check_against(repo, &commands),
        Err(error) => {
            vec![Complaint::new(README, 1, format!("cannot ask the binary for its flags: {error}"))]
        }
    }
}

fn check_against(repo: &Repo, commands: &Commands) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let read = |path: &str| DOCUMENTS.contains(&path) || path.starts_with("docs/");
    for (path, text) in repo.markdown().filter(|(path, _)| read(path)) {
        for code in markdown::parse(text).code {
            let alone = code.kind == Kind::Span && code.text.starts_with("--");
            let problems =
                if alone { alone_between_backticks(&code, commands) } else { called(&code, commands) };
            complaints.extend(problems.into_iter().map(|message| Complaint::new(path, code.line, message)));
        }
    }
    complaints
}

fn alone_between_backticks(code: &Code, commands: &Commands) -> Vec<String> {
    let known = |flag: &String| commands.flags.values().any(|flags| flags.contains(flag));
    let unknown = long_flags(&code.text).into_iter().filter(|flag| !known(flag));
    unknown
        .map(|flag| {
            format!("no command has `{flag}`; correct it, or write another tool's flag with its tool: `tool {flag}`")
        })
        .collect()
}

fn called(code: &Code, commands: &Commands) -> Vec<String> {
    shell::calls(&code.text).iter().flat_map(|words| call(words, code.kind, commands)).collect()
}

/// What is wrong with one call: its words name a command first, flags anywhere.
fn call(words: &[String], kind: Kind, commands: &Commands) -> Vec<String> {
    let mut problems = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut known: BTreeSet<&String> = commands.flags.get(&path).into_iter().flatten().collect();
    let mut is_whole = false;
    for word in words {
        if let Some(flag) = flag_in(word) {
            if !known.contains(&flag) {
                let name = [&["unblink".to_string()], path.as_slice()].concat().join(" ");
                problems.push(format!("`{name}` has no flag `{flag}`; correct it, or remove it"));
            }
        } else if !is_whole {
            let below = [path.as_slice(), std::slice::from_ref(word)].concat();
            if let Some(flags) = commands.flags.get(&below) {
                known.extend(flags);
                path = below;
            } else if path.is_empty() && kind == Kind::Block {
                // Not a call but what one printed.
                return Vec::new();
            } else {
                is_whole = true;
                let is_name = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if path.is_empty() && is_name && word != "help" {
                    problems.push(format!("`unblink` has no command `{word}`; correct it, or remove it"));
                }
            }
        }
    }
    problems
}

/// The flag that `word` is: `--rate=5` is `--rate`, `-R5` is `-R`, `-` and `-5` are none.
fn flag_in(word: &str) -> Option<String> {
    if word.starts_with("--") {
        return long_flags(word).into_iter().next();
    }
    let letter = word.strip_prefix('-')?.chars().next()?;
    letter.is_ascii_alphabetic().then(|| format!("-{letter}"))
}

fn long_flags(text: &str) -> Vec<String> {
    let pieces = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let flags = pieces
        .filter(|p| p.strip_prefix("--").is_some_and(|n| n.starts_with(|c: char| c.is_ascii_alphabetic())));
    flags.map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Commands {
        let entry = |path: &[&str], flags: &[&str]| {
            let text = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
            (text(path), text(flags).into_iter().collect())
        };
        let flags = [
            entry(&[], &["--help", "--version"]),
            entry(&["run"], &["--rate", "-R", "--closed", "-d"]),
            entry(&["lab"], &["--help"]),
            entry(&["lab", "serve"], &["--port"]),
        ];
        Commands { flags: flags.into() }
    }

    fn problems(text: &str) -> Vec<String> {
        let found = check_against(&Repo::of(&[("README.md", text)]), &commands());
        found.iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn what_exists_passes() {
        let text = "Use `--rate`, `--rate 5/s`, `--rate/--closed N`, `unblink lab serve --port=0`, `unblink --version`.\n\
            ```sh\nunblink run http://h -R5 \\\n  --closed 5 -d 10s | jq --arg x\nwrk2 --latency http://h\n```\n\
            `wrk2 --latency` and `unblink run` and `cargo test --workspace` and `a --b`\n\
            ```\nunblink says --rate\n```\n";
        assert_eq!(problems(text), [""; 0]);
    }

    #[test]
    fn what_does_not_exist_is_named_with_its_line() {
        for (text, line, word) in [
            ("a\n`--gone`", 2, "`--gone`"),
            ("`--rate/--gone N`", 1, "`--gone`"),
            ("`unblink run --port 1`", 1, "`--port`"),
            ("```sh\nunblink run http://h \\\n --gone\n```", 2, "`--gone`"),
            ("```\n$ unblink lab serve -x\n```", 2, "`-x`"),
            ("```\nunblink run --gone\n```", 2, "`--gone`"),
            ("```sh\ntarget/release/unblink nothing\n```", 2, "`nothing`"),
            ("`unblink nothing`", 1, "`nothing`"),
        ] {
            let found = problems(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(
                found[0].starts_with(&format!("README.md:{line}: ")) && found[0].contains(word),
                "{found:?}"
            );
        }
    }

    #[test]
    fn only_documents_of_the_command_are_read() {
        let files = [("crates/a/README.md", "`--gone`"), ("docs/deep/a.md", "`--gone`")];
        let found = check_against(&Repo::of(&files), &commands());
        assert_eq!(found.iter().map(|c| c.file.as_str()).collect::<Vec<_>>(), ["docs/deep/a.md"]);
    }

    #[test]
    fn without_a_readme_nothing_is_asked() {
        assert_eq!(check(&Repo::of(&[("docs/a.md", "`--gone`")])), []);
    }
}

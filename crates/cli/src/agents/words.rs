//! The words of a command line, with the flags to which they belong.

use clap::Command;
use std::ops::Range;

/// A flag, or what stands without one.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub of: Of,
    /// Empty where a flag has none.
    pub value: String,
    /// Which words say it.
    pub words: Range<usize>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Of {
    /// By its long name.
    Flag(String),
    Alone,
    /// Behind `--`: for a script.
    Behind,
}

impl Said {
    pub(super) fn is_of(&self, flag: &str) -> bool {
        matches!(&self.of, Of::Flag(name) if name == flag)
    }
}

/// What `words` say to the subcommand of `program` that they name. Its own name is the first of them.
pub(super) fn said(program: &Command, words: &[String]) -> Vec<Said> {
    let (mut command, mut is_command) = (program, true);
    let (mut all, mut at) = (Vec::new(), 1);
    while let Some(word) = words.get(at) {
        let begin = at;
        at += 1;
        // Those of a subcommand's subcommand count, too: k8s render.
        if is_command && let Some(own) = command.find_subcommand(word) {
            command = own;
            continue;
        }
        is_command = false;
        if word == "--" {
            let behind = words.iter().enumerate().skip(at);
            all.extend(behind.map(|(at, word)| Said {
                of: Of::Behind,
                value: word.clone(),
                words: at..at + 1,
            }));
            break;
        }
        let flags = flags_in(command, word);
        if flags.is_empty() {
            all.push(Said { of: Of::Alone, value: word.clone(), words: begin..at });
        }
        for Flag { name, value, takes_next } in flags {
            let next = words.get(at).filter(|_| takes_next).cloned();
            at += usize::from(next.is_some());
            let value = value.or(next).unwrap_or_default();
            all.push(Said { of: Of::Flag(name), value, words: begin..at });
        }
    }
    all
}

struct Flag {
    name: String,
    value: Option<String>,
    takes_next: bool,
}

/// One long flag, or several short ones, of which the last may have a value.
fn flags_in(command: &Command, word: &str) -> Vec<Flag> {
    let takes_value = |arg: &clap::Arg| arg.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name));
        let takes_next =
            value.is_none() && arg.is_some_and(|arg| takes_value(arg) && !arg.is_require_equals_set());
        return vec![Flag { name: name.to_string(), value: value.map(str::to_string), takes_next }];
    }
    let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) else { return Vec::new() };
    let mut flags = Vec::new();
    for (at, letter) in short.char_indices() {
        let Some(arg) = command.get_arguments().find(|arg| arg.get_short() == Some(letter)) else {
            // A negative number, or what clap will refuse.
            break;
        };
        let name = arg.get_long().unwrap_or_default().to_string();
        let behind = &short[at + letter.len_utf8()..];
        let has_equals = behind.starts_with('=');
        if takes_value(arg) && (has_equals || !arg.is_require_equals_set()) {
            let value = (!behind.is_empty()).then(|| behind.strip_prefix('=').unwrap_or(behind).to_string());
            flags.push(Flag { name, takes_next: value.is_none(), value });
            break;
        }
        flags.push(Flag { name, value: None, takes_next: false });
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn values_belong_to_their_flags() {
        let line =
            "unblink run http://h/ -qkH X:1 -HX:2 --csv - --store=a --store b -k=false --json p -- - --x";
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let all = said(&Cli::command(), &words);
        let shown: Vec<String> = all
            .iter()
            .map(|said| match &said.of {
                Of::Flag(name) => format!("{name}={}", said.value),
                Of::Alone => said.value.clone(),
                Of::Behind => format!("behind {}", said.value),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "http://h/",
                "quiet=",
                "insecure=",
                "header=X:1",
                "header=X:2",
                "csv=-",
                "store=a",
                "store=b",
                "insecure=false",
                "json=",
                "p",
                "behind -",
                "behind --x",
            ]
        );
        let of_store: Vec<_> =
            all.iter().filter(|said| said.is_of("store")).map(|said| said.words.clone()).collect();
        assert_eq!(of_store, [8..9, 9..11]);
    }
}

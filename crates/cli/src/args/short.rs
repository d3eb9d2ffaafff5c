//! What `-h` shows: one screen of 80 columns. `--help` keeps every flag and every word.

mod tables;

use super::Cli;
use clap::{Command, CommandFactory, Id};
use tables::{SHORT, Short};

/// The command line, with a screen of help at `-h`.
pub(crate) fn command() -> Command {
    shortened(Cli::command(), "")
}

/// `path` is how the command is called; that of the program itself is empty.
fn shortened(mut command: Command, path: &str) -> Command {
    if let Some(short) = SHORT.iter().find(|short| short.command == path) {
        command = flags_that_matter(command, short);
    }
    if let Some(long) = command.get_after_help().map(ToString::to_string) {
        let example = example(&long).map(|example| format!("EXAMPLE\n{example}\n")).unwrap_or_default();
        command = command.after_long_help(long);
        command = command.after_help(format!("{example}unblink {path} --help shows everything"));
    }
    command.mut_subcommands(|sub| {
        let path = format!("{path} {}", sub.get_name()).trim_start().to_string();
        shortened(sub, &path)
    })
}

fn flags_that_matter(command: Command, short: &Short) -> Command {
    let mut command = command.mut_args(|arg| {
        let is_named = !arg.is_positional() || arg.is_last_set();
        arg.hide_short_help(is_named)
    });
    let headed =
        short.groups.iter().flat_map(|(heading, flags)| flags.iter().map(|flag| (Some(*heading), flag)));
    for (heading, (name, what)) in short.arguments.iter().map(|argument| (None, argument)).chain(headed) {
        command = command.mut_arg(*name, |arg| {
            let all = arg.get_long_help().or(arg.get_help()).cloned().unwrap_or_default();
            let arg = arg.hide_short_help(false).help(*what).long_help(all);
            match heading {
                Some(heading) => arg.help_heading(heading),
                None => arg,
            }
        });
    }
    with_last_behind(command)
}

/// The same, with what stands behind `--` as the last argument: one that is changed moves behind those that are not.
pub(crate) fn with_last_behind(command: Command) -> Command {
    let last = command.get_positionals().filter(|arg| arg.is_last_set());
    let last: Vec<Id> = last.map(|arg| arg.get_id().clone()).collect();
    last.into_iter().fold(command, |command, id| command.mut_arg(id, |arg| arg))
}

/// The first of the examples, with the lines on which it goes on.
fn example(help: &str) -> Option<&str> {
    let examples = help.split_once("EXAMPLES\n")?.1;
    let lines = 1 + examples.lines().position(|line| !line.ends_with('\\'))?;
    let length: usize = examples.split_inclusive('\n').take(lines).map(str::len).sum();
    Some(examples[..length].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (path, text) of the help of every command.
    fn helps(command: &mut Command, path: &str, is_long: bool, all: &mut Vec<(String, String)>) {
        let text = if is_long { command.render_long_help() } else { command.render_help() };
        all.push((path.to_string(), text.to_string()));
        for sub in command.get_subcommands_mut() {
            let path = format!("{path} {}", sub.get_name());
            helps(sub, path.trim_start(), is_long, all);
        }
    }

    fn all(is_long: bool) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut command = command().term_width(80);
        command.build();
        helps(&mut command, "", is_long, &mut all);
        all
    }

    #[test]
    fn short_help_fits_a_screen() {
        for (path, text) in all(false) {
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(text.lines().count() <= 40 && longest <= 80, "{path}: {}\n{text}", text.lines().count());
        }
    }

    /// Fifteen, and the two that every command has.
    #[test]
    fn short_help_of_run_shows_what_matters() {
        let (_, text) = all(false).into_iter().find(|(path, _)| path == "run").expect("run");
        let flags: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with('-')).collect();
        assert_eq!(flags.len(), 15 + 2, "{text}");
        assert!(text.lines().count() >= 24);
    }

    /// What a command refuses whatever else is said.
    #[test]
    fn long_help_offers_nothing_that_is_always_refused() {
        let all = all(true);
        let offers = |path: &str, flag: &str| {
            let (_, text) = all.iter().find(|(known, _)| known == path).expect("a command");
            text.lines().any(|line| line.split_whitespace().next() == Some(flag))
        };
        let of_agents = ["--tolerate-lost", "--agents-resume"];
        let of_machines =
            ["--share", "--start-at", "--agents-stay", "--agents-resume", "--nats-server", "--nkey"];
        for (path, flags) in [
            ("k8s render", &of_machines[..]),
            ("knee", &of_agents),
            ("compare", &of_agents),
            ("signoff", &of_agents[1..]),
        ] {
            for flag in flags {
                assert!(!offers(path, flag) && offers("run", flag), "{path}: {flag}");
            }
            assert!(offers(path, "--agents"), "{path}");
        }
        assert!(offers("signoff", "--tolerate-lost") && offers("k8s render", "--tolerate-lost"));
    }

    /// The headings may be others; nothing is lost.
    #[test]
    fn long_help_has_every_flag_and_every_word() {
        let words = |text: &str| {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
            words.sort();
            words
        };
        let mut plain = Cli::command().term_width(80);
        plain.build();
        let mut before = Vec::new();
        helps(&mut plain, "", true, &mut before);
        let headings = ["Which", "part", "Result", "Request", "Load", "World", "Server", "Search"];
        for ((path, with), (_, without)) in all(true).iter().zip(&before) {
            let mut rest = words(with);
            for word in words(without) {
                match rest.iter().position(|one| *one == word) {
                    Some(place) => drop(rest.remove(place)),
                    None => {
                        let bare = word.trim_end_matches(':');
                        let is_heading =
                            word.ends_with(':') && bare.chars().next().is_some_and(char::is_uppercase);
                        assert!(is_heading || headings.contains(&bare), "{path}: {word:?} is missing");
                    }
                }
            }
        }
    }
}

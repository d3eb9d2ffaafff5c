//! `unblink completions` and `unblink man`: made of the same flags as the help.

use crate::args::{Cli, ManArgs};
use crate::{exit, output};
use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::Path;

const NAME: &str = "unblink";

/// `unblink completions`.
pub(crate) fn completions(shell: Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    output::print_document(&String::from_utf8(script).context("the script is not UTF-8")?)?;
    Ok(exit::OK)
}

/// `unblink man`.
pub(crate) fn man(args: &ManArgs) -> Result<u8> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Names the pages of commands within commands: unblink-lab-serve.
    command.build();
    match &args.output {
        None => output::print_document(&page(command)?)?,
        Some(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
            write_pages(&command, folder)?;
        }
    }
    Ok(exit::OK)
}

fn write_pages(command: &Command, folder: &Path) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    output::write(&folder.join(format!("{name}.1")), &page(command.clone())?)?;
    command.get_subcommands().try_for_each(|sub| write_pages(sub, folder))
}

/// The page of one command. What stands below the help are sections of their own, line by line as they are.
fn page(command: Command) -> Result<String> {
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut page = Vec::new();
    Man::new(command.after_help(Resettable::Reset)).render(&mut page)?;
    let page = String::from_utf8(page).context("the page is not UTF-8")?;
    Ok(page + &sections(&below))
}

fn sections(text: &str) -> String {
    let mut out = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_heading = !line.is_empty() && line.chars().all(|c| c.is_ascii_uppercase() || ", ".contains(c));
        match is_heading {
            true if is_open => out += &format!(".fi\n.SH \"{line}\"\n.nf\n"),
            true => out += &format!(".SH \"{line}\"\n.nf\n"),
            false if is_open => out += &(escaped(line) + "\n"),
            false => out += &format!(".SH NOTES\n.nf\n{}\n", escaped(line)),
        }
        is_open = true;
    }
    if is_open { out + ".fi\n" } else { out }
}

/// A line of text, none of whose characters is a request.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_the_help_is_kept_line_by_line() {
        let text = "VALUES\n  a   b\n.x 'y' \\n\n\nEXIT STATUS\n  0 done";
        assert_eq!(
            sections(text),
            ".SH \"VALUES\"\n.nf\n  a   b\n\\&.x \\(aqy\\(aq \\en\n\n.fi\n.SH \"EXIT STATUS\"\n.nf\n  0 done\n.fi\n"
        );
        assert!(sections("A word.\n").starts_with(".SH NOTES\n.nf\nA word.\n") && sections("").is_empty());
    }
}

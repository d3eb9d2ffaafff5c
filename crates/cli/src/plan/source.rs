//! The text of a plan, and errors that point into it.

use std::fmt;
use std::ops::Range;
use unblink_artifact::plan_check::PlanError;

/// A plan's text and its name.
#[derive(Debug)]
pub(crate) struct Source {
    pub name: String,
    pub text: String,
}

/// What is wrong at which place of a plan, as it is shown.
#[derive(Debug)]
pub(crate) struct Pointed {
    shown: String,
    /// What is wrong, by itself.
    pub found: PlanError,
}

impl fmt::Display for Pointed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::error::Error for Pointed {}

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// Bytes of the text.
    pub at: Range<usize>,
    pub message: String,
    /// What was probably meant.
    pub help: Option<String>,
}

impl Wrong {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Wrong {
        Wrong { at, message: message.into(), help: None }
    }

    /// Adds the one of `names` that is nearest to `word`.
    pub(crate) fn or_rather<'a>(mut self, word: &str, names: impl IntoIterator<Item = &'a str>) -> Wrong {
        self.help = nearest(word, names).map(|name| format!("did you mean {name:?}?"));
        self
    }
}

impl Source {
    /// File, line and column, the line itself, and a mark below what is wrong.
    pub(crate) fn error(&self, wrong: &Wrong) -> anyhow::Error {
        self.error_hiding(wrong, &[])
    }

    /// The same, with stars for what lies in `hidden`, in bytes of the text.
    pub(crate) fn error_hiding(&self, wrong: &Wrong, hidden: &[Range<usize>]) -> anyhow::Error {
        let text = &self.text;
        let start = floor(text, wrong.at.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor(text, wrong.at.end).clamp(start, line_end);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let is_hidden = |at: usize| hidden.iter().any(|range| range.contains(&(line_start + at)));
        let line: String = line
            .char_indices()
            .map(|(at, c)| match c {
                _ if is_hidden(at) => '*',
                '\t' => ' ',
                c => c,
            })
            .collect();
        let number = text[..start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count();
        let width = text[start..end].trim_end().chars().count().max(1);
        let gutter = " ".repeat(number.to_string().len());
        let help = wrong.help.as_ref().map(|help| format!("\n{gutter} = {help}")).unwrap_or_default();
        let shown = format!(
            "{}:{number}:{}: {}\n{gutter} |\n{number} | {line}\n{gutter} | {}{}{help}",
            self.name,
            column + 1,
            wrong.message,
            " ".repeat(column),
            "^".repeat(width),
        );
        let found = PlanError {
            line: Some(number as u64),
            column: Some(column as u64 + 1),
            message: wrong.message.clone(),
            help: wrong.help.clone(),
        };
        Pointed { shown, found }.into()
    }
}

/// The boundary of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// The nearest name, if one is near.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let all = names.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    let best = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_points_at_its_word() {
        let source = Source { name: "p.toml".into(), text: "a = 1\n\tdüration = \"x\"\n".into() };
        let at = source.text.find("düration").unwrap();
        let wrong =
            Wrong::new(at..at + 9, "there is no such field").or_rather("düration", ["duration", "rate"]);
        let shown = source.error(&wrong).to_string();
        let expected = "p.toml:2:2: there is no such field\n  |\n2 |  düration = \"x\"\n  |  ^^^^^^^^\n  = did you \
                        mean \"duration\"?";
        assert_eq!(shown, expected);
        for at in [0..0, 5..6, 6..100, 100..200, 9..10] {
            assert!(source.error(&Wrong::new(at, "x")).to_string().contains('^'));
        }
    }
}

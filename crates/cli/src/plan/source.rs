//! The text of a plan, and errors that point into it.

use super::fields;
use super::lists::List;
use std::fmt;
use std::ops::Range;
use unblink_artifact::plan_check::PlanError;

/// A plan's text and its name.
#[derive(Debug)]
pub(crate) struct Source {
    pub name: String,
    pub text: String,
}

/// What is wrong with a plan, mostly at which place, as it is shown.
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
    /// The error of a text that is no plan: of its line only what can't be a secret is shown, and the signs of the format,
    /// so that a missing quote is seen to be missing.
    pub(crate) fn error_in_no_plan(&self, wrong: &Wrong) -> anyhow::Error {
        let start = floor(&self.text, wrong.at.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let seen = line_start + seen_of_line(line);
        self.pointed(wrong, |at, c| at >= seen && !c.is_ascii_punctuation() && c != ' ')
    }

    /// The error of a plan, with stars for what lies in `hidden`, in bytes of the text.
    pub(crate) fn error_hiding(&self, wrong: &Wrong, hidden: &[Range<usize>]) -> anyhow::Error {
        self.pointed(wrong, |at, _| hidden.iter().any(|range| range.contains(&at)))
    }

    /// An error of the whole plan.
    pub(crate) fn error_of_all(&self, message: &str) -> anyhow::Error {
        let shown = format!("{}: {message}", self.name);
        let found = PlanError { line: None, column: None, message: message.into(), help: None };
        Pointed { shown, found }.into()
    }

    /// The number of the line in which a byte lies.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// File, line and column, the line itself, and a mark below what is wrong.
    fn pointed(&self, wrong: &Wrong, is_hidden: impl Fn(usize, char) -> bool) -> anyhow::Error {
        let text = &self.text;
        let start = floor(text, wrong.at.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor(text, wrong.at.end).clamp(start, line_end);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let line: String = line
            .char_indices()
            .map(|(at, c)| match c {
                c if is_hidden(line_start + at, c) => '*',
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

/// So many bytes at the beginning of a line that may not be understood are no secret: its key, and a value of a field
/// that is none, unless something else follows.
fn seen_of_line(line: &str) -> usize {
    let is_header =
        line.starts_with('[') && line.chars().all(|c| c.is_ascii_alphanumeric() || "[]-_. ".contains(c));
    if is_header {
        return line.len();
    }
    let Some(end) = line.find(['=', ':']) else { return 0 };
    let name = line[..end].trim_matches([' ', '\t', '-', '"', '\'']);
    let field = fields::called(name);
    let is_public = field.is_some_and(|field| field.holds.is_public());
    match &line[end + 1..] {
        value if is_public && !value.contains(['=', ':', '{', '#', ',']) => line.len(),
        _ if field.is_some() || fields::sections().contains(&name) || List::called(name).is_some() => end,
        _ => 0,
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
        let shown = source.error_hiding(&wrong, &[]).to_string();
        let expected = "p.toml:2:2: there is no such field\n  |\n2 |  düration = \"x\"\n  |  ^^^^^^^^\n  = did you \
                        mean \"duration\"?";
        assert_eq!(shown, expected);
        for at in [0..0, 5..6, 6..100, 100..200, 9..10] {
            assert!(source.error_hiding(&Wrong::new(at, "x"), &[]).to_string().contains('^'));
        }
    }

    #[test]
    fn of_a_line_that_is_not_understood_little_is_shown() {
        for (line, seen) in [
            ("rate = 1k", "rate = 1k"),
            ("[load", "[load"),
            ("  duration: 5s 5", "  duration: 5s 5"),
            ("header = [\"Authorization: Bearer s3cret\"]", "header = [\"*************: ****** ******\"]"),
            ("  - Authorization: Bearer s3cret", "  - *************: ****** ******"),
            ("target = \"http://u:s3/cret@h/", "target = \"****://*:**/****@*/"),
            ("s3cret", "******"),
            ("load = { rate = 5, header = [\"s3cret\" }", "load = { **** = *, ****** = [\"******\" }"),
            ("# s3cret", "# ******"),
            ("rate = 5 # s3cret", "rate = * # ******"),
        ] {
            let source = Source { name: "p".into(), text: format!("a = 1\n{line}\nb = 2\n") };
            let shown = source.error_in_no_plan(&Wrong::new(6..7, "x")).to_string();
            assert_eq!(shown.lines().nth(2), Some(format!("2 | {seen}").as_str()), "{line}");
        }
    }
}

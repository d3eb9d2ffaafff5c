//! Placeholders in commands and files.

use std::path::Path;

use crate::case::Case;

/// Every placeholder.
const NAMES: &[&str] = &[
    "url",
    "host",
    "port",
    "rate",
    "requests",
    "duration_s",
    "duration_ms",
    "users",
    "timeout_s",
    "timeout_ms",
    "folder",
    "program",
];

/// A word with a placeholder that there is not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {{{name}}}; there are {}", NAMES.join(", "))]
pub struct TemplateError {
    name: String,
}

/// What placeholders stand for in one cell.
#[derive(Clone, Debug)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// For a cell: the server's `url` and `address` (`HOST:PORT`), the cell's `folder`, and the program.
    pub fn new(case: &Case, url: &str, address: &str, folder: &Path, program: &Path) -> Values {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "80"));
        let duration_s = case.duration.as_secs().max(1);
        let path = |path: &Path| path.to_string_lossy().into_owned();
        Values(vec![
            ("url", url.to_owned()),
            ("host", host.to_owned()),
            ("port", port.to_owned()),
            ("rate", case.rate_per_s.to_string()),
            ("requests", (case.rate_per_s * duration_s).to_string()),
            ("duration_s", duration_s.to_string()),
            ("duration_ms", (duration_s * 1_000).to_string()),
            ("users", case.users.to_string()),
            ("timeout_s", case.timeout_s.to_string()),
            ("timeout_ms", (case.timeout_s * 1_000).to_string()),
            ("folder", path(folder)),
            ("program", path(program)),
        ])
    }

    /// The same for a document: what differs from cell to cell stays a placeholder.
    pub fn for_people(&self) -> Values {
        let keep = |name: &str| ["url", "host", "port", "folder"].contains(&name);
        let show = |(name, value): &(&'static str, String)| match keep(name) {
            true => (*name, format!("{{{name}}}")),
            false => (*name, value.clone()),
        };
        Values(self.0.iter().map(show).collect())
    }

    /// `text` with every known placeholder filled in; other braces stay, for scripts have their own.
    pub fn fill(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            out += before;
            let known = self
                .0
                .iter()
                .find(|(name, _)| from[1..].strip_prefix(name).is_some_and(|after| after.starts_with('}')));
            match known {
                Some((name, value)) => {
                    out += value;
                    rest = &from[name.len() + 2..];
                }
                None => {
                    out.push('{');
                    rest = &from[1..];
                }
            }
        }
        out + rest
    }
}

/// Refuses a word of a command whose placeholder there is not.
pub(super) fn check(word: &str) -> Result<(), TemplateError> {
    for (open, _) in word.match_indices('{') {
        let Some((name, _)) = word[open + 1..].split_once('}') else { continue };
        // What has other characters is JSON, and what stands in two braces is a template of the tool's own.
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if is_name && !word[..open].ends_with('{') && !NAMES.contains(&name) {
            return Err(TemplateError { name: name.to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn placeholders_are_filled_in_and_other_braces_stay() {
        let case = Case::preset("stall", Duration::from_secs(15)).expect("a preset");
        let values = Values::new(
            &case,
            "http://127.0.0.1:8080/",
            "127.0.0.1:8080",
            Path::new("/f"),
            Path::new("/bin/x"),
        );
        let filled = values.fill("{{ get('{url}', {rate}) }} {duration_s}s {folder}/a {nothing} {");
        assert_eq!(filled, "{{ get('http://127.0.0.1:8080/', 1000) }} 15s /f/a {nothing} {");
        assert_eq!(values.for_people().fill("{url} {users} {port}"), "{url} 10 {port}");
    }

    #[test]
    fn unknown_placeholders_are_named() {
        assert_eq!(check("-d {duration_s}s {url}"), Ok(()));
        assert_eq!(check(r#"{"text": "lab"} {"id":"{{index}}"}"#), Ok(()));
        let error = check("{secs}").expect_err("unknown").to_string();
        assert!(error.starts_with("there is no {secs}; there are url, host,"), "{error}");
    }
}

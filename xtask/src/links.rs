//! Links between documents lead somewhere.

use crate::complaint::Complaint;
use crate::markdown;
use crate::repo::Repo;

/// Complains about relative links and pictures whose file, or whose heading, does not exist.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in repo.markdown() {
        for (line, prose) in (1..).zip(&markdown::parse(text).prose) {
            for target in targets(prose) {
                let problem = problem(repo, path, target);
                complaints.extend(problem.map(|message| Complaint::new(path, line, message)));
            }
        }
    }
    complaints
}

/// Where the links of a line lead: `[a](b)`, `[a]: b`, and the attributes of HTML.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("](") {
        found.extend(line[at + 2..].split([')', ' ']).next());
    }
    if let Some((label, target)) = line.split_once("]: ").filter(|(label, _)| label.trim().starts_with('[')) {
        // `[^1]: a footnote` is prose.
        if !label.trim().starts_with("[^") {
            found.extend(target.split_whitespace().next());
        }
    }
    for attribute in ["src=\"", "href=\"", "srcset=\""] {
        for (at, _) in line.match_indices(attribute) {
            found.extend(line[at + attribute.len()..].split(['"', ' ']).next());
        }
    }
    found.into_iter().map(|target| target.trim_matches(['<', '>'])).collect()
}

fn problem(repo: &Repo, from: &str, target: &str) -> Option<String> {
    let scheme = target.split_once(':').is_some_and(|(s, _)| s.chars().all(|c| c.is_ascii_alphanumeric()));
    if target.is_empty() || scheme {
        return None;
    }
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading)),
        None => (target, None),
    };
    let Some(path) = resolve(from, file) else {
        return Some(format!("link to `{target}` leaves the repository; link to something in it"));
    };
    if !path.is_empty() && !repo.paths.contains(&path) {
        return Some(format!("link to `{target}`, but there is no `{path}`; correct it, or add the file"));
    }
    let heading = heading.filter(|_| path.ends_with(".md"))?;
    let headings = markdown::parse(repo.texts.get(&path)?).headings;
    let known = headings.iter().any(|text| slug(text) == heading);
    (!known).then(|| format!("link to `{target}`, but `{path}` has no such heading; correct it"))
}

/// The path that `target` means, seen from the file `from`; `None` above the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_string());
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (mut parts, target) = match target.strip_prefix('/') {
        Some(target) => (Vec::new(), target),
        None => (folder.split('/').filter(|part| !part.is_empty()).collect(), target),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchor that a heading gets on the usual hosts: lower case, punctuation gone, spaces to dashes.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(readme: &str) -> Vec<usize> {
        let files = [
            ("README.md", readme),
            ("docs/a.md", "# Send lag, `p99` & more\n[up](../README.md) [root](/docs/a.md)"),
            ("docs/a.svg", ""),
        ];
        check(&Repo::of(&files)).iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "[a](docs/a.md) [b](docs) ![c](./docs/a.svg \"title\") [d](https://x.y/z) [e](mailto:a)\n\
            [f](docs/a.md#send-lag-p99--more) [g](#here)\n# Here\n[h]: docs/a.md\n[^1]: nothing.md\n\
            <img src=\"docs/a.svg\">\n`[i](gone.md)`\n```\n[j](gone.md)\n```\n";
        assert_eq!(problems(text), [0; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        for text in [
            "[a](gone.md)",
            "![a](docs/gone.svg)",
            "[a](docs/a.md#gone)",
            "[a](#gone)",
            "[a]: gone.md",
            "<source srcset=\"docs/gone.svg\">",
            "[a](../outside.md)",
            "<a href=\"gone\">",
        ] {
            assert_eq!(problems(&format!("\n{text}")), [2], "{text}");
        }
    }
}

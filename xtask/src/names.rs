//! A module is named by its subject, never by being useful.

use crate::complaint::Complaint;
use crate::repo::Repo;
use crate::source::reads;

/// Words that could mean many things, and have one meaning each: a public type of the name is the only one.
const SINGLE: &[&str] = &["Interval", "Outcome", "Part", "Target", "Verdict"];
const BANNED: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc"];

/// Complains about modules, files, folders and crates whose names say nothing.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let message =
        |name: &str| format!("`{name}` names no subject; name it by what it holds, or move it home");
    for source in &repo.rust {
        let parts = source.path.split('/').map(|part| part.trim_end_matches(".rs"));
        if let Some(name) = parts.into_iter().find(|part| BANNED.contains(part)) {
            complaints.push(Complaint::new(&source.path, 1, message(name)));
        }
        let tokens: Vec<_> = source.tokens.iter().collect();
        for at in 0..tokens.len() {
            for name in BANNED.iter().filter(|name| reads(&tokens, at, &["mod", name, "{"])) {
                complaints.push(Complaint::new(&source.path, tokens[at].line, message(name)));
            }
        }
    }
    complaints.extend(SINGLE.iter().flat_map(|name| doubled(repo, name)));
    complaints
}

/// Every public type of this name after the first.
fn doubled(repo: &Repo, name: &str) -> Vec<Complaint> {
    let mut all = Vec::new();
    for source in &repo.rust {
        let tokens: Vec<_> = source.tokens.iter().collect();
        let is_one = |at: &usize| {
            ["struct", "enum", "type"].iter().any(|kind| reads(&tokens, *at, &["pub", kind, name]))
        };
        all.extend((0..tokens.len()).filter(is_one).map(|at| (source.path.clone(), tokens[at].line)));
    }
    let first = all.first().map(|(path, _)| path.clone()).unwrap_or_default();
    let message = format!(
        "`{name}` is the name of a type in {first} already, and has one meaning: say which one this is"
    );
    all.iter().skip(1).map(|(path, line)| Complaint::new(path, *line, message.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_crates_and_inline_modules_are_seen() {
        let bad = [
            ("crates/a/src/util.rs", ""),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/utils/src/lib.rs", ""),
            ("crates/a/src/x.rs", "\nmod helpers { }"),
        ];
        let found = check(&Repo::of(&bad));
        assert_eq!(found.len(), bad.len(), "{found:?}");
        assert_eq!(found[3].line, 2);
    }

    #[test]
    fn some_words_have_one_meaning() {
        let all = [
            ("crates/a/src/x.rs", "pub enum Outcome { }"),
            ("crates/b/src/y.rs", "\npub struct Outcome;"),
            ("crates/b/src/z.rs", "struct Outcome; pub struct OutcomeOfAll;"),
        ];
        let found = check(&Repo::of(&all));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].file.as_str(), found[0].line), ("crates/b/src/y.rs", 2));
    }

    #[test]
    fn a_name_with_a_subject_passes() {
        let good = [("crates/a/src/utility_curve.rs", "mod common_prefix { } // mod util {")];
        assert_eq!(check(&Repo::of(&good)), []);
    }
}

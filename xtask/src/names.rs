//! A module is named by its subject, never by being useful.

use crate::complaint::Complaint;
use crate::repo::Repo;
use crate::source::reads;

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
    complaints
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
    fn a_name_with_a_subject_passes() {
        let good = [("crates/a/src/utility_curve.rs", "mod common_prefix { } // mod util {")];
        assert_eq!(check(&Repo::of(&good)), []);
    }
}

//! No file longer than one can hold in mind.

use crate::complaint::Complaint;
use crate::exceptions::LONG;
use crate::repo::Repo;

const LINES_MAX: usize = 450;

/// Complains about `.rs` files above the limit, and about exceptions that are no longer needed.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    check_with(repo, LONG)
}

fn check_with(repo: &Repo, exceptions: &[&str]) -> Vec<Complaint> {
    let is_long = |path: &str| repo.rust.iter().any(|s| s.path == path && s.lines.len() > LINES_MAX);
    let mut complaints = Vec::new();
    for source in &repo.rust {
        if is_long(&source.path) && !exceptions.contains(&source.path.as_str()) {
            let message = format!("{} lines, {LINES_MAX} at most; split it by subject", source.lines.len());
            complaints.push(Complaint::new(&source.path, LINES_MAX + 1, message));
        }
    }
    for stale in exceptions.iter().filter(|path| !is_long(path)) {
        let message = format!("`{stale}` is not long any more; take it off the exceptions");
        complaints.push(Complaint::new("xtask/src/exceptions.rs", 1, message));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_last_length_that_passes() {
        let (fits, long) = ("\n".repeat(450), "\n".repeat(451));
        let repo = Repo::of(&[("a.rs", &fits), ("b.rs", &long), ("c.md", &long)]);
        let found = check_with(&repo, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].file.as_str(), found[0].line), ("b.rs", 451));
        assert_eq!(check_with(&repo, &["b.rs"]), []);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_named() {
        assert_eq!(check_with(&Repo::of(&[("a.rs", "")]), &["a.rs"]).len(), 1);
    }
}

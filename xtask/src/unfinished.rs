//! Nothing is left for later inside the code: a test that does not run, a body that panics, a marker.

use crate::complaint::Complaint;
use crate::repo::Repo;
use crate::source::{Source, reads};

const MARKERS: &[&str] = &["FIXME", "XXX"];

/// Complains about ignored tests, `todo!`, `unimplemented!` and the markers in comments.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    repo.rust.iter().flat_map(left_over).collect()
}

fn left_over(source: &Source) -> Vec<Complaint> {
    let tokens: Vec<_> = source.tokens.iter().collect();
    let mut complaints = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let mut complain = |message: &str| {
            complaints.push(Complaint::new(&source.path, token.line, message));
        };
        if reads(&tokens, at, &["#", "[", "ignore"]) || is_ignored_by_configuration(&tokens, at) {
            complain("an ignored test proves nothing; make it run, or remove it");
        }
        for name in ["todo", "unimplemented"] {
            if reads(&tokens, at, &[name, "!"]) {
                complain(&format!("`{name}!` is not finished; write it, or return an error that says so"));
            }
        }
    }
    for comment in &source.comments {
        let mut words = comment.text.split(|c: char| !c.is_alphanumeric());
        if let Some(marker) = words.find(|word| MARKERS.contains(word)) {
            let message = format!("`{marker}` in a comment; do it now, or write an issue");
            complaints.push(Complaint::new(&source.path, comment.line, message));
        }
    }
    complaints
}

fn is_ignored_by_configuration(tokens: &[&crate::source::Token], at: usize) -> bool {
    reads(tokens, at, &["#", "[", "cfg_attr"])
        && tokens[at..].iter().take_while(|token| token.text != "]").any(|token| token.text == "ignore")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(code: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/a/tests/a.rs", code)])).iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn everything_left_for_later_is_seen() {
        let code = "#[ignore]\n#[ignore = \"slow\"]\n#[cfg_attr(miri, ignore)]\ntodo!()\nunimplemented!(\"a\")\n\
                    // FIXME: a\n/* b\nXXX */";
        assert_eq!(lines(code), [1, 2, 3, 4, 5, 6, 8]);
    }

    #[test]
    fn words_strings_and_other_attributes_pass() {
        let code = "#[must_use]\nlet ignore = \"FIXME todo!()\"; // status 4XXX, todo\nfn todo() {}";
        assert_eq!(lines(code), [0; 0]);
    }
}

//! `unsafe` stands in `engine` alone, and each piece carries its proof.

use crate::complaint::Complaint;
use crate::repo::Repo;
use crate::source::Source;

/// Complains about `unsafe` outside `crates/engine` (tests too), and about one without `// SAFETY:`.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for source in &repo.rust {
        for (at, token) in source.tokens.iter().enumerate() {
            if token.text != "unsafe" {
                continue;
            }
            let next = source.tokens.get(at + 1).map_or("", |token| token.text.as_str());
            let message = if source.crate_name() != Some("engine") {
                "`unsafe` outside crates/engine; find a safe way, or move it there with its proof"
            } else if ["{", "impl", "("].contains(&next) && !is_proven(source, token.line) {
                "`unsafe` without a proof; say in a `// SAFETY:` comment right above why it holds"
            } else {
                continue;
            };
            complaints.push(Complaint::new(&source.path, token.line, message));
        }
    }
    complaints
}

/// Whether a comment with `SAFETY:` stands on `line`, or right above its statement.
fn is_proven(source: &Source, line: usize) -> bool {
    let proof = |line: usize| source.comments.iter().any(|c| c.line == line && c.text.contains("SAFETY:"));
    if proof(line) {
        return true;
    }
    for above in (1..line).rev() {
        let text = source.lines[above - 1].trim();
        let starts_here = text.is_empty() || text.ends_with([';', '{', '}']);
        if text.starts_with("//") {
            if proof(above) {
                return true;
            }
        } else if starts_here {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        check(&Repo::of(&[(path, code)])).iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn outside_engine_no_proof_helps() {
        let code = "// SAFETY: fine\nunsafe { a() }\nunsafe fn f() {}";
        for path in ["crates/core/src/a.rs", "crates/lab/tests/a.rs", "fuzz/a.rs", "xtask/src/a.rs"] {
            assert_eq!(lines(path, code), [2, 3], "{path}");
        }
    }

    #[test]
    fn in_engine_a_proof_is_needed() {
        let bad =
            "fn f() {\n    unsafe { a() };\n}\n\n// SAFETY: of another\nlet x = 1;\nunsafe impl A for B {}";
        assert_eq!(lines("crates/engine/src/a.rs", bad), [2, 7]);
        assert_eq!(lines("crates/engine/tests/a.rs", "// safe enough\nunsafe { a() }"), [2]);
    }

    #[test]
    fn a_proof_may_have_several_lines_and_stand_above_the_statement() {
        let good = "// SAFETY: the pointer\n// comes from a box.\nunsafe { a() };\n\
                    // SAFETY: b\nlet x =\n    c(unsafe { b() });\n\
                    // SAFETY: d\n#[inline]\nunsafe impl A for B {}\n\
                    let y = /* SAFETY: e */ unsafe { e() };\n\
                    #![allow(unsafe_code)]\n// unsafe in words\nunsafe fn f() {}\n";
        assert_eq!(lines("crates/engine/src/a.rs", good), [0; 0]);
    }
}

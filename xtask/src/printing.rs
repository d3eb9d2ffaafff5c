//! The command is the only printer: a library that prints cannot be used by anything else.

use crate::complaint::Complaint;
use crate::repo::Repo;
use crate::source::{Source, reads};

const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];
/// Commands of the repository itself.
const OTHER_COMMANDS: &[&str] = &["bench/", "xtask/"];
const STREAMS: &[&str] = &["stdout", "stderr"];

/// Complains about printing outside the commands (`crates/cli`, `bench`, `xtask`), and about `dbg!` anywhere but in tests.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    repo.rust.iter().flat_map(printed).collect()
}

fn printed(source: &Source) -> Vec<Complaint> {
    let may_print =
        source.crate_name() == Some("cli") || OTHER_COMMANDS.iter().any(|path| source.path.starts_with(path));
    let shipped = source.shipped();
    let mut complaints = Vec::new();
    for (at, token) in shipped.iter().enumerate() {
        let mut complain = |message: String| {
            complaints.push(Complaint::new(&source.path, token.line, message));
        };
        let name = token.text.as_str();
        if name == "dbg" && reads(&shipped, at + 1, &["!"]) {
            complain("`dbg!` is for the desk; remove it".to_string());
        } else if !may_print && MACROS.contains(&name) && reads(&shipped, at + 1, &["!"]) {
            complain(format!("`{name}!` outside the command; return a value and let crates/cli print it"));
        } else if !may_print && name == "io" && reads(&shipped, at + 1, &["::"]) {
            let stream = shipped.get(at + 2).map_or("", |token| token.text.as_str());
            if STREAMS.contains(&stream) {
                complain(format!("`io::{stream}` outside the command; take a writer as an argument"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        check(&Repo::of(&[(path, code)])).iter().map(|complaint| complaint.line).collect()
    }

    const PRINTS: &str =
        "print!(a);\nprintln!(b);\neprint!(c);\neprintln!(d);\ndbg!(e);\nio::stdout().lock();\n";

    #[test]
    fn a_library_that_prints_is_named() {
        assert_eq!(lines("crates/lab/src/a.rs", PRINTS), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_command_prints_but_leaves_no_debugging() {
        assert_eq!(lines("crates/cli/src/a.rs", PRINTS), [5]);
        assert_eq!(lines("xtask/src/a.rs", PRINTS), [5]);
        assert_eq!(lines("bench/src/main.rs", PRINTS), [5]);
    }

    #[test]
    fn tests_examples_and_words_that_only_look_alike_pass() {
        for path in ["crates/lab/tests/a.rs", "crates/lab/examples/a.rs"] {
            assert_eq!(lines(path, PRINTS), [0; 0], "{path}");
        }
        let code =
            "// println!(a)\nwriteln!(out, \"println!\");\ncommand.stdout(Stdio::null()); my_println!(x);";
        assert_eq!(lines("crates/lab/src/a.rs", code), [0; 0]);
    }
}

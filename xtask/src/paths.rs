//! Paths as code names them: `std::{time::{Duration, Instant}, fs}` is three paths.

use crate::source::Token;

/// A path as it is named, with the line of its last segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Segments; a glob ends in `*`.
    pub segments: Vec<String>,
    /// What `as` calls it here.
    pub renamed: Option<String>,
    /// Counted from 1.
    pub line: usize,
}

/// Every path in `tokens` whose first segment is `root`.
pub fn rooted(tokens: &[&Token], root: &str) -> Vec<Named> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        // In `a::std::b` it is not the root; in `use ::std::b` it is.
        let inside = at > 1 && tokens[at - 1].text == "::" && is_name(&tokens[at - 2].text);
        if tokens[at].text == root && !inside {
            tree(tokens, at, &mut Vec::new(), &mut found);
        }
    }
    found
}

/// Every path that a `use` brings in, and every other one of two segments or more.
pub fn all(tokens: &[&Token]) -> (Vec<Named>, Vec<Named>) {
    let (mut imported, mut inline) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let inside = at > 0 && tokens[at - 1].text == "::";
        if tokens[at].text == "use" {
            at = tree(tokens, at + 1, &mut Vec::new(), &mut imported);
            continue;
        }
        if is_name(&tokens[at].text) && !inside {
            tree(tokens, at, &mut Vec::new(), &mut inline);
        }
        at += 1;
    }
    inline.retain(|path| path.segments.len() > 1);
    (imported, inline)
}

/// Whether naming `path` makes `banned` (as `a::b::c`) reachable: it or a part of it, its module, its glob.
pub fn reaches(path: &Named, banned: &str) -> bool {
    let banned: Vec<&str> = banned.split("::").collect();
    let segments: Vec<&str> = path.segments.iter().map(String::as_str).collect();
    let parent = &banned[..banned.len() - 1];
    let whole_parent = parent.len() > 1 && (segments == parent || segments == [parent, &["*"]].concat());
    segments.starts_with(&banned) || whole_parent
}

/// Reads the use-tree at `at`; returns the place after it.
fn tree(tokens: &[&Token], mut at: usize, prefix: &mut Vec<String>, found: &mut Vec<Named>) -> usize {
    let depth = prefix.len();
    let mut line = 0;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => {
                at += 1;
                while at < tokens.len() && tokens[at].text != "}" {
                    let after = tree(tokens, at, prefix, found);
                    at = after.max(at + 1);
                }
                prefix.truncate(depth);
                return at + 1;
            }
            "self" if depth > 0 => {}
            name if name == "*" || is_name(name) => prefix.push(name.to_string()),
            _ => break,
        }
        line = token.line;
        at += 1;
        if tokens.get(at).is_none_or(|token| token.text != "::") {
            break;
        }
        at += 1;
    }
    // `as name` renames: the name is not a path.
    let is_renamed = tokens.get(at).is_some_and(|token| token.text == "as");
    let renamed = tokens.get(at + 1).filter(|_| is_renamed).map(|token| token.text.clone());
    if line > 0 {
        found.push(Named { segments: prefix.clone(), renamed, line });
    }
    prefix.truncate(depth);
    if is_renamed { at + 2 } else { at }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn named(code: &str) -> Vec<String> {
        let source = Source::new(String::new(), code);
        rooted(&source.shipped(), "std").iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn trees_are_spelled_out() {
        let code = "use std::{fs, time::{self, Duration as D, Instant}, io::*};";
        assert_eq!(
            named(code),
            ["std::fs", "std::time", "std::time::Duration", "std::time::Instant", "std::io::*"]
        );
        assert_eq!(named("let a = ::std::time::Instant::now();"), ["std::time::Instant::now"]);
        assert_eq!(named("x::std::fs; Vec::<std::net::IpAddr>::new()"), ["std::net::IpAddr"]);
    }

    #[test]
    fn a_module_or_a_glob_reaches_what_it_holds() {
        let path = |text: &str| Named {
            segments: text.split("::").map(str::to_string).collect(),
            renamed: None,
            line: 1,
        };
        for bad in ["std::time::Instant", "std::time::Instant::now", "std::time", "std::time::*"] {
            assert!(reaches(&path(bad), "std::time::Instant"), "{bad}");
        }
        for good in ["std::time::Duration", "std::timer", "std", "std::fs"] {
            assert!(!reaches(&path(good), "std::time::Instant"), "{good}");
        }
        assert!(reaches(&path("std::io::Read"), "std::io"));
        assert!(!reaches(&path("std"), "std::io"));
    }
}

//! Files and folders import each other in one direction.
//!
//! A file counts with its folder: `svg.rs` and all of `svg/` are one, beside its siblings. A module and what lies
//! below it may import each other. A re-export counts as what it stands for. Test code is left out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::complaint::Complaint;
use crate::exceptions::CIRCLES;
use crate::modules::{self, Import, Module};
use crate::repo::Repo;

/// Complains about circles of imports within a crate, and about exceptions that are no longer needed.
pub fn check(repo: &Repo) -> Vec<Complaint> {
    check_with(repo, CIRCLES)
}

/// For two siblings, the imports by which the first depends on the second.
type Edges<'a> = BTreeMap<Module, BTreeMap<Module, Vec<&'a Import>>>;

fn check_with(repo: &Repo, exceptions: &[(&str, &str)]) -> Vec<Complaint> {
    let imports = modules::imports(repo);
    let is = |import: &Import, (from, to): &(&str, &str)| import.file == *from && import.target == *to;
    let (excepted, kept): (Vec<_>, Vec<_>) =
        imports.iter().partition(|import| exceptions.iter().any(|exception| is(import, exception)));
    let edges = edges(kept);
    let closes = |import: &&Import| {
        siblings(import).is_some_and(|(from, to)| shortest_way(&edges, &to, &from).is_some())
    };
    let mut complaints: Vec<_> = circles(&edges).iter().map(|circle| complaint(circle, &edges)).collect();
    for stale in exceptions.iter().filter(|e| !excepted.iter().filter(|i| is(i, e)).any(closes)) {
        let message =
            format!("`{}` -> `{}` closes no circle any more; take it off the exceptions", stale.0, stale.1);
        complaints.push(Complaint::new("xtask/src/exceptions.rs", 1, message));
    }
    complaints
}

fn edges(imports: Vec<&Import>) -> Edges<'_> {
    let mut edges = Edges::new();
    for import in imports {
        if let Some((from, to)) = siblings(import) {
            edges.entry(from).or_default().entry(to).or_default().push(import);
        }
    }
    edges
}

/// The two children of the deepest module that holds both ends; `None` if one end holds the other.
fn siblings(import: &Import) -> Option<(Module, Module)> {
    let shared = import.from.iter().zip(&import.to).take_while(|(a, b)| a == b).count();
    Some((import.from.get(..=shared)?.to_vec(), import.to.get(..=shared)?.to_vec()))
}

/// Circles, shortest first, until each one there is shares a step with one of these.
fn circles(edges: &Edges<'_>) -> Vec<Vec<Module>> {
    let steps = edges.iter().flat_map(|(from, targets)| targets.keys().map(move |to| (from, to)));
    let mut through_each: Vec<_> = steps.filter_map(|(from, to)| shortest_way(edges, to, from)).collect();
    through_each.sort_by_key(|circle| (circle.len(), circle.clone()));
    let mut seen = BTreeSet::new();
    through_each.retain(|circle| {
        let steps: Vec<_> = steps_of(circle).map(|(from, to)| (from.clone(), to.clone())).collect();
        let is_new = steps.iter().all(|step| !seen.contains(step));
        seen.extend(steps.into_iter().filter(|_| is_new));
        is_new
    });
    through_each
}

fn steps_of(circle: &[Module]) -> impl Iterator<Item = (&Module, &Module)> {
    circle.iter().zip(circle.iter().cycle().skip(1))
}

/// The modules from `from` to `to`, both included.
fn shortest_way(edges: &Edges<'_>, from: &Module, to: &Module) -> Option<Vec<Module>> {
    let mut ways = VecDeque::from([vec![from.clone()]]);
    let mut seen = BTreeSet::from([from]);
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        if last == to {
            return Some(way);
        }
        let next = edges.get(last).into_iter().flat_map(BTreeMap::keys).filter(|next| seen.insert(next));
        ways.extend(next.map(|next| [way.as_slice(), std::slice::from_ref(next)].concat()));
    }
    None
}

fn complaint(circle: &[Module], edges: &Edges<'_>) -> Complaint {
    let names: Vec<_> = circle.iter().chain(&circle[..1]).map(|module| module[1..].join("::")).collect();
    let mut message = format!("a circle of {}: {}", circle.len(), names.join(" -> "));
    let imports: Vec<_> = steps_of(circle).flat_map(|(from, to)| &edges[from][to]).collect();
    // A file names most of what it imports many times; the first time, its `use`, is enough.
    let mut seen = BTreeSet::new();
    for import in imports.iter().filter(|import| seen.insert((&import.file, &import.target))) {
        message += &format!("\n    {}:{} takes {}", import.file, import.line, import.path);
    }
    Complaint::new(&imports[0].file, imports[0].line, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)], exceptions: &[(&str, &str)]) -> Vec<String> {
        check_with(&Repo::of(files), exceptions).iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn a_circle_is_told_with_the_imports_that_make_it() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;"),
            ("crates/x/src/a.rs", "use std::fmt;\nuse crate::b::{self, B};\nfn f() -> B { b::new() }"),
            ("crates/x/src/b.rs", "fn f() { crate::c::g() }"),
            ("crates/x/src/c.rs", "pub(crate) use super::a::A as Other;"),
        ];
        let expected = "crates/x/src/a.rs:2: a circle of 3: a -> b -> c -> a\
            \n    crates/x/src/a.rs:2 takes crate::b\
            \n    crates/x/src/b.rs:1 takes crate::c::g\
            \n    crates/x/src/c.rs:1 takes super::a::A";
        assert_eq!(complaints(&files, &[]), [expected]);
        let exception = [("crates/x/src/b.rs", "crates/x/src/c.rs")];
        assert_eq!(complaints(&files, &exception), [""; 0]);
        let stale = complaints(&files, &[exception[0], ("crates/x/src/c.rs", "crates/x/src/a.rs")]);
        assert!(stale.len() == 2 && stale[0].contains("closes no circle"), "{stale:?}");
    }

    #[test]
    fn folders_make_circles_where_no_two_files_do() {
        let files = [
            ("crates/x/src/main.rs", "mod a;\nmod b;"),
            ("crates/x/src/a/mod.rs", "mod one;\nmod two;"),
            ("crates/x/src/a/one.rs", "use crate::b::one::B;"),
            ("crates/x/src/a/two.rs", "pub struct A;"),
            ("crates/x/src/b.rs", "mod one;\nmod two;\nmod three;"),
            ("crates/x/src/b/one.rs", "pub struct B;"),
            ("crates/x/src/b/two.rs", "use crate::a::two::A;\nuse super::three::C;"),
            ("crates/x/src/b/three.rs", "use super::two::D;"),
        ];
        let found = complaints(&files, &[]);
        let heads: Vec<_> = found.iter().filter_map(|text| text.lines().next()).collect();
        assert_eq!(
            heads,
            [
                "crates/x/src/a/one.rs:1: a circle of 2: a -> b -> a",
                "crates/x/src/b/three.rs:1: a circle of 2: b::three -> b::two -> b::three"
            ]
        );
    }

    #[test]
    fn shorter_circles_come_first() {
        let files = [
            ("crates/x/src/a.rs", "use crate::b;"),
            ("crates/x/src/b.rs", "use crate::c;"),
            ("crates/x/src/c.rs", "use crate::{a, d};"),
            ("crates/x/src/d.rs", "use crate::c;"),
        ];
        let found = complaints(&files, &[]);
        assert!(found.len() == 2 && found[0].contains("c -> d -> c"), "{found:?}");
    }

    #[test]
    fn a_re_export_counts_as_what_it_stands_for() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;"),
            ("crates/x/src/a.rs", "use crate::b::B;\npub struct A;"),
            ("crates/x/src/b.rs", "use crate::A;\npub struct B;"),
        ];
        assert_eq!(complaints(&files, &[]).len(), 1);
    }

    #[test]
    fn parents_tests_and_other_crates_make_none() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\nuse a::part::f;"),
            ("crates/x/src/a.rs", "mod part;\nuse part::f;\nuse self::part::g;\nuse crate::b::B;"),
            ("crates/x/src/a/part.rs", "use super::A;\nuse crate::root;"),
            ("crates/x/src/b.rs", "use y::a::A;\n#[cfg(test)]\nmod tests { use super::*; use crate::a::A; }"),
            ("crates/y/src/a.rs", "use crate::b::B;"),
            ("crates/y/tests/b.rs", "use crate::a::A;"),
        ];
        assert_eq!(complaints(&files, &[]), [""; 0]);
    }
}

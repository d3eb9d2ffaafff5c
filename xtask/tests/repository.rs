//! The checks on this repository, one test each.

use xtask::CHECKS;
use xtask::repo::Repo;

fn holds(name: &str) {
    let (_, check) = CHECKS.iter().find(|(known, _)| *known == name).expect("a check of that name");
    let repo = Repo::read().expect("the repository can be read");
    let complaints: Vec<String> = check(&repo).iter().map(ToString::to_string).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

macro_rules! checks {
    ($($name:ident)*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        #[test]
        fn every_check_is_a_test() {
            let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

checks! { layering purity length circles names clock printing unsafety unfinished links flags corpora }

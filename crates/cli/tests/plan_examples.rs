//! The published schema and the examples, held against the binary.

use crate::support::Place;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_published_schema_is_that_of_the_binary_and_fits_plans() {
    let place = Place::new();
    let printed = place.call(&["plan", "schema"]).stdout;
    let published =
        std::fs::read_to_string(repository().join("docs/plan.schema.json")).expect("docs/plan.schema.json");
    assert!(printed == published, "out of date: unblink plan schema > docs/plan.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(&printed).expect("JSON")).expect("a schema");
    for plan in examples() {
        let shown = place.call(&["plan", "show", plan.to_str().unwrap(), "--as", "json"]);
        let json: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}: {shown:?}"));
        let errors: Vec<String> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", plan.display());
    }
    let wrong = serde_json::json!({"load": {"durration": "5s"}});
    assert!(!schema.is_valid(&wrong));
}

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join("examples")).expect("examples/");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut plans: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "toml" || e == "yaml")).collect();
    plans.sort();
    assert!(plans.len() >= 5, "{plans:?}");
    plans
}

/// Each example says in its first line how its simulation ends.
#[test]
fn every_example_is_in_order_and_runs_in_the_virtual_world() {
    for plan in examples() {
        let place = Place::new();
        let path = plan.to_str().expect("UTF-8");
        assert_eq!(place.call(&["plan", "check", path]).code(), Some(0), "{path}");
        let text = std::fs::read_to_string(&plan).expect("a plan");
        let is_for = |command: &str| text.contains(&format!("#   unblink {command} examples/"));
        let said = match ["knee", "compare", "signoff"].into_iter().find(|command| is_for(command)) {
            Some(command) => place.call(&[command, path, "--simulate", "-o", "out"]),
            None => place.call(&["sim", path, "-o", "out"]),
        };
        let expected =
            text.lines().find_map(|line| line.strip_prefix("# Simulated, it exits with ")).expect(path);
        let code: i32 = expected.split(' ').next().and_then(|code| code.parse().ok()).expect(path);
        assert_eq!(said.code(), Some(code), "{path}: {said:?}");
    }
}

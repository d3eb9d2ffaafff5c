//! What `unblink try` says, beside what a server was asked.

use super::hostile::Seen;
use super::{Place, Said};
use serde_json::Value;
use std::collections::BTreeMap;

/// `unblink try ARGS --json`, whose document keeps its schema.
pub(crate) fn tried(place: &Place, args: &[&str]) -> (Value, Said) {
    let said = place.call(&[&["try"], args, &["--json"]].concat());
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let schema = unblink_artifact::schema::try_schema();
    assert!(jsonschema::validator_for(&schema).expect("a schema").is_valid(&document), "{document:#}");
    (document, said)
}

/// Every request of a document, journeys too.
pub(crate) fn each(document: &Value) -> Vec<Value> {
    let lists = [&document["setup"], &document["requests"]];
    let own = lists.into_iter().flat_map(|list| list.as_array().unwrap().clone());
    let journeys = document["journeys"].as_array().unwrap().iter();
    own.chain(journeys.flat_map(|journey| journey["steps"].as_array().unwrap().clone())).collect()
}

/// What a server was asked, by the number of the arrival.
pub(crate) fn by_arrival(seen: &[Seen]) -> BTreeMap<u64, String> {
    let line = |one: &Seen| {
        let headers: Vec<String> =
            one.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!(
            "{} {}\n{}\n{}",
            one.method,
            one.target,
            headers.join("\n"),
            String::from_utf8_lossy(&one.body)
        )
    };
    seen.iter().map(|one| (one.header("x-index").unwrap().parse().unwrap(), line(one))).collect()
}

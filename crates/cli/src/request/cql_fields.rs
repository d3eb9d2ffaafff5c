//! What is asked of Cassandra.

use crate::value;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use unblink_wire::cql::Consistency;

/// A statement of CQL, and how it is executed.
#[derive(Args, serde::Serialize, Clone, PartialEq, Debug, Default)]
pub(crate) struct CqlArgs {
    /// Execute this statement of CQL (cql:// or cqls://), such as 'SELECT * FROM item WHERE id = {{id}}'
    #[arg(long, value_name = "STATEMENT", conflicts_with_all = ["body", "body_file", "message", "command", "sql"],
          help_heading = "Request")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cql: Option<String>,

    /// How many replicas must have answered a statement of CQL, such as quorum or local_quorum [default: local_one]
    #[arg(long, value_name = "LEVEL", help_heading = "Request", ignore_case = true, hide_possible_values = true,
          value_parser = consistency())]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "by_name")]
    pub consistency: Option<Consistency>,

    /// The same for the condition (IF …) of a statement of CQL: serial or local_serial [default: the server's]
    #[arg(long, value_name = "LEVEL", help_heading = "Request", ignore_case = true, hide_possible_values = true,
          value_parser = serial_consistency())]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "by_name")]
    pub serial_consistency: Option<Consistency>,

    /// Fetch at most this many rows per answer of CQL [default: all rows]
    #[arg(long, value_name = "COUNT", help_heading = "Request", allow_hyphen_values = true, value_parser = page_size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
}

fn named(names: Vec<&'static str>) -> impl TypedValueParser<Value = Consistency> {
    PossibleValuesParser::new(names).map(|name| Consistency::read(&name).expect("one of these"))
}

fn consistency() -> impl TypedValueParser<Value = Consistency> {
    named(Consistency::NAMES.to_vec())
}

fn serial_consistency() -> impl TypedValueParser<Value = Consistency> {
    let is_serial = |name: &&str| Consistency::read(name).is_some_and(Consistency::is_serial);
    named(Consistency::NAMES.iter().copied().filter(is_serial).collect())
}

fn page_size(text: &str) -> Result<u32, String> {
    value::at_most(1_000_000, "rows", text)
}

fn by_name<S: serde::Serializer>(level: &Option<Consistency>, to: S) -> Result<S::Ok, S::Error> {
    match level {
        None => to.serialize_none(),
        Some(level) => to.collect_str(level),
    }
}

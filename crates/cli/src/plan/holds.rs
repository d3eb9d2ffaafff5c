//! What a field's value is to whoever must not know it: what of it may be shown, here alone. And which values name files.

use crate::secrets;
use unblink_wire::{cql, postgres};

/// What stands in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    /// A value that can be no secret: it is for whoever reads the report.
    Plain,
    /// A file that is read; its name counts from the plan's folder.
    File,
    /// Parameters and users may be secrets.
    Url,
    /// Its value may be one.
    Header,
    Body,
    /// A statement of SQL: its literals may be secrets.
    Sql,
    /// The same of CQL.
    Cql,
    /// It may name a request by its URL.
    Objective,
    /// An answer may give a secret back.
    Expectation,
}

impl Holds {
    /// What stands in the fields of this name, in whichever table.
    pub(super) fn of(field: &str) -> Holds {
        match field {
            "target"
            | "candidate"
            | "url"
            | "connect"
            | "kill-url"
            | "cross-check-prometheus"
            | "cross-check-scrape" => Holds::Url,
            "header" => Holds::Header,
            "body" | "json" | "form" | "multipart" | "message" | "command" | "script-arg" => Holds::Body,
            "sql" => Holds::Sql,
            "cql" => Holds::Cql,
            "slo" | "abort-on" => Holds::Objective,
            "expect" | "until" | "await" => Holds::Expectation,
            "targets" | "body-file" | "cacert" | "cert" | "key" | "trace" | "replay" | "script"
            | "properties" => Holds::File,
            _ => Holds::Plain,
        }
    }

    /// Variables in it are filled in when it is sent.
    pub(super) fn takes_variables(self) -> bool {
        matches!(self, Holds::Url | Holds::Header | Holds::Body)
    }

    /// A variable of the environment in it would be sent as it is written, which nobody means.
    pub(super) fn is_statement(self) -> bool {
        matches!(self, Holds::Sql | Holds::Cql)
    }

    /// It is nothing that somebody must not know, whatever its text; an objective tells no more than the report.
    pub(super) fn is_public(self) -> bool {
        matches!(self, Holds::Plain | Holds::File | Holds::Objective)
    }

    /// The plan's own line may be shown, as far as this text goes.
    pub(super) fn is_seen(self, text: &str) -> bool {
        match self {
            // It may be no URL at all.
            Holds::Url => secrets::mask_wrong_url(text) == *text,
            holds => holds.shown(text) == *text,
        }
    }

    /// The text as a reader may see it: variables by their names, what else may be secret masked.
    pub(super) fn shown(self, text: &str) -> String {
        match self {
            // A variable's name tells nothing; a value that stands beside one may.
            Holds::Header if is_seen_header(text) => text.to_string(),
            Holds::Header => secrets::mask_header(text),
            Holds::Body => secrets::MASK.to_string(),
            Holds::Sql => postgres::shown(text),
            Holds::Cql => cql::shown(text),
            Holds::Url => secrets::mask_url(text),
            Holds::Objective => secrets::mask_objective(text),
            Holds::Expectation => secrets::mask_expectation(text),
            Holds::Plain | Holds::File => text.to_string(),
        }
    }
}

/// A header that may be seen as it is: a harmless one, or one whose value is a variable, at most behind the name of a
/// scheme, as `Bearer ${TOKEN}`.
pub(super) fn is_seen_header(line: &str) -> bool {
    let is_variable = |value: &str| {
        let value = value.trim();
        secrets::is_one_variable(value.rsplit_once(' ').map_or(value, |(scheme, rest)| match scheme {
            "Bearer" | "Basic" | "Token" => rest,
            _ => "",
        }))
    };
    secrets::mask_header(line) == line || line.split_once(':').is_some_and(|(_, value)| is_variable(value))
}

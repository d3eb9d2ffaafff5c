//! Codes of answers by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::code::Code;

/// Names of the codes that answers have, in a protocol that has no statuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedCodes {
    /// The protocol, as failures begin that such codes mean: `grpc_unavailable`.
    pub protocol: String,
    /// The names, by number. The first are those of success.
    pub names: Vec<String>,
    /// How many of them are.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub successes: u16,
}

fn one() -> u16 {
    1
}

fn is_one(n: &u16) -> bool {
    *n == 1
}

impl NamedCodes {
    /// Whether the code with this number is one of success.
    pub fn is_success(&self, number: u16) -> bool {
        number < self.successes
    }

    /// The names of the codes of success.
    pub fn of_success(&self) -> &[String] {
        &self.names[..self.names.len().min(self.successes.into())]
    }

    /// What the code with this number is called.
    pub fn name(&self, number: u16) -> Option<&str> {
        self.names.get(usize::from(number)).map(String::as_str)
    }

    /// The name of the `number`-th failure that a code means.
    pub(crate) fn failure(&self, number: usize) -> Option<String> {
        self.names
            .get(number + usize::from(self.successes))
            .map(|name| format!("{}_{}", self.protocol, name.to_ascii_lowercase()))
    }
}

/// What the code is called; `named` unless it is a status of HTTP.
pub(crate) fn name_of(code: Code, named: Option<&NamedCodes>) -> String {
    match named {
        None => code.status().to_string(),
        Some(named) => named.names.get(code.index()).cloned().unwrap_or_else(|| code.index().to_string()),
    }
}

/// The code that is called so.
pub(crate) fn code_called(name: &str, named: Option<&NamedCodes>) -> Option<Code> {
    let place = named.and_then(|named| named.names.iter().position(|known| known == name));
    match (named, place) {
        (None, _) => Code::of_status(name.parse().ok()?),
        (Some(_), Some(place)) => Code::at(place.try_into().ok()?),
        (Some(_), None) => Code::at(name.parse().ok()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_codes() {
        let named = NamedCodes {
            protocol: "grpc".into(),
            names: vec!["OK".into(), "CANCELLED".into()],
            successes: 1,
        };
        for (named, text, index) in [
            (None, "200", 100),
            (Some(&named), "OK", 0),
            (Some(&named), "CANCELLED", 1),
            (Some(&named), "77", 77),
        ] {
            let code = code_called(text, named).unwrap();
            assert_eq!((code.index(), name_of(code, named).as_str()), (index, text));
        }
        assert_eq!(
            (code_called("OK", None), code_called("99", None), code_called("x", Some(&named))),
            (None, None, None)
        );
        assert_eq!((named.failure(0).as_deref(), named.failure(1)), (Some("grpc_cancelled"), None));
        let two = NamedCodes { successes: 2, ..named };
        assert_eq!(two.failure(0), None);
        assert_eq!((two.of_success().join("|").as_str(), two.name(2)), ("OK|CANCELLED", None));
        assert_eq!([1, 2].map(|number| two.is_success(number)), [true, false]);
    }
}

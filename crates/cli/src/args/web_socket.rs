//! How messages go over WebSockets.

use crate::value;
use clap::Args;
use std::fmt;
use unblink_wire::ws::{DEPTH_MAX, Finder, Matching};
use unblink_workload::answer::Capture;

/// What a run over WebSockets must know beside its messages.
#[derive(Args, serde::Serialize, Clone, PartialEq, Debug, Default)]
pub(crate) struct WebSocketArgs {
    /// Which message of a WebSocket answers which: `order` (the first that comes answers the first that was sent), or 'json
    /// $.id' (the one that has the same value there) [default: order]
    #[arg(long = "match", value_name = "order|json PATH", help_heading = "Connections", value_parser = MatchArg::parse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<MatchArg>,

    /// Messages under way at once on a WebSocket, or commands or transactions on a connection to Redis or PostgreSQL [default: 1]
    #[arg(long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true, value_parser = depth)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,

    /// What the messages of a WebSocket are sent as [default: text]
    #[arg(long, value_enum, value_name = "TYPE", help_heading = "Request")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_type: Option<MessageType>,
}

impl WebSocketArgs {
    /// The first of these flags that is given and for WebSockets alone.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [("match", self.matching.is_some()), ("message-type", self.message_type.is_some())];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// What a message is sent as.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MessageType {
    /// UTF-8
    Text,
    /// Any bytes
    Binary,
}

/// `--match`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum MatchArg {
    #[default]
    Order,
    /// As it was written, and what it says.
    Json(String, Capture),
}

impl MatchArg {
    fn parse(text: &str) -> Result<MatchArg, String> {
        let expected = || {
            format!("{text:?} is not a way to match: expected order, or json and a path, such as 'json $.id'")
        };
        match Capture::parse(text) {
            _ if text == "order" => Ok(MatchArg::Order),
            Ok(capture @ Capture::Json(_)) => Ok(MatchArg::Json(text.to_string(), capture)),
            Err(error) if text.starts_with("json ") => Err(format!("{text:?}: {error}")),
            _ => Err(expected()),
        }
    }

    /// As the codec takes it.
    pub(crate) fn matching(&self) -> Matching {
        match self {
            MatchArg::Order => Matching::Order,
            MatchArg::Json(_, capture) => {
                let capture = capture.clone();
                Matching::Name(Finder::new(move |message, name| capture.take(&[], message, name)))
            }
        }
    }
}

impl fmt::Display for MatchArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MatchArg::Order => "order",
            MatchArg::Json(text, _) => text,
        })
    }
}

impl serde::Serialize for MatchArg {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn depth(text: &str) -> Result<u32, String> {
    value::at_most(DEPTH_MAX, "messages", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches_is_an_order_or_a_path() {
        assert_eq!(MatchArg::parse("order"), Ok(MatchArg::Order));
        assert_eq!(MatchArg::parse("json $.id").map(|one| one.to_string()), Ok("json $.id".into()));
        for (text, part) in [
            ("", "expected order"),
            ("header X", "expected order"),
            ("json", "expected order"),
            ("json id", "json id"),
        ] {
            let error = MatchArg::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_message_is_called_by_the_value_at_its_path() {
        let Matching::Name(finder) = MatchArg::parse("json $.id").unwrap().matching() else {
            panic!("a path")
        };
        let mut name = Vec::new();
        for (message, found) in [
            (r#"{"id":"7"}"#, Some("7")),
            (r#"{"a":{"id":1},"id":7}"#, Some("7")),
            (r#"{"a":1}"#, None),
            ("7", None),
            (r#"{"id":7"#, None),
        ] {
            let is_found = finder.find(message.as_bytes(), &mut name);
            assert_eq!(
                is_found.then(|| String::from_utf8_lossy(&name).into_owned()).as_deref(),
                found,
                "{message}"
            );
        }
    }
}

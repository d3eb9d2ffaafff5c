//! A message over a WebSocket.

use super::template::{BodyForm, Filled};
use super::version::Rendered;
use super::{Request, unquoted};
use crate::errors::refuse;
use anyhow::{Result, bail};
use unblink_wire::RequestBuilder;
use unblink_wire::blank::Blank;
use unblink_wire::ws::{Handshake, Message, Unrenderable};
use unblink_workload::answer::Condition;

/// How the report calls what is done with a message, in the place of a method.
pub(super) const METHOD: &str = "SEND";

/// The message of `request`, and how its sockets begin. `builder` has its parts with their places numbered.
pub(super) fn render(
    request: &Request,
    builder: &RequestBuilder<'_>,
    filled: &Filled<'_>,
) -> Result<Rendered> {
    let (url, parts) = (&request.url, &request.parts);
    if !url.origin.is_ws() {
        bail!(
            "a run speaks one protocol, and other requests of this run go over WebSockets (ws:// or wss://): put it into a run \
             of its own"
        );
    }
    if parts.method.is_some() {
        refuse!(["method"], "a WebSocket has no methods: leave -X out");
    }
    if parts.body_form != BodyForm::Plain {
        refuse!(["json", "form", "multipart"], "a WebSocket sends messages: write the text as message");
    }
    if parts.body.is_none() {
        refuse!(["url"], "no message is given: add --message TEXT, or --body-file FILE");
    }
    let has_no_head = |one: &Condition| matches!(one, Condition::Statuses(_) | Condition::Header(..));
    if let Some(one) = parts.expect.iter().find(|one| has_no_head(one)) {
        refuse!(["expect"], "--expect '{one}': a message has neither a status nor headers");
    }
    let has_gaps = |text: &str| Blank::new(text.as_bytes()).has_gaps();
    let is_filled = filled.composition.is_some();
    if is_filled && (has_gaps(builder.target) || builder.headers.iter().any(|(_, value)| has_gaps(value))) {
        refuse!(
            ["url", "header"],
            "{{{{…}}}} can stand in the message alone: a socket is opened once, with one URL and one set of headers, and takes \
             the messages of many arrivals"
        );
    }
    let handshake = Handshake::new(builder.target, builder.host, builder.headers);
    let handshake = handshake.map_err(|error| match error {
        Unrenderable::Shared(error) => unquoted(error),
        other => other.into(),
    })?;
    Ok(Rendered::WebSocket(handshake, Message::new(filled.body.clone(), is_filled)))
}

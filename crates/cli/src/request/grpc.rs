//! A call of gRPC.

pub(crate) mod fields;
mod layout;
mod message;
pub(crate) mod types;

use super::template::{self, BodyForm, Filled};
use super::version::Rendered;
use super::{Parts, Request, unquoted};
use crate::errors::{refuse, refused};
use anyhow::Result;
use prost_reflect::MethodDescriptor;
use std::borrow::Cow;
use types::Types;
use unblink_wire::grpc::{CallBuilder, Uncallable};
use unblink_wire::http2::{Scheme, Unrenderable};
use unblink_workload::Composition;
use unblink_workload::answer::{Condition, EventFormat, Reader};
use unblink_workload::template::is_template;

/// How the report calls what is done with a method, and what its head says.
pub(super) const METHOD: &str = "POST";

/// A request that can be sent, what stands in its places, and what reads its answers.
pub(crate) struct Call {
    pub rendered: Rendered,
    pub composition: Option<Composition>,
    /// Nothing of a request that is no call.
    pub reader: Option<Reader>,
    /// It may be sent twice.
    pub is_idempotent: bool,
}

/// The call that `request` asks for, whose types are among `types`.
pub(crate) fn render(request: &Request, types: &Types) -> Result<Call> {
    let (url, parts) = (&request.url, &request.parts);
    check(parts)?;
    if url.target.contains('?') || is_template(&url.target) {
        refuse!(["url"], "a call has no query and no {{{{…}}}} in its path: the path names its method");
    }
    let method = types.method(&url.target)?;
    check_stream(&method, &parts.expect)?;
    let metadata = metadata(request);
    // Values stand in the message as they are, and not as JSON would write them.
    let plain = Parts { body_form: BodyForm::Message, ..parts.clone() };
    let filled = template::read(&url.target, &metadata, &plain, &request.lets)?;
    let message =
        message::compile(&method.input(), text(&filled)?.as_ref(), |place| match &filled.composition {
            Some(composition) => composition.is_number(place, &request.lets),
            None => false,
        })?;
    let scheme = if url.origin.tls { Scheme::Https } else { Scheme::Http };
    let is_stream = method.is_server_streaming();
    let builder = CallBuilder {
        path: &url.target,
        host: &url.authority,
        scheme,
        metadata: &filled.headers,
        message,
        is_stream,
    };
    let rendered = builder.render().map_err(|error| match error {
        Uncallable::Unrenderable(Unrenderable::Shared(error)) => unquoted(error),
        other => refused(&["header"], other.to_string()),
    })?;
    Ok(Call {
        rendered: Rendered::Grpc(rendered),
        composition: filled.composition,
        reader: Some(types.reader(&method)),
        is_idempotent: is_idempotent(&method),
    })
}

/// A stream of messages is timed message by message, and one message is not.
fn check_stream(method: &MethodDescriptor, expect: &[Condition]) -> Result<()> {
    let name = method.full_name();
    let is_asked = expect.contains(&Condition::Events(EventFormat::Messages));
    match (method.is_server_streaming(), is_asked) {
        (true, false) => refuse!(
            ["url", "stream"],
            "{name} answers with a stream of messages: add --stream messages, which times the first one and those \
             after it"
        ),
        (false, true) => {
            refuse!(["stream"], "--stream messages: {name} answers with one message: leave it out")
        }
        (false, false) => return Ok(()),
        (true, true) => {}
    }
    let looks_inside =
        |one: &&Condition| matches!(one, Condition::Json(..) | Condition::Regex(_) | Condition::Contains(_));
    if let Some(one) = expect.iter().find(looks_inside) {
        refuse!(
            ["expect"],
            "--expect '{one}': {name} answers with a stream of messages, which are counted and not looked at"
        );
    }
    Ok(())
}

/// What a call can't have.
fn check(parts: &Parts) -> Result<()> {
    if parts.method.is_some() {
        refuse!(["method"], "a call of gRPC has no method of HTTP: leave -X out");
    }
    if parts.body_form == BodyForm::Form {
        refuse!(["form"], "a call of gRPC has a message, and no form: write it as json");
    }
    if parts.is_message {
        refuse!(["message"], "--message is for WebSockets: give the message of a call as --data, in JSON");
    }
    Ok(())
}

/// The headers of the user, without the type that a body of JSON would have.
pub(crate) fn metadata(request: &Request) -> Vec<(String, String)> {
    let mut headers = request.all_headers();
    if request.parts.body_form == BodyForm::Json {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
    headers
}

/// The message as JSON; one that is left out is empty.
fn text<'a>(filled: &'a Filled<'_>) -> Result<Cow<'a, str>> {
    match std::str::from_utf8(&filled.body) {
        Ok(text) if text.trim().is_empty() => Ok("{}".into()),
        Ok(text) => Ok(text.into()),
        Err(_) => refuse!(["body", "body-file"], "its message is not text: write it as JSON"),
    }
}

fn is_idempotent(method: &MethodDescriptor) -> bool {
    let options = method.method_descriptor_proto().options.as_ref();
    // NO_SIDE_EFFECTS and IDEMPOTENT of google/protobuf/descriptor.proto.
    options.is_some_and(|options| options.idempotency_level.is_some_and(|level| level > 0))
}

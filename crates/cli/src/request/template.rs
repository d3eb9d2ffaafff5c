//! Templates in the parts of a request: `{{item}}`.

pub(crate) mod json_body;

use super::Parts;
use super::multipart::{self, Segment};
use crate::errors;
use anyhow::{Result, bail};
use std::borrow::Cow;
use std::sync::Arc;
use unblink_wire::blank::place;
use unblink_workload::Context;
use unblink_workload::template::{Holes, Piece, TemplateError, is_template, pieces};
use unblink_workload::{Composition, Lets};

/// What a body is to its templates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum BodyForm {
    /// Any text, or bytes.
    #[default]
    Plain,
    /// JSON: values stand in its texts.
    Json,
    /// `name=value`, percent-encoded.
    Form,
    /// Parts with boundaries between them.
    Multipart,
    /// The message of a call, which is laid out for the wire: values stand in it as they are.
    Message,
}

impl BodyForm {
    fn context(self) -> Context {
        match self {
            BodyForm::Plain | BodyForm::Multipart | BodyForm::Message => Context::Body,
            BodyForm::Json => Context::Json,
            BodyForm::Form => Context::Target,
        }
    }
}

impl Parts {
    /// Gives it a body of several parts. A header that says something else of it would have another boundary.
    pub(crate) fn set_segments(&mut self, segments: Vec<Segment>) -> Result<()> {
        if self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            bail!("its parts need a Content-Type of their own: leave that header out");
        }
        self.headers.push(("Content-Type".to_string(), multipart::content_type()));
        let whole: Vec<u8> = segments.iter().flat_map(Segment::bytes).copied().collect();
        (self.body, self.body_form) = (Some(whole.into()), BodyForm::Multipart);
        self.segments = segments.into();
        Ok(())
    }
}

/// The parts of a request as they are rendered, with their places numbered.
pub(crate) struct Filled<'a> {
    pub target: Cow<'a, str>,
    pub headers: Cow<'a, [(String, String)]>,
    pub body: Arc<[u8]>,
    /// What stands in the places, if there are any.
    pub composition: Option<Composition>,
}

/// Reads the templates in a request.
pub(crate) fn read<'a>(
    target: &'a str,
    headers: &'a [(String, String)],
    parts: &Parts,
    lets: &Lets,
) -> Result<Filled<'a>> {
    let body = parts.body.clone().unwrap_or_default();
    // What is no text is sent as it is.
    let text = std::str::from_utf8(&body).ok().filter(|text| parts.segments.is_empty() && is_template(text));
    let has_own = text.is_some() || parts.segments.iter().any(Segment::has_templates);
    if !has_own && !is_template(target) && headers.iter().all(|(_, value)| !is_template(value)) {
        return Ok(Filled { target: target.into(), headers: headers.into(), body, composition: None });
    }
    let mut holes = Holes::new(lets, parts.taking.known);
    let target = match holes.read(target, Context::Target, place) {
        Ok(target) => target,
        Err(error) => return Err(errors::refused(&["url"], format!("in its path or query: {error}"))),
    };
    let mut filled = Vec::with_capacity(headers.len());
    for (number, (name, value)) in headers.iter().enumerate() {
        match holes.read(value, Context::Header, place) {
            Ok(value) => filled.push((name.clone(), value)),
            Err(error) => {
                let why = format!("in the value of the header {name}: {error}");
                return Err(errors::refused_value("header", number, why));
            }
        }
    }
    let body = match text {
        None if parts.segments.is_empty() => verbatim(&body, &mut holes).map(Into::into),
        None => parts
            .segments
            .iter()
            .try_fold(Vec::new(), |mut all, segment| {
                all.extend(match segment {
                    Segment::Text(text) => holes.read(text, Context::Body, place)?.into_bytes(),
                    Segment::Bytes(bytes) => verbatim(bytes, &mut holes)?,
                });
                Ok(all)
            })
            .map(Into::into),
        Some(text) => json_body::context(parts, headers, text, lets)
            .and_then(|context| holes.read(text, context, place))
            .map(|body| body.into_bytes().into()),
    };
    let body = body.map_err(|error: TemplateError| {
        let fields = ["body", "body-file", "json", "form", "multipart", "message"];
        let file = parts.file.as_ref().map(|file| format!(" ({file:?})")).unwrap_or_default();
        errors::refused(&fields, format!("in its body{file}: {error}"))
    })?;
    let composition = Some(Composition::new(holes.into_holes()));
    Ok(Filled { target: target.into(), headers: filled.into(), body, composition })
}

/// What is no template may have two braces in it, and must not be taken for a place.
fn verbatim(bytes: &[u8], holes: &mut Holes<'_>) -> Result<Vec<u8>, TemplateError> {
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some(at) = rest.windows(2).position(|two| two == b"{{") {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(holes.read("{{'{{'}}", Context::Body, place)?.as_bytes());
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// `text` with `value` in each of its places.
pub(crate) fn filled_with(text: &str, value: &str) -> Result<String, TemplateError> {
    filled_by(text, |_| value.to_string())
}

/// `text` with what `fill` writes for what stands between the braces of each place.
pub(crate) fn filled_by(text: &str, fill: impl Fn(&str) -> String) -> Result<String, TemplateError> {
    let one = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Place(inside, _) => fill(inside),
    };
    Ok(pieces(text)?.iter().map(one).collect())
}

/// Nothing can be drawn for where a request goes.
pub(crate) fn refuse_in_address(text: &str) -> Result<()> {
    let host = text.find("://").map_or(0, |i| i + 3);
    let end = text[host..].find(['/', '?', '#']).map_or(text.len(), |i| host + i);
    if is_template(&text[..end]) {
        bail!(
            "{{{{…}}}} can stand in the path and the query of a URL, not before them: all requests go to the same place"
        );
    }
    Ok(())
}

//! Formats that have a name and are always the same.

use super::Edge;
use super::error::FormatError;
use super::field::Field;
use super::map::Map;
use super::pattern::{Pattern, Token, Variable};
use crate::time::{TimeForm, Unit};

/// `common`, or `combined` with two headers more. Whether its time is the start (as Apache writes it) or the end (as nginx
/// does) is not known.
pub fn combined_or_common(combined: bool) -> Pattern {
    let with = if combined { r#" "referer" "user-agent""# } else { "" };
    let text = format!(r#"address ident login [time] "request" status bytes{with}"#);
    let known = build(&text, &Map::default(), &[], false, |name| match name {
        "time" => Field::Time(TimeForm::Common, Edge::Unknown),
        _ => common(name),
    });
    known.unwrap_or_else(|error| unreachable!("{error}"))
}

fn common(name: &str) -> Field {
    match name {
        "address" => Field::Address,
        "login" => Field::Login,
        "request" => Field::Request,
        "status" => Field::Status,
        "bytes" => Field::AnswerBytes,
        "referer" | "user-agent" | "x-forwarded-for" | "x-request-id" | "host" => Field::Header(name.into()),
        _ => Field::Skip,
    }
}

/// What Envoy writes where no format is given.
///
/// # Errors
/// The map names a field that it has not.
pub fn envoy(map: &Map, keep: &[String]) -> Result<Pattern, FormatError> {
    let text = concat!(
        r#"[start_time] "request" status flags bytes_received bytes duration upstream_time "#,
        r#""x-forwarded-for" "user-agent" "x-request-id" "host" "upstream_host""#
    );
    build(text, map, keep, false, |name| match name {
        "start_time" => Field::Time(TimeForm::Iso, Edge::Start),
        "duration" => Field::Took(Some(Unit::Millis)),
        "bytes_received" => Field::RequestBytes,
        "x-forwarded-for" => Field::Address,
        _ => common(name),
    })
}

/// Access logs of AWS's Application Load Balancer. What newer versions write behind the field for the creation time is not
/// looked at.
///
/// # Errors
/// The map names a field that it has not.
pub fn alb(map: &Map, keep: &[String]) -> Result<Pattern, FormatError> {
    let text = concat!(
        "type time elb client target request_processing_time target_processing_time response_processing_time ",
        r#"status target_status bytes_received bytes "request" "user-agent" ssl_cipher ssl_protocol target_group "#,
        r#""trace_id" "host" "cert" priority request_creation_time"#
    );
    build(text, map, keep, true, |name| match name {
        "request_creation_time" => Field::Time(TimeForm::Iso, Edge::Start),
        "client" => Field::AddressPort,
        "request_processing_time" | "target_processing_time" | "response_processing_time" => {
            Field::TookPart(Unit::Seconds)
        }
        "bytes_received" => Field::RequestBytes,
        _ => common(name),
    })
}

/// A format whose words are its fields.
fn build(
    text: &str,
    map: &Map,
    keep: &[String],
    open: bool,
    field: impl Fn(&str) -> Field,
) -> Result<Pattern, FormatError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let end = rest.find(|c| is_name(c) != is_name(first)).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        tokens.push(match is_name(first) {
            true => {
                let name = piece.to_string();
                Token::Variable(Variable { field: field(piece), name, at, rank: 0 })
            }
            false => Token::Literal(piece.into()),
        });
    }
    Pattern::new(text, tokens, map, keep, "a time", open)
}

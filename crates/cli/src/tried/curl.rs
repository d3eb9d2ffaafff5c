//! A request as a command of curl.

use super::which::Ask;
use crate::run::Prepared;
use crate::secrets::{Known, MASK};
use crate::shown::{self, Made};
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use unblink_artifact::document::{Protocol, Scheme};
use unblink_artifact::harmless::is_harmful;
use unblink_engine::walk::Walk;

/// Headers that curl writes by itself.
const BY_CURL: [&str; 2] = ["host", "content-length"];
/// Headers that it adds unless told not to; the last one beside a body.
const ADDED: [&str; 3] = ["Accept", "User-Agent", "Content-Type"];

/// The command that sends what the arrival sends in this version of HTTP, secrets masked.
pub(super) fn command(prepared: &Prepared, ask: &Ask, protocol: Protocol) -> Result<String> {
    match protocol {
        Protocol::WebSocket => {
            bail!("this run went over WebSockets, and curl can't repeat that: leave --curl out")
        }
        Protocol::Grpc => {
            bail!("this run made calls of gRPC, and curl can't repeat that: leave --curl out")
        }
        _ => {}
    }
    let whom = match protocol {
        Protocol::Redis => Some("Redis"),
        Protocol::Postgres => Some("PostgreSQL"),
        Protocol::Cql => Some("Cassandra"),
        _ => None,
    };
    if let Some(whom) = whom {
        bail!("this run went to {whom}, and curl can't repeat that: leave --curl out");
    }
    let job = prepared.job.http1().expect("it was prepared in HTTP/1.1");
    let sent = Walk::filled(job, MASK.as_bytes()).composed(job, &ask.arrival);
    let sent = sent.context("no row is left for this arrival: it sent nothing")?;
    let mut known = Known::of_variables();
    shown::drawn(job, &ask.arrival, &mut known);
    let message = shown::whole_request(&sent, &Made::of(job, ask.arrival.operation), &mut known);
    let place = prepared.job.plan().spec().origins.of(ask.arrival.operation);
    let origin = &prepared.header.origins[place].name;
    let (Some(scheme), Some(host), Some(port)) = (origin.scheme, &origin.host, origin.port) else {
        bail!("it is not known where this request went");
    };
    let scheme = if scheme == Scheme::Https { "https" } else { "http" };
    let host = if host.contains(':') { format!("[{}]", host.trim_matches(['[', ']'])) } else { host.clone() };
    let mut words = message.line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut out = match method {
        "HEAD" => "curl --head".to_string(),
        method => format!("curl -X {}", quoted(method)),
    };
    match (protocol, scheme) {
        (Protocol::Http2, "https") => out.push_str(" --http2"),
        (Protocol::Http2, _) => out.push_str(" --http2-prior-knowledge"),
        _ => {}
    }
    let _ = write!(out, " {}", quoted(&format!("{scheme}://{host}:{port}{target}")));
    for header in message.headers.iter().filter(|header| !is_among(&BY_CURL, &header.name)) {
        // curl takes a header without a value away, unless it ends in a semicolon.
        let line = match header.value.as_str() {
            "" => format!("{};", header.name),
            value => format!("{}: {value}", header.name),
        };
        let _ = write!(out, " \\\n  -H {}", quoted(&line));
    }
    let has = |name: &str| message.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    let added = if message.body.is_some() { &ADDED[..] } else { &ADDED[..2] };
    for name in added.iter().filter(|name| !has(name)) {
        let _ = write!(out, " \\\n  -H {}", quoted(&format!("{name}:")));
    }
    match message.body.map(|body| (body.text, body.bytes)) {
        Some((Some(text), _)) => {
            let _ = write!(out, " \\\n  --data-binary {}", quoted(&text));
        }
        Some((None, bytes)) => {
            let _ = write!(out, " \\\n  --data-binary @BODY   # {bytes} bytes that are not text");
        }
        None => {}
    }
    Ok(out + "\n")
}

fn is_among(names: &[&str], name: &str) -> bool {
    names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// As one word of a shell. What could act on a terminal is written by its code, as bash, ksh and zsh have it.
fn quoted(text: &str) -> String {
    if !text.chars().any(|c| is_harmful(c) && c != '\n' && c != '\t') {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut out = "$'".to_string();
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            c if is_harmful(c) => {
                let _ = match c.is_ascii() {
                    true => write!(out, "\\x{:02x}", u32::from(c)),
                    false => write!(out, "\\u{:04x}", u32::from(c)),
                };
            }
            c => out.push(c),
        }
    }
    out + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        assert_eq!(quoted("a b\n"), "'a b\n'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("a'\u{1b}\\\r\u{202e}"), r"$'a\'\x1b\\\x0d\u202e'");
    }
}

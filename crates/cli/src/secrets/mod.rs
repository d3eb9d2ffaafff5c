//! Secrets in headers, URLs and bodies never reach a report, a log or a store.

pub(crate) mod doubtful;
mod known;
mod marked;
mod named;
mod objective;
mod url;
mod wrong_url;

use crate::aside::Aside;
pub(crate) use known::{Known, note_variable, percent_encoded};
pub(crate) use named::is_secret_name;
pub(crate) use objective::{mask_name, mask_objective};
use unblink_artifact::harmless;
use unblink_wire::{cql, postgres};
use unblink_workload::answer::Condition;
pub(crate) use url::{has_unencoded_password, mask_path_of, mask_url, mask_url_by, percent_decoded};
pub(crate) use wrong_url::mask_wrong_url;

/// What stands in a secret's place.
pub(crate) const MASK: &str = "***";

/// Headers whose values say nothing about who asks. The value of any other header is masked: a list of
/// secret ones would never be complete.
const HARMLESS_HEADERS: [&str; 14] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "pragma",
    "transfer-encoding",
    "user-agent",
];

/// The command line as it may be kept: without secrets, and without what could act on a terminal.
pub(crate) fn mask_command(args: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut flag = String::new();
    for arg in args {
        let masked = match mask_of(&flag) {
            Some(mask) => mask(&arg),
            None if flag == "--" => mask_body(&arg),
            // -H, also at the end of other short flags: the value is the next argument.
            None if flag.strip_suffix('H').is_some_and(is_short_flags) => mask_header(&arg),
            None => mask_argument(&arg),
        };
        // Whatever follows is for a script.
        if flag != "--" {
            flag = arg;
        }
        out.push(harmless::replaced(&masked));
    }
    out
}

/// How the value of `flag` is masked, if it may hold secrets.
fn mask_of(flag: &str) -> Option<fn(&str) -> String> {
    Some(match flag {
        "--header" => mask_header,
        "--body" | "--data" | "--message" | "--command" | "--script-arg" => mask_body,
        "--sql" => postgres::shown,
        "--cql" => cql::shown,
        "--expect" => mask_expectation,
        "--slo" | "--abort-on" => mask_objective,
        "--request" => mask_request,
        "--let" => mask_let,
        _ => return None,
    })
}

fn mask_argument(arg: &str) -> String {
    if let Some((flag, value)) = arg.split_once('=')
        && let Some(mask) = mask_of(flag)
    {
        return format!("{flag}={}", mask(value));
    }
    // -HName: value, also behind other short flags: clap takes all of it as the value.
    let inline = arg.split_once('H').filter(|(flags, value)| is_short_flags(flags) && !value.is_empty());
    if let Some((flags, value)) = inline {
        return format!("{flags}H{}", mask_header(value));
    }
    // --kill-url=http://…
    if let Some((flag, value)) = arg.split_once('=').filter(|(flag, _)| is_long_flag(flag)) {
        let is_address = value.contains("://") || value.starts_with("//");
        return if is_address { format!("{flag}={}", mask_url(value)) } else { arg.to_string() };
    }
    if arg.contains("://") || arg.starts_with("//") { mask_url(arg) } else { arg.to_string() }
}

fn is_long_flag(text: &str) -> bool {
    text.strip_prefix("--").is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    })
}

fn is_short_flags(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|flags| flags.chars().all(|c| c == 'k' || c == 'q'))
}

/// A request in a line, such as `80% POST /orders @order.json`. A word that is none of these may be anything; and behind the
/// name of a command of Redis, every word may.
fn mask_request(line: &str) -> String {
    let (mut is_named, mut has_address) = (false, false);
    let mut mask = |word: &str| match word {
        _ if word.contains("://") || word.starts_with('/') => {
            has_address = true;
            if word.starts_with('/') { mask_path_of(&format!("http://h{word}")) } else { mask_url(word) }
        }
        _ if word.starts_with('@') && has_address => word.to_string(),
        _ if is_named => MASK.to_string(),
        _ if word.bytes().all(|b| b.is_ascii_uppercase()) => {
            is_named = true;
            word.to_string()
        }
        _ if word.bytes().all(|b| b.is_ascii_digit() || b".%".contains(&b)) => word.to_string(),
        _ => MASK.to_string(),
    };
    match Aside::of(line) {
        Ok(aside) => aside
            .text
            .split_whitespace()
            .map(|word| mask(&aside.restored(word)))
            .collect::<Vec<_>>()
            .join(" "),
        Err(_) => MASK.to_string(),
    }
}

/// A value as it is named: a list has what is sent in it.
fn mask_let(named: &str) -> String {
    match named.split_once('=') {
        Some((name, law)) if law.contains(['[', '"', '\'']) => format!("{name}={MASK}"),
        Some(_) => named.to_string(),
        None => MASK.to_string(),
    }
}

fn mask_body(body: &str) -> String {
    format!("({} bytes)", body.len())
}

/// The text that an answer is to contain may be a secret that it gives back.
pub(crate) fn mask_expectation(condition: &str) -> String {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || ".,xX ".contains(c));
    let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphabetic());
    match condition.split_once('=') {
        Some((name, _)) if ["status", "size"].contains(&name) => return condition.to_string(),
        Some(("contains", text)) => return format!("contains={}", mask_body(text)),
        _ => {}
    }
    match (Condition::parse(condition), condition.split_once('=')) {
        // It hides what an answer is compared with.
        (Ok(condition), _) => condition.to_string(),
        (Err(_), Some((name, text))) if is_word(name) => format!("{name}={}", mask_body(text)),
        (Err(_), None) if is_plain(condition) || ["status", "size", "contains"].contains(&condition) => {
            condition.to_string()
        }
        _ => MASK.to_string(),
    }
}

/// A header line with its value masked unless its name is known to be harmless.
pub(crate) fn mask_header(line: &str) -> String {
    match line.split_once(':').filter(|(name, _)| is_header_name(name)) {
        Some((name, _)) if !HARMLESS_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str()) => {
            format!("{name}: {MASK}")
        }
        Some(_) => line.to_string(),
        // Not a header at all: it may be anything.
        None => MASK.to_string(),
    }
}

/// What no header can be called (RFC 9110 §5.6.2) may be a secret that stands in the name's place.
fn is_header_name(name: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// A variable by its name, `${NAME}`, or a drawn value by its own, `{{NAME}}`, and nothing beside it: the name tells
/// nothing.
pub(crate) fn is_one_variable(text: &str) -> bool {
    if let Some(drawn) = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")) {
        return drawn.chars().all(|c| c.is_ascii_alphanumeric() || "_.(), ".contains(c));
    }
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_left() {
        let command = [
            "unblink",
            "run",
            "https://user:s3cret@h:8443/p?limit=7&id=s3cret&access_token=s3cret#f",
            "-H",
            "Authorization: Bearer s3cret",
            "--header=Cookie: s3cret",
            "-HX-Api: s3cret",
            "-kHX-Api: s3cret",
            "-kqH",
            "X-Api: s3cret",
            "-H",
            "s3cret",
            "-H",
            "Accept: text/html",
            "--body",
            "password=s3cret",
            "--data",
            "token=s3cret",
            "--body=s3cret",
            "--data=s3cret",
            "--message=s3cret",
            "--command=GET s3cret",
            "--sql",
            "SELECT 1 FROM t WHERE a = 's3cret'",
            "--cql=SELECT b FROM t WHERE a = 's3cret' -- s3cret",
            "--sql=SELECT $$s3cret$$, E's3cret', 'never closed s3cret",
            "--script-arg=s3cret",
            "--expect",
            "contains=s3cret",
            "--expect=contains=s3cret",
            "--expect",
            "contain=s3cret",
            "--expect=s3cret",
            "--expect",
            "status=200",
            "--expect",
            "header X-Id = s3cret",
            "--expect=json $.id == 's3cret'",
            "--expect",
            "json $.id = s3cret",
            "--expect=regex s3cret",
            "--slo",
            "GET /?token=s3cret: p99 < 1s",
            "--abort-on=GET /?token=s3cret: p99 > 1s for 5s",
            "--request",
            "80% GET /items?page=2&token=s3cret",
            "--request=20% POST https://u:s3cret@h/orders s3cret @order.json",
            "-H",
            "Cookie s3cret; a: b",
            "-o\u{1b}[2J",
            "-R",
            "50",
        ];
        let masked = mask_command(command.map(String::from)).join(" ");
        assert!(!masked.contains("s3cret"), "{masked}");
        assert!(masked.contains("https://***@h:8443/p?limit=7&id=***&access_token=***"), "{masked}");
        assert!(masked.contains("Accept: text/html") && masked.ends_with("-R 50"), "{masked}");
        assert!(
            masked.contains("--request 80% GET /items?page=***&token=*** --request=20% POST"),
            "{masked}"
        );
        assert!(masked.contains("--sql SELECT 1 FROM t WHERE a = '***' --cql=SELECT b FROM t"), "{masked}");
        assert!(masked.contains("--expect status=200") && !masked.contains('\u{1b}'), "{masked}");
    }
}

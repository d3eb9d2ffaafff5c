//! Secrets in headers, URLs and bodies never reach a report, a log or a store.

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

/// Parts of a query parameter's name that make its value a secret.
const SECRET_NAMES: [&str; 15] = [
    "auth", "code", "cred", "jwt", "key", "pass", "pwd", "sas", "secret", "session", "sig", "sid", "state",
    "ticket", "token",
];

/// Flags whose values are masked by their own rule.
const BODY_FLAG: &str = "--body";

/// The command line as it may be kept.
pub(crate) fn mask_command(args: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut flag = String::new();
    for arg in args {
        let masked = match flag.as_str() {
            "--header" => mask_header(&arg),
            BODY_FLAG => mask_body(&arg),
            // -H, also at the end of other short flags: the value is the next argument.
            flags if flags.strip_suffix('H').is_some_and(is_short_flags) => mask_header(&arg),
            _ => mask_argument(&arg),
        };
        flag = arg;
        out.push(masked);
    }
    out
}

fn mask_argument(arg: &str) -> String {
    if let Some(value) = arg.strip_prefix("--header=") {
        return format!("--header={}", mask_header(value));
    }
    if let Some(value) = arg.strip_prefix("--body=") {
        return format!("--body={}", mask_body(value));
    }
    // -HName: value, also behind other short flags: clap takes all of it as the value.
    let inline = arg.split_once('H').filter(|(flags, value)| is_short_flags(flags) && !value.is_empty());
    if let Some((flags, value)) = inline {
        return format!("{flags}H{}", mask_header(value));
    }
    if arg.contains("://") { mask_url(arg) } else { arg.to_string() }
}

fn is_short_flags(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|flags| flags.chars().all(|c| c == 'k' || c == 'q'))
}

fn mask_body(body: &str) -> String {
    format!("({} bytes)", body.len())
}

/// A header line with its value masked unless its name is known to be harmless.
pub(crate) fn mask_header(line: &str) -> String {
    match line.split_once(':') {
        Some((name, _)) if !HARMLESS_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str()) => {
            format!("{name}: {MASK}")
        }
        Some(_) => line.to_string(),
        // Not a header at all: it may be anything.
        None => MASK.to_string(),
    }
}

/// A URL, or its path and query, without user, password and secret parameters.
pub(crate) fn mask_url(url: &str) -> String {
    // A fragment is never sent, and tokens stand in it.
    let url = url.split('#').next().unwrap_or(url);
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (url, None),
    };
    let mut out = String::new();
    match before.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit_once('@').map(|(_, host)| host);
            out.push_str(scheme);
            out.push_str("://");
            out.push_str(&host.map_or(authority.to_string(), |host| format!("{MASK}@{host}")));
            out.push_str(&mask_path(path));
        }
        None => out.push_str(&mask_path(before)),
    }
    if let Some(query) = query {
        out.push('?');
        let parameters: Vec<String> = query.split('&').map(mask_parameter).collect();
        out.push_str(&parameters.join("&"));
    }
    out
}

/// A path without secret parameters of its segments (RFC 3986 §3.3), such as `;jsessionid=…`.
fn mask_path(path: &str) -> String {
    let segment = |segment: &str| segment.split(';').map(mask_parameter).collect::<Vec<_>>().join(";");
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// What is no URL, for an error message: whatever stands before an `@` may be a password, and what does
/// not look like a URL at all may be anything.
pub(crate) fn mask_wrong_url(text: &str) -> String {
    if text.contains(char::is_whitespace) && !text.contains("://") {
        return MASK.to_string();
    }
    let Some((before, host)) = text.rsplit_once('@') else { return mask_url(text) };
    let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://")).unwrap_or_default();
    format!("{scheme}{MASK}@{}", mask_url(host))
}

fn mask_parameter(parameter: &str) -> String {
    let Some((name, _)) = parameter.split_once('=') else { return parameter.to_string() };
    let lower = name.to_ascii_lowercase();
    let secret = SECRET_NAMES.iter().any(|part| lower.contains(part));
    if secret { format!("{name}={MASK}") } else { parameter.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_left() {
        let command = [
            "unblink",
            "run",
            "https://user:s3cret@h:8443/p?id=7&api_key=s3cret&access_token=s3cret#f",
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
            "--body=s3cret",
            "-R",
            "50",
        ];
        let masked = mask_command(command.map(String::from)).join(" ");
        assert!(!masked.contains("s3cret"), "{masked}");
        assert!(masked.contains("https://***@h:8443/p?id=7&api_key=***&access_token=***"), "{masked}");
        assert!(masked.contains("Accept: text/html") && masked.ends_with("-R 50"), "{masked}");
    }
}

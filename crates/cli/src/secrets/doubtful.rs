//! What may be a secret of what somebody has written on a command line that others are to see as it is. Said in words that do not
//! show it; what is doubtful counts as one.

use super::url::{mask_url_by, percent_decoded};
use super::{HARMLESS_HEADERS, MASK, is_header_name, is_one_variable, is_secret_name, marked};

/// Parts of names that may tell of a secret, beside those that surely do.
const DOUBTFUL_NAMES: [&str; 9] = ["auth", "cred", "hmac", "key", "nonce", "pass", "pwd", "saml", "sig"];
/// A longer value of something that has a name is more than a word or a number.
const VALUE_BYTES_MAX: usize = 64;
/// A longer word is none, in whatever language.
const WORD_MAX: usize = 32;
/// A longer number may be that of a card.
const NUMBER_MAX: usize = 15;
/// So short a mix of letters and digits is a version or a unit, such as `h264`.
const MIX_MAX: usize = 5;

/// A header line.
pub(crate) fn in_header(line: &str) -> Option<String> {
    let Some((name, value)) = line.split_once(':').filter(|(name, _)| is_header_name(name)) else {
        return Some("what is no header".into());
    };
    let name = name.trim();
    if HARMLESS_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return None;
    }
    let left = without_variables(value);
    let written = left.replace(MASK, "").trim().to_ascii_lowercase();
    let is_scheme = ["", "basic", "bearer", "token"].contains(&written.as_str());
    let is_secret = match may_tell(name) {
        true => !is_scheme,
        false => is_doubtful_value(&left),
    };
    is_secret.then(|| format!("the value of the header {name}"))
}

/// A URL, or its path and query.
pub(crate) fn in_address(url: &str) -> Option<String> {
    let mut found = None;
    let mut look = |name: &str, value: &str| {
        let what = in_part(name, value);
        found = found.take().or(what);
        String::new()
    };
    mask_url_by(url, &mut look);
    let fragment = url.split_once('#').map_or("", |(_, fragment)| fragment);
    found.or_else(|| {
        is_doubtful_value(&without_variables(fragment))
            .then(|| "what stands behind the # of an address".into())
    })
}

/// A part of a URL that would be masked where it is shown.
fn in_part(name: &str, value: &str) -> Option<String> {
    let Some(plain) = percent_decoded(value) else {
        return Some("what stands in an address, which is no text".into());
    };
    let left = without_variables(&plain);
    match name {
        "userinfo" => match left.split_once(':') {
            Some((_, password)) if !["", MASK].contains(&password) => {
                Some("the password of an address".into())
            }
            _ => is_random(&left, false).then(|| "the user of an address".into()),
        },
        "port" | "host" => Some(format!("what stands in the place of an address's {name}")),
        _ => {
            let shown = percent_decoded(name).unwrap_or_default();
            let is_secret =
                !left.replace(MASK, "").is_empty() && (may_tell(&shown) || is_doubtful_value(&left));
            is_secret.then(|| format!("the parameter {name} of an address"))
        }
    }
}

/// A body, a command or a statement: what is called a secret in it, or looks like one.
pub(crate) fn in_text(text: &str) -> Option<String> {
    let left = without_variables(text);
    if has_mark(&left) {
        return Some("what its name or its place calls secret".into());
    }
    is_random(&left, false).then(|| "a long or mixed word".into())
}

/// The same of requests in a line and of rules, which have addresses in them.
pub(crate) fn in_line(text: &str) -> Option<String> {
    let is_address = |word: &&str| word.contains("://") || word.starts_with('/');
    text.split_whitespace().filter(is_address).find_map(in_address).or_else(|| in_text(text))
}

/// A value as it is named: its name is that of a variable, and only a list has what is sent in it.
pub(crate) fn in_let(named: &str) -> Option<String> {
    let (name, law) = named.split_once('=').unwrap_or(("", named));
    let is_list = law.contains(['[', '"', '\'']);
    let is_secret = (is_list && may_tell(name)) || in_text(law).is_some();
    is_secret.then(|| "the values of a list".into())
}

/// A word of which nothing is known.
pub(crate) fn in_word(word: &str) -> Option<String> {
    let left = without_variables(word);
    (may_tell(word) || is_doubtful_value(&left)).then(|| "a word of which nothing is known".into())
}

/// The name may be that of a secret.
fn may_tell(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == "pw" || is_secret_name(name) || DOUBTFUL_NAMES.iter().any(|part| lower.contains(part))
}

/// What would be masked wherever it stood.
fn has_mark(text: &str) -> bool {
    marked::masked(text.to_string()) != text
}

/// More than words and short numbers: nobody can tell what it is.
fn is_doubtful_value(value: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || " ._-,/:;=+*()'\"%".contains(c);
    value.len() > VALUE_BYTES_MAX || !value.chars().all(is_plain) || has_mark(value) || is_random(value, true)
}

/// Some of it looks drawn, not written. What has a place where secrets may stand (`is_strict`) may have no names with numbers.
fn is_random(text: &str, is_strict: bool) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| is_random_word(word, is_strict))
}

fn is_random_word(word: &str, is_strict: bool) -> bool {
    let length = word.chars().count();
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits == length {
        return length > NUMBER_MAX;
    }
    if digits == 0 {
        // A word, or several as in camelCase: these have more than four letters each.
        let letters: Vec<char> = word.chars().collect();
        let humps =
            letters.windows(2).filter(|pair| pair[0].is_lowercase() && pair[1].is_uppercase()).count();
        return length > WORD_MAX || (length >= 12 && humps * 5 > length);
    }
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_number = unit.len() <= 2 && length <= NUMBER_MAX && !unit.contains(|c: char| c.is_ascii_digit());
    let is_numbered =
        !name.contains(|c: char| c.is_ascii_digit()) && word.len() - name.len() <= 4 && length <= 20;
    !(length <= MIX_MAX || is_number || (is_numbered && !is_strict))
}

/// The text with `***` for `${X}` and `{{x}}`, which are filled in elsewhere: in a secret's place that is what a mask leaves.
fn without_variables(text: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${").into_iter().chain(rest.find("{{")).min() {
        let (before, variable) = rest.split_at(at);
        let ends = if variable.starts_with("${") { "}" } else { "}}" };
        left += before;
        let Some(end) = variable.find(ends).map(|end| end + ends.len()) else {
            rest = variable;
            break;
        };
        let (variable, behind) = variable.split_at(end);
        // One that holds more than a name is looked at like all else.
        left += if is_one_variable(variable) { MASK } else { variable };
        rest = behind;
    }
    left + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_is_let_through() {
        for header in [
            "X-Page: 3",
            "X-Tenant: acme",
            "Accept: text/html",
            "Authorization: Bearer {{token}}",
            "X-Api-Key: ${KEY}",
        ] {
            assert_eq!(in_header(header), None, "{header}");
        }
        for url in [
            "http://h/?page=3",
            "http://h/?id={{id}}&q=red+shoes#top",
            "postgres://u@127.0.0.1/db",
            "redis://127.0.0.1/0",
            "https://${U}:${P}@h/",
            "http://me:${P}@h/?token={{t}}",
            "/items?sort=a",
        ] {
            assert_eq!(in_address(url), None, "{url}");
        }
        for text in [
            "hello",
            "hi",
            "GET {{key}}",
            "SET item:{{id}} value42",
            "SET key:{{id}} 5",
            "AUTH {{pw}}",
            r#"{"password": "{{pw}}", "token": "${TOKEN}"}"#,
            "SELECT 1",
            "SELECT abalance FROM pgbench_accounts WHERE aid = {{aid}}",
            "UPDATE t SET password = {{pw}} WHERE id = 5",
            r#"{"user": "anne", "n": 1000, "since": "2026-01-31"}"#,
            "header Content-Type = application/json",
        ] {
            assert_eq!(in_text(text), None, "{text}");
        }
        for line in ["80% GET /items?page=2", "p99 < 10ms", "GET /: p99 > 1ms for 2s", "errors < 0.1%"] {
            assert_eq!(in_line(line), None, "{line}");
        }
        for law in ["key=zipf(1M)", "user=csv(data/users.csv)", r#"color=["red", "blue"]"#] {
            assert_eq!(in_let(law), None, "{law}");
        }
        assert_eq!(in_word("verbose"), None);
    }

    #[test]
    fn what_may_be_a_secret_is_found_and_not_shown() {
        let found = |what: Option<String>, of: &str| {
            let what = what.unwrap_or_else(|| panic!("{of} is let through"));
            assert!(!what.contains("s3cret") && !what.contains("Zx9"), "{what}");
        };
        for header in [
            "Authorization: Bearer s3cret",
            "Authorization: Basic Zx9",
            "Cookie: a=s3cret",
            "X-Api-Key: s3cret",
            "X-Auth: s3cret",
            "X-Sig: s3cret",
            "X-Foo: s3cret",
            "X-Foo: hunter2",
            "X-Foo: pa@s!",
            "X-Foo: wJalrXUtnFEMI",
            "X-Foo: 4111111111111111",
            "X-Id: 550e8400-e29b-41d4-a716-446655440000",
            "X-Foo: {{base64(\"s3cret\")}}",
            "s3cret",
        ] {
            found(in_header(header), header);
        }
        for url in [
            "http://u:s3cret@h/",
            "redis://:s3cret@h/",
            "https://ghp_16C7e42F292c6912E7710c838347Ae178B4a@h/",
            "https://u%3As3cret@h/",
            "http://u:s3/cret@h/",
            "http://h:s3cret/",
            "http://h/?access_token=a",
            "http://h/?sig=a",
            "http://h/?to%6Ben=a",
            "http://h/?password=a",
            "http://h/?next=http://u:p@h/",
            "http://h/?x=s3cret",
            "http://h/?s3cret",
            "http://h/a;jsessionid=s3cret",
            "http://h/#access_token=s3cret",
        ] {
            found(in_address(url), url);
        }
        for text in [
            "password=s3cret",
            r#"{"token": "abc"}"#,
            r#"{"token": "abc{{x}}"}"#,
            "AUTH s3cret",
            "HELLO 3 AUTH me abc",
            "SET a s3cret",
            "ALTER ROLE me WITH PASSWORD 'abc'",
            "eyJhbGciOi.eyJzdWIi.Zx9",
            "AKIAIOSFODNN7EXAMPLE",
            "contains=s3cret",
        ] {
            found(in_text(text), text);
        }
        for line in ["POST /orders?token=a", "GET http://u:s3cret@h/: p99 < 1s"] {
            found(in_line(line), line);
        }
        for law in [r#"key=["abc", "def"]"#, r#"x=["s3cret"]"#] {
            found(in_let(law), law);
        }
        found(in_word("--api-key"), "--api-key");
        found(in_word("s3cret"), "s3cret");
    }
}

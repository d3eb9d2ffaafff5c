//! Names whose values are secrets.

use std::borrow::Cow;

/// Words of names whose values nobody else must see.
const WORDS: [&str; 22] = [
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "csrf",
    "cvc",
    "cvv",
    "jwt",
    "key",
    "otp",
    "passphrase",
    "passwd",
    "pin",
    "pwd",
    "session",
    "sid",
    "signature",
    "ssn",
    "xsrf",
];
/// The same wherever they stand in a name.
const PARTS: [&str; 5] = ["apikey", "password", "secret", "sessionid", "token"];

/// The name of a header, a field or a value says that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    PARTS.iter().any(|part| lower.contains(part)) || words(name).any(|word| WORDS.contains(&word.as_ref()))
}

/// `accessKey`, `access_key` and `Access-Key` have the same words.
fn words(name: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.flat_map(|part| {
        let starts = part.char_indices().scan(false, |was_lower, (at, c)| {
            let starts = *was_lower && c.is_ascii_uppercase();
            *was_lower = c.is_ascii_lowercase();
            Some(starts.then_some(at))
        });
        let mut edges: Vec<usize> = [0].into_iter().chain(starts.flatten()).collect();
        edges.push(part.len());
        let pieces: Vec<_> =
            edges.windows(2).map(|edge| Cow::Owned(part[edge[0]..edge[1]].to_ascii_lowercase())).collect();
        pieces
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in
            ["token", "accessToken", "X-Api-Key", "api_key", "apiKey", "Set-Cookie", "PASSWORD2", "user.pin"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["keyboard", "monkey", "author", "spin", "Content-Type", "id", "side", "country_code", ""]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

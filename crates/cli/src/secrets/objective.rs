//! Objectives that speak of a request by its path, whose parameters may be secrets.

use super::url::{mask_url, scheme_end};
use super::wrong_url::mask_wrong_url;

/// The name of a request as it may be seen: what in it looks like a path or a URL, as those are.
pub(crate) fn mask_name(name: &str) -> String {
    masked_where(name, |word| is_address(word) || word.contains('='))
}

fn is_address(word: &str) -> bool {
    word.starts_with('/') || scheme_end(word).is_some() || word.contains(['?', ';', '@', '#'])
}

fn masked_where(text: &str, is_masked: impl Fn(&str) -> bool) -> String {
    let seen = |word: &str| match word {
        word if !is_masked(word) => word.to_string(),
        word if word.starts_with('/') => mask_url(word),
        word => mask_wrong_url(word),
    };
    text.split(' ').map(seen).collect::<Vec<_>>().join(" ")
}

/// `NAME: p99 < 200ms`, or what should have been one. Behind the last colon no name stands. A query for metrics names no request.
pub(crate) fn mask_objective(text: &str) -> String {
    if text.starts_with("prom(") {
        return text.to_string();
    }
    match text.rsplit_once(':') {
        Some((name, rest)) => format!("{}:{rest}", mask_name(name)),
        // The colon may be missing; an = belongs to a limit then.
        None => masked_where(text, is_address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_name_the_parameters_are_masked() {
        for (text, seen) in [
            ("p99<=1s", "p99<=1s"),
            ("achieved >= 500/s", "achieved >= 500/s"),
            ("GET /cart: p99 < 1s", "GET /cart: p99 < 1s"),
            ("GET /p?page=*** (2): p99 < 1s", "GET /p?page=*** (2): p99 < 1s"),
            ("GET /?token=s3cret: p99 < 1s", "GET /?token=***: p99 < 1s"),
            ("GET /?token=s3cret p99 < 1s", "GET /?token=*** p99 < 1s"),
            ("GET http://u:s3cret@h/?a=s3cret: p99 < 1s", "GET http://***@h/?a=***: p99 < 1s"),
            ("the cart of a guest: p99 < 1s", "the cart of a guest: p99 < 1s"),
        ] {
            assert_eq!(mask_objective(text), seen, "{text}");
        }
    }
}

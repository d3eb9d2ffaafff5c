//! What is no URL, and may be anything, for an error message.

use super::MASK;
use super::url::{mask_url, scheme_end};

/// Whatever stands before an `@` may be a password, and what does not look like a URL at all may be anything.
pub(crate) fn mask_wrong_url(text: &str) -> String {
    // Behind white space nothing of a URL can follow, unless it stands in a password.
    if let Some((url, _)) = text.split_once(char::is_whitespace) {
        return match (scheme_end(url), text.rsplit_once('@')) {
            (None, _) => MASK.to_string(),
            (Some(end), Some((before, place))) if before.len() > url.len() => {
                format!("{}{MASK}@{}", &url[..end], mask_wrong_url(place))
            }
            (Some(_), _) => format!("{} {MASK}", mask_wrong_url(url)),
        };
    }
    if scheme_end(text).is_some() || text.starts_with('/') {
        return mask_url(text);
    }
    let (before, place) = text.rsplit_once('@').map_or((None, text), |(before, place)| (Some(before), place));
    let masked = mask_url(&format!("://{place}"));
    format!("{}{}", if before.is_some() { "***@" } else { "" }, masked.trim_start_matches("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_is_hardly_shown() {
        for (text, seen) in [
            ("localhost:8080/a", "localhost:8080/a"),
            ("user:s3/cret@h/p", "***@h/p"),
            ("Bearer s3cret", "***"),
            ("http://h/ s3cret", "http://h/ ***"),
            ("http://me:s3 cret@h/", "http://***@h/"),
            ("h/p?pw=s3cret#s3cret", "h/p?pw=***"),
            ("user:s3cret", "user:***"),
            ("token=s3cret", "***"),
            ("//u:s3cret@h/?n=http://x", "//***@h/?n=***"),
            ("/u:s3/cret@h/", "/***@h/"),
            ("/u:12/s3cret@h/", "/***@h/"),
            ("/some/folder", "/some/folder"),
        ] {
            assert_eq!(mask_wrong_url(text), seen, "{text}");
        }
    }
}

//! JSON within a page.

use std::fmt::Write;

/// JSON that can't end its `script` element or open a comment: every `<` is inside a string, where
/// `\u003c` means the same. Characters that turn the reading direction are written the same way.
pub(super) fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_json_cannot_end_its_element_and_stays_the_same() {
        let json = serde_json::to_string("</script><!--").expect("a string");
        let inert = inert(&json);
        assert!(!inert.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&inert).expect("still JSON"), "</script><!--");
    }
}

//! Puts tables into documents, between markers that only a reader of the source sees.

use anyhow::{Result, bail};

const END: &str = "<!-- bench: end -->";

/// `document` with what stands between `<!-- bench: NAME -->` and the end marker replaced by `table(NAME)`.
/// A document without such a place is an error, and so is a name that `table` does not know.
pub(crate) fn fill(document: &str, table: impl Fn(&str) -> Option<String>) -> Result<String> {
    let mut filled = String::new();
    let mut rest = document;
    let mut places = 0;
    while let Some((before, after)) = rest.split_once("<!-- bench: ") {
        let Some((name, after)) = after.split_once(" -->") else { bail!("a marker does not end with `-->`") };
        let Some(text) = table(name) else { bail!("no table is called `{name}`: full, short") };
        let Some((_, after)) = after.split_once(END) else {
            bail!("nothing ends `<!-- bench: {name} -->`: {END}")
        };
        filled += &format!("{before}<!-- bench: {name} -->\n\n{}\n\n{END}", text.trim());
        rest = after;
        places += 1;
    }
    if places == 0 {
        bail!("it has no place for a table: `<!-- bench: full -->` … `{END}`");
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Option<String> {
        (name == "full").then(|| "| new |\n".to_string())
    }

    #[test]
    fn what_stands_between_the_markers_is_replaced_again_and_again() {
        let once = fill("a\n<!-- bench: full -->\nold\n<!-- bench: end -->\nb\n", table).unwrap();
        assert_eq!(once, "a\n<!-- bench: full -->\n\n| new |\n\n<!-- bench: end -->\nb\n");
        assert_eq!(fill(&once, table).unwrap(), once);
    }

    #[test]
    fn a_document_without_a_place_is_not_touched_in_silence() {
        let wrong = [
            "no marker",
            "<!-- bench: full -->",
            "<!-- bench: other -->\n<!-- bench: end -->",
            "<!-- bench: ",
        ];
        for text in wrong {
            assert!(fill(text, table).is_err(), "{text}");
        }
    }
}

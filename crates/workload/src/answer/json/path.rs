//! A path to a value: a part of JSONPath (RFC 9535), `$.a.b[0]['c d'][*]`.

use super::scan::{NotJson, Scan};
use super::step::Step;
use super::text::quoted;

/// Where a value stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    steps: Vec<Step>,
    /// As it was written.
    text: String,
}

/// Why a text is no path that is understood here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathError {
    /// It does not begin at the root.
    #[error("a JSON path begins with $, such as $.id or $.items[0].name")]
    NoRoot,
    /// `..name`.
    #[error("a JSON path can't search at any depth (..): write the whole way, such as $.a.b")]
    Descent,
    /// `.` and what is no name.
    #[error(
        "a . in a JSON path must be followed by a name of letters, digits and _: write others as ['a name']"
    )]
    Name,
    /// What stands in brackets is not understood.
    #[error("the brackets of a JSON path take an index from 0, a name in quotes, or *")]
    Brackets,
}

impl Path {
    /// Reads a path at the beginning of `text`, up to a space or the end. Gives what stands behind it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<(Path, &str), PathError> {
        let mut rest = text.strip_prefix('$').ok_or(PathError::NoRoot)?;
        let mut steps = Vec::new();
        loop {
            let step;
            (step, rest) = if let Some(behind) = rest.strip_prefix('[') {
                in_brackets(behind).ok_or(PathError::Brackets)?
            } else if rest.starts_with("..") {
                return Err(PathError::Descent);
            } else if let Some(behind) = rest.strip_prefix(".*") {
                (Step::Each, behind)
            } else if let Some(behind) = rest.strip_prefix('.') {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
                let end = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
                let (name, behind) = behind.split_at(end);
                if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(PathError::Name);
                }
                (Step::Member(name.into()), behind)
            } else {
                break;
            };
            steps.push(step);
        }
        if !rest.is_empty() && !rest.starts_with([' ', '=', '!', '~', '>', '<']) {
            return Err(PathError::Name);
        }
        let text = text[..text.len() - rest.len()].to_string();
        Ok((Path { steps, text }, rest))
    }

    /// It may lead to several values.
    pub fn is_of_several(&self) -> bool {
        self.steps.contains(&Step::Each)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first value that it leads to, as it stands in `body`; `None` if there is none. Of several members of one name the
    /// last one counts. All of `body` must be JSON.
    ///
    /// # Errors
    /// Where `body` is no JSON.
    pub fn first<'b>(&self, body: &'b [u8]) -> Result<Option<&'b [u8]>, NotJson> {
        Scan::find(body, &self.steps)
    }
}

fn in_brackets(text: &str) -> Option<(Step, &str)> {
    let text = text.trim_start_matches(' ');
    let (step, rest) = if let Some(rest) = text.strip_prefix('*') {
        (Step::Each, rest)
    } else if let Some((name, rest)) = quoted(text) {
        (Step::Member(name), rest)
    } else {
        let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
        // RFC 9535 §2.3.3.1: no leading zeros.
        let is_plain = digits.len() == 1 || !digits.starts_with('0');
        (Step::Element(digits.parse().ok().filter(|_| is_plain)?), rest)
    };
    Some((step, rest.trim_start_matches(' ').strip_prefix(']')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let steps = |text| Path::parse(text).map(|(path, rest)| (path.steps, rest));
        let member = |name: &str| Step::Member(name.into());
        assert_eq!(steps("$"), Ok((vec![], "")));
        assert_eq!(
            steps("$.a._b1[0]['c d'].é[ \"q\" ] == 5"),
            Ok((
                vec![member("a"), member("_b1"), Step::Element(0), member("c d"), member("é"), member("q")],
                " == 5"
            ))
        );
        assert_eq!(steps("$[*].*>5"), Ok((vec![Step::Each, Step::Each], ">5")));
        assert_eq!(Path::parse("$.a[*] exists").unwrap().0.as_str(), "$.a[*]");
        for (text, error) in [
            ("", PathError::NoRoot),
            ("a.b", PathError::NoRoot),
            ("$..a", PathError::Descent),
            ("$.", PathError::Name),
            ("$.1a", PathError::Name),
            ("$.a-b", PathError::Name),
            ("$a", PathError::Name),
            ("$[", PathError::Brackets),
            ("$[]", PathError::Brackets),
            ("$[-1]", PathError::Brackets),
            ("$[01]", PathError::Brackets),
            ("$[1:2]", PathError::Brackets),
            ("$[?@.a]", PathError::Brackets),
            ("$['a]", PathError::Brackets),
            ("$[99999999999999999999]", PathError::Brackets),
        ] {
            assert_eq!(steps(text), Err(error), "{text}");
        }
    }
}

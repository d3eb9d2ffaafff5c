//! `${NAME}` in the texts of a plan: what stands there instead.

use super::body;
use crate::secrets;
use unblink_workload::template::{Piece, pieces};

/// What a variable's value must be like where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// As it is.
    Plain,
    /// A body, which may be a variable altogether: then its value is what the plan would say, templates and all.
    Body,
    /// The same as JSON: in a text of it, quotes and the like are escaped.
    Json,
    /// The same as the fields of a form, percent-encoded.
    Fields,
}

impl Form {
    /// In the field of this name.
    pub(super) fn of(field: &str) -> Form {
        match field {
            "body" | "message" => Form::Body,
            "json" | "multipart" => Form::Json,
            "form" => Form::Fields,
            _ => Form::Plain,
        }
    }
}

/// `text` with each `${NAME}` replaced by its `value`, and `$${` by `${`. A value is data: it is no template, whatever is in it.
pub(super) fn fill(text: &str, form: Form, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    let mut quotes = Quotes::default();
    let is_whole = form != Form::Plain && text.starts_with("${") && secrets::is_one_variable(text);
    while let Some(start) = rest.find("${") {
        let (before, behind) = (&rest[..start], &rest[start + 2..]);
        quotes.pass(before);
        if let Some(literal) = before.strip_suffix('$') {
            out += literal;
            out += "${";
            rest = behind;
            continue;
        }
        let end = behind.find('}').ok_or("${ has no } after it")?;
        let name = &behind[..end];
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err("the text between ${ and } is not the name of a variable".into());
        }
        out += before;
        rest = &behind[end + 1..];
        let value = value(name)
            .ok_or_else(|| format!("the environment has no variable {name}: set it before the run"))?;
        if is_whole {
            return Ok(value);
        }
        let value = match form {
            Form::Json if quotes.is_inside => body::in_quotes(&value),
            Form::Fields => body::percent_encoded(&value),
            _ => value,
        };
        push_data(&mut out, &value, rest);
    }
    out += rest;
    Ok(out)
}

/// Appends a value so that its braces begin no template, also beside those of the text around it.
fn push_data(out: &mut String, value: &str, behind: &str) {
    const BRACE: &str = "{{'{'}}";
    let joins_before = value.starts_with('{') && out.ends_with('{');
    if joins_before {
        out.pop();
        *out += BRACE;
    }
    if joins_before || value.contains("{{") || (value.ends_with('{') && behind.starts_with('{')) {
        *out += &value.replace('{', BRACE);
    } else {
        *out += value;
    }
}

/// Where in a JSON text one is.
#[derive(Default)]
struct Quotes {
    is_inside: bool,
    is_escaped: bool,
}

impl Quotes {
    fn pass(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = self.is_inside,
                '"' => self.is_inside = !self.is_inside,
                _ => {}
            }
        }
    }
}

/// Why a text can't be the value of the field of this name.
pub(super) fn check(field: &str, text: &str) -> Result<(), String> {
    match field {
        "json" => check_json(text),
        "multipart" if !secrets::is_one_variable(text) => Err(body::NO_PARTS.to_string()),
        _ => Ok(()),
    }
}

/// What is wrong with a text that is to be JSON once its variables and places are filled in.
fn check_json(text: &str) -> Result<(), String> {
    let Ok(all) = pieces(text) else { return Ok(()) };
    // A digit is JSON by itself, and part of a text.
    let whole: String =
        all.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "1" }).collect();
    let Ok(whole) = fill(&whole, Form::Plain, |_| Some("1".into())) else { return Ok(()) };
    serde_json::from_str::<serde::de::IgnoredAny>(&whole).map(|_| ()).map_err(|error| {
        let said = error.to_string();
        let why = said.split(" at line ").next().unwrap_or_default();
        format!("this text is not JSON ({why}): correct it, or write a table")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_or_named() {
        let value = |name: &str| (name == "TOKEN").then(|| "s3cret".to_string());
        let fill = |text| fill(text, Form::Plain, value);
        assert_eq!(fill("Authorization: Bearer ${TOKEN}").unwrap(), "Authorization: Bearer s3cret");
        assert_eq!(fill("$${TOKEN} ${TOKEN}$ $5").unwrap(), "${TOKEN} s3cret$ $5");
        assert!(fill("${NONE}").unwrap_err().contains("NONE"));
        assert!(fill("${").is_err() && fill("${a b}").is_err());
    }

    #[test]
    fn values_are_data() {
        let filled = |text, form, value: &str| fill(text, form, |_| Some(value.to_string())).unwrap();
        for (text, form, value, expected) in [
            ("a${X}b", Form::Plain, "{{item}}", "a{{'{'}}{{'{'}}item}}b"),
            ("a{${X}", Form::Plain, "{b", "a{{'{'}}{{'{'}}b"),
            ("${X}{b", Form::Plain, "a{", "a{{'{'}}{b"),
            ("${X}", Form::Plain, "{{a", "{{'{'}}{{'{'}}a"),
            ("${X}", Form::Plain, "{\"a\":{}}", "{\"a\":{}}"),
            ("${X}", Form::Body, "{{item}}", "{{item}}"),
            ("${X}", Form::Json, "{\"n\":{{number(item)}}}", "{\"n\":{{number(item)}}}"),
            ("{\"a\":\"${X}\"}", Form::Json, "say \"hi\"", "{\"a\":\"say \\\"hi\\\"\"}"),
            ("{\"a\\\"\":${X}}", Form::Json, "[\"b\"]", "{\"a\\\"\":[\"b\"]}"),
            ("a=${X}&b=1", Form::Fields, "1&c {{", "a=1%26c%20%7B%7B&b=1"),
        ] {
            assert_eq!(filled(text, form, value), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_found() {
        for text in [
            "{\"a\": {{number(x)}}, \"b\": \"{{y}}\"}",
            "${BODY}",
            "[1, {{a}}{{b}}]",
            "{\"a\": \"${X}\"}",
            "{{x",
        ] {
            assert_eq!(check_json(text), Ok(()), "{text}");
        }
        for text in ["{'a': 1}", "{\"a\": {{x}}", "a", "[1,]"] {
            assert!(check_json(text).unwrap_err().contains("not JSON"), "{text}");
        }
    }
}

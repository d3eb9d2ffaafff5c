//! Bodies that a plan writes as tables: JSON, and the fields of a form. Templates stand in them as they are.

use super::source::Wrong;
use super::tree::{Node, Value};
use std::ops::Range;
use unblink_workload::template::{Piece, is_raw, is_template, pieces};

/// The node as JSON (RFC 8259), names in the order in which they were written. A text that is nothing but
/// `{{number(x)}}` is a number, and one that is nothing but `{{raw(x)}}` is what x holds.
pub(super) fn json(node: &Node) -> Result<String, Wrong> {
    Ok(match &node.value {
        Value::Table(entries) => {
            let entries =
                entries.iter().map(|(key, node)| Ok(format!("{}:{}", quoted(&key.name), json(node)?)));
            format!("{{{}}}", entries.collect::<Result<Vec<_>, _>>()?.join(","))
        }
        Value::List(items) => {
            format!("[{}]", items.iter().map(json).collect::<Result<Vec<_>, _>>()?.join(","))
        }
        Value::Scalar(text) if node.is_text => in_text(node, text)?,
        Value::Scalar(text) => literal(text).ok_or_else(|| {
            Wrong::new(
                node.at.clone(),
                format!("JSON has no such value as {text}: write it as a text, in quotes"),
            )
        })?,
    })
}

/// A number, `true`, `false` or `null` as JSON writes it.
fn literal(text: &str) -> Option<String> {
    if ["true", "false", "null"].contains(&text) {
        return Some(text.to_string());
    }
    if text.is_empty() || text == "~" {
        return Some("null".to_string());
    }
    let plain = text.replace('_', "");
    let radix = |prefix: &str, radix| {
        plain.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok())
    };
    if let Some(number) = radix("0x", 16).or(radix("0o", 8)).or(radix("0b", 2)) {
        return Some(number.to_string());
    }
    let plain = plain.strip_prefix('+').unwrap_or(&plain);
    serde_json::from_str::<serde_json::Number>(plain).ok().map(|_| plain.to_string())
}

fn in_text(node: &Node, text: &str) -> Result<String, Wrong> {
    let all = pieces(text).map_err(|error| Wrong::new(node.at.clone(), error.message))?;
    if let [Piece::Place(inside, _)] = all[..]
        && (inside.starts_with("number(") || is_raw(inside))
    {
        return Ok(text.to_string());
    }
    let mut out = String::from("\"");
    for piece in all {
        match piece {
            Piece::Text(text) => out += &in_quotes(text),
            Piece::Place(_, at) => out += &text[at],
        }
    }
    Ok(out + "\"")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What stands for `text` between the quotes of a JSON text.
pub(super) fn in_quotes(text: &str) -> String {
    let whole = quoted(text);
    whole[1..whole.len() - 1].to_string()
}

/// The node as `application/x-www-form-urlencoded`, in the order in which it was written.
pub(super) fn form(node: &Node) -> Result<String, Wrong> {
    let Value::Table(entries) = &node.value else {
        return Err(Wrong::new(node.at.clone(), "a form is a table of names and texts"));
    };
    let fields = entries.iter().map(|(key, node)| {
        let values: Vec<&Node> = match &node.value {
            Value::List(items) => items.iter().collect(),
            _ => vec![node],
        };
        let fields = values.into_iter().map(|node| match &node.value {
            Value::Scalar(text) => Ok(format!("{}={}", encoded(&key.name, node)?, encoded(text, node)?)),
            _ => Err(Wrong::new(node.at.clone(), "a field of a form is a text, or a list of texts")),
        });
        Ok(fields.collect::<Result<Vec<_>, _>>()?.join("&"))
    });
    Ok(fields.collect::<Result<Vec<String>, _>>()?.join("&"))
}

/// A table or a list as the body that the field of this name is.
pub(super) fn written(field: &str, node: &Node) -> Result<String, Wrong> {
    match field {
        "form" => form(node),
        "multipart" => multipart(node),
        _ => json(node),
    }
}

/// What `multipart` is.
pub(super) const NO_PARTS: &str = "multipart is a list of parts, such as [{ name = \"note\", value = \"hello\" }, { name = \"photo\", file = \"a.jpg\" }]";

/// The node as a list of parts, in JSON, all of whose values are texts.
pub(super) fn multipart(node: &Node) -> Result<String, Wrong> {
    let Value::List(items) = &node.value else { return Err(Wrong::new(node.at.clone(), NO_PARTS)) };
    if items.is_empty() {
        return Err(Wrong::new(
            node.at.clone(),
            "nothing would be sent: name a part, or leave multipart out",
        ));
    }
    let parts = items.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[{}]", parts.join(",")))
}

fn part(node: &Node) -> Result<String, Wrong> {
    const FIELDS: [&str; 5] = ["name", "value", "file", "filename", "type"];
    let wrong = |at: &Range<usize>, why: String| Wrong::new(at.clone(), why);
    let Value::Table(entries) = &node.value else { return Err(Wrong::new(node.at.clone(), NO_PARTS)) };
    let mut fields = Vec::new();
    for (key, node) in entries {
        let Value::Scalar(text) = &node.value else {
            return Err(wrong(&node.at, format!("{} of a part is one text", key.name)));
        };
        match key.name.as_str() {
            name if !FIELDS.contains(&name) => {
                let why = format!("a part has no field {name:?}: it takes {}", FIELDS.join(", "));
                return Err(wrong(&key.at, why));
            }
            "value" => {
                pieces(text).map_err(|error| wrong(&node.at, error.message))?;
            }
            name if is_template(text) => {
                return Err(wrong(
                    &node.at,
                    format!("a template can stand in value alone, and this is its {name}"),
                ));
            }
            "type" if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || !c.is_ascii()) => {
                return Err(wrong(&node.at, "this is not a media type, such as image/jpeg".into()));
            }
            _ => {}
        }
        fields.push(format!("{}:{}", quoted(&key.name), quoted(text)));
    }
    let has = |name: &str| entries.iter().any(|(key, _)| key.name == name);
    match () {
        () if !has("name") => Err(wrong(&node.at, "this part has no name".into())),
        () if has("value") == has("file") => {
            Err(wrong(&node.at, "a part has either a value or a file".into()))
        }
        () => Ok(format!("{{{}}}", fields.join(","))),
    }
}

/// Percent-encoded but for its templates and its variables.
fn encoded(text: &str, node: &Node) -> Result<String, Wrong> {
    let mut out = String::new();
    for piece in pieces(text).map_err(|error| Wrong::new(node.at.clone(), error.message))? {
        match piece {
            Piece::Place(_, at) => out += &text[at],
            Piece::Text(text) => out += &encoded_around_variables(text),
        }
    }
    Ok(out)
}

/// `$${`, which stands for `${`, is none.
fn encoded_around_variables(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find("${") {
        let (before, variable) = rest.split_at(start);
        let end = variable.find('}').map_or(variable.len(), |end| end + 1);
        out += &percent_encoded(before.strip_suffix('$').unwrap_or(before));
        if before.ends_with('$') {
            out += &percent_encoded("${");
            rest = &variable[2..];
        } else {
            out += &variable[..end];
            rest = &variable[end..];
        }
    }
    out + &percent_encoded(rest)
}

pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~*".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tree::of_toml;
    use super::*;

    fn of(text: &str, write: fn(&Node) -> Result<String, Wrong>) -> Result<String, String> {
        let Value::Table(mut entries) = of_toml(text).unwrap().value else { panic!("a table") };
        write(&entries.remove(0).1).map_err(|wrong| wrong.message)
    }

    #[test]
    fn tables_are_json() {
        for (written, expected) in [
            ("x = { b = 1_000, a = [true, 2.5, \"q\\\"\"] }", r#"{"b":1000,"a":[true,2.5,"q\""]}"#),
            (
                "x = { id = \"{{user.id}}\", n = \"{{number(item)}}\" }",
                r#"{"id":"{{user.id}}","n":{{number(item)}}}"#,
            ),
            ("x = { t = \"a\\n{{bytes(3)}}é\" }", "{\"t\":\"a\\n{{bytes(3)}}é\"}"),
            ("x = { a = \"{{raw(row.list)}}\" }", r#"{"a":{{raw(row.list)}}}"#),
            ("x = { h = 0xff, s = \"5\" }", r#"{"h":255,"s":"5"}"#),
        ] {
            assert_eq!(of(written, json).unwrap(), expected);
        }
        assert!(of("x = { a = inf }", json).unwrap_err().contains("inf"));
        assert!(of("x = \"{{a\"", json).unwrap_err().contains("never closed"));
    }

    #[test]
    fn lists_of_tables_are_parts() {
        let parts = of(
            "x = [{ name = \"n\", value = 5 }, { name = \"f\", file = \"a\", type = \"b/c\" }]",
            multipart,
        );
        assert_eq!(parts.unwrap(), r#"[{"name":"n","value":"5"},{"name":"f","file":"a","type":"b/c"}]"#);
        for (bad, why) in [
            ("x = []", "nothing would be sent"),
            ("x = [1]", "is a list of parts"),
            ("x = { name = \"n\" }", "is a list of parts"),
            ("x = [{ value = \"n\" }]", "has no name"),
            ("x = [{ name = \"n\" }]", "either a value or a file"),
            ("x = [{ name = \"n\", value = \"\", file = \"a\" }]", "either a value or a file"),
            ("x = [{ name = \"n\", values = \"\" }]", "no field \"values\""),
            ("x = [{ name = \"n\", value = [1] }]", "one text"),
            ("x = [{ name = \"{{n}}\", value = 1 }]", "in value alone"),
            ("x = [{ name = \"n\", value = \"{{n\" }]", "never closed"),
            ("x = [{ name = \"n\", value = 1, type = \"a\\nb\" }]", "not a media type"),
        ] {
            let error = of(bad, multipart).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn tables_are_forms() {
        let form = of("x = { a = \"b c&d\", \"e f\" = [\"{{x}}\", 1] }", form).unwrap();
        assert_eq!(form, "a=b%20c%26d&e%20f={{x}}&e%20f=1");
        let of_variables = of("x = { a = \"1 ${ID} {2} $${ID}\" }", super::form).unwrap();
        assert_eq!(of_variables, "a=1%20${ID}%20%7B2%7D%20%24%7BID%7D");
    }
}

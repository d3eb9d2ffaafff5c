//! JSON as YAML that people read: in block style, one field a line, and text as text.

use serde_json::Value;
use unblink_artifact::harmless;

/// What YAML 1.1 takes for something else than text, as readers of clusters do.
const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];

/// One document, an object.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    fields(value, 0, &mut out);
    out
}

/// Each field of an object on a line of its own.
fn fields(value: &Value, margin: usize, out: &mut String) {
    for (i, (name, value)) in value.as_object().into_iter().flatten().enumerate() {
        // The first stands behind what announces it.
        if i > 0 || margin == 0 {
            *out += &" ".repeat(margin);
        }
        *out += &text(name);
        *out += ":";
        behind(value, margin, out);
    }
}

/// A value behind its name.
fn behind(value: &Value, margin: usize, out: &mut String) {
    match value {
        Value::Object(inner) if !inner.is_empty() => {
            *out += &format!("\n{}", " ".repeat(margin + 2));
            fields(value, margin + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            *out += "\n";
            list(items, margin, out);
        }
        Value::String(text) if is_block(text) => block(text, margin + 2, out),
        value => *out += &format!(" {}\n", scalar(value)),
    }
}

fn list(items: &[Value], margin: usize, out: &mut String) {
    for item in items {
        *out += &format!("{}-", " ".repeat(margin));
        match item {
            Value::Object(inner) if !inner.is_empty() => {
                *out += " ";
                fields(item, margin + 2, out);
            }
            // On lines of its own, further in.
            Value::Array(inner) if !inner.is_empty() => {
                *out += "\n";
                list(inner, margin + 2, out);
            }
            Value::String(text) if is_block(text) => block(text, margin + 2, out),
            value => *out += &format!(" {}\n", scalar(value)),
        }
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(own) => text(own),
        // Empty ones are the same in both.
        other => other.to_string(),
    }
}

/// As it is where nobody can take it for something else; otherwise in quotes, which JSON and YAML share.
fn text(own: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_word = WORDS.contains(&own.to_ascii_lowercase().as_str());
    match own.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && own.chars().all(is_plain)
        && !is_word
    {
        true => own.to_string(),
        false => harmless::json(&own).unwrap_or_default(),
    }
}

/// Several lines that no reader changes when they stand further in.
fn is_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && !text.lines().any(|line| line.ends_with([' ', '\t']))
        && text.chars().all(|c| matches!(c, '\n' | '\t') || !harmless::is_harmful(c))
}

fn block(text: &str, margin: usize, out: &mut String) {
    let ending = match (text.ends_with('\n'), text.ends_with("\n\n")) {
        (false, _) => "-",
        (true, false) => "",
        (true, true) => "+",
    };
    *out += &format!(" |{ending}\n");
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            *out += &" ".repeat(margin);
        }
        *out += line;
    }
    if !text.ends_with('\n') {
        *out += "\n";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use saphyr_parser::{Event, Parser, ScalarStyle};
    use serde_json::json;

    /// Reads it with the parser that plans are read with.
    fn read(text: &str) -> Value {
        let mut parser = Parser::new_from_str(text);
        let mut next = move || parser.next_event().expect("an event").expect("YAML").0;
        loop {
            match next() {
                Event::StreamStart | Event::DocumentStart(_) => {}
                event => return node(event, &mut next),
            }
        }
    }

    fn node<'a>(event: Event<'a>, next: &mut impl FnMut() -> Event<'a>) -> Value {
        match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => {
                serde_json::from_str(&text).unwrap_or_else(|_| text.into_owned().into())
            }
            Event::Scalar(text, ..) => text.into_owned().into(),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match next() {
                        Event::SequenceEnd => return items.into(),
                        event => items.push(node(event, next)),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut fields = serde_json::Map::new();
                loop {
                    match next() {
                        Event::MappingEnd => return fields.into(),
                        Event::Scalar(name, ..) => {
                            let value = next();
                            fields.insert(name.into_owned(), node(value, next));
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn people_can_read_it() {
        let value = json!({"kind": "Job", "spec": {"args": ["-R", "5", "no", "a: b"], "env": [{"name": "A", "value": "1"}],
            "empty": {}, "none": [], "m": 3, "text": "one\n  two\n\nthree"}});
        let text = "kind: Job\nspec:\n  args:\n  - \"-R\"\n  - \"5\"\n  - \"no\"\n  - \"a: b\"\n  empty: {}\n  env:\n  - name: A\n    \
            value: \"1\"\n  m: 3\n  none: []\n  text: |-\n    one\n      two\n\n    three\n";
        assert_eq!(document(&value), text);
    }

    fn things() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~\n\t]{0,20}",
            "[a-z0-9:/ .-]{0,8}",
            ".{0,12}",
            "([a-z #:-]{0,6}\n){1,3}",
            prop::sample::select(WORDS.to_vec()).prop_map(String::from),
        ];
        let leaf = prop_oneof![
            text.prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ -~]{1,6}", inner, 0..4)
                    .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_reader_finds_the_same(inner in things()) {
            let value = json!({"a": inner, "b": [inner.clone(), [inner.clone()]]});
            prop_assert_eq!(read(&document(&value)), value);
        }
    }
}

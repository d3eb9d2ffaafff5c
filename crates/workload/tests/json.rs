//! The JSON scanner next to `serde_json`: what is JSON, and what stands where.

use proptest::prelude::*;
use serde_json::Value;
use unblink_workload::answer::json::{Path, value_into};

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // serde reads others back with an error in the last place.
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
        "[a-c\"\\\\\n\u{1}ü😀/ ]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab\"ü' ]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Every value of `document` with its path.
fn walk(document: &Value, path: String, each: &mut impl FnMut(&str, &Value)) {
    each(&path, document);
    match document {
        Value::Array(elements) => {
            for (place, element) in elements.iter().enumerate() {
                walk(element, format!("{path}[{place}]"), each);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let quoted = serde_json::to_string(name).expect("a text");
                walk(member, format!("{path}[{quoted}]"), each);
            }
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn finds_what_serde_finds(document in documents(), pretty in any::<bool>()) {
        let body = match pretty {
            true => serde_json::to_string_pretty(&document),
            false => serde_json::to_string(&document),
        };
        let body = body.expect("JSON");
        walk(&document, "$".into(), &mut |text, value| {
            let (path, rest) = Path::parse(text).expect(text);
            assert_eq!(rest, "");
            let raw = path.first(body.as_bytes()).expect("JSON").expect("a value");
            assert_eq!(serde_json::from_slice::<Value>(raw).expect("JSON"), *value, "{text} in {body}");
            if let Value::String(plain) = value {
                let mut out = Vec::new();
                value_into(raw, &mut out);
                assert_eq!(out, plain.as_bytes());
            }
            for beyond in ["[99]", "['none']"] {
                let (path, _) = Path::parse(&format!("{text}{beyond}")).expect("a path");
                assert_eq!(path.first(body.as_bytes()), Ok(None));
            }
        });
    }

    #[test]
    fn agrees_with_serde_on_what_json_is(
        document in documents(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(&b"{}[]\",:\\u0123eE.+- tfn\xc3\xff\x00"[..]),
        what in 0..3,
    ) {
        let mut body = serde_json::to_vec(&document).expect("JSON");
        let at = at.index(body.len());
        match what {
            0 => body[at] = byte,
            1 => body.insert(at, byte),
            _ => body.truncate(at),
        }
        let (path, _) = Path::parse("$.a").expect("a path");
        let (ours, theirs) = (path.first(&body), serde_json::from_slice::<Value>(&body));
        match theirs {
            // A number may be too large for serde.
            Err(error) if error.to_string().contains("out of range") => {}
            theirs => prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}: {:?}", String::from_utf8_lossy(&body), theirs),
        }
    }
}

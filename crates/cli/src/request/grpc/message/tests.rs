//! Messages beside those of another implementation, and what is said of wrong ones.

use super::*;
use proptest::prelude::*;
use prost_reflect::DescriptorPool;
use std::sync::LazyLock;
use unblink_wire::blank::{Filler, NothingToFill};

const TYPES: &str = r#"
syntax = "proto3";
package t;
import "google/protobuf/wrappers.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
enum Color { RED = 0; GREEN = 1; FAR = 300; }
message Inner { string name = 1; repeated sint32 sizes = 2; Inner inner = 3; map<string, Inner> named = 4; }
message All {
  string text = 1; int32 i32 = 2; int64 i64 = 3; uint32 u32 = 4; uint64 u64 = 5; sint32 s32 = 6; sint64 s64 = 7;
  fixed32 f32 = 8; fixed64 f64 = 9; sfixed32 sf32 = 10; sfixed64 sf64 = 11; float float = 12; double double = 13;
  bool flag = 14; Color color = 15; bytes raw = 16; Inner inner = 17; repeated Inner inners = 18;
  map<int32, Color> colors = 19; repeated string texts = 20; repeated uint64 many = 21; repeated Color picked = 22;
  oneof pick { string a = 23; int32 b = 24; } optional int32 maybe = 25; repeated fixed32 loose = 26 [packed = false];
  google.protobuf.StringValue note = 200; google.protobuf.Timestamp at = 201; google.protobuf.Struct free = 202;
  google.protobuf.Int64Value whole = 203;
}
"#;

static ALL: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.proto"), TYPES).unwrap();
    let set = protox::compile(["t.proto"], [folder.path()]).unwrap();
    DescriptorPool::from_file_descriptor_set(set).unwrap().get_message_by_name("t.All").unwrap()
});

/// Fills each place with the same.
struct Same<'a>(&'a str);

impl Filler for Same<'_> {
    fn fill(&mut self, _: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

fn written(text: &str, filler: &mut impl Filler) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    compile(&ALL, text, |_| true)?.write(filler, &mut out);
    Ok(out)
}

/// Each bytes are those that prost-reflect writes for the same JSON with `value` in each place.
fn assert_same(text: &str, value: &str) {
    let filled = quoted(text).replace("{{0}}", value);
    let json: Value = serde_json::from_str(&filled).unwrap();
    let expected = encoded(&ALL, &json).expect("it fits");
    assert_eq!(written(text, &mut Same(value)).unwrap(), expected, "{text}");
}

#[test]
fn places_are_filled_as_another_implementation_would() {
    let fields = [
        r#""text": "a{{0}}b""#,
        r#""i32": "{{0}}""#,
        r#""i64": {{0}}"#,
        r#""u32": "{{0}}", "u64": "{{0}}""#,
        r#""s32": "{{0}}", "s64": "{{0}}""#,
        r#""f32": "{{0}}", "f64": "{{0}}", "sf32": "{{0}}", "sf64": "{{0}}""#,
        r#""float": "{{0}}", "double": "{{0}}""#,
        r#""inner": {"name": "{{0}}", "sizes": [1, "{{0}}", -3], "inner": {"inner": {"name": "{{0}}"}}}"#,
        r#""inners": [{}, {"name": "{{0}}"}, {"name": "c"}], "inner": {"named": {"k": {"name": "{{0}}"}}}"#,
        r#""texts": ["", "{{0}}", "c"], "many": ["{{0}}", 7, "{{0}}"]"#,
        r#""loose": [1, "{{0}}"]"#,
        r#""a": "{{0}}", "maybe": "{{0}}", "note": "{{0}}", "whole": "{{0}}""#,
        // Later fields come first, and fields that are always the same stand between.
        r#""at": "2026-01-01T00:00:00Z", "b": 0, "i64": "{{0}}", "text": "x", "free": {"a": [null, {"b": 1}]}"#,
    ];
    for field in fields {
        for value in ["0", "1", "150", "2147483647"] {
            assert_same(&format!("{{{field}}}"), value);
        }
    }
    // JSON has no numbers for these.
    assert_eq!(
        written(r#"{"flag": "{{0}}", "color": "{{0}}"}"#, &mut Same("300")).unwrap(),
        [0x70, 1, 0x78, 0xac, 2]
    );
    assert_eq!(written(r#"{"flag": "{{0}}", "color": "{{0}}"}"#, &mut Same("0")).unwrap().len(), 0);
    // Bytes are the text itself.
    assert_eq!(written(r#"{"raw": "{{0}}"}"#, &mut Same("hi")).unwrap(), [0x82, 1, 2, b'h', b'i']);
    let colors =
        written(r#"{"colors": {"5": "{{0}}"}, "picked": ["RED", "{{0}}"]}"#, &mut Same("1")).unwrap();
    assert_eq!(colors, [0x9a, 1, 4, 8, 5, 0x10, 1, 0xb2, 1, 2, 0, 1]);
}

#[test]
fn what_is_wrong_is_said_with_its_path() {
    for (text, part) in [
        ("[]", "t.All: "),
        ("{\"text\": }", "not JSON"),
        (r#"{"txt": "x"}"#, "t.All.txt: t.All has no such field: did you mean text?"),
        (r#"{"inner": {"sizes": [1, true]}}"#, "t.All.inner.sizes[1]: "),
        (r#"{"inners": [{}, {"inner": {"name": 1}}]}"#, "t.All.inners[1].inner.name: "),
        (r#"{"inner": 7}"#, "t.All.inner: "),
        (r#"{"colors": {"1": "BLUE"}}"#, "t.All.colors[\"1\"]: "),
        (r#"{"i32": 3000000000}"#, "int32 is expected"),
        (r#"{"texts": ["{{0}}", 7]}"#, "t.All.texts[1]: this does not fit; a list of string is expected"),
        (r#"{"a": "x", "b": 1}"#, "only one of its fields"),
        (r#"{"i32": 1, "inner": {"name": "a"}, "i32": "x"}"#, "t.All.i32: "),
        (r#"{"i32": "a{{0}}"}"#, "t.All.i32 is a number (int32)"),
        (r#"{"at": "{{0}}"}"#, "can't stand in google.protobuf.Timestamp"),
        (r#"{"inner": {"named": {"{{0}}": {}}}}"#, "the key of a map"),
        (r#"{"text": "\u007b{0}} {{0}}"}"#, "\\u007b"),
    ] {
        let error = written(text, &mut NothingToFill).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_text_without_templates_may_look_like_one() {
    let all = compile(&ALL, r#"{"text": "\u007b{0}}"}"#, |_| false).unwrap();
    assert!(all.is_fixed(), "{all:?}");
}

fn inner() -> impl Strategy<Value = Value> {
    let leaf = ("[a-z]{0,200}", prop::collection::vec(any::<i32>(), 0..4))
        .prop_map(|(name, sizes)| serde_json::json!({"name": name, "sizes": sizes}));
    leaf.prop_recursive(4, 16, 2, |inner| {
        (inner.clone(), prop::collection::btree_map("[a-z]{1,2}", inner, 0..2))
            .prop_map(|(inner, named)| serde_json::json!({"inner": inner, "named": named}))
    })
}

proptest! {
    /// Whatever has no place is written as another implementation writes it, and what has one as the same with its value.
    #[test]
    fn any_message_is_written_as_by_another(
        text in "[ -z]{0,300}", i64 in any::<i64>(), u32 in any::<u32>(), double in -1e9..1e9, value in 0..u32::MAX / 2,
        inners in prop::collection::vec(inner(), 0..3), many in prop::collection::vec(any::<u64>(), 0..5),
    ) {
        let text = serde_json::to_string(&text).unwrap();
        let inners = serde_json::to_string(&inners).unwrap();
        let fixed = format!(
            r#"{{"text": {text}, "i64": "{i64}", "u32": {u32}, "double": {double}, "inners": {inners}, "many": {many:?}}}"#
        );
        assert_same(&fixed, "");
        let with_places = format!(
            r#"{{"inners": {inners}, "text": "{{{{0}}}}", "inner": {{"inner": {{"name": "x{{{{0}}}}"}}}}, "s64": "{{{{0}}}}", "many": {many:?}}}"#
        );
        assert_same(&with_places, &value.to_string());
    }
}

#[test]
fn a_method_that_takes_a_wrapper_is_told_how_it_is_written() {
    let pool = ALL.parent_pool();
    let of = |name: &str, text: &str| compile(&pool.get_message_by_name(name).unwrap(), text, |_| false);
    let mut out = Vec::new();
    of("google.protobuf.StringValue", r#""a""#).unwrap().write(&mut NothingToFill, &mut out);
    assert_eq!(out, [0x0a, 1, b'a']);
    let said = of("google.protobuf.Int64Value", r#"{"value": 5}"#).unwrap_err().to_string();
    assert!(said.contains("int64 alone, without an object around it (google.protobuf.Int64Value)"), "{said}");
    let said = of("google.protobuf.Timestamp", r#"{"seconds": 5}"#).unwrap_err().to_string();
    assert!(said.contains("google.protobuf.Timestamp as ProtoJSON writes it"), "{said}");
}
